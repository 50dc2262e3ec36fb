//! The rules of the waiting room, and nothing else.
//!
//! No network, no file, no clock, no SDK: time and randomness are arguments, and whatever else is needed
//! of the world is a trait in [`ports`]. The same rules therefore run in a Lambda function, in one process
//! on one machine, and on a simulated clock in the tests.
//!
//! | a visitor | the release | the room |
//! | --- | --- | --- |
//! | [`Token`], [`Ticket`], [`Epoch`], [`Cookie`] | [`Rate`], [`Plan`], [`Slice`], [`Pace`] | [`Settings`], [`Room`] |
//! | [`Leases`]: ticket numbers in blocks | [`governor`]: the rate while the shop suffers | [`LineStatus`], [`Progress`] |
//! | [`Admission`] | | [`pass`]: what the shop verifies |

mod admission;
mod cookie;
pub mod entries;
mod epoch;
pub mod governor;
mod lease;
mod name;
mod pace;
pub mod pass;
mod plan;
pub mod ports;
mod rate;
mod room;
mod settings;
mod standing;
mod status;
mod stretch;
mod ticket;
mod time;
mod token;
mod web_url;

pub use admission::{Admission, AdmittedBy};
pub use cookie::{Cookie, CookieError, Scheme};
pub use entries::Mistakes;
pub use epoch::{Epoch, EpochError};
pub use lease::Leases;
pub use name::{NameError, Notice, RoomId, Title};
pub use pace::{Pace, Step, Valve};
pub use plan::{BATCH, Demand, Plan, SLICE_BATCHES, Slice, SliceId, SliceIdError, Window};
pub use rate::{Rate, RateError};
pub use room::Room;
pub use settings::{Lifetimes, Settings};
pub use standing::{ClientAnswer, PollAnswer, Standing};
pub use status::{LineStatus, Progress};
pub use stretch::{Stretch, StretchError};
pub use ticket::{Ticket, TicketError};
pub use time::Timestamp;
pub use token::{Token, TokenError};
pub use web_url::{WebUrl, WebUrlError};
