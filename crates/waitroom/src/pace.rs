//! When one slice may let people leave, and how many.
//!
//! [`Pace`] is the consumer's conscience: it is told the time and the room's [`Valve`], and answers with
//! [`PaceStep`]s. It owes what the instants that have passed allow, never more, so a slice cannot exceed its
//! quota; and it keeps two batches apart even when it is behind, so a late start or a starved line ends
//! in a brisk walk and not in a stampede.

use std::time::Duration;

use crate::time::millis;
use crate::{BATCH, Rate, Slice, Timestamp};

/// What the room's settings let through at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Valve {
    /// Visitors are released at this rate.
    Open(Rate),
    /// Visitors join and wait; nobody is released.
    Paused,
    /// The room is off: everybody goes straight on, nobody waits for a consumer.
    Off,
}

/// What a consumer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceStep {
    /// Receive up to this many people now, and let them leave at this moment, now or very soon.
    Release { most: u32, at: Timestamp },
    /// Nothing to do before this moment.
    Wait(Timestamp),
    /// The slice is complete, or its time is up.
    Over,
}

#[derive(Debug)]
pub struct Pace {
    slice: Slice,
    /// Batches whose instant has been reached.
    reached: u32,
    /// People who may leave, times the planned rate: thinning by `in force / planned` then stays exact.
    owed: u64,
    /// The lowest rate that was in force since the window began.
    lowest: u32,
    /// That, or nothing while the room is paused.
    in_force: u32,
    /// People who may still leave as part of the batch that is leaving.
    leaving: u32,
    last_left: Option<Timestamp>,
}

impl Pace {
    pub fn new(slice: Slice) -> Self {
        Self {
            slice,
            reached: 0,
            owed: 0,
            lowest: slice.rate.get(),
            in_force: slice.rate.get(),
            leaving: 0,
            last_left: None,
        }
    }

    pub fn next(&mut self, now: Timestamp, valve: Valve) -> PaceStep {
        let over = self.slice.ends_at();
        if now >= over || valve == Valve::Off {
            return PaceStep::Over;
        }
        let lead = self.second() / 10;
        let ahead = now + lead;
        self.throttle(valve);
        self.reach(ahead);
        let most = self.people_owed();
        if most == 0 {
            let done = self.reached == self.slice.batches();
            return if done {
                PaceStep::Over
            } else {
                PaceStep::Wait(self.slice.leaves_at(self.reached) - lead)
            };
        }
        let opens = self.last_left.map_or(now, |left| left + self.gap(now)).max(self.last_reached()).max(now);
        if opens >= over {
            return PaceStep::Over;
        }
        if opens > ahead && self.leaving == 0 {
            return PaceStep::Wait(opens - lead);
        }
        let at = if opens <= ahead {
            self.leaving = self.batch_now();
            opens
        } else {
            now
        };
        PaceStep::Release { most: most.min(self.leaving), at }
    }

    /// Takes note that `people` left, or may have left, at `now`.
    pub fn left(&mut self, people: u32, now: Timestamp) {
        self.owed = self.owed.saturating_sub(u64::from(people) * self.planned());
        self.leaving = self.leaving.saturating_sub(people);
        self.last_left = Some(now);
    }

    /// A lower rate thins what is owed and what is still to come; a higher one waits for the next window.
    fn throttle(&mut self, valve: Valve) {
        let rate = match valve {
            Valve::Open(rate) => {
                self.lowest = self.lowest.min(rate.get());
                self.lowest
            }
            Valve::Paused | Valve::Off => 0,
        };
        if rate < self.in_force {
            self.owed = self.owed * u64::from(rate) / u64::from(self.in_force);
        }
        self.in_force = rate;
        self.leaving = self.leaving.min(self.batch_now());
    }

    fn reach(&mut self, until: Timestamp) {
        while self.reached < self.slice.batches() && self.slice.leaves_at(self.reached) <= until {
            self.owed += u64::from(self.slice.size(self.reached)) * u64::from(self.in_force);
            self.reached += 1;
        }
    }

    fn last_reached(&self) -> Timestamp {
        self.slice.leaves_at(self.reached.saturating_sub(1))
    }

    /// A sixtieth of the window: a second, unless a demonstration shortens the minute.
    fn second(&self) -> Duration {
        self.slice.window.length() / 60
    }

    fn planned(&self) -> u64 {
        u64::from(self.slice.rate.get())
    }

    fn people_owed(&self) -> u32 {
        // At most the slice's quota.
        u32::try_from(self.owed / self.planned()).unwrap_or(u32::MAX)
    }

    /// The size of a batch, thinned.
    fn batch_now(&self) -> u32 {
        let thinned = (u64::from(BATCH) * u64::from(self.in_force)).div_ceil(self.planned());
        u32::try_from(thinned).map_or(BATCH, |thinned| thinned.min(BATCH))
    }

