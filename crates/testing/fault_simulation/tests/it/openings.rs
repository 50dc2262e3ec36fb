//! A room that opens by itself: nobody is released before, and from that instant on the rate is.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use waitroom::ports::{Clock, Fault};
use waitroom::{ActiveLimit, Rate, RoomState, Timestamp};

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// A room that was ordered to open in seven minutes, with a crowd for two minutes at this rate, and when it opens.
fn opening(rate: u32) -> (World, Timestamp) {
    let mut world = World::new(u64::from(rate), rate);
    // Long enough to be quiet.
    world.run(4 * MINUTE + 10 * SECOND);
    let opens = world.clock.now() + 7 * MINUTE;
    world.change_room(move |room| room.open_at(opens));
    world.run(MINUTE);
    world.join(rate as usize * 2 + 200);
    world.run(MINUTE);
    (world, opens)
}

fn run_until(world: &mut World, at: Timestamp) {
    world.run(at.since(world.clock.now()));
}

/// Lets the room open, and checks that it releases at this rate from `from` on, and nobody before.
fn assert_opens(world: &mut World, from: Timestamp, rate: u32, case: &str) {
    run_until(world, from + 15 * SECOND);
    assert_eq!((world.room().state, world.room().opens), (RoomState::On, None), "{case}");
    let outcome = world.outcome();
    assert_eq!(outcome.above_rate(), None, "{case}");
    assert_eq!(outcome.released_between(Timestamp::default(), from), 0, "{case}");
    let (released, expected) = (outcome.released_between(from, from + 10 * SECOND), rate as usize / 6);
    let batches = 10 * rate.div_ceil(1000) as usize;
    assert!(released.abs_diff(expected) <= batches, "{case}: {released} released, {expected} expected");
}

#[test]
fn a_crowd_gets_the_full_rate_from_the_first_second_on() {
    for rate in [1, 60, 600, 1500, 3000, 6000, 12_000] {
        let (mut world, opens) = opening(rate);
        run_until(&mut world, opens);
        assert!(!world.room().quiet);
        assert_opens(&mut world, opens, rate, &format!("at {rate}"));
    }
}

#[test]
fn a_rate_that_is_set_before_the_opening_is_the_openings() {
    for before in [100_000, 30_000, 5000, 2000] {
        let (mut world, opens) = opening(600);
        run_until(&mut world, opens - Duration::from_millis(before));
        for rate in [6000, 60, 3000] {
            world.set_rate(rate);
            world.run(Duration::from_millis(100));
        }
        assert_opens(&mut world, opens, 3000, &format!("{before} ms before"));
    }
}

#[test]
fn a_pause_before_the_opening_withdraws_it() {
    for before in [100_000, 30_000, 5000, 1500] {
        let (mut world, opens) = opening(3000);
        run_until(&mut world, opens - Duration::from_millis(before));
        world.change_room(|room| room.turn(RoomState::Paused));
        world.run(5 * MINUTE);
        assert_eq!(world.outcome().released(), 0, "{before} ms before");
        assert_eq!(world.room().state, RoomState::Paused);
    }
}

#[test]
fn an_opening_can_be_moved_to_earlier_and_to_later() {
    for (before, by) in [(120, -60), (120, 60), (20, -15), (5, 30), (3, 1)] {
        let (mut world, opens) = opening(3000);
        run_until(&mut world, opens - before * SECOND);
        let moved = opens.as_millis().checked_add_signed(by * 1000).map(Timestamp::from_millis).unwrap();
        world.change_room(move |room| room.open_at(moved));
        assert_opens(&mut world, moved, 3000, &format!("{before} s before, by {by} s"));
    }
}

/// To 2000.
fn limit_active_visitors(world: &mut World) {
    world.change_room(|room| {
        let (idle, session) = (20 * MINUTE, 120 * MINUTE);
        room.settings.active = Some(ActiveLimit { visitors: 2000, idle, session });
    });
}

