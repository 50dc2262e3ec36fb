//! Runs a scenario on a virtual clock.

use std::time::Duration;

use waitroom::Timestamp;

use crate::course::millis_between;
use crate::crowd::SimulatedCrowd;
use crate::outcome::SimulatedEvent;
use crate::room::RoomOnClock;
use crate::scenario::Scenario;

/// Runs scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Simulation;

/// How far a simulation is.
#[derive(Clone, Copy, Debug)]
pub struct SimulationProgress {
    /// Since the first visitor could come.
    pub time: Duration,
    pub released: u64,
    pub visitors: u64,
}

impl Simulation {
    /// A round number of minutes since 1970.
    const ZERO: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    /// Millions of visitors take many steps in a simulated minute, so `watch` is called in between.
    const UNWATCHED_STEPS: u32 = 100_000;

    /// Runs until nobody waits any more. `watch` is called once a simulated minute, and more often while a large crowd comes;
    /// the run ends early when it returns false.
    pub fn run(scenario: &Scenario, watch: impl FnMut(SimulationProgress) -> bool) -> SimulatedEvent {
        let (room, crowd) = Self::play(scenario, watch);
        SimulatedEvent::of(scenario, &room, crowd, Self::ZERO)
    }

    /// The room and its crowd when the run ends.
    fn play(
        scenario: &Scenario,
        mut watch: impl FnMut(SimulationProgress) -> bool,
    ) -> (RoomOnClock, SimulatedCrowd) {
        let mut room = RoomOnClock::new(scenario, Self::ZERO - scenario.on_before);
        let mut crowd = SimulatedCrowd::new(scenario);
        let ends = Self::ZERO + scenario.longest;
        let (mut counted, mut watched, mut steps) = (Self::ZERO, Self::ZERO, 0);
        'run: loop {
            let mut next = room.next();
            // Visitors before the room, so that both see the same order in every run.
            while next > Self::ZERO
                && let Some(step) = crowd.next(millis_between(Self::ZERO, next) - 1)
            {
                let now = Timestamp::from_millis(Self::ZERO.as_millis() + u64::from(step.at()));
                count(&mut crowd, &mut room, &mut counted, now);
                if crowd.step(&mut room, step, now) {
                    next = room.next();
                }
                steps += 1;
                if steps == Self::UNWATCHED_STEPS {
                    steps = 0;
                    if !watch(progress(scenario, &room, now)) {
                        break 'run;
                    }
                }
            }
            count(&mut crowd, &mut room, &mut counted, next);
            let is_over = crowd.is_over() && (room.line.is_empty() || room.is_over());
            if is_over || next > ends {
                break;
            }
            if next >= watched + Duration::from_mins(1) {
                watched = next;
                if !watch(progress(scenario, &room, next)) {
                    break;
                }
            }
            room.run(next);
        }
        (room, crowd)
    }
}

fn progress(scenario: &Scenario, room: &RoomOnClock, now: Timestamp) -> SimulationProgress {
    SimulationProgress {
        time: now.since(Simulation::ZERO),
        released: room.ledger.released(),
        visitors: scenario.arrivals.visitors().into(),
    }
}

/// Notes how many wait, and are in the shop, at the end of every second that is over by `now`.
fn count(crowd: &mut SimulatedCrowd, room: &mut RoomOnClock, counted: &mut Timestamp, now: Timestamp) {
    while counted.as_millis() + 1000 <= now.as_millis() {
        let second = millis_between(Simulation::ZERO, *counted);
        let over = crowd.course.at(second);
        over.waiting = room.waiting();
        *counted = *counted + Duration::from_secs(1);
        (over.in_shop, over.is_full) = room.in_shop(*counted).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use aws_model::{AccountLimits, ModelledRoom};
    use waitroom::Rate;

    use super::*;
    use crate::{ArrivalShape, Arrivals, AwsAccount, WaitSpread};

    /// A spike in a new account.
    fn spike(visitors: u64) -> Scenario {
        let rate = Rate::new(3000).unwrap();
        let account = AwsAccount::new(AccountLimits::of_new_account("us-east-1"), ModelledRoom::new(rate));
        let arrivals = Arrivals::new(ArrivalShape::Spike, Some(visitors)).unwrap();
        Scenario::new(arrivals, rate, Some(account))
    }

    /// The middle, the 95th percentile and the largest of these milliseconds, in seconds.
    fn spread(mut waits: Vec<u64>) -> [f64; 3] {
        waits.sort_unstable();
        let rank = |percent: usize| waits[(percent * waits.len()).div_ceil(100) - 1];
        [50, 95, 100].map(|percent| Duration::from_millis(rank(percent)).as_secs_f64())
    }

    /// Each visitor's click is drawn anew, and their admission read from the ledger: neither is what the headline is made of.
    #[test]
    fn the_headline_is_what_visitors_wait_from_their_first_click() {
        for visitors in [500, 20_000] {
            let scenario = spike(visitors);
            let (room, crowd) = Simulation::play(&scenario, |_| true);
            let clicks = scenario.arrivals.times(scenario.seed);
            let begin = Simulation::ZERO.as_millis();
            let wait = |(number, click): (u32, &u32)| {
                room.admitted_at(number).unwrap().as_millis() - begin - u64::from(*click)
            };
            let waits = spread((0..).zip(&clicks).map(wait).collect());
            let event = SimulatedEvent::of(&scenario, &room, crowd, Simulation::ZERO);
            let WaitSpread { median, p95, longest, .. } = event.from_link;
            // A page learns by its next poll that it is admitted.
            for (headline, wait) in [median, p95, longest].into_iter().zip(waits) {
                assert!((0.0..12.0).contains(&(headline - wait)), "{visitors}: {headline} and {wait}");
            }
            assert!(event.waits.median < 0.05 * median || visitors < 20_000, "most of it is before the line");
        }
    }
}
