//! Releasing visitors, without faults.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use waitroom::RoomState;
use waitroom::ports::Fault;

const MINUTE: Duration = Duration::from_mins(1);

fn releases_full_windows(rate: u32) {
    let mut world = World::new(1, rate);
    world.join(3 * rate as usize);
    world.run(3 * MINUTE + MINUTE / 2);
    let outcome = world.outcome();
    let windows: Vec<_> = outcome.windows().into_values().collect();
    assert_eq!(windows[..3], [(rate, rate); 3], "released and quota of each window");
    assert!(
        outcome.largest_second() <= 10 || outcome.largest_second() * 60 <= 2 * rate as usize,
        "{} in one second of a rate of {rate}",
        outcome.largest_second()
    );
}

#[test]
fn every_window_releases_exactly_its_quota() {
    for rate in [1, 7, 25, 60, 333, 1000, 1001, 3300, 6000] {
        releases_full_windows(rate);
    }
}

#[test]
fn visitors_are_released_in_the_order_in_which_they_joined() {
    let mut world = World::new(2, 1000);
    for _ in 0..300 {
        world.join(7);
        world.run(Duration::from_millis(70));
    }
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!(outcome.redirected, 2100);
    assert_eq!(outcome.order, {
        let mut sorted = outcome.order.clone();
        sorted.sort_unstable();
        sorted
    });
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.released()), (0, 0, 2100));
    assert_eq!(outcome.reported, 2100);
}

const SLOW_AND_FAST: [u32; 5] = [1, 6, 60, 600, 6000];

/// Nobody was released for a minute. Then the first visitor owes nothing to anybody.
fn first_enters_within(promised: Duration, room: fn(u32) -> World) {
    for rate in SLOW_AND_FAST {
        // Before the room is quiet, while it becomes quiet, and afterwards; at any time of a window.
        for silence in (60..240).step_by(17) {
            let mut world = room(rate);
            let batch = rate.min(10);
            world.join(batch as usize);
            world.run(promised);
            assert_eq!(world.outcome().released(), batch, "at {rate} a minute");
            world.run(Duration::from_secs(silence));
            world.join(1);
            world.run(promised);
            assert_eq!(world.outcome().released(), batch + 1, "at {rate} a minute, after {silence} s");
        }
    }
}

#[test]
fn after_a_minute_of_silence_the_first_visitor_enters_within_two_seconds() {
    first_enters_within(Duration::from_secs(2), |rate| World::new(3, rate));
}

/// There an order takes twice as long until it's in force, and an answer of the ledger or the line takes a while.
#[test]
fn after_a_minute_of_silence_the_first_visitor_enters_within_five_seconds_on_aws() {
    first_enters_within(Duration::from_secs(5), |rate| {
        let mut world = World::new(3, rate).with_lead_time_of_functions();
        world.set_faults(|_| (InjectedFault::None, Duration::from_millis(20)));
        world
    });
}

#[test]
fn after_a_pause_of_a_minute_the_line_moves_within_two_seconds() {
    for rate in SLOW_AND_FAST {
        for pause in [60, 75, 240] {
            let mut world = World::new(4, rate);
            world.join(7 * rate as usize);
            world.run(MINUTE + Duration::from_secs(31));
            world.change_room(|room| room.turn(RoomState::Paused));
            world.run(Duration::from_secs(pause));
            let before = world.outcome().released();
            world.change_room(|room| room.turn(RoomState::On));
            world.run(Duration::from_secs(2));
            assert!(world.outcome().released() > before, "at {rate} a minute, after {pause} s");
        }
    }
}

#[test]
fn a_quiet_room_runs_no_consumer() {
    let mut world = World::new(4, 6000);
    world.run(4 * MINUTE);
    assert!(world.room().quiet);
    let before = world.observations.lock().slices.len();
    world.run(5 * MINUTE);
    assert_eq!(world.observations.lock().slices.len(), before);
}

/// While the room becomes quiet, doors still know the room before, and the line's count may be old.
#[test]
fn nobody_is_left_in_a_room_that_becomes_quiet() {
    for millis in (0..6000).step_by(250) {
        let mut world = World::new(millis, 600);
        while !world.room().quiet {
            world.run(Duration::from_millis(100));
        }
        world.run(Duration::from_millis(millis));
        world.join(1);
        world.run(Duration::from_secs(5));
        assert_eq!(world.outcome().released(), 1, "joined after {millis} ms");
    }
}

#[test]
fn a_visitor_whom_the_door_could_not_announce_waits_for_the_next_minute() {
    let mut world = World::new(5, 600);
    world.run(4 * MINUTE);
    assert!(world.room().quiet);
    world.set_faults(|call| match call {
        PortCall::SetQuiet => (InjectedFault::Refused(Fault::Busy), Duration::ZERO),
        _ => (InjectedFault::None, Duration::ZERO),
    });
    world.join(1);
    world.run(Duration::from_secs(1));
    world.set_faults(|_| (InjectedFault::None, Duration::ZERO));
    assert!(world.room().quiet);
    world.run(MINUTE + Duration::from_secs(5));
    assert_eq!(world.outcome().released(), 1);
}

#[test]
fn a_paused_room_keeps_places_and_releases_nobody() {
    let mut world = World::new(5, 600);
    world.join(2000);
    world.run(2 * MINUTE);
    world.change_room(|room| room.state = RoomState::Paused);
    world.run(Duration::from_secs(2));
    let before = world.outcome().released();
    world.join(100);
    world.run(5 * MINUTE);
    assert_eq!(world.outcome().released(), before);
    assert_eq!(world.outcome().redirected, 2100, "visitors still join");
    world.change_room(|room| room.state = RoomState::On);
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.released()), (0, 0, 2100));
}

#[test]
fn visitors_who_entered_while_the_room_was_off_are_not_counted_as_released() {
    let mut world = World::new(8, 600);
    world.join(1500);
    world.run(MINUTE + MINUTE / 2);
    world.change_room(|room| room.state = RoomState::Off);
    world.run(Duration::from_secs(2));
    let released = world.outcome().released();
    let places = world.places();
    for place in places.iter().rev().take(500) {
        world.visit(Some(*place));
    }
    // Longer than an admission is valid: the ledger must keep it while the visitor is still in the line.
    world.run(Duration::from_hours(3));
    assert_eq!((world.outcome().released(), world.outcome().by_door), (released, 500));
    world.change_room(|room| room.state = RoomState::On);
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.released()), (0, 0, 1000));
    assert_eq!(outcome.reported, 1000, "those whom the door admitted are dropped and not counted");
}
