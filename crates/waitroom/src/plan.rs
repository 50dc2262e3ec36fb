//! How many visitors one window releases, and when.
//!
//! A [`Plan`] covers one [`Window`] of time under one change of the valve. It consists of [`Slice`]s, one for each
//! consumer, and a slice consists of batches that are released at fixed instants. Everything is computed from the plan's
//! fields. So the trigger stores only these, and every consumer computes the same instants.
//!
//! When the next change of the valve holds, the window ends there, and the next plan begins. By then the window may have
//! released up to a batch for each slice more than the time that has passed allows. The next plan makes up for that: it
//! begins to release a little later. So over any time, no more are released than the rate allows and one batch for each
//! slice, however often the rate changes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::millis;
use crate::{Rate, Room, Timestamp, Valve, ValveChange};

/// The most visitors in a batch: what SQS delivers in one request.
pub const BATCH: u32 = 10;

/// The most batches in a slice of a minute. A window of half a minute has half as many, so that a consumer has the same
/// time for each.
pub const SLICE_BATCHES: u32 = 100;

/// A time of releasing, from `start` up to but not including `end`: about a minute, or less if the valve changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Window {
    pub fn length(&self) -> Duration {
        self.end.since(self.start)
    }
}

/// How many visitors one window releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Plans are numbered in sequence, so that of two concurrent triggers only one can write the next plan.
    pub number: u64,
    pub window: Window,
    /// The instant of the first batch: the window's start, or later if the window before was ahead of its rate.
    #[serde(default)]
    pub releases_from: Timestamp,
    /// How many visitors a minute this window releases.
    pub rate: Rate,
    /// The most visitors that this window releases.
    pub quota: u32,
    /// Identifies the change of the valve under which the window was planned. The window ends at the next change.
    #[serde(default)]
    pub valve_from: Timestamp,
    /// When it was made. Every change of the valve that was in force by then has a plan, or releases nobody.
    #[serde(default)]
    pub made_at: Timestamp,
}

impl Plan {
    /// The plan that is due at `now`, if one is. `recent` are the latest plans, newest first. `minute` is the time that
    /// the rate is meant for.
    ///
    /// A plan is due when the valve has changed, or is about to, since the newest plan was made. Without a change, it is
    /// due when the newest window ends within `horizon`. After writing it, another may be due.
    pub fn due(
        recent: &[Self],
        room: &Room,
        now: Timestamp,
        minute: Duration,
        horizon: Duration,
    ) -> Option<Self> {
        let number = recent.first().map_or(1, |newest| newest.number + 1);
        let made = |plan: Self| Some(Self { made_at: now, ..plan });
        // A plan that begins too far in the future, and not with an opening, was made by a wrong clock.
        let has_right_clock =
            |plan: &&Self| plan.window.start <= now + 2 * minute || plan.window.start == plan.valve_from;
        let recent: Vec<_> = recent.iter().filter(has_right_clock).collect();
        let last = recent.first().copied();
        // What a plan that never began was to make up for is still to be made up for.
        let owed = |rate| last.map_or(Duration::ZERO, |plan| plan.ahead(plan.window.start, rate, minute));
        // A plan for a change that was withdrawn releases nobody.
        let recent: Vec<_> = recent.into_iter().filter(|plan| room.valves.knows(plan.valve_from)).collect();
        let Some(newest) = recent.first() else {
            let (change, rate) = next_open(room, last.map(|plan| plan.made_at), now, minute)?;
            return made(Self::starting(number, change, rate, owed(rate), change.max(now), now, minute));
        };
        let Some(next) = room.valves.after(newest.valve_from) else {
            let Valve::Open(rate) = room.valve_at(newest.valve_from.max(now)).valve else { return None };
            if newest.window.end.since(now) > horizon {
                return None;
            }
            let ahead = newest.ahead(newest.window.end, rate, minute);
            let start = newest.window.end.max(now);
            return made(Self::starting(number, newest.valve_from, rate, ahead, start, now, minute));
        };
        let (change, rate) = next_open(room, Some(newest.valve_from), now, minute)?;
        // The plan that was stopped may be older than those that are known. Then the last plan was made when it was not.
        let stopped = recent.iter().find(|plan| plan.window.start <= next.from);
        let ahead = stopped
            .map_or_else(|| owed(rate), |plan| plan.ahead(next.from.min(plan.window.end), rate, minute));
        made(Self::starting(number, change, rate, ahead, change.max(now), newest.window.end, minute))
    }

