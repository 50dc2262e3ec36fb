//! Visitors who rehearse an event over HTTP, as a browser with the waiting page visits, and the report about them.
//!
//! A [`RehearsalTarget`] is a room of this operator. A [`VisitorCrowd`] sends its visitors there, and writes down what each of
//! them saw ([`VisitNotes`](notes::VisitNotes)). They send nothing unless the room shows the mark that its operator wrote into
//! it, and stop as soon as an answer shows another one. A [`RehearsalReport`] accounts for every visitor, and says whether the
//! room kept its promises.

#![allow(
    clippy::cast_precision_loss,
    reason = "numbers of visitors and times of an event are far below 2^52"
)]

mod crowd;
#[cfg(test)]
mod fixture;
mod measured;
mod notes;
mod releases;
mod report;
mod sections;
mod sending;
mod target;
mod visitor;
mod wire;

pub(crate) use crowd::{CrowdEnd, CrowdPlan, VisitorCrowd};
pub(crate) use notes::RoomNotes;
pub(crate) use report::{RehearsalFacts, RehearsalReport};
pub(crate) use sending::send;
pub(crate) use target::RehearsalTarget;
