//! A room that is closed or ended: nobody new gets a place, nobody is let in after the end, and nobody is lost.

use std::time::Duration;

use fault_simulation::World;
use producer::DoorRequest;
use waitroom::ports::Clock;
use waitroom::{RoomState, Timestamp};

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);
/// Until an order is in force, and what was released before it is recorded.
const IN_FORCE: Duration = Duration::from_secs(3);

/// Nobody gets a place here, with or without a cookie of their own making.
fn assert_turns_newcomers_away(world: &mut World) {
    for cookies in [&[][..], &["bk_sale=ab12-000000000000000000000000000000aa-1"]] {
        let answer = world.request(&DoorRequest { cookies, ..DoorRequest::GET }).unwrap();
        assert_eq!((answer.set_cookie, answer.set_proof), (None, None), "{cookies:?}");
    }
}

/// A room with more in the line than it lets in within some minutes.
fn crowded(seed: u64) -> World {
    let mut world = World::new(seed, 600);
    world.run(MINUTE);
    world.join(4000);
    world.run(2 * MINUTE);
    world
}

#[test]
fn whoever_waits_in_a_closed_room_is_let_in_and_nobody_else() {
    let mut world = crowded(1);
    world.change_room(|room| room.turn(RoomState::Closed));
    world.run(IN_FORCE);
    assert_turns_newcomers_away(&mut world);
    world.lose_power();
    world.boot();
    assert_turns_newcomers_away(&mut world);
    // The line has overtaken the first tickets by now: an invented place does not join for one.
    world.drain(30);
    assert_turns_newcomers_away(&mut world);
    let outcome = world.outcome();
    assert_eq!((outcome.released(), outcome.lost.len(), outcome.twice.len()), (4000, 0, 0));
}

#[test]
fn a_pause_of_a_closed_room_stops_the_releases_and_lets_nobody_new_in() {
    let mut world = crowded(2);
    world.change_room(|room| room.turn(RoomState::Closed));
    world.change_room(waitroom::Room::pause);
    world.run(IN_FORCE);
    let released = world.outcome().released();
    world.run(5 * MINUTE);
    assert_eq!(world.outcome().released(), released);
    assert_turns_newcomers_away(&mut world);
    world.change_room(|room| room.turn(RoomState::Closed));
    world.drain(30);
    assert_eq!((world.outcome().released(), world.outcome().lost.len()), (4000, 0));
}

#[test]
fn nobody_is_let_into_an_ended_room_by_a_restart_a_late_visit_or_a_second_one() {
    let mut world = crowded(3);
    world.change_room(|room| room.turn(RoomState::Ended));
    world.run(IN_FORCE);
    let released = world.outcome().released();
    assert!((1000..1500).contains(&released), "{released}");
    let waiting = world.waiting();
    for restart in [World::kill as fn(&mut World), World::lose_power] {
        restart(&mut world);
        world.boot();
        for place in world.places() {
            world.visit(Some(place));
        }
        world.join(50);
        drop(world.fire_trigger());
        world.run(5 * MINUTE);
        assert_turns_newcomers_away(&mut world);
    }
    assert_eq!((world.outcome().released(), world.waiting()), (released, waiting));
    assert_eq!(world.places().len(), 4000, "nobody else has a place");
    // `undo`, or `on`: everybody has the place that they had.
    world.change_room(|room| room.turn(RoomState::On));
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.released(), outcome.lost.len(), outcome.twice.len()), (4000, 0, 0));
}

#[test]
fn an_end_ahead_lets_in_at_the_full_rate_until_that_instant_and_nobody_from_then_on() {
    for rate in [60, 600, 3000] {
        let mut world = World::new(rate.into(), rate);
        world.run(MINUTE);
        let ends = world.clock.now() + 6 * MINUTE + 20 * SECOND;
        world.change_room(move |room| room.ends = Some(ends));
        world.join(rate as usize * 8);
        world.run(MINUTE);
        let from = world.clock.now();
        world.run(20 * MINUTE);
        let outcome = world.outcome();
        assert_eq!(outcome.above_rate(), None, "at {rate}");
        let (released, expected) = (outcome.released_between(from, ends), rate as usize * 16 / 3);
        let batches = 20 * rate.div_ceil(1000) as usize;
        assert!(released.abs_diff(expected) <= batches, "at {rate}: {released} of {expected}");
        // A change has a millisecond of its own.
        let after = ends + Duration::from_millis(100);
        assert_eq!(outcome.released_between(after, Timestamp::from_millis(u64::MAX)), 0, "at {rate}");
        assert_eq!(world.room().state, RoomState::Ended);
        world.change_room(|room| room.turn(RoomState::On));
        world.drain(10);
        assert_eq!(world.outcome().lost.len(), 0, "at {rate}");
    }
}

#[test]
fn an_opening_and_an_end_ahead_go_together() {
    let mut world = World::new(5, 600);
    let (opens, ends) = (world.clock.now() + 5 * MINUTE, world.clock.now() + 9 * MINUTE);
    world.change_room(move |room| {
        room.open_at(opens);
        (room.closes, room.ends) = (Some(opens + 2 * MINUTE), Some(ends));
    });
    world.run(IN_FORCE);
    world.join(4000);
    world.run(opens.since(world.clock.now()));
    assert_eq!(world.outcome().released(), 0);
    world.run(2 * MINUTE + SECOND);
    assert_eq!(world.room().state, RoomState::Closed);
    assert_turns_newcomers_away(&mut world);
    world.run(10 * MINUTE);
    let released = world.outcome().released();
    assert!(released.abs_diff(2400) <= 20, "{released}");
}

#[test]
fn a_closed_room_turns_off_when_everybody_was_let_in_and_not_before() {
    let mut world = crowded(6);
    world.change_room(|room| {
        room.turn(RoomState::Closed);
        room.then_off = true;
    });
    for _ in 0..60 {
        world.run(10 * SECOND);
        if world.waiting() > 0 {
            assert_eq!(world.room().state, RoomState::Closed);
        }
    }
    assert_eq!((world.waiting(), world.room().state), (0, RoomState::Off));
    assert_eq!((world.outcome().released(), world.outcome().lost.len()), (4000, 0));
}

/// An end is exact, also if an order that comes just before it moves the change of the valve.
#[test]
fn no_order_moves_an_end_ahead() {
    for before in [500, 900, 1200, 1400, 2000] {
        let mut world = crowded(7);
        let ends = world.clock.now() + 2 * MINUTE;
        world.change_room(move |room| room.ends = Some(ends));
        let ordered = ends - Duration::from_millis(before);
        world.run(ordered.since(world.clock.now()));
        for rate in [700, 650] {
            world.set_rate(rate);
            world.run(Duration::from_millis(100));
        }
        world.run(MINUTE);
        let after = ends + Duration::from_millis(100);
        let released = world.outcome().released_between(after, after + MINUTE);
        assert_eq!((released, world.room().state), (0, RoomState::Ended), "{before} ms before");
    }
}
