//! When a slice may release visitors, and how many.
//!
//! A consumer asks its [`Pace`] for the next [`PaceStep`], given the time. Guarantees:
//!
//! - A slice never releases more than its quota: only the batches whose instants have passed may be released.
//! - Batches keep a minimum distance, even if the slice is behind because it started late or the line was empty. So it
//!   catches up without releasing everybody at once.

use std::time::Duration;

use crate::time::millis;
use crate::{BATCH, Slice, Timestamp};

/// What the consumer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceStep {
    /// Receive up to `most` visitors now and release them at `at`, which is now or up to a tenth of a second later.
    Release { most: u32, at: Timestamp },
    /// There is nothing to do before this instant.
    Wait(Timestamp),
    /// The slice is complete or its time is over.
    Over,
}

/// The progress of one slice through its window.
#[derive(Debug)]
pub struct Pace {
    slice: Slice,
    /// How many of the visitors who become due next were already released by a consumer that died.
    released_before: u32,
    /// How many batches are due, because their instants have passed.
    due_batches: u32,
    /// How many visitors are due and not yet released.
    owed: u32,
    /// How many visitors of the current batch may still be released.
    batch_left: u32,
    last_release: Option<Timestamp>,
}

impl Pace {
    /// The rest of a slice whose consumer died after it had released this many visitors, or all of it.
    pub fn resumed(slice: Slice, released: u32) -> Self {
        Self { slice, released_before: released, due_batches: 0, owed: 0, batch_left: 0, last_release: None }
    }

    /// Decides the next step. From `over` on, nobody is released. After a release the consumer must call
    /// [`Self::record_released`].
    pub fn next(&mut self, now: Timestamp, over: Timestamp) -> PaceStep {
        if now >= over {
            return PaceStep::Over;
        }
        let lead = self.slice.second() / 10;
        let ahead = now + lead;
        self.add_due_batches(ahead);
        if self.owed == 0 {
            let done = self.due_batches == self.slice.batches();
            return if done {
                PaceStep::Over
            } else {
                PaceStep::Wait(self.slice.release_time(self.due_batches) - lead)
            };
        }
        let opens = self.last_release.map_or(now, |left| left + self.gap(now)).max(self.last_due()).max(now);
        if opens >= over {
            return PaceStep::Over;
        }
        if opens > ahead && self.batch_left == 0 {
            return PaceStep::Wait(opens - lead);
        }
        let at = if opens <= ahead {
            self.batch_left = BATCH;
            opens
        } else {
            now
        };
        PaceStep::Release { most: self.owed.min(self.batch_left), at }
    }

    /// Records that `people` visitors were released at `now`, or may have been because the write was not confirmed.
    pub fn record_released(&mut self, people: u32, now: Timestamp) {
        self.owed = self.owed.saturating_sub(people);
        self.batch_left = self.batch_left.saturating_sub(people);
        self.last_release = Some(now);
    }

    /// Gives up what the slice owes, except for one batch. The consumer calls this when nobody has waited for a while. A
    /// crowd that arrives then is released at the rate, without the quota that was not used before.
    pub fn forfeit(&mut self) {
        self.owed = self.owed.min(BATCH);
    }

    fn add_due_batches(&mut self, until: Timestamp) {
        while self.due_batches < self.slice.batches() && self.slice.release_time(self.due_batches) <= until {
            let size = self.slice.size(self.due_batches);
            let done = size.min(self.released_before);
            self.released_before -= done;
            self.owed += size - done;
            self.due_batches += 1;
        }
    }

    fn last_due(&self) -> Timestamp {
        self.slice.release_time(self.due_batches.saturating_sub(1))
    }

