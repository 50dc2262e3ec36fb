//! A room and its crowd on a virtual clock: how long people wait, what breaks first, and what it costs.
//!
//! | | |
//! | --- | --- |
//! | [`ArrivalShape`], [`Arrivals`], [`EarlyVisitors`] | when visitors come |
//! | [`TimedOrder`] | what the operator does meanwhile |
//! | [`ScenarioRequest`], [`SimulationPlan`] | what somebody asks to simulate, from the question to the answer |
//! | [`Scenario`] | a crowd, a room, and what visitors, shop and operator do |
//! | [`Simulation`] | runs it |
//! | [`SimulatedEvent`] | what came of it |
//! | [`SimulationAnswer`] | what it says to a person, or as JSON |
//! | [`SimClock`] | the clock: the fault simulation uses it too |
//!
//! The trigger, the consumers and the throttle are the real ones, and [`page::visitor`] says what browsers do. Only the ledger is
//! in memory, and each visitor is a few numbers. So a million of them fit into a few seconds.

mod admissions;
mod agenda;
mod answer;
mod arrivals;
mod clock;
mod course;
mod crowd;
mod door;
mod gate;
mod guard;
mod orders;
mod outcome;
mod plan;
mod plots;
mod record;
mod request;
mod room;
mod scenario;
mod search;
mod sections;
mod shop;
mod simulate;
mod visitor;
mod wait_spread;

pub use answer::{ScenarioInputs, SimulationAnswer, VisitInputs};
pub use arrivals::{ArrivalShape, Arrivals, ArrivalsError, EarlyVisitors};
pub use clock::SimClock;
pub use guard::ShopVisits;
pub use memory::LineBehaviour;
pub use orders::{SimulatedOrder, TimedOrder, TimedOrderError};
pub use outcome::{LimitUse, ReleaseWindow, ShopSpace, SimulatedEvent, SimulatedMinute, VisitorCount};
pub use plan::SimulationPlan;
pub use record::{CountedTime, RecordError};
pub use request::ScenarioRequest;
pub use scenario::{AwsAccount, CrowdHabits, Scenario};
pub use search::{QuotaToRaise, SimulationSearch, quotas_to_raise, rate_for};
pub use shop::ShopLoad;
pub use simulate::{Simulation, SimulationProgress};
pub use wait_spread::WaitSpread;
