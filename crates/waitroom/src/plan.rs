//! How many visitors one window releases, and when.
//!
//! A [`Plan`] covers one [`Window`] of time. It consists of [`Slice`]s, one for each consumer, and a slice consists of
//! batches that are released at fixed instants. Everything is computed from the plan's four fields. So the trigger stores
//! only these, and every consumer computes the same instants.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::millis;
use crate::{Rate, Timestamp};

/// The most visitors in a batch: what SQS delivers in one request.
pub const BATCH: u32 = 10;

/// The most batches in a slice.
pub const SLICE_BATCHES: u32 = 100;

/// One minute of releasing, from `start` up to but not including `end`.
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
    /// The rate in force when the plan was made. If it falls later, the remaining batches become smaller.
    pub rate: Rate,
    /// The most visitors that this window releases: the rate, but at most one slice in a quiet room.
    pub quota: u32,
}

/// Whether visitors are expected, which decides how many slices a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Nobody waits and the last window released nobody. One slice is enough for visitors who join now.
    Quiet,
    Busy,
}

impl Plan {
    /// Whether no new plan is needed yet, because more than half of this window's length is left until its end.
    ///
    /// A plan that begins too far in the future does not count: a wrong clock made it.
    pub fn suffices(&self, now: Timestamp) -> bool {
        self.window.end.since(now) > self.window.length() / 2 && !self.is_from_a_wrong_clock(now)
    }

    fn is_from_a_wrong_clock(&self, now: Timestamp) -> bool {
        self.window.start > now + self.window.length()
    }

    /// The plan after `last`. Its window begins when the last one ends, or now if that is in the past.
    pub fn next(last: Option<&Self>, now: Timestamp, minute: Duration, rate: Rate, demand: Demand) -> Self {
        let end = last.filter(|last| !last.is_from_a_wrong_clock(now)).map_or(now, |last| last.window.end);
        let start = end.max(now);
        let quota = match demand {
            Demand::Quiet => rate.get().min(SLICE_BATCHES * BATCH),
            Demand::Busy => rate.get(),
        };
        Self {
            number: last.map_or(1, |last| last.number + 1),
            window: Window { start, end: start + minute },
            rate,
            quota,
        }
    }

    fn batches(&self) -> u32 {
        self.quota.div_ceil(BATCH)
    }

    fn slice_count(&self) -> u32 {
        self.batches().div_ceil(SLICE_BATCHES)
    }

    pub fn slices(&self) -> impl Iterator<Item = Slice> + use<> {
        let plan = *self;
        (0..plan.slice_count()).map(move |index| plan.slice(index))
    }

    fn slice(&self, index: u32) -> Slice {
        let people = SLICE_BATCHES * BATCH;
        let quota = (self.quota - index * people).min(people);
        Slice {
            // At most 270 slices, because the maximum rate is 270,000.
            id: SliceId { plan: self.number, index: u16::try_from(index).unwrap_or(u16::MAX) },
            window: self.window,
            rate: self.rate,
            quota,
            of: self.slice_count(),
            batches_a_second: self.batches_a_second(index, quota.div_ceil(BATCH)),
        }
    }

    /// How many batches this slice may release in one second while it catches up.
    ///
    /// All slices together release at most twice the plan's even share of a second, or one batch if that is more. The
    /// last slice, if it is shorter, gets a share according to its size. The full slices divide the rest.
    fn batches_a_second(&self, index: u32, batches: u32) -> u32 {
        let minute_seconds = 60;
        let twice_even = |batches: u32| (2 * batches / minute_seconds).max(1);
        let full = self.batches() / SLICE_BATCHES;
        let rest = self.batches() % SLICE_BATCHES;
        if index == full || full == 0 {
            return twice_even(batches);
        }
        let for_the_rest = if rest == 0 { 0 } else { twice_even(rest) };
        let own = twice_even(SLICE_BATCHES);
        own.min((twice_even(self.batches()) - for_the_rest) / full)
    }
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

/// The part of a plan that one consumer releases: at most 100 batches of at most ten visitors.
///
/// The trigger sends it to the consumer as JSON, so a new field needs a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    pub id: SliceId,
    pub window: Window,
    pub rate: Rate,
    pub quota: u32,
    /// How many slices the plan has. Their batches alternate, each slice offset from the others.
    of: u32,
    pub(crate) batches_a_second: u32,
}

impl Slice {
    pub fn batches(&self) -> u32 {
        self.quota.div_ceil(BATCH)
    }

    /// The size of batch `n`, counted from 0: ten, or fewer in the last batch.
    pub fn size(&self, n: u32) -> u32 {
        self.quota.saturating_sub(n * BATCH).min(BATCH)
    }

    /// When batch `n` is released: evenly over the window, each slice a little after the one before it.
    pub fn release_time(&self, n: u32) -> Timestamp {
        let steps = 2 * u64::from(self.of);
        let step = steps * u64::from(n) + 2 * u64::from(self.id.index) + 1;
        let whole = u128::from(millis(self.window.length()));
        // A slice that was read from JSON may have no batches.
        let all = (steps * u64::from(self.batches())).max(1);
        let into_window = whole * u128::from(step) / u128::from(all);
        // Less than the window's length, which fits a `u64`.
        self.window.start + Duration::from_millis(u64::try_from(into_window).unwrap_or(u64::MAX))
    }

