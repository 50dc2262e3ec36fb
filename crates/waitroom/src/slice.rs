//! How a plan is cut into slices, one for each consumer, and when each batch of a slice is released.
//!
//! Everything is computed from the plan's fields. So the trigger stores only these, and every consumer computes the same
//! instants.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::newtypes::{FormError, stored_as_text};
use crate::time::millis;
use crate::{Plan, Rate, Timestamp, Window};

/// The most visitors in a batch: what SQS delivers in one request.
pub const BATCH: u32 = 10;

/// The most batches in a slice of a minute. A window of half a minute has half as many, so that a consumer has the same
/// time for each.
pub const SLICE_BATCHES: u32 = 100;

impl Plan {
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

    /// `minute` is the time that the rate is meant for.
    pub fn slices(&self, minute: Duration) -> impl Iterator<Item = Slice> + use<> {
        let plan = *self;
        (0..plan.slice_count()).map(move |index| plan.slice(index, minute))
    }

    /// The slices, and how many each may release.
    pub(crate) fn slice_quotas(&self) -> impl Iterator<Item = (SliceId, u32)> + use<> {
        let plan = *self;
        self.slice_ids().map(move |id| (id, plan.slice_quota(id.index.into())))
    }

    pub fn slice_ids(&self) -> impl Iterator<Item = SliceId> + use<> {
        let plan = self.number;
        (0..self.slice_count()).map(move |index| SliceId::new(plan, index))
    }

    fn slice_quota(&self, index: u32) -> u32 {
        let people = self.slice_batches() * BATCH;
        (self.quota - index * people).min(people)
    }

    fn slice(&self, index: u32, minute: Duration) -> Slice {
        let quota = self.slice_quota(index);
        Slice {
            id: SliceId::new(self.number, index),
            window: self.window,
            releases_from: self.releases_from,
            rate: self.rate,
            quota,
            valve_from: self.valve_from,
            needs_permits: self.needs_permits,
            of: self.slice_count(),
            batches_a_second: self.batches_a_second(index, quota.div_ceil(BATCH)),
            second: (millis(minute) / 60).max(1),
        }
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

/// The most visitors that a room which releases `people` in this time releases in any second, also while it catches up:
/// twice an even share in whole batches, and one batch more where two windows meet.
pub fn most_in_a_second(people: u32, time: Duration) -> u32 {
    let batches = (2000 * u64::from(people)).div_ceil(u64::from(BATCH) * millis(time).max(1));
    u32::try_from(batches + 1).unwrap_or(u32::MAX).saturating_mul(BATCH)
}

/// Identifies a slice. Every admission contains the ID of the slice that wrote it, so that only that slice counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SliceId {
    pub plan: u64,
    pub index: u16,
}

impl SliceId {
    const MALFORMED: FormError = FormError("a slice ID has the form <plan>.<index>");

    fn new(plan: u64, index: u32) -> Self {
        // At most 270 slices, because the maximum rate is 270,000.
        Self { plan, index: u16::try_from(index).unwrap_or(u16::MAX) }
    }
}

stored_as_text!(SliceId);

impl fmt::Display for SliceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plan, self.index)
    }
}

impl FromStr for SliceId {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (plan, index) = text.split_once('.').ok_or(Self::MALFORMED)?;
        Ok(Self {
            plan: plan.parse().map_err(|_| Self::MALFORMED)?,
            index: index.parse().map_err(|_| Self::MALFORMED)?,
        })
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
    /// See [`Plan::needs_permits`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_permits: bool,
    /// How many slices the plan has. Their batches alternate, each slice offset from the others.
    of: u32,
    pub(crate) batches_a_second: u32,
    /// A sixtieth of the minute that the rate is meant for, in milliseconds: 1,000, unless tests shorten the minute.
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

    /// The time that the rate is meant for.
    pub fn minute(&self) -> Duration {
        60 * Duration::from_millis(self.second)
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

    /// With the window, unless the windows before are ahead by a visitor or more: at a rate of one a minute, a part of a
    /// visitor would be most of a minute in which nobody is released. And never more than a minute later.
    fn starts_at(&self) -> Timestamp {
        let minute = 60 * self.second;
        let late = millis(self.releases_from.since(self.window.start));
        let late = if late * u64::from(self.rate.get()) < minute { 0 } else { late.min(minute) };
        self.window.start + Duration::from_millis(late)
    }

    /// When batch `n` is released: evenly over the window, each slice a little after the one before it.
    pub(crate) fn release_time(&self, n: u32) -> Timestamp {
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
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{MINUTE, plan, releases};

    fn sizes(slice: &Slice) -> Vec<u32> {
        (0..slice.batches()).map(|n| slice.size(n)).collect()
    }

    #[test]
    fn a_rate_of_3300_gives_three_slices_of_100_batches_and_one_of_30() {
        let batches: Vec<_> = plan(3300).slices(MINUTE).map(|slice| slice.batches()).collect();
        assert_eq!(batches, [100, 100, 100, 30]);
        assert!(plan(3300).slices(MINUTE).flat_map(|slice| sizes(&slice)).all(|size| size == 10));
    }

    #[test]
    fn a_slice_is_sent_as_json() {
        for slice in plan(3300).slices(MINUTE) {
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
    fn slice_ids_are_displayed_and_parsed() {
        let id = SliceId { plan: 42, index: 7 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "42", "42.", ".7", "42.7.1", "42.-1", "a.b"] {
            assert_eq!(wrong.parse::<SliceId>(), Err(SliceId::MALFORMED), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_slices_add_up_to_the_rate(rate in 1..=270_000u32) {
            let slices: Vec<_> = plan(rate).slices(MINUTE).collect();
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
            let a_second: u32 = plan.slices(MINUTE).map(|slice| slice.batches_a_second).sum();
            prop_assert!(a_second == 1 || a_second * 60 <= 2 * plan.batches(), "{a_second} batches");
            for slice in plan.slices(MINUTE) {
                let interval = slice.interval().as_secs_f64();
                prop_assert!(interval * f64::from(slice.batches_a_second) >= 1.0 || slice.batches_a_second * 60 > slice.batches());
            }
        }
    }
}
