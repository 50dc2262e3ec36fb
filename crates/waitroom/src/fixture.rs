//! The room of tests, and its plans. A test that needs another room writes what is different: `Room { version, ..room(300) }`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::{Plan, Rate, Room, Settings, Slice, Timestamp, Window};

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

/// When the first of [`windows`] begins.
pub const WINDOWS_FROM: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The windows of the first minutes of a room with this rate, newest first, and the lowest ticket that each released, if it
/// released anybody.
pub fn windows(lowest: &[Option<u64>]) -> Vec<PlanRecord> {
    let window = |(minute, lowest): (u32, &Option<u64>)| {
        let (start, end) = (WINDOWS_FROM + MINUTE * minute, WINDOWS_FROM + MINUTE * (minute + 1));
        let window = Window { start, end };
        let rate = Rate::new(600).unwrap();
        let plan = Plan {
            number: u64::from(minute) + 1,
            window,
            releases_from: start,
            ahead: 0,
            rate,
            quota: rate.get(),
            valve_from: Timestamp::default(),
            needs_permits: false,
            made_at: start,
            planned_before: Timestamp::default(),
        };
        PlanRecord { plan, released: lowest.map_or(0, |_| rate.get().into()), lowest: *lowest }
    };
    let mut windows: Vec<_> = (0..).zip(lowest).map(window).collect();
    windows.reverse();
    windows
}