/// Whom the withdrawn plan was for come by the other, so they count in the shop once.
#[test]
fn a_limit_of_active_visitors_counts_no_plan_whose_opening_was_withdrawn() {
    for (before, moved) in [(100, false), (100, true), (20, false), (3, true)] {
        let (mut world, opens) = opening(1000);
        limit_active_visitors(&mut world);
        run_until(&mut world, opens - before * SECOND);
        let opens = if moved { opens + SECOND } else { opens };
        world.change_room(move |room| {
            room.settings.rate = Rate::new(1200).unwrap();
            room.open_at(opens);
        });
        assert_opens(&mut world, opens, 1200, &format!("{before} s before, moved: {moved}"));
        world.run(20 * MINUTE);
        let released = world.outcome().released();
        assert!(released <= 2000, "{released} in the shop");
    }
}

/// The plan of the opening was written before the reset, and whom plans of the epoch before let in count for nobody.
#[test]
fn a_limit_of_active_visitors_counts_whom_an_opening_lets_in_after_a_reset() {
    for before in [100, 20, 5] {
        let (mut world, opens) = opening(1000);
        limit_active_visitors(&mut world);
        run_until(&mut world, opens - before * SECOND);
        world.reset("next");
        world.run(2 * SECOND);
        world.join(4000);
        assert_opens(&mut world, opens, 1000, &format!("reset {before} s before"));
        world.run(20 * MINUTE);
        let released = world.outcome().released();
        assert!(released <= 2000, "reset {before} s before: {released} in the shop");
    }
}

#[test]
fn runs_of_the_trigger_that_fail_shortly_before_do_not_delay_the_opening() {
    let (mut world, opens) = opening(3000);
    run_until(&mut world, opens - 2 * MINUTE);
    world.set_faults(|call| match call {
        PortCall::WritePlan | PortCall::Send => (InjectedFault::Refused(Fault::Broken), SECOND / 100),
        _ => (InjectedFault::None, SECOND / 100),
    });
    assert_opens(&mut world, opens, 3000, "runs fail");
}

#[test]
fn a_room_that_did_not_run_opens_when_it_runs_again() {
    let (mut world, opens) = opening(3000);
    run_until(&mut world, opens - 30 * SECOND);
    world.kill();
    world.stay_down(4 * MINUTE);
    world.boot();
    assert_eq!(world.room().state, RoomState::On);
    let now = world.clock.now();
    assert_opens(&mut world, now, 3000, "after a restart");
}

#[test]
fn a_room_that_is_restarted_before_opens_in_time() {
    let (mut world, opens) = opening(3000);
    run_until(&mut world, opens - 30 * SECOND);
    world.lose_power();
    world.stay_down(SECOND);
    world.boot();
    assert_eq!((world.room().state, world.room().opens), (RoomState::Paused, Some(opens)));
    assert_opens(&mut world, opens, 3000, "restarted");
}

#[test]
fn a_room_that_is_on_closes_until_its_opening() {
    let mut world = World::new(9, 3000);
    world.join(9000);
    world.run(20 * SECOND);
    let (closes, opens) = (world.clock.now() + 2 * SECOND, world.clock.now() + 50 * SECOND);
    world.change_room(move |room| room.open_at(opens));
    world.run(10 * SECOND);
    for rate in [60, 6000, 3000] {
        world.set_rate(rate);
        world.run(Duration::from_millis(300));
    }
    run_until(&mut world, opens + 10 * SECOND);
    let outcome = world.outcome();
    assert_eq!(outcome.released_between(closes, opens), 0);
    assert_eq!(outcome.above_rate(), None);
    let released = outcome.released_between(opens, opens + 10 * SECOND);
    assert!(released.abs_diff(500) <= 60, "{released}: a window that was ahead delays the opening a little");
    assert_eq!(world.room().settings.rate, Rate::new(3000).unwrap());
}
