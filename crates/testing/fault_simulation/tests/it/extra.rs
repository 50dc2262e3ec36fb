//! A release beyond the rate: so many more within its minute, over faults and kills, and then it's the rate again.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, SimOutcome, World};
use waitroom::ports::Fault;
use waitroom::{Extra, RoomState, Timestamp};

const MINUTE: Duration = Duration::from_mins(1);
const RATE: u32 = 600;

/// A room in which more wait than are let in. After two minutes it releases so many more.
fn releasing(seed: u64, more: u32) -> World {
    let mut world = World::new(seed, RATE);
    world.join(8000);
    world.run(2 * MINUTE);
    world.change_room(move |room| room.release_more(more.try_into().unwrap()));
    world.run(Duration::from_millis(10));
    world
}

/// When the release ends.
fn until(world: &mut World) -> Timestamp {
    world.room().extra.unwrap().until
}

/// How many are released in the minute of the release, and in the one after it.
fn released(outcome: &SimOutcome, until: Timestamp) -> (usize, usize) {
    (outcome.released_between(until - Extra::LASTS, until), outcome.released_between(until, until + MINUTE))
}

#[test]
fn so_many_more_are_released_in_a_minute_and_then_the_rate_again() {
    for more in [50, 400, 3000] {
        let mut world = releasing(1, more);
        let until = until(&mut world);
        world.run(3 * MINUTE);
        let (in_it, after) = released(&world.outcome(), until);
        // A batch of each slice at either end, which the next window makes up for.
        let (expected, slack) = ((RATE + more) as usize, 10 * (RATE + more).div_ceil(1000) as usize);
        assert!(in_it.abs_diff(expected) <= slack, "{in_it} of {expected}");
        assert!((in_it + after).abs_diff(expected + RATE as usize) <= 10, "{after} after {in_it}");
        assert_eq!(world.outcome().above_rate(), None);
        assert_eq!(world.room().extra, None);
    }
}

#[test]
fn a_crash_in_its_minute_neither_repeats_nor_forgets_it() {
    for (seed, crash) in [(1, World::kill as fn(&mut World)), (2, World::lose_power)] {
        let mut world = releasing(seed, 400);
        let until = until(&mut world);
        world.run(Duration::from_secs(20));
        crash(&mut world);
        world.boot();
        // As a process does that starts.
        drop(world.fire_trigger());
        world.run(4 * MINUTE);
        let outcome = world.outcome();
        let (in_it, after) = released(&outcome, until);
        assert!((900..=1020).contains(&in_it) && after.abs_diff(600) <= 20, "{in_it}, then {after}");
        assert_eq!((outcome.above_rate(), outcome.above_quota()), (None, vec![]));
        world.drain(20);
        let outcome = world.outcome();
        assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0));
    }
}

#[test]
fn a_trigger_that_fails_when_it_ends_does_not_make_it_longer() {
    let mut world = releasing(3, 400);
    let until = until(&mut world);
    world.run(Duration::from_secs(50));
    world.inject(InjectedFault::Refused(Fault::Busy), |call| call == PortCall::WritePlan);
    world.run(MINUTE);
    world.clear_faults();
    world.run(3 * MINUTE);
    let (in_it, _) = released(&world.outcome(), until);
    assert!(in_it <= 1000 + 20, "{in_it}");
    assert_eq!(world.outcome().above_rate(), None);
}

#[test]
fn a_pause_ends_it_and_so_does_the_end_of_the_room() {
    for state in [RoomState::Paused, RoomState::Ended] {
        let mut world = releasing(4, 400);
        let until = until(&mut world);
        world.run(Duration::from_secs(20));
        world.change_room(move |room| room.turn(state));
        world.run(Duration::from_secs(10));
        world.change_room(|room| room.turn(RoomState::On));
        world.run(2 * MINUTE);
        let outcome = world.outcome();
        // Twenty seconds at 1,000 a minute, ten without, and then 600 a minute.
        let in_it = outcome.released_between(until - Extra::LASTS, until);
        assert!(in_it.abs_diff(333 + 300) <= 30, "{in_it} in a minute in which the room was {state}");
        assert_eq!(outcome.above_rate(), None);
    }
}

#[test]
fn an_end_right_after_it_is_not_late() {
    let mut world = releasing(5, 3000);
    let ends = until(&mut world) + Duration::from_millis(200);
    world.change_room(move |room| room.ends = Some(ends));
    world.run(3 * MINUTE);
    let outcome = world.outcome();
    // A tenth of a second is the millisecond of its own.
    let late = outcome.released_between(ends + Duration::from_millis(100), ends + 2 * MINUTE);
    assert_eq!((late, world.room().state, outcome.above_rate()), (0, RoomState::Ended, None));
}
