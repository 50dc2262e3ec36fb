//! The room of the tests in this crate, and its plans.

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::{Plan, Rate, Room, Settings, Slice, Timestamp};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// A room that is on, with this rate.
pub(crate) fn room(rate: u32) -> Room {
    let settings = Settings::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(rate).unwrap(),
    );
    Room::new(settings, "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
}

/// The first plan of such a room.
pub(crate) fn plan(rate: u32) -> Plan {
    Plan::due(&[], &room(rate), Timestamp::from_millis(1_000_000), MINUTE, MINUTE).unwrap()
}

/// What the ledger knows of plans that have released everybody whom they may.
pub(crate) fn complete<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<PlanRecord> {
    let complete = |plan: &Plan| PlanRecord { plan: *plan, released: plan.quota.into(), lowest: Some(1) };
    plans.into_iter().map(complete).collect()
}

/// When batches are released, and how many visitors.
pub(crate) fn releases(plan: &Plan) -> Vec<(Timestamp, u32)> {
    let batches = |slice: Slice| (0..slice.batches()).map(move |n| (slice.release_time(n), slice.size(n)));
    let mut releases: Vec<_> = plan.slices(MINUTE).flat_map(batches).collect();
    releases.sort();
    releases
}
