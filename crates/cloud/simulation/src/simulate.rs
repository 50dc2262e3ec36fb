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
    pub fn run(scenario: &Scenario, mut watch: impl FnMut(SimulationProgress) -> bool) -> SimulatedEvent {
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
                let now = Self::ZERO + Duration::from_millis(step.at().into());
                count(&mut crowd, &room, &mut counted, now);
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
            count(&mut crowd, &room, &mut counted, next);
            let is_over = crowd.is_over() && room.line.is_empty();
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
        SimulatedEvent::of(scenario, &room, crowd, Self::ZERO)
    }
}

fn progress(scenario: &Scenario, room: &RoomOnClock, now: Timestamp) -> SimulationProgress {
    SimulationProgress {
        time: now.since(Simulation::ZERO),
        released: room.ledger.released(),
        visitors: scenario.arrivals.visitors().into(),
    }
}

/// Notes how many wait at the end of every second that is over by `now`.
fn count(crowd: &mut SimulatedCrowd, room: &RoomOnClock, counted: &mut Timestamp, now: Timestamp) {
    while *counted + Duration::from_secs(1) <= now {
        let second = millis_between(Simulation::ZERO, *counted);
        crowd.course.at(second).waiting = room.waiting();
        *counted = *counted + Duration::from_secs(1);
    }
}
