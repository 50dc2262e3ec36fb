//! Rooms in which newcomers go straight in while nobody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use memory::LineBehaviour;
use producer::DoorRequest;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::Clock;
use waitroom::{Mode, RoomState, Valve};

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// A room that nobody has come to for some minutes.
fn overflow(seed: u64, rate: u32) -> World {
    let mut world = World::new(seed, rate);
    world.change_room(|room| room.settings.mode = Mode::Overflow);
    world.run(4 * MINUTE);
    assert!(matches!(world.room().valve(), Valve::Doors(_)));
    world
}

/// Visitors come evenly, so many a minute.
pub(crate) fn come_evenly(world: &mut World, per_minute: f64, time: Duration) {
    let pause = MINUTE.div_f64(per_minute);
    let mut left = time;
    while let Some(rest) = left.checked_sub(pause) {
        world.join(1);
        world.run(pause);
        left = rest;
    }
}

/// At random, so many a minute.
fn come_at_random(world: &mut World, rng: &mut StdRng, per_minute: f64, time: Duration) {
    let until = world.clock.now() + time;
    loop {
        let pause = MINUTE.div_f64(per_minute).mul_f64(-(1.0 - rng.random::<f64>()).ln());
        if world.clock.now() + pause > until {
            return;
        }
        world.run(pause);
        world.join(1);
    }
}

#[test]
fn at_half_the_rate_nobody_waits_and_nobody_asks_the_line() {
    for rate in [2, 60, 1200] {
        let mut world = overflow(1, rate);
        world.run(MINUTE);
        let calls = Arc::new(AtomicU32::new(0));
        let counted = calls.clone();
        world.set_faults(move |call| {
            let is_of_line = matches!(call, PortCall::Join | PortCall::Receive | PortCall::LeaseTickets);
            counted.fetch_add(is_of_line.into(), Ordering::Relaxed);
            (InjectedFault::None, Duration::ZERO)
        });
        come_evenly(&mut world, f64::from(rate) / 2.0, 4 * MINUTE);
        let outcome = world.outcome();
        assert_eq!((outcome.straight, outcome.released()), (2 * rate, 0), "at {rate} a minute");
        assert_eq!((outcome.counted, calls.load(Ordering::Relaxed)), (u64::from(2 * rate), 0));
        assert_eq!(world.counts(), ((2 * rate).into(), 0, (2 * rate).into()));
    }
}

#[test]
fn at_ten_times_the_rate_the_plan_is_kept_exactly() {
    for rate in [60, 600] {
        let mut world = overflow(2, rate);
        come_evenly(&mut world, 10.0 * f64::from(rate), 4 * MINUTE);
        let outcome = world.outcome();
        assert_eq!(outcome.above_rate(), None);
        let let_in = outcome.straight + outcome.released();
        let planned = 4 * rate;
        assert!(
            (planned - rate / 30..=planned + rate / 60 + 10).contains(&let_in),
            "{let_in} of {planned} in four minutes"
        );
        // Until the line is in force.
        assert!(outcome.straight <= 1 + rate / 60 * 3, "{} went straight in", outcome.straight);
        let most = 10 * (2 * rate as usize).div_ceil(600) + 10;
        assert!(outcome.largest_second() <= most, "{} in a second", outcome.largest_second());
        world.drain(60);
        let outcome = world.outcome();
        assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.above_rate()), (0, 0, None));
        assert_eq!(u64::from(outcome.straight + outcome.released()), outcome.counted);
    }
}

#[test]
fn once_the_line_is_gone_newcomers_go_straight_in_again_and_nobody_is_left_behind() {
    for (seed, rate) in (0..5).zip([6, 60, 600, 1200, 60]) {
        let behaviour = LineBehaviour { count_lag: MINUTE, ..LineBehaviour::default() };
        let mut world = World::new(seed, rate);
        if seed >= 4 {
            world = world.with_line(behaviour).with_lead_time_of_functions();
        }
        world.change_room(|room| room.settings.mode = Mode::Overflow);
        world.join(2 * rate as usize);
        world.run(3 * MINUTE);
        assert!(!matches!(world.room().valve(), Valve::Doors(_)), "there was a line");
        // At half the rate the line is short, but never empty for a minute.
        come_evenly(&mut world, f64::from(rate) / 2.0, 5 * MINUTE);
        let before = world.outcome();
        assert!(before.straight > rate, "only {} went straight in at {rate} a minute", before.straight);
        let waited = before.released();
        come_evenly(&mut world, f64::from(rate) / 2.0, 5 * MINUTE);
        let after = world.outcome();
        assert_eq!((after.released(), after.above_rate()), (waited, None), "nobody waits any more");
        assert_eq!((after.lost, world.waiting()), (vec![], 0), "the last of the line got in");
    }
}