    /// `ahead` is how far the windows before were ahead of their rate, in time at this rate. The window ends a number of
    /// minutes before or after `grid`, so that windows end when the trigger runs.
    fn starting(
        number: u64,
        valve_from: Timestamp,
        rate: Rate,
        ahead: Duration,
        start: Timestamp,
        grid: Timestamp,
        minute: Duration,
    ) -> Self {
        let releases_from = start + ahead;
        // A window of a low rate after a high one may release nobody.
        let earliest_end = if ahead > minute { start } else { releases_from } + minute / 2;
        let a_minute = millis(minute).max(1);
        let minutes = |count: u64| minute * u32::try_from(count).unwrap_or(u32::MAX);
        let end = if earliest_end > grid {
            grid + minutes(millis(earliest_end.since(grid)).div_ceil(a_minute))
        } else {
            grid - minutes(millis(grid.since(earliest_end)) / a_minute)
        };
        let quota = u64::from(rate.get()) * millis(end.since(releases_from));
        Self {
            number,
            window: Window { start, end },
            releases_from,
            rate,
            // At most one and a half times the highest rate, which fits a u32.
            quota: u32::try_from(quota.div_ceil(a_minute)).unwrap_or(u32::MAX),
            valve_from,
            made_at: Timestamp::default(),
        }
    }

    /// How long this plan is ahead of its rate at `at`, in time at another rate: what it releases before that instant,
    /// less what its rate allows.
    fn ahead(&self, at: Timestamp, rate: Rate, minute: Duration) -> Duration {
        let by_slice = |slice: Slice| -> u64 {
            let due = (0..slice.batches()).take_while(|n| slice.release_time(*n) < at);
            due.map(|n| u64::from(slice.size(n))).sum()
        };
        let released: u64 = self.slices().map(by_slice).sum();
        let allowed = u64::from(self.rate.get()) * millis(at.since(self.releases_from));
        // Negative time: the plan has not begun to release, because the window before it was ahead.
        let still_ahead = u64::from(self.rate.get()) * millis(self.releases_from.since(at));
        let ahead = (released * millis(minute) + still_ahead).saturating_sub(allowed);
        Duration::from_millis(ahead.div_ceil(u64::from(rate.get())))
    }

    fn batches(&self) -> u32 {
        self.quota.div_ceil(BATCH)
    }

    /// The batches of a full slice, in proportion to the window's length.
    fn slice_batches(&self) -> u32 {
        let batches = u64::from(SLICE_BATCHES) * u64::from(self.quota);
        u32::try_from(batches.div_ceil(u64::from(self.rate.get()))).unwrap_or(u32::MAX).max(1)
    }

    fn slice_count(&self) -> u32 {
        self.batches().div_ceil(self.slice_batches())
    }

    pub fn slices(&self) -> impl Iterator<Item = Slice> + use<> {
        let plan = *self;
        (0..plan.slice_count()).map(move |index| plan.slice(index))
    }

    fn slice(&self, index: u32) -> Slice {
        let people = self.slice_batches() * BATCH;
        let quota = (self.quota - index * people).min(people);
        Slice {
            // At most 270 slices, because the maximum rate is 270,000.
            id: SliceId { plan: self.number, index: u16::try_from(index).unwrap_or(u16::MAX) },
            window: self.window,
            releases_from: self.releases_from,
            rate: self.rate,
            quota,
            valve_from: self.valve_from,
            of: self.slice_count(),
            batches_a_second: self.batches_a_second(index, quota.div_ceil(BATCH)),
            second: self.second(),
        }
    }

    /// A sixtieth of the minute that the rate is meant for, in milliseconds: 1,000, unless tests shorten the minute.
    fn second(&self) -> u64 {
        let length = millis(self.window.end.since(self.releases_from.max(self.window.start)));
        let sixtieths = 60 * u64::from(self.quota).max(1);
        ((length * u64::from(self.rate.get()) + sixtieths / 2) / sixtieths).max(1)
    }

