//! The room of tests, and its plans. A test that needs another room writes what is different: `Room { version, ..room(300) }`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::{Plan, Rate, Room, Settings, Slice, Timestamp};

pub const MINUTE: Duration = Duration::from_mins(1);

/// What its operator decided.
pub fn settings(rate: u32) -> Settings {
    Settings::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(rate).unwrap(),
    )
}

/// A room that is on, with this rate.
pub fn room(rate: u32) -> Room {
    Room::new(settings(rate), "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
}

/// The first plan of such a room.
pub fn plan(rate: u32) -> Plan {
    Plan::due(&[], &room(rate), Timestamp::from_millis(1_000_000), MINUTE, MINUTE).unwrap()
}

/// What the ledger knows of plans that have released everybody whom they may.
pub fn complete<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<PlanRecord> {
    let complete = |plan: &Plan| PlanRecord { plan: *plan, released: plan.quota.into(), lowest: Some(1) };
    plans.into_iter().map(complete).collect()
}

/// When batches are released, and how many visitors.
pub fn releases(plan: &Plan) -> Vec<(Timestamp, u32)> {
    let batches = |slice: Slice| (0..slice.batches()).map(move |n| (slice.release_time(n), slice.size(n)));
    let mut releases: Vec<_> = plan.slices(MINUTE).flat_map(batches).collect();
    releases.sort();
    releases
}