#[test]
fn whoever_joined_just_before_the_doors_opened_enters_within_seconds() {
    for rate in [60, 600] {
        let mut world = World::new(7, rate);
        world.change_room(|room| room.settings.mode = Mode::Overflow);
        world.join(rate as usize);
        while !world.room().quiet {
            come_evenly(&mut world, f64::from(rate) / 2.0, 2 * SECOND);
        }
        // The change is written, and in force in a second.
        let joined = world.observations.lock().redirected.len();
        come_evenly(&mut world, f64::from(rate) / 2.0, 12 * SECOND);
        let outcome = world.outcome();
        assert!(outcome.lost.is_empty(), "{} of {joined} still wait at {rate} a minute", outcome.lost.len());
    }
}

#[test]
fn random_crowds_wait_as_seldom_as_they_can() {
    for (share, seldom) in [(0.5, 0.02), (0.8, 0.8)] {
        let (mut world, mut rng) = (overflow(9, 600), StdRng::seed_from_u64(9));
        come_at_random(&mut world, &mut rng, 600.0 * share, 30 * MINUTE);
        world.drain(5);
        let outcome = world.outcome();
        let waited = f64::from(outcome.released()) / f64::from(outcome.released() + outcome.straight);
        assert!(waited <= seldom, "at {share} of the rate, {waited} waited");
        assert_eq!((outcome.lost.len(), outcome.above_rate()), (0, None));
    }
}

#[test]
fn orders_keep_their_meaning() {
    let mut world = overflow(3, 60);
    world.set_rate(6);
    world.run(2 * SECOND);
    come_evenly(&mut world, 60.0, MINUTE);
    let slow = world.outcome();
    let let_in = (slow.straight, slow.released());
    // A line begins with a batch.
    assert!(slow.straight <= 2 && slow.released() == 10, "the new rate holds at the door: {let_in:?}");
    world.change_room(|room| room.turn(RoomState::Paused));
    world.run(2 * SECOND);
    let before = world.outcome();
    world.join(5);
    world.run(5 * MINUTE);
    let paused = world.outcome();
    assert_eq!(
        (paused.straight, paused.released()),
        (before.straight, before.released()),
        "nobody is let in"
    );
    world.change_room(|room| room.turn(RoomState::On));
    world.change_room(|room| room.settings.mode = Mode::Line);
    world.drain(30);
    let over = world.outcome();
    assert_eq!((over.lost.len(), over.straight), (0, before.straight), "they have waited in line");
    assert_eq!(over.above_rate(), None);
}

#[test]
fn after_a_kill_nobody_goes_in_for_what_is_not_known() {
    let mut world = overflow(4, 600);
    for _ in 0..50 {
        world.join(3);
        world.run(SECOND / 20);
        world.kill();
        world.boot();
        world.join(3);
        world.run(SECOND / 4);
    }
    let outcome = world.outcome();
    assert_eq!((outcome.twice.len(), outcome.above_rate()), (0, None));
    world.drain(10);
    assert_eq!(world.outcome().lost, []);
}

#[test]
fn the_doors_open_again_while_an_end_is_some_days_ahead() {
    let mut world = overflow(9, 600);
    let ends = world.clock.now() + 3 * Duration::from_hours(24);
    world.change_room(move |room| room.ends = Some(ends));
    come_evenly(&mut world, 1800.0, MINUTE);
    assert!(!world.room().quiet, "a line has formed");
    come_evenly(&mut world, 60.0, 10 * MINUTE);
    assert!(world.room().quiet);
}

/// As after a snapshot of the disk was put back.
#[test]
fn whoever_went_straight_in_and_whose_admission_was_lost_goes_in_again() {
    let went_in = overflow(10, 600).request(&DoorRequest::GET).unwrap();
    let place = went_in.set_cookie.as_deref().unwrap().split(';').next().unwrap();
    let mut world = overflow(11, 600);
    let again = world.request(&DoorRequest { cookies: &[place], ..DoorRequest::GET }).unwrap();
    assert!(again.location.unwrap().contains("bk_pass="));
    let token = |cookie: &str| cookie.split('-').nth(1).unwrap().to_owned();
    assert_ne!(token(&again.set_cookie.unwrap()), token(place), "it isn't proven");
    assert_eq!((world.outcome().straight, world.waiting()), (1, 0));
}