    /// The minimum time between two batches.
    ///
    /// A slice that is behind may use a shorter interval. In its last second it keeps 5/6 of its even interval, because
    /// the next window's first batches follow directly. It does not keep all of the interval, so that slow answers do
    /// not make it miss its last batch.
    fn gap(&self, now: Timestamp) -> Duration {
        // Rounded up: one millisecond less would allow one batch too many in a second.
        let shortest = millis(self.slice.second()).div_ceil(u64::from(self.slice.batches_a_second));
        let shortest = Duration::from_millis(shortest);
        if self.slice.ends_at().since(now) > self.slice.second() {
            shortest
        } else {
            shortest.max(self.slice.interval() * 5 / 6)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{MINUTE, complete, room};
    use crate::{Plan, most_in_a_second};

    /// A room in which two windows follow each other.
    fn plans(per_minute: u32) -> [Plan; 2] {
        let room = room(per_minute);
        let first = Plan::due(&[], &room, Timestamp::default(), MINUTE, MINUTE / 2).unwrap();
        [first, Plan::due(&complete([&first]), &room, first.window.end, MINUTE, MINUTE / 2).unwrap()]
    }

    fn slice(per_minute: u32) -> Slice {
        plans(per_minute)[0].slices(MINUTE).next().unwrap()
    }

    /// Runs a slice through its window. At millisecond `t`, `crowd(t)` visitors can be received.
    fn run(per_minute: u32, from: u64, crowd: impl Fn(u64) -> u32) -> Vec<(u64, u32)> {
        run_pace(Pace::resumed(slice(per_minute), 0), from, crowd)
    }

    fn run_pace(pace: Pace, from: u64, crowd: impl Fn(u64) -> u32) -> Vec<(u64, u32)> {
        run_until(pace, from, None, crowd)
    }

    fn run_until(
        mut pace: Pace,
        from: u64,
        closes: Option<u64>,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        let end = pace.slice.ends_at();
        let over = closes.map_or(end, |closes| Timestamp::from_millis(closes).min(end));
        let mut left = Vec::new();
        let mut now = from;
        loop {
            match pace.next(Timestamp::from_millis(now), over) {
                PaceStep::Over => return left,
                PaceStep::Wait(until) => now = until.as_millis().min(now + 500),
                PaceStep::Release { most, at } => {
                    let people = most.min(crowd(now));
                    if people > 0 {
                        now = at.as_millis();
                        pace.record_released(people, at);
                        left.push((now, people));
                    } else {
                        now += 100;
                    }
                }
            }
        }
    }

    fn total(left: &[(u64, u32)]) -> u32 {
        left.iter().map(|&(_, people)| people).sum()
    }

    fn largest_second(left: &[(u64, u32)]) -> u32 {
        let second = |from: u64| left.iter().filter(move |&&(at, _)| (from..from + 1000).contains(&at));
        left.iter().map(|&(from, _)| second(from).map(|&(_, people)| people).sum()).max().unwrap_or(0)
    }

    #[test]
    fn batches_are_released_at_their_instants() {
        let left = run(25, 0, |_| 1000);
        assert_eq!(left, [(0, 8), (20_000, 8), (40_000, 9)]);
    }

    #[test]
    fn a_late_start_is_caught_up_at_no_more_than_twice_the_rate() {
        let left = run(1000, 20_000, |_| 1000);
        assert_eq!(total(&left), 1000);
        assert!(largest_second(&left) <= 2 * 1000 / 60, "{left:?}");
    }

    #[test]
    fn what_was_forfeited_is_not_caught_up() {
        let mut pace = Pace::resumed(slice(600), 0);
        assert!(matches!(
            pace.next(Timestamp::from_millis(30_000), slice(600).ends_at()),
            PaceStep::Release { most: 10, .. }
        ));
        pace.forfeit();
        let left = run_pace(pace, 30_000, |_| 1000);
        assert_eq!(total(&left), 300);
        assert!(largest_second(&left) <= 20, "{left:?}");
    }

    #[test]
    fn an_empty_line_is_caught_up_afterwards() {
        let left = run(600, 0, |now| if now < 25_000 { 0 } else { 10 });
        assert_eq!(total(&left), 600);
        assert!(largest_second(&left) <= 20, "{left:?}");
    }

    #[test]
    fn a_resumed_slice_releases_what_its_first_consumer_did_not() {
        for (killed_at, released) in [(0, 0), (30_000, 500), (30_000, 480), (59_000, 990), (30_000, 1000)] {
            let left = run_pace(Pace::resumed(slice(1000), released), killed_at, |_| 1000);
            assert_eq!(total(&left), 1000 - released, "{released}");
            assert!(left.iter().all(|(at, _)| *at >= killed_at));
        }
    }

    #[test]
    fn the_next_change_of_the_valve_ends_the_slice() {
        let left = run_until(Pace::resumed(slice(600), 0), 0, Some(15_000), |_| 1000);
        assert_eq!(total(&left), 150);
        assert!(left.iter().all(|(at, _)| *at < 15_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// All slices of two windows. Some consumers start late, and the line is empty for a while.
        #[test]
        fn all_slices_together_stay_within_twice_the_even_share(
            planned in 1..=8000u32,
            late in prop::collection::vec(0..30_000u64, 16),
            crowd_from in 0..60_000u64,
        ) {
            let slices = plans(planned).into_iter().flat_map(|plan| plan.slices(MINUTE));
            let mut left: Vec<_> = slices.zip(late.iter().cycle()).flat_map(|(slice, late)| {
                let from = slice.window.start.as_millis() + late;
                run_pace(Pace::resumed(slice, 0), from, |now| if now < crowd_from { 0 } else { 10 })
            }).collect();
            left.sort_unstable();
            prop_assert!(total(&left) <= 2 * planned);
            let allowed = most_in_a_second(planned, MINUTE);
            prop_assert!(largest_second(&left) <= allowed, "{} at {planned}", largest_second(&left));
        }

        #[test]
        fn the_quota_holds_for_every_crowd(
            planned in 1..=1000u32,
            from in 0..70_000u64,
            crowd in prop::collection::vec(0..12u32, 60),
        ) {
            let left = run(planned, from, |now| crowd[usize::try_from(now / 1000 % 60).unwrap()]);
            let slice = slice(planned);
            prop_assert!(total(&left) <= planned);
            prop_assert!(largest_second(&left) <= slice.batches_a_second * BATCH);
            prop_assert!(left.iter().all(|&(at, _)| Timestamp::from_millis(at) < slice.ends_at()));
            if from == 0 && crowd.iter().all(|&people| people >= 10) {
                prop_assert_eq!(total(&left), planned);
            }
        }
    }
}
