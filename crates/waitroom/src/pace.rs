//! When a slice may release visitors, and how many.
//!
//! A consumer asks its [`Pace`] for the next [`PaceStep`], given the time and the room's [`Valve`]. Guarantees:
//!
//! - A slice never releases more than its quota: only the batches whose instants have passed may be released.
//! - Batches keep a minimum distance, even if the slice is behind because it started late or the line was empty. So it
//!   catches up without releasing everybody at once.

use std::time::Duration;

use crate::time::millis;
use crate::{BATCH, Rate, Slice, Timestamp};

/// Whether and how fast the room releases visitors now, as [`Room::valve`](crate::Room::valve) computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Valve {
    /// Visitors are released at the rate in force.
    Open(Rate),
    /// Visitors join, and nobody is released.
    Paused,
    /// The room is off. The door sends everybody to the shop, so there is nothing to release.
    Off,
}

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
    /// How many visitors are due and not yet released, times the planned rate. The factor keeps the number exact when
    /// it is reduced by `in force / planned`.
    owed: u64,
    /// The lowest rate that was in force since the window began.
    lowest_rate: u32,
    /// `lowest_rate`, or 0 while the room is paused.
    in_force: u32,
    /// How many visitors of the current batch may still be released.
    batch_left: u32,
    last_release: Option<Timestamp>,
}

impl Pace {
    pub fn new(slice: Slice) -> Self {
        Self::resumed(slice, 0)
    }

    /// The rest of a slice whose consumer died after it had released this many visitors.
    pub fn resumed(slice: Slice, released: u32) -> Self {
        Self {
            slice,
            released_before: released,
            due_batches: 0,
            owed: 0,
            lowest_rate: slice.rate.get(),
            in_force: slice.rate.get(),
            batch_left: 0,
            last_release: None,
        }
    }

    /// Decides the next step. After a release the consumer must call [`Self::record_released`].
    pub fn next(&mut self, now: Timestamp, valve: Valve) -> PaceStep {
        let over = self.slice.ends_at();
        if now >= over || valve == Valve::Off {
            return PaceStep::Over;
        }
        let lead = self.second() / 10;
        let ahead = now + lead;
        self.apply_rate(valve);
        self.add_due_batches(ahead);
        let most = self.people_owed();
        if most == 0 {
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
            self.batch_left = self.batch_now();
            opens
        } else {
            now
        };
        PaceStep::Release { most: most.min(self.batch_left), at }
    }

    /// Records that `people` visitors were released at `now`, or may have been because the write was not confirmed.
    pub fn record_released(&mut self, people: u32, now: Timestamp) {
        self.owed = self.owed.saturating_sub(u64::from(people) * self.planned());
        self.batch_left = self.batch_left.saturating_sub(people);
        self.last_release = Some(now);
    }

    /// Applies the rate in force. A lower rate reduces, in proportion, the visitors who are due and those to come. A
    /// higher rate applies from the next window.
    fn apply_rate(&mut self, valve: Valve) {
        let rate = match valve {
            Valve::Open(rate) => {
                self.lowest_rate = self.lowest_rate.min(rate.get());
                self.lowest_rate
            }
            Valve::Paused | Valve::Off => 0,
        };
        if rate < self.in_force {
            self.owed = self.owed * u64::from(rate) / u64::from(self.in_force);
        }
        self.in_force = rate;
        self.batch_left = self.batch_left.min(self.batch_now());
    }

    fn add_due_batches(&mut self, until: Timestamp) {
        while self.due_batches < self.slice.batches() && self.slice.release_time(self.due_batches) <= until {
            let size = self.slice.size(self.due_batches);
            let done = size.min(self.released_before);
            self.released_before -= done;
            self.owed += u64::from(size - done) * u64::from(self.in_force);
            self.due_batches += 1;
        }
    }

    fn last_due(&self) -> Timestamp {
        self.slice.release_time(self.due_batches.saturating_sub(1))
    }

