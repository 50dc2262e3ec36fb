//! Visitors who rehearse an event over HTTP, as a browser with the waiting page visits, and the report about them.
//!
//! A [`Rehearsal`] of an operated room sends its visitors there ([`Rehearsal::run`]), who write down what each of them saw. They
//! send nothing unless the room shows the mark that its operator wrote into it, and stop as soon as an answer shows another one.
//! Whatever ends the rehearsal, the room is reset then. A [`RehearsalReport`] accounts for every visitor, and says whether the
//! room kept its promises.
//!
//! A [`DemoCrowd`] sends the same visitors to a demonstration, so that there is a line to see.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that finds something else fails"))]
#![allow(
    clippy::cast_precision_loss,
    reason = "numbers of visitors and times of an event are far below 2^52"
)]

mod crowd;
mod demo_crowd;
mod error;
mod expected;
#[cfg(test)]
mod fixture;
mod measured;
mod notes;
mod obstacles;
mod planned;
mod rehearsal;
mod releases;
mod report;
mod sections;
mod sending;
mod visitor;
mod wire;

pub use crowd::CrowdEnd;
pub use demo_crowd::DemoCrowd;
pub use error::RehearsalError;
pub use measured::{LatencyBar, RouteLatency};
pub use notes::{CrowdProgress, RoomTotals};
pub use obstacles::{refuse_demo_visitors, refuse_limits_of_an_address};
pub use planned::PlannedRehearsal;
pub use rehearsal::{EndedRehearsal, Rehearsal, RehearsalEvent};
pub use releases::{RehearsedOrder, RehearsedReleases, RehearsedWindow, ReleasedSecond};
pub use report::{
    CountedFault, LetInTwice, RehearsalCheck, RehearsalFacts, RehearsalReport, RehearsedWaits, VisitEnds,
};
pub use wire::VisitRoute;
