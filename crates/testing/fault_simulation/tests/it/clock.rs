//! A clock that was ahead and is set back, on the one machine that a room runs on.

use std::time::Duration;

use fault_simulation::{ShopHealth, World};
use producer::DoorRequest;
use waitroom::{Mode, Room, RoomState, Valve};

use crate::straight_in::come_evenly;

const MINUTE: Duration = Duration::from_mins(1);
/// Until an order is in force, and what was released before it is recorded.
const IN_FORCE: Duration = Duration::from_secs(3);
const BACK: Duration = Duration::from_mins(5);

/// A room that lets in 600 a minute, with more in the line than it lets in within some minutes.
fn crowded(seed: u64) -> World {
    let mut world = World::new(seed, 600);
    world.run(MINUTE);
    for _ in 0..2 {
        world.join(4000);
        world.run(MINUTE);
    }
    world
}

#[test]
fn an_order_that_stops_the_releases_stays_in_force() {
    let orders: [fn(&mut Room); 4] = [
        Room::pause,
        |room| room.turn(RoomState::ClosedPaused),
        |room| room.turn(RoomState::Ended),
        |room| room.turn(RoomState::Off),
    ];
    for (seed, order) in (0..).zip(orders) {
        let mut world = crowded(seed);
        world.change_room(order);
        world.run(IN_FORCE);
        let state = world.room().state;
        let released = world.outcome().released();
        world.set_clock_back(BACK);
        world.run(2 * BACK);
        assert_eq!(world.outcome().released(), released, "{state}");
        world.change_room(|room| room.turn(RoomState::On));
        world.drain(30);
        let outcome = world.outcome();
        assert_eq!((outcome.released(), outcome.lost.len(), outcome.twice.len()), (8000, 0, 0), "{state}");
    }
}

#[test]
fn a_slower_rate_is_in_force_again_within_a_minute() {
    let mut world = crowded(5);
    world.set_rate(60);
    world.run(IN_FORCE);
    world.set_clock_back(BACK);
    world.run(MINUTE + IN_FORCE);
    let before = world.outcome().released();
    world.run(2 * MINUTE);
    let released = world.outcome().released() - before;
    assert!((100..=130).contains(&released), "{released} in two minutes");
}

#[test]
fn a_room_that_has_just_woken_stays_awake() {
    let mut world = World::new(6, 600);
    world.run(2 * BACK);
    assert!(world.room().quiet);
    world.join(10);
    world.run(Duration::from_millis(100));
    assert!(!world.room().quiet);
    world.set_clock_back(BACK);
    world.run(2 * MINUTE);
    assert_eq!(world.outcome().released(), 10);
}

#[test]
fn a_pause_stops_those_who_go_straight_in_as_well() {
    let mut world = World::new(1, 600);
    world.change_room(|room| room.settings.mode = Mode::Overflow);
    world.run(4 * MINUTE);
    assert!(matches!(world.room().valve(), Valve::Doors(_)));
    world.change_room(Room::pause);
    world.run(IN_FORCE);
    world.set_clock_back(BACK);
    come_evenly(&mut world, 60.0, MINUTE);
    let outcome = world.outcome();
    assert_eq!((outcome.straight, outcome.released(), world.waiting()), (0, 0, 60));
}

#[test]
fn newcomers_go_straight_in_as_before() {
    let mut world = World::new(2, 600);
    world.change_room(|room| room.settings.mode = Mode::Overflow);
    // Longer than the clock is set back, so that nothing but the permits depends on it.
    world.run(2 * BACK);
    come_evenly(&mut world, 300.0, MINUTE);
    assert_eq!(world.outcome().straight, 300);
    world.set_clock_back(BACK);
    // The first of them finds no permit, and a line forms for a while.
    come_evenly(&mut world, 300.0, 3 * MINUTE);
    let before = world.outcome().straight;
    come_evenly(&mut world, 300.0, MINUTE);
    assert_eq!(world.outcome().straight - before, 300);
}

/// What is left of a window that other plans took the place of isn't released beside them when its time comes again.
#[test]
fn no_minute_has_more_than_the_rate_allows() {
    let mut world = crowded(3);
    world.run(MINUTE / 2);
    world.set_clock_back(BACK);
    let mut before = world.outcome().released();
    for minute in 0..10 {
        world.run(MINUTE);
        let released = world.outcome().released();
        let in_minute = released - before;
        // Other plans begin when the schedule runs.
        let least = if minute == 0 { 0 } else { 590 };
        assert!((least..=620).contains(&in_minute), "{in_minute} in minute {minute}");
        before = released;
    }
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.above_quota()), (0, 0, vec![]));
}

#[test]
fn the_throttle_goes_on() {
    let mut world = World::new(4, 600).with_throttle();
    world.run(3 * MINUTE);
    assert_eq!(world.room().throttled, None);
    world.set_clock_back(BACK);
    world.shop.set(ShopHealth::Down);
    world.run(2 * MINUTE);
    assert!(world.room().is_throttled());
}

/// By the clock, they are admitted before the reset. An admission from before it counts as none.
#[test]
fn whoever_is_admitted_after_a_reset_stays_admitted() {
    let mut world = World::new(7, 600);
    world.change_room(|room| room.settings.mode = Mode::Observe);
    world.run(MINUTE);
    world.reset("next");
    world.run(IN_FORCE);
    world.set_clock_back(BACK);
    let passed = world.request(&DoorRequest::GET).unwrap();
    let place = passed.set_cookie.as_deref().unwrap().split(';').next().unwrap();
    world.run(IN_FORCE);
    world.change_room(|room| room.settings.mode = Mode::Line);
    world.run(IN_FORCE);
    let again = world.request(&DoorRequest { cookies: &[place], ..DoorRequest::GET }).unwrap();
    assert!(again.location.as_deref().unwrap().contains("bk_pass="), "{again:?}");
}
