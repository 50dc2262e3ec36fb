//! The numbers that the operator sees agree with each other, also after faults, and the history has all of them.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use waitroom::ports::Fault;
use waitroom::{MinuteCount, RoomState};

const MINUTE: Duration = Duration::from_mins(1);

/// Joined and released, over all minutes.
fn totals(minutes: &[MinuteCount]) -> (u64, u64) {
    (minutes.iter().map(|minute| minute.joined).sum(), minutes.iter().map(|minute| minute.released).sum())
}

/// A crowd that comes in twenty parts, with something happening after each.
fn crowd(seed: u64, mut disturb: impl FnMut(&mut World, u32)) -> World {
    let mut world = World::new(seed, 600);
    for part in 0..20 {
        world.join(60);
        world.run(Duration::from_secs(7));
        disturb(&mut world, part);
    }
    world.clear_faults();
    world.drain(20);
    world
}

/// After all have been released: joined = waiting + released, and nobody is missing in the history.
fn assert_numbers_agree(world: &mut World) {
    world.run(2 * MINUTE);
    let (joined, waiting, released) = world.counts();
    let outcome = world.outcome();
    assert_eq!((joined, waiting), (released, 0));
    assert_eq!(released, u64::from(outcome.released()));
    assert!(joined >= outcome.redirected as u64, "{joined} of {}", outcome.redirected);
    assert_eq!(totals(&world.minutes()), (joined, released));
}

#[test]
fn the_numbers_of_a_crowd_agree() {
    let mut world = crowd(41, |_, _| {});
    assert_numbers_agree(&mut world);
    assert_eq!(world.counts().0, 1200, "exactly those who joined, although some tickets were not used");
}

#[test]
fn a_process_that_is_killed_loses_no_count() {
    let mut world = crowd(42, |world, part| {
        match part % 5 {
            1 => world.kill(),
            3 => world.lose_power(),
            _ => return,
        }
        world.boot();
        world.fire_trigger();
    });
    assert_numbers_agree(&mut world);
}

#[test]
fn two_triggers_count_nobody_twice() {
    let mut world = crowd(43, |world, _| {
        world.fire_trigger();
        world.fire_trigger();
    });
    assert_numbers_agree(&mut world);
    assert_eq!(world.counts().0, 1200);
}

#[test]
fn a_minute_that_could_not_be_written_is_in_the_next_one() {
    let mut world = crowd(44, |world, part| {
        let fault =
            if part % 2 == 0 { InjectedFault::Refused(Fault::Busy) } else { InjectedFault::Unconfirmed };
        world.inject(fault, move |call| part % 6 < 4 && call == PortCall::History);
    });
    assert_numbers_agree(&mut world);
}

#[test]
fn those_who_enter_while_the_room_is_off_are_the_rest() {
    let mut world = World::new(45, 600);
    world.join(1500);
    world.run(MINUTE + MINUTE / 2);
    world.change_room(|room| room.state = RoomState::Off);
    world.run(Duration::from_secs(4));
    let places = world.places();
    for place in places.iter().rev().take(500) {
        world.visit(Some(*place));
    }
    world.run(MINUTE);
    let (joined, waiting, released) = world.counts();
    assert_eq!(joined, waiting + released, "those who entered are still in the line");
    world.change_room(|room| room.state = RoomState::On);
    world.drain(10);
    assert_eq!(world.counts(), (1500, 0, 1000));
    assert_eq!(world.outcome().by_door, 500);
}

#[test]
fn a_reset_counts_from_zero() {
    let mut world = World::new(46, 600);
    world.join(900);
    world.run(MINUTE + Duration::from_secs(10));
    world.reset("next");
    world.run(Duration::from_secs(2));
    world.join(100);
    world.drain(10);
    assert_eq!(world.counts(), (100, 0, 100));
    let minutes = world.minutes();
    assert_eq!(totals(&minutes).0, 1000, "{minutes:?}");
}

#[test]
fn the_longest_wait_of_a_minute_is_that_of_the_last_who_was_released() {
    let mut world = World::new(47, 600);
    world.join(3000);
    world.drain(20);
    let waits: Vec<_> = world.minutes().iter().filter_map(|minute| minute.longest_wait).collect();
    // They joined at second 20 of the clock's minute, and are released one after the other. A wait is noted in steps of
    // five seconds, and reported every two.
    let expected = [40, 100, 160, 220, 280, 300];
    assert_eq!(waits.len(), expected.len(), "{waits:?}");
    for (wait, expected) in waits.iter().zip(expected) {
        assert!((expected - 8..=expected + 1).contains(wait), "{waits:?}");
    }
}