    /// How long after one batch the next may leave.
    ///
    /// A slice that is behind hurries, except in its last second: there it keeps nearly its even interval,
    /// since the next window's first batches follow on its heels. Nearly, so that slow answers on the way
    /// do not cost it its last batch.
    fn gap(&self, now: Timestamp) -> Duration {
        // Rounded up: a millisecond less would squeeze one batch too many into a second.
        let hurried = millis(self.second()).div_ceil(u64::from(self.slice.batches_a_second));
        let hurried = Duration::from_millis(hurried);
        if self.slice.ends_at().since(now) > self.second() {
            hurried
        } else {
            hurried.max(self.slice.interval() * 5 / 6)
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

    /// Walks a slice through its window: `crowd(t)` people are there to be released at millisecond `t`.
    fn walk(
        per_minute: u32,
        from: u64,
        valve: impl Fn(u64) -> Valve,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        walk_slice(slice(per_minute), from, valve, crowd)
    }

    fn walk_slice(
        slice: Slice,
        from: u64,
        valve: impl Fn(u64) -> Valve,
        crowd: impl Fn(u64) -> u32,
    ) -> Vec<(u64, u32)> {
        let mut pace = Pace::new(slice);
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
                        pace.left(people, at);
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
    fn batches_leave_at_their_instants() {
        let left = walk(25, 0, |_| open(25), |_| 1000);
        assert_eq!(left, [(10_000, 10), (30_000, 10), (50_000, 5)]);
    }

    #[test]
    fn a_late_start_is_made_up_without_a_stampede() {
        let left = walk(1000, 20_000, |_| open(1000), |_| 1000);
        assert_eq!(total(&left), 1000);
        assert!(largest_second(&left) <= 2 * 1000 / 60, "{left:?}");
    }

    #[test]
    fn a_line_that_was_empty_for_a_while_is_made_up_too() {
        let left = walk(600, 0, |_| open(600), |now| if now < 25_000 { 0 } else { 10 });
        assert_eq!(total(&left), 600);
        assert!(largest_second(&left) <= 20, "{left:?}");
    }

    #[test]
    fn a_lower_rate_thins_the_rest_in_proportion() {
        let left = walk(1000, 0, |now| if now < 30_000 { open(1000) } else { open(100) }, |_| 1000);
        assert_eq!(total(&left), 500 + 50);
    }

    #[test]
    fn what_was_owed_is_thinned_as_well() {
        let crowd = |now| if now < 30_000 { 0 } else { 10 };
        let left = walk(1000, 0, |now| if now < 30_000 { open(1000) } else { open(10) }, crowd);
        assert_eq!(total(&left), 10);
    }

    #[test]
    fn a_higher_rate_waits_for_the_next_window() {
        let left = walk(600, 0, |now| if now < 30_000 { open(600) } else { open(6000) }, |_| 1000);
        assert_eq!(total(&left), 600);
    }

    #[test]
    fn even_a_rate_that_was_lowered_and_raised_again_waits() {
        let dipped = |now| if (15_000..30_000).contains(&now) { open(60) } else { open(600) };
        let left = walk(600, 0, dipped, |_| 1000);
        assert_eq!(total(&left), 150 + 45);
    }

    #[test]
    fn a_pause_releases_nobody_and_is_not_made_up() {
        let paused = |now| if (15_000..45_000).contains(&now) { Valve::Paused } else { open(600) };
        let left = walk(600, 0, paused, |_| 1000);
        assert_eq!(total(&left), 300);
        assert!(left.iter().all(|(at, _)| !(15_000..45_000).contains(at)));
    }

    #[test]
    fn off_ends_the_slice() {
        let left = walk(600, 0, |now| if now < 15_000 { open(600) } else { Valve::Off }, |_| 1000);
        assert_eq!(total(&left), 150);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Two windows, all slices, consumers that start late, and a line that was empty for a while.
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
                walk_slice(slice, from, |_| open(planned), |now| if now < crowd_from { 0 } else { 10 })
            }).collect();
            left.sort_unstable();
            prop_assert!(total(&left) <= 2 * planned);
            // In whole batches, as people leave in batches; one more where two windows meet.
            let batches = (2 * planned).div_ceil(600);
            prop_assert!(largest_second(&left) <= 10 * batches + 10, "{} at {planned}", largest_second(&left));
        }

        #[test]
        fn whatever_the_crowd_and_the_operator_do(
            planned in 1..=1000u32,
            from in 0..70_000u64,
            changes in prop::collection::vec((0..60_000u64, prop_oneof![Just(Valve::Paused), (1..2000u32).prop_map(open)]), 0..5),
            crowd in prop::collection::vec(0..12u32, 60),
        ) {
            let valve = |now: u64| {
                changes.iter().filter(|(at, _)| *at <= now).max_by_key(|(at, _)| *at).map_or(open(planned), |&(_, valve)| valve)
            };
            let people_at = |now: u64| crowd[usize::try_from(now / 1000 % 60).unwrap()];
            let left = walk(planned, from, valve, people_at);
            let slice = slice(planned);
            prop_assert!(total(&left) <= planned);
            prop_assert!(largest_second(&left) <= slice.batches_a_second * BATCH);
            // Whoever leaves was called up to a tenth of a second before.
            let released = |at: u64| valve(at) != Valve::Paused || valve(at.saturating_sub(100)) != Valve::Paused;
            prop_assert!(left.iter().all(|&(at, _)| at < 60_000 && released(at)));
            if changes.is_empty() && from == 0 && crowd.iter().all(|&people| people >= 10) {
                prop_assert_eq!(total(&left), planned);
            }
        }
    }
}
