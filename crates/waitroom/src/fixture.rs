//! The room of the tests in this crate, and its plans.

use std::time::Duration;

use crate::{Plan, Rate, Room, Settings, Slice, Timestamp};

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
    let minute = Duration::from_mins(1);
    Plan::due(&[], &room(rate), Timestamp::from_millis(1_000_000), minute, minute).unwrap()
}

/// When batches are released, and how many visitors.
pub(crate) fn releases(plan: &Plan) -> Vec<(Timestamp, u32)> {
    let batches = |slice: Slice| (0..slice.batches()).map(move |n| (slice.release_time(n), slice.size(n)));
    let mut releases: Vec<_> = plan.slices().flat_map(batches).collect();
    releases.sort();
    releases
}
