//! What a room on AWS bears, and what it costs.
//!
//! | | |
//! | --- | --- |
//! | [`Facts`] | what AWS allows and charges: `aws.toml`, with the source of every number |
//! | [`AccountLimits`] | what AWS allows one account in one region |
//! | [`ModelledRoom`] | what the numbers depend on: the room's rate and options |
//! | [`Visit`] | what one visitor sends, and how often their page polls |
//! | [`Reservation`] | the functions that an account keeps for releasing |
//! | [`Capacity`] | joins a second, people waiting, visitors a minute, each with the [`Limit`] that ends it |
//! | [`EventCosts`], [`StandingCosts`] | what visitors cost, and a month without any; [`EventWork`] is what they make a room do |
//! | [`Traffic`] | what happens in one second, and its [`Usage`] of every limit |
//! | [`Outlook`] | what a crowd of a given size can expect |
//!
//! How often a page polls is not a formula here: the model walks through a wait with the page's own arithmetic,
//! [`page::line`]. What a join and a release cost is counted from the handlers and the adapter; [`work`](mod@work) has the
//! numbers, each with where it comes from. It knows no SDK and no network, so every build of the command can use it.
//!
//! It is a model. No room was ever measured on AWS.

mod account_limits;
mod capacity;
mod costs;
mod edge_copies;
mod facts;
mod hot_items;
mod limit;
mod modelled_room;
mod outlook;
mod reservation;
mod traffic;
mod visit;
mod work;

pub use account_limits::{AccountLimit, AccountLimits, NEWER_REGION};
pub use capacity::{Bound, Capacity};
pub use costs::{CostLine, EventCosts, EventWork, NEW_TABLE, StandingCosts, warm_costs};
pub use facts::{Fact, Facts, FixedFacts, facts};
pub use hot_items::{CONFIDENCE, chance_of_at_most};
pub use limit::Limit;
pub use modelled_room::{Firewall, ModelledRoom};
pub use outlook::Outlook;
pub use reservation::{Reservation, ReservationTooLarge};
pub use traffic::{Traffic, Usage, environments_per_visit, visits_per_second};
pub use visit::{Visit, WAIT_MINUTES};
pub use work::FunctionTimes;