    /// How many batches this slice may release in one second while it catches up.
    ///
    /// All slices together release at most twice the plan's even share of a second, or one batch if that is more. The
    /// last slice, if it is shorter, gets a share according to its size. The full slices divide the rest.
    fn batches_a_second(&self, index: u32, batches: u32) -> u32 {
        let seconds = u64::from(self.quota) * 60;
        let twice_even = |batches: u32| {
            let twice = 2 * u64::from(batches) * u64::from(self.rate.get());
            u32::try_from(twice / seconds.max(1)).unwrap_or(u32::MAX).max(1)
        };
        let full = self.batches() / self.slice_batches();
        let rest = self.batches() % self.slice_batches();
        if index == full || full == 0 {
            return twice_even(batches);
        }
        let for_the_rest = if rest == 0 { 0 } else { twice_even(rest) };
        let own = twice_even(self.slice_batches());
        own.min((twice_even(self.batches()) - for_the_rest) / full)
    }
}

/// The instant and rate of the change to plan for: the one in force if it is later than `after`, otherwise the next that
/// opens within the next two and a half minutes. So one regular run may fail before an opening, and the next may be late.
fn next_open(
    room: &Room,
    after: Option<Timestamp>,
    now: Timestamp,
    minute: Duration,
) -> Option<(Timestamp, Rate)> {
    let in_force = room.valve_at(now);
    let is_new = |change: &ValveChange| after.is_none_or(|after| change.from > after);
    let to_come = room.valves.all_after(in_force.from).filter(|change| change.from <= now + minute * 5 / 2);
    Some(in_force).into_iter().chain(to_come).filter(is_new).find_map(|change| match change.valve {
        Valve::Open(rate) => Some((change.from, rate)),
        Valve::Closed => None,
    })
}

/// Identifies a slice. Every admission contains the ID of the slice that wrote it, so that only that slice counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SliceId {
    pub plan: u64,
    pub index: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a slice ID has the form <plan>.<index>")]
pub struct SliceIdError;

impl fmt::Display for SliceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plan, self.index)
    }
}

impl FromStr for SliceId {
    type Err = SliceIdError;

    fn from_str(text: &str) -> Result<Self, SliceIdError> {
        let (plan, index) = text.split_once('.').ok_or(SliceIdError)?;
        Ok(Self {
            plan: plan.parse().map_err(|_| SliceIdError)?,
            index: index.parse().map_err(|_| SliceIdError)?,
        })
    }
}

impl TryFrom<String> for SliceId {
    type Error = SliceIdError;

    fn try_from(text: String) -> Result<Self, SliceIdError> {
        text.parse()
    }
}

impl From<SliceId> for String {
    fn from(id: SliceId) -> Self {
        id.to_string()
    }
}

/// The part of a plan that one consumer releases: at most 100 batches a minute of at most ten visitors.
///
/// The trigger sends it to the consumer as JSON, so a new field needs a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    pub id: SliceId,
    pub window: Window,
    #[serde(default)]
    pub releases_from: Timestamp,
    pub rate: Rate,
    pub quota: u32,
    /// See [`Plan::valve_from`].
    #[serde(default)]
    pub valve_from: Timestamp,
    /// How many slices the plan has. Their batches alternate, each slice offset from the others.
    of: u32,
    pub(crate) batches_a_second: u32,
    #[serde(default = "one_second")]
    second: u64,
}

fn one_second() -> u64 {
    1000
}

impl Slice {
    pub fn batches(&self) -> u32 {
        self.quota.div_ceil(BATCH)
    }

    /// How many slices the plan has.
    pub fn slices(&self) -> u32 {
        self.of
    }

    /// The size of batch `n`, counted from 0. All are as large as each other, as far as whole visitors allow.
    pub fn size(&self, n: u32) -> u32 {
        self.released_before(n + 1) - self.released_before(n)
    }

    /// How many the batches before `n` release.
    fn released_before(&self, n: u32) -> u32 {
        let released = u64::from(self.quota) * u64::from(n) / u64::from(self.batches().max(1));
        // At most the quota.
        u32::try_from(released).map_or(self.quota, |released| released.min(self.quota))
    }

