//! The rules of the waiting room.
//!
//! This crate uses no network, file, clock or SDK. Time and randomness are arguments; everything else that handlers need
//! is a trait in [`ports`]. So the same rules run in a Lambda function, in one process on one machine, and on a simulated
//! clock in tests.
//!
//! | type | meaning |
//! | --- | --- |
//! | [`Room`], [`Settings`] | a room, and what the operator decided |
//! | [`RoomState`] with its [`Switches`] | whether it is on, paused, closed, ended or off, and what that means |
//! | [`Standing`] with its [`Turning`]s and its [`Notice`] | how the operator left it: the state, what follows by itself, and what those read who come too late |
//! | [`Place`] with [`Epoch`], [`Token`], [`Ticket`] | a visitor's place in line, as the cookie carries it |
//! | [`TicketBlock`] | ticket numbers, which producers lease in blocks |
//! | [`Valve`], [`ValveSchedule`] | whether and how fast the room releases visitors, and from when |
//! | [`Mode`], [`DoorPermits`] | whether and how many newcomers go straight in while nobody waits |
//! | [`VirtualLine`], [`CountedSlot`] | the line that would be, in a room that observes |
//! | [`Stock`] | how many more it releases before it ends by itself |
//! | [`Extra`] | how many more it releases than the rate allows, within a minute |
//! | [`Turnout`], [`Oversubscription`] | how many of those come whom it releases, and how many more it releases for that |
//! | [`ActiveLimit`], [`ActiveCount`] | how many visitors may be in the shop at once, and how many are |
//! | [`Rate`], [`Plan`], [`Slice`], [`Pace`] | how many visitors a window releases, in which parts, and when |
//! | [`throttle_rules`] | the rate in force while the shop is slow or failing |
//! | [`Slowdown`] | why the line moves slower than the operator wants |
//! | [`HelpCode`], [`HelpCall`] | how a visitor in line shows the operator who they are |
//! | [`Admission`] | the ledger's record that a visitor may enter |
//! | [`LineProgress`], [`LineStatus`] | how far the line has come, and what polls publish about it |
//! | [`ReachEstimate`] | the ticket that the line has reached, from those who leave it |
//! | [`DisorderEstimate`] | how far out of order the line is |
//! | [`LineReach`] with [`overtaken_before`] | the ticket that the line has reached, and which ones it has overtaken |
//! | [`LineCount`] | how many wait, although the line's count is old |
//! | [`LineTotals`], [`MinuteRecord`], [`MinuteCount`] | the history of the line, a record a minute |
//! | [`Refusals`] | how many requests were refused lately, and why |
//! | [`AuditEntry`], [`AuditedChange`], [`AuditNote`] | the audit trail: who changed what, when, from what to what |
//! | [`RehearsalMark`] | marks a room while its operator rehearses the event |
//! | [`KeyOrder`] | what an operator orders about the keys that sign passes |
//! | [`ports`] | what handlers need from stores, clocks and the shop |

mod active;
mod active_limit;
mod admission;
mod audit;
mod causes;
mod disorder;
mod due_plan;
mod epoch;
mod extra;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod help;
mod key_order;
mod line_count;
mod minute;
mod mistakes;
mod mode;
mod name;
mod newtypes;
mod nothing_to_undo;
mod notice;
mod overtaken;
mod pace;
mod permits;
mod place;
mod plan;
pub mod ports;
mod quiet;
mod rate;
mod reach;
mod refusals;
mod rehearsal;
mod room;
mod room_state;
mod room_valve;
mod settings;
mod slice;
mod slowdown;
mod standing;
mod status;
mod stock;
mod stretch;
pub mod throttle_rules;
mod ticket;
mod ticket_block;
mod time;
mod token;
mod turning;
mod turnout;
mod valve;
mod virtual_line;
mod web_url;

pub use active::{ActiveCount, KeptReport, SliceAdmissions, WindowAdmissions};
pub use active_limit::ActiveLimit;
pub use admission::{Admission, AdmittedBy};
pub use audit::{AuditEntry, AuditNote, AuditSubject, AuditedChange, Author, StateChange};
pub use causes::{causes, innermost, with_causes};
pub use disorder::DisorderEstimate;
pub use epoch::Epoch;
pub use extra::{Extra, ExtraSize, ExtraSizeError};
pub use help::{HelpCall, HelpCode};
pub use key_order::KeyOrder;
pub use line_count::{IssuedTickets, LineCount};
pub use minute::{LineCounts, LineTotals, MinuteCount, MinuteRecord, observed_lately};
pub use mistakes::Mistakes;
pub use mode::Mode;
pub use name::{Message, NameError, RoomId, Title};
pub use newtypes::FormError;
pub use nothing_to_undo::NothingToUndo;
pub use notice::Notice;
pub use overtaken::overtaken_before;
pub use pace::{Pace, PaceStep};
pub use permits::{DoorPermits, UsedTime};
pub use place::{Place, Scheme, readable_cookies};
pub use plan::{Plan, Window};
pub use quiet::{hardly_waited, was_empty};
pub use rate::{Rate, RateError};
pub use reach::ReachEstimate;
pub use refusals::Refusals;
pub use rehearsal::RehearsalMark;
pub use room::Room;
pub use room_state::{RoomState, Switches, WayToShop};
pub use settings::{Lifetimes, Settings};
pub use slice::{BATCH, SLICE_BATCHES, Slice, SliceId, most_in_a_second};
pub use slowdown::Slowdown;
pub use standing::Standing;
pub use status::{LineProgress, LineReach, LineStatus};
pub use stock::{Stock, StockSize, StockSizeError};
pub use stretch::{Stretch, StretchError};
pub use ticket::{Ticket, TicketError};
pub use ticket_block::TicketBlock;
pub use time::Timestamp;
pub use token::Token;
pub use turning::Turning;
pub use turnout::{Oversubscription, OversubscriptionError, Turnout};
pub use valve::{Valve, ValveChange, ValveSchedule};
pub use virtual_line::{CountedSlot, ObservedLine, VirtualLine};
pub use web_url::{WebUrl, WebUrlError};