    /// When the slice's time is over: half an interval after its last instant. That is half an interval before the first
    /// instant of the next window's slice with the same index. It is at most 0.3 s after the window, which is what a full
    /// slice needs: a short slice has long intervals and must not reach far into the next window.
    pub fn ends_at(&self) -> Timestamp {
        let shortest_interval = self.window.length() / SLICE_BATCHES;
        let last = self.release_time(self.batches().saturating_sub(1));
        (last + self.interval() / 2).min(self.window.end + shortest_interval / 2)
    }

    /// The time from one batch to the next.
    pub fn interval(&self) -> Duration {
        self.window.length() / self.batches().max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn plan(rate: u32) -> Plan {
        Plan::next(None, Timestamp::from_millis(1_000_000), MINUTE, Rate::new(rate).unwrap(), Demand::Busy)
    }

    fn sizes(slice: &Slice) -> Vec<u32> {
        (0..slice.batches()).map(|n| slice.size(n)).collect()
    }

    #[test]
    fn a_rate_of_3300_gives_three_slices_of_100_batches_and_one_of_30() {
        let batches: Vec<_> = plan(3300).slices().map(|slice| slice.batches()).collect();
        assert_eq!(batches, [100, 100, 100, 30]);
        assert!(plan(3300).slices().flat_map(|slice| sizes(&slice)).all(|size| size == 10));
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
    fn a_rate_of_25_gives_batches_of_10_10_and_5() {
        let slices: Vec<_> = plan(25).slices().collect();
        assert_eq!(slices.len(), 1);
        assert_eq!(sizes(&slices[0]), [10, 10, 5]);
        let seconds: Vec<_> =
            (0..3).map(|n| slices[0].release_time(n).since(slices[0].window.start).as_secs()).collect();
        assert_eq!(seconds, [10, 30, 50]);
    }

    #[test]
    fn a_quiet_room_gets_one_slice() {
        let rate = Rate::new(3300).unwrap();
        let quiet = Plan::next(None, Timestamp::default(), MINUTE, rate, Demand::Quiet);
        assert_eq!(quiet.slices().map(|slice| slice.quota).collect::<Vec<_>>(), [1000]);
    }

    #[test]
    fn windows_do_not_overlap_and_never_begin_in_the_past() {
        let rate = Rate::new(60).unwrap();
        let at = Timestamp::from_millis;
        let first = Plan::next(None, at(5_000), MINUTE, rate, Demand::Busy);
        assert_eq!(first.window, Window { start: at(5_000), end: at(65_000) });
        let early = Plan::next(Some(&first), at(60_000), MINUTE, rate, Demand::Busy);
        assert_eq!((early.number, early.window.start), (2, at(65_000)));
        let late = Plan::next(Some(&first), at(99_000), MINUTE, rate, Demand::Busy);
        assert_eq!((late.number, late.window.start), (2, at(99_000)));
    }

    #[test]
    fn a_plan_from_a_wrong_clock_is_replaced() {
        let rate = Rate::new(60).unwrap();
        let ahead = Plan::next(None, Timestamp::from_millis(9_000_000), MINUTE, rate, Demand::Busy);
        let now = Timestamp::from_millis(1_000_000);
        assert!(!ahead.suffices(now));
        let replacement = Plan::next(Some(&ahead), now, MINUTE, rate, Demand::Busy);
        assert_eq!((replacement.number, replacement.window.start), (2, now));
        assert!(replacement.suffices(now) && !replacement.suffices(now + MINUTE));
    }

    #[test]
    fn a_slice_ends_at_most_300_ms_after_its_window() {
        for rate in [1, 7, 1001, 2010, 3005, 270_000] {
            for slice in plan(rate).slices() {
                let over = slice.ends_at().since(slice.window.end);
                assert!(over <= Duration::from_millis(300), "{over:?} at {rate}");
                assert!(slice.release_time(slice.batches() - 1) < slice.ends_at());
            }
        }
    }

    #[test]
    fn slice_ids_are_displayed_and_parsed() {
        let id = SliceId { plan: 42, index: 7 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "42", "42.", ".7", "42.7.1", "42.-1", "a.b"] {
            assert_eq!(wrong.parse::<SliceId>(), Err(SliceIdError), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_slices_add_up_to_the_rate(rate in 1..=270_000u32) {
            let slices: Vec<_> = plan(rate).slices().collect();
            prop_assert_eq!(slices.iter().flat_map(sizes).sum::<u32>(), rate);
            prop_assert!(slices.iter().all(|slice| slice.batches() <= SLICE_BATCHES));
        }

        #[test]
        fn no_second_releases_more_than_twice_its_even_share(rate in prop_oneof![1..2000u32, 1..=270_000u32]) {
            let mut leaving: Vec<_> = plan(rate).slices()
                .flat_map(|slice| (0..slice.batches()).map(move |n| (slice.release_time(n), slice.size(n))))
                .collect();
            leaving.sort();
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
    }
}