    fn starts_at(&self) -> Timestamp {
        self.releases_from.max(self.window.start)
    }

    /// When batch `n` is released: evenly over the window, each slice a little after the one before it.
    pub fn release_time(&self, n: u32) -> Timestamp {
        let step = u64::from(self.of) * u64::from(n) + u64::from(self.id.index);
        let whole = u128::from(millis(self.window.end.since(self.starts_at())));
        // A slice that was read from JSON may have no batches.
        let all = (u64::from(self.of) * u64::from(self.batches())).max(1);
        // Rounded up, so that no batch is early by a part of a millisecond.
        let into_window = (whole * u128::from(step)).div_ceil(u128::from(all));
        // Less than the window's length, which fits a `u64`.
        self.starts_at() + Duration::from_millis(u64::try_from(into_window).unwrap_or(u64::MAX))
    }

    /// When the slice's time is over: 0.3 s after its window. Its last batches may be a little late.
    pub fn ends_at(&self) -> Timestamp {
        self.window.end + self.second() * 3 / 10
    }

    /// The time from one batch to the next.
    pub fn interval(&self) -> Duration {
        self.window.end.since(self.starts_at()) / self.batches().max(1)
    }

    /// A second, unless tests shorten the minute.
    pub fn second(&self) -> Duration {
        Duration::from_millis(self.second)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::RoomState;
    use crate::fixture::room;

    const MINUTE: Duration = Duration::from_mins(1);
    /// Of a regular run.
    const HORIZON: Duration = Duration::from_secs(55);
    /// Of a run after a change.
    const SOON: Duration = Duration::from_secs(5);
    const NOTICE: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn order(room: &mut Room, now: Timestamp, change: impl FnOnce(&mut Room)) {
        // As stores do.
        *room = Room::clone(&Arc::new(room.clone()).at(now));
        let before = room.clone();
        change(room);
        room.version += 1;
        room.schedule_valve(&before, now, NOTICE);
    }

    fn set_rate(rate: u32) -> impl FnOnce(&mut Room) {
        move |room| room.settings.rate = Rate::new(rate).unwrap()
    }

    fn plan(rate: u32) -> Plan {
        Plan::due(&[], &room(rate), at(1_000_000), MINUTE, HORIZON).unwrap()
    }

    fn sizes(slice: &Slice) -> Vec<u32> {
        (0..slice.batches()).map(|n| slice.size(n)).collect()
    }

    /// When batches are released, and how many visitors.
    fn releases(plan: &Plan) -> Vec<(Timestamp, u32)> {
        let batches =
            |slice: Slice| (0..slice.batches()).map(move |n| (slice.release_time(n), slice.size(n)));
        let mut releases: Vec<_> = plan.slices().flat_map(batches).collect();
        releases.sort();
        releases
    }

    #[test]
    fn a_rate_of_3300_gives_three_slices_of_100_batches_and_one_of_30() {
        let batches: Vec<_> = plan(3300).slices().map(|slice| slice.batches()).collect();
        assert_eq!(batches, [100, 100, 100, 30]);
        assert!(plan(3300).slices().flat_map(|slice| sizes(&slice)).all(|size| size == 10));
        assert_eq!(Rate::ONE_SLICE.get(), SLICE_BATCHES * BATCH);
    }

    #[test]
    fn a_slice_is_sent_as_json() {
        for slice in plan(3300).slices() {
            let sent = serde_json::to_value(slice).unwrap();
            assert_eq!(sent["id"], slice.id.to_string());
            assert_eq!(serde_json::from_value::<Slice>(sent).unwrap(), slice);
        }
        let empty =
            r#"{"id":"1.0","window":{"start":5,"end":5},"rate":1,"quota":0,"of":0,"batches_a_second":0}"#;
        let empty: Slice = serde_json::from_str(empty).unwrap();
        assert_eq!(empty.release_time(0), empty.window.start, "an empty slice does not panic");
    }

    #[test]
    fn a_rate_of_25_gives_three_even_batches() {
        let plan = plan(25);
        let since = |at: Timestamp| at.since(plan.window.start).as_secs();
        let releases: Vec<_> = releases(&plan).into_iter().map(|(at, size)| (since(at), size)).collect();
        assert_eq!(releases, [(0, 8), (20, 8), (40, 9)]);
    }

    #[test]
    fn windows_do_not_overlap_and_never_begin_in_the_past() {
        let room = room(60);
        let next = |last: &Plan, now| Plan::due(&[*last], &room, at(now), MINUTE, HORIZON);
        let first = Plan::due(&[], &room, at(5_000), MINUTE, HORIZON).unwrap();
        assert_eq!(first.window, Window { start: at(5_000), end: at(65_000) });
        assert_eq!((first.number, first.quota), (1, 60));
        assert_eq!(next(&first, 9_000), None, "more than 55 seconds are left");
        let early = next(&first, 60_000).unwrap();
        assert_eq!((early.number, early.window), (2, Window { start: at(65_000), end: at(120_000) }));
        assert_eq!(early.quota, 55);
        let late = next(&first, 99_000).unwrap();
        assert_eq!((late.number, late.window), (2, Window { start: at(99_000), end: at(159_000) }));
    }

    #[test]
    fn a_plan_from_a_wrong_clock_is_replaced() {
        let room = room(60);
        let ahead = Plan::due(&[], &room, at(9_000_000), MINUTE, HORIZON).unwrap();
        let now = at(1_000_000);
        let replacement = Plan::due(&[ahead], &room, now, MINUTE, HORIZON).unwrap();
        assert_eq!((replacement.number, replacement.window.start), (2, now));
        assert_eq!(Plan::due(&[replacement, ahead], &room, now, MINUTE, HORIZON), None);
    }

    #[test]
    fn a_changed_rate_begins_a_new_window_when_it_holds() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(19_000), set_rate(600));
        let second = Plan::due(&[first], &room, at(19_010), MINUTE, HORIZON).unwrap();
        // By second 20, the first window has released 20 visitors, which is exactly what its rate allows.
        assert_eq!(second.window, Window { start: at(20_000), end: at(60_000) });
        assert_eq!(
            (second.number, second.valve_from, second.rate.get(), second.quota),
            (2, at(20_000), 600, 400)
        );
        assert_eq!(second.slices().map(|slice| slice.batches()).collect::<Vec<_>>(), [40]);
        assert_eq!(Plan::due(&[second, first], &room, at(21_000), MINUTE, SOON), None);
        // Late in a window, the new one lasts until the end of the next minute.
        order(&mut room, at(44_000), set_rate(3000));
        let third = Plan::due(&[second, first], &room, at(44_010), MINUTE, HORIZON).unwrap();
        assert_eq!((third.window.start, third.window.end), (at(45_000), at(120_000)));
        assert_eq!(third.quota, 3750);
        assert_eq!(third.slices().map(|slice| slice.batches()).collect::<Vec<_>>(), [125, 125, 125]);
    }

    #[test]
    fn a_window_that_was_ahead_delays_the_next_one() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(20_000), set_rate(120));
        let second = Plan::due(&[first], &room, at(20_010), MINUTE, HORIZON).unwrap();
        // By second 21, 30 visitors were released and 21 are allowed: nine too many, which the new rate makes up in 4.5 s.
        assert_eq!((second.window.start, second.releases_from), (at(21_000), at(25_500)));
        order(&mut room, at(22_000), set_rate(60));
        let third = Plan::due(&[second, first], &room, at(22_010), MINUTE, HORIZON).unwrap();
        // Two seconds at 120 a minute allow four of the nine.
        assert_eq!((third.window.start, third.releases_from), (at(23_000), at(28_000)));
    }

    #[test]
    fn a_paused_room_has_no_plan_and_the_next_one_begins_with_the_order() {
        let mut room = room(600);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), |room| room.state = RoomState::Paused);
        for now in [10_000, 11_000, 60_000, 600_000] {
            assert_eq!(Plan::due(&[first], &room, at(now), MINUTE, HORIZON), None, "{now}");
        }
        order(&mut room, at(625_000), |room| room.state = RoomState::On);
        let second = Plan::due(&[first], &room, at(625_001), MINUTE, HORIZON).unwrap();
        assert_eq!(second.window, Window { start: at(626_000), end: at(660_000) });
    }

    #[test]
    fn of_several_changes_the_one_in_force_is_planned_and_then_the_next() {
        let mut room = room(60);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), set_rate(600));
        order(&mut room, at(10_900), set_rate(1200));
        let second = Plan::due(&[first], &room, at(10_950), MINUTE, HORIZON).unwrap();
        assert_eq!((second.rate.get(), second.valve_from), (600, at(11_000)));
        let third = Plan::due(&[second, first], &room, at(10_950), MINUTE, HORIZON).unwrap();
        assert_eq!((third.rate.get(), third.valve_from), (1200, at(11_900)));
        assert_eq!(Plan::due(&[third, second], &room, at(10_950), MINUTE, SOON), None);
        let late = Plan::due(&[first], &room, at(30_000), MINUTE, HORIZON).unwrap();
        assert_eq!((late.rate.get(), late.window.start), (1200, at(30_000)));
    }

    #[test]
    fn slice_ids_are_displayed_and_parsed() {
        let id = SliceId { plan: 42, index: 7 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "42", "42.", ".7", "42.7.1", "42.-1", "a.b"] {
            assert_eq!(wrong.parse::<SliceId>(), Err(SliceIdError), "{wrong}");
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum SomeOrder {
        On(u32),
        Pause,
        OpenIn(u64),
        SetRate(u32),
    }

    fn any_order() -> impl Strategy<Value = SomeOrder> {
        let rate = || prop_oneof![1..100u32, 1..8000u32];
        prop_oneof![
            3 => rate().prop_map(SomeOrder::On),
            1 => Just(SomeOrder::Pause),
            2 => (0..200_000u64).prop_map(SomeOrder::OpenIn),
            1 => rate().prop_map(SomeOrder::SetRate),
        ]
    }

    impl SomeOrder {
        fn apply(self, room: &mut Room, now: Timestamp) {
            match self {
                Self::On(rate) => {
                    room.turn(RoomState::On);
                    set_rate(rate)(room);
                }
                Self::Pause => room.turn(RoomState::Paused),
                Self::OpenIn(millis) => room.open_at(now + Duration::from_millis(millis)),
                Self::SetRate(rate) => set_rate(rate)(room),
            }
        }
    }

    #[test]
    fn an_opening_is_planned_two_and_a_half_minutes_ahead() {
        let mut room = room(600);
        let first = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        order(&mut room, at(10_000), |room| room.open_at(at(600_000)));
        for now in [10_000, 11_000, 60_000, 449_000] {
            assert_eq!(Plan::due(&[first], &room, at(now), MINUTE, HORIZON), None, "{now}");
        }
        let opening = Plan::due(&[first], &room, at(451_000), MINUTE, HORIZON).unwrap();
        assert_eq!((opening.window.start, opening.rate.get()), (at(600_002), 600));
        assert_eq!(Plan::due(&[opening, first], &room, at(455_000), MINUTE, HORIZON), None);
        // With another rate, it is planned again.
        order(&mut room, at(500_000), set_rate(1200));
        let faster = Plan::due(&[opening, first], &room, at(500_001), MINUTE, HORIZON).unwrap();
        assert_eq!((faster.number, faster.window.start, faster.rate.get()), (3, at(600_003), 1200));
        order(&mut room, at(510_000), |room| room.turn(RoomState::Paused));
        assert_eq!(Plan::due(&[faster, opening], &room, at(511_000), MINUTE, HORIZON), None);
    }

    #[test]
    fn plans_that_were_withdrawn_hide_neither_a_running_window_nor_what_it_was_ahead() {
        let mut room = room(60);
        let mut plans = vec![Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap()];
        // By second 21, when it closes, 30 visitors were released and 21 are allowed.
        for (now, rate) in [(20_000, 60), (20_300, 120), (20_600, 240)] {
            order(&mut room, at(now), |room| {
                room.open_at(at(60_000));
                set_rate(rate)(room);
            });
            let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
            plans.push(Plan::due(&recent, &room, at(now + 1), MINUTE, SOON).unwrap());
            assert_eq!(plans.last().unwrap().window.start, room.valves.last().unwrap().from, "{now}");
        }
        order(&mut room, at(20_800), |room| room.turn(RoomState::Paused));
        assert_eq!(
            Plan::due(&[plans[3], plans[2]], &room, at(20_900), MINUTE, SOON),
            None,
            "the first one runs"
        );
        order(&mut room, at(25_000), |room| room.turn(RoomState::On));
        let on = Plan::due(&[plans[3], plans[2]], &room, at(25_001), MINUTE, SOON).unwrap();
        assert_eq!((on.window.start, on.rate.get()), (at(26_000), 240));
        assert_eq!(on.releases_from, at(26_000 + 9 * 250), "nine too many, at four a second");
    }

    #[test]
    fn a_window_makes_up_for_one_that_is_older_than_the_latest_two() {
        let mut room = room(24);
        // By second 10, when it closes, 8 visitors were released and 4 are allowed.
        let running = Plan::due(&[], &room, at(0), MINUTE, HORIZON).unwrap();
        let following = Plan::due(&[running], &room, at(6000), MINUTE, HORIZON).unwrap();
        order(&mut room, at(9000), |room| room.open_at(at(70_000)));
        let opening = Plan::due(&[following, running], &room, at(9001), MINUTE, SOON).unwrap();
        assert_eq!((following.window.start, opening.window.start), (at(60_000), at(70_002)));
        order(&mut room, at(20_000), |room| room.turn(RoomState::On));
        let on = Plan::due(&[opening, following], &room, at(20_001), MINUTE, SOON).unwrap();
        assert_eq!(on.releases_from.since(on.window.start), Duration::from_secs(10), "four, at 24 a minute");
    }

    proptest! {
        /// The trigger runs every minute, and one of its runs fails.
        #[test]
        fn an_opening_releases_nobody_before_and_the_rate_from_then_on(
            first in 1..8000u32,
            opens in 200_000..900_000u64,
            orders in prop::collection::vec((1..150_000u64, 1..8000u32), 0..6),
            lost in 0..16u64,
        ) {
            let (mut room, mut plans) = (room(first), Vec::<Plan>::new());
            order(&mut room, at(0), |room| room.open_at(at(opens)));
            let mut now = 0;
            let orders = orders.into_iter().map(|(pause, rate)| { now += pause; (now, Some(rate)) });
            let minutes = (0..20).filter(|minute| *minute != lost).map(|minute| (30_000 + minute * 60_000, None));
            let mut runs: Vec<_> = orders.filter(|(at, _)| at + 2000 < opens).chain(minutes).collect();
            runs.sort_unstable();
            for (now, rate) in runs {
                if let Some(rate) = rate {
                    order(&mut room, at(now), set_rate(rate));
                }
                let horizon = if rate.is_some() { SOON } else { HORIZON };
                loop {
                    let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
                    let Some(plan) = Plan::due(&recent, &room, at(now), MINUTE, horizon) else { break };
                    plans.push(plan);
                }
            }
            let held = |at: Timestamp| room.valve_at(at).from;
            let released: Vec<_> = plans.iter().flat_map(|plan| {
                let from = plan.valve_from;
                releases(plan).into_iter().filter(move |(at, _)| held(*at) == from).map(|(at, size)| (at.as_millis(), size))
            }).collect();
            let between = |from: u64, until: u64| -> u32 {
                released.iter().filter(|(at, _)| (from..until).contains(at)).map(|(_, size)| size).sum()
            };
            prop_assert_eq!(between(1000, opens), 0);
            let rate = room.settings.rate.get();
            let (after, slack) = (between(opens, opens + 20_000), 11 * rate.div_ceil(1000));
            prop_assert!(after.abs_diff(rate / 3) <= slack, "{after} at {rate}");
        }

        #[test]
        fn the_slices_add_up_to_the_rate(rate in 1..=270_000u32) {
            let slices: Vec<_> = plan(rate).slices().collect();
            prop_assert_eq!(slices.iter().flat_map(sizes).sum::<u32>(), rate);
            prop_assert!(slices.iter().all(|slice| slice.batches() <= SLICE_BATCHES));
        }

        #[test]
        fn no_second_releases_more_than_twice_its_even_share(rate in prop_oneof![1..2000u32, 1..=270_000u32]) {
            let leaving = releases(&plan(rate));
            let window = plan(rate).window;
            prop_assert!(leaving.iter().all(|&(at, _)| window.start <= at && at < window.end));
            let mut oldest = 0;
            let mut in_second = 0;
            for &(at, size) in &leaving {
                in_second += size;
                while at.since(leaving[oldest].0) >= Duration::from_secs(1) {
                    in_second -= leaving[oldest].1;
                    oldest += 1;
                }
                prop_assert!(in_second <= BATCH || in_second * 60 <= 2 * rate, "{in_second} in one second");
            }
        }

        #[test]
        fn slices_that_catch_up_together_release_at_most_twice_the_even_share(rate in 1..=270_000u32) {
            let plan = plan(rate);
            let a_second: u32 = plan.slices().map(|slice| slice.batches_a_second).sum();
            prop_assert!(a_second == 1 || a_second * 60 <= 2 * plan.batches(), "{a_second} batches");
            for slice in plan.slices() {
                let interval = slice.interval().as_secs_f64();
                prop_assert!(interval * f64::from(slice.batches_a_second) >= 1.0 || slice.batches_a_second * 60 > slice.batches());
            }
        }

        /// Plans on virtual time. Orders come at random instants, and the trigger runs every minute and with every order.
        #[test]
        fn however_often_the_rate_changes_no_more_are_released_than_it_allows(
            first in 1..8000u32,
            orders in prop::collection::vec((prop_oneof![0..3000u64, 0..40_000u64], any_order()), 0..20),
        ) {
            let mut room = room(first);
            let mut runs: Vec<(u64, Option<SomeOrder>)> = (0..15).map(|minute| (minute * 60_000, None)).collect();
            let mut now = 0;
            for (pause, wanted) in orders {
                now += pause;
                runs.push((now, Some(wanted)));
            }
            runs.sort_by_key(|(now, _)| *now);
            let mut plans = Vec::<Plan>::new();
            let mut changes = vec![(0, first)];
            for (now, wanted) in runs {
                if let Some(wanted) = wanted {
                    order(&mut room, at(now), |room| wanted.apply(room, at(now)));
                    changes.retain(|(from, _)| *from < now + 1000);
                    for change in room.valves.all_after(at(changes.last().unwrap().0)) {
                        let rate = if let Valve::Open(rate) = change.valve { rate.get() } else { 0 };
                        changes.push((change.from.as_millis(), rate));
                    }
                }
                let horizon = if wanted.is_some() { SOON } else { HORIZON };
                loop {
                    let recent: Vec<_> = plans.iter().rev().take(2).copied().collect();
                    let Some(plan) = Plan::due(&recent, &room, at(now), MINUTE, horizon) else { break };
                    let planned = changes.iter().find(|(from, _)| *from == plan.valve_from.as_millis()).unwrap();
                    prop_assert_eq!(planned.1, plan.rate.get());
                    let length = plan.window.length();
                    prop_assert!(length >= MINUTE / 2 && length < MINUTE * 5 / 2, "{length:?}");
                    plans.push(plan);
                }
            }
            let valve_from = |now: u64| changes.iter().rev().find(|(from, _)| *from <= now).unwrap().0;
            let mut released: Vec<(u64, u32)> = plans.iter().flat_map(|plan| {
                let held = plan.valve_from.as_millis();
                releases(plan).into_iter().map(|(at, size)| (at.as_millis(), size)).filter(move |(at, _)| valve_from(*at) == held)
            }).collect();
            released.sort_unstable();
            // From any change on, until any later instant. The quota of a window is rounded up, which is one visitor.
            for &(from, _) in &changes {
                let mut total = 0;
                let slices = changes.iter().map(|(_, rate)| u64::from(rate.div_ceil(1000))).max().unwrap();
                for &(until, size) in released.iter().filter(|(at, _)| *at >= from) {
                    total += u64::from(size);
                    let spans = changes.iter().zip(changes.iter().skip(1).map(|(next, _)| *next).chain([u64::MAX]));
                    let allowed: u64 = spans.map(|((start, rate), end)| {
                        end.min(until).saturating_sub((*start).max(from)) * u64::from(*rate)
                    }).sum();
                    prop_assert!(total * 60_000 <= allowed + slices.max(1) * (10 + 1) * 60_000, "{total} from {from} to {until}, {} allowed", allowed / 60_000);
                }
            }
        }
    }
}