    /// A sixtieth of the window: one second, unless tests shorten the minute.
    fn second(&self) -> Duration {
        self.slice.window.length() / 60
    }

    fn planned(&self) -> u64 {
        u64::from(self.slice.rate.get())
    }

    fn people_owed(&self) -> u32 {
        // Never more than the slice's quota, which is a u32.
        u32::try_from(self.owed / self.planned()).unwrap_or(u32::MAX)
    }

    /// The size of a batch at the rate in force.
    fn batch_now(&self) -> u32 {
        let thinned = (u64::from(BATCH) * u64::from(self.in_force)).div_ceil(self.planned());
        u32::try_from(thinned).map_or(BATCH, |thinned| thinned.min(BATCH))
    }

    /// The minimum time between two batches.
    ///
    /// A slice that is behind may use a shorter interval. In its last second it keeps 5/6 of its even interval, because
    /// the next window's first batches follow directly. It does not keep all of the interval, so that slow answers do
    /// not make it miss its last batch.
    fn gap(&self, now: Timestamp) -> Duration {
        // Rounded up: one millisecond less would allow one batch too many in a second.
        let shortest = millis(self.second()).div_ceil(u64::from(self.slice.batches_a_second));
        let shortest = Duration::from_millis(shortest);
        if self.slice.ends_at().since(now) > self.second() {
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
    use crate::{Demand, Plan};

    const MINUTE: Duration = Duration::from_mins(1);

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    fn open(per_minute: u32) -> Valve {
        Valve::Open(rate(per_minute))
    }

    fn slice(per_minute: u32) -> Slice {
        Plan::next(None, Timestamp::default(), MINUTE, rate(per_minute), Demand::Busy)
            .slices()
            .next()
            .unwrap()
    }

    /// Runs a slice through its window. At millisecond `t`, `crowd(t)` visitors can be received.
    fn run(
        per_minute: u32,
        from: u64,
        valve: impl Fn(u64) -> Valve,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        run_slice(slice(per_minute), from, valve, crowd)
    }

    fn run_slice(
        slice: Slice,
        from: u64,
        valve: impl Fn(u64) -> Valve,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        run_pace(Pace::new(slice), from, valve, crowd)
    }

    fn run_pace(
        mut pace: Pace,
        from: u64,
        valve: impl Fn(u64) -> Valve,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        let mut left = Vec::new();
        let mut now = from;
        loop {
            let at = Timestamp::from_millis(now);
            match pace.next(at, valve(now)) {
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
        let left = run(25, 0, |_| open(25), |_| 1000);
        assert_eq!(left, [(10_000, 10), (30_000, 10), (50_000, 5)]);
    }

    #[test]
    fn a_late_start_is_caught_up_at_no_more_than_twice_the_rate() {
        let left = run(1000, 20_000, |_| open(1000), |_| 1000);
        assert_eq!(total(&left), 1000);
        assert!(largest_second(&left) <= 2 * 1000 / 60, "{left:?}");
    }

    #[test]
    fn an_empty_line_is_caught_up_afterwards() {
        let left = run(600, 0, |_| open(600), |now| if now < 25_000 { 0 } else { 10 });
        assert_eq!(total(&left), 600);
        assert!(largest_second(&left) <= 20, "{left:?}");
    }

    #[test]
    fn a_lower_rate_reduces_the_rest_in_proportion() {
        let left = run(1000, 0, |now| if now < 30_000 { open(1000) } else { open(100) }, |_| 1000);
        assert_eq!(total(&left), 500 + 50);
    }

    #[test]
    fn a_lower_rate_also_reduces_what_is_due() {
        let crowd = |now| if now < 30_000 { 0 } else { 10 };
        let left = run(1000, 0, |now| if now < 30_000 { open(1000) } else { open(10) }, crowd);
        assert_eq!(total(&left), 10);
    }

    #[test]
    fn a_resumed_slice_releases_what_its_first_consumer_did_not() {
        for (killed_at, released) in [(0, 0), (30_000, 500), (30_000, 480), (59_000, 990), (30_000, 1000)] {
            let left = run_pace(Pace::resumed(slice(1000), released), killed_at, |_| open(1000), |_| 1000);
            assert_eq!(left.iter().map(|(_, people)| people).sum::<u32>(), 1000 - released, "{released}");
            assert!(left.iter().all(|(at, _)| *at >= killed_at));
        }
    }

    #[test]
    fn a_higher_rate_applies_from_the_next_window() {
        let left = run(600, 0, |now| if now < 30_000 { open(600) } else { open(6000) }, |_| 1000);
        assert_eq!(total(&left), 600);
    }

    #[test]
    fn a_rate_that_was_lowered_and_raised_again_stays_low_in_this_window() {
        let dipped = |now| if (15_000..30_000).contains(&now) { open(60) } else { open(600) };
        let left = run(600, 0, dipped, |_| 1000);
        assert_eq!(total(&left), 150 + 45);
    }

    #[test]
    fn a_pause_releases_nobody_and_is_not_caught_up() {
        let paused = |now| if (15_000..45_000).contains(&now) { Valve::Paused } else { open(600) };
        let left = run(600, 0, paused, |_| 1000);
        assert_eq!(total(&left), 300);
        assert!(left.iter().all(|(at, _)| !(15_000..45_000).contains(at)));
    }

    #[test]
    fn off_ends_the_slice() {
        let left = run(600, 0, |now| if now < 15_000 { open(600) } else { Valve::Off }, |_| 1000);
        assert_eq!(total(&left), 150);
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
            let first = Plan::next(None, Timestamp::default(), MINUTE, rate(planned), Demand::Busy);
            let second = Plan::next(Some(&first), first.window.end, MINUTE, rate(planned), Demand::Busy);
            let slices = first.slices().chain(second.slices());
            let mut left: Vec<_> = slices.zip(late.iter().cycle()).flat_map(|(slice, late)| {
                let from = slice.window.start.as_millis() + late;
                run_slice(slice, from, |_| open(planned), |now| if now < crowd_from { 0 } else { 10 })
            }).collect();
            left.sort_unstable();
            prop_assert!(total(&left) <= 2 * planned);
            // Releases come in whole batches, and there may be one batch more where two windows meet.
            let batches = (2 * planned).div_ceil(600);
            prop_assert!(largest_second(&left) <= 10 * batches + 10, "{} at {planned}", largest_second(&left));
        }

        #[test]
        fn the_quota_and_pauses_hold_for_every_crowd_and_rate(
            planned in 1..=1000u32,
            from in 0..70_000u64,
            changes in prop::collection::vec((0..60_000u64, prop_oneof![Just(Valve::Paused), (1..2000u32).prop_map(open)]), 0..5),
            crowd in prop::collection::vec(0..12u32, 60),
        ) {
            let valve = |now: u64| {
                changes.iter().filter(|(at, _)| *at <= now).max_by_key(|(at, _)| *at).map_or(open(planned), |&(_, valve)| valve)
            };
            let people_at = |now: u64| crowd[usize::try_from(now / 1000 % 60).unwrap()];
            let left = run(planned, from, valve, people_at);
            let slice = slice(planned);
            prop_assert!(total(&left) <= planned);
            prop_assert!(largest_second(&left) <= slice.batches_a_second * BATCH);
            // A release may have been decided up to a tenth of a second earlier.
            let released = |at: u64| valve(at) != Valve::Paused || valve(at.saturating_sub(100)) != Valve::Paused;
            prop_assert!(left.iter().all(|&(at, _)| at < 60_000 && released(at)));
            if changes.is_empty() && from == 0 && crowd.iter().all(|&people| people >= 10) {
                prop_assert_eq!(total(&left), planned);
            }
        }
    }
}
