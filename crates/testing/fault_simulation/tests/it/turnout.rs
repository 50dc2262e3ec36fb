//! Rooms that release more, because some of those whose turn it is don't come: over faults, kills and pages that sleep.

use std::collections::HashSet;
use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use producer::DoorRequest;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::{Clock, Fault};
use waitroom::{Oversubscription, Place, Turnout};

const MINUTE: Duration = Duration::from_mins(1);
const RATE: u32 = 120;

fn world(seed: u64, percent: u32) -> World {
    oversubscribing(World::new(seed, RATE), percent)
}

fn oversubscribing(mut world: World, percent: u32) -> World {
    let most = Oversubscription::new(percent).ok();
    world.change_room(move |room| room.settings.oversubscribe = most);
    world
}

/// Whom the room has let in, in the order in which they joined.
fn admitted(world: &mut World) -> Vec<Place> {
    let places = world.places();
    let admitted: HashSet<_> = world.observations.lock().confirmed.iter().map(|(token, _)| *token).collect();
    places.into_iter().filter(|place| admitted.contains(&place.token)).collect()
}

/// Lets so many minutes pass, in which those come whom the room has let in: all but one of `but_one_of`.
fn minutes(world: &mut World, minutes: u32, but_one_of: u64, come_again: bool) {
    let mut known = 0;
    for _ in 0..minutes * 6 {
        world.run(MINUTE / 6);
        let admitted = admitted(world);
        for place in admitted.iter().skip(known) {
            if place.ticket.get() % but_one_of != 0 {
                world.visit(Some(*place));
                if come_again {
                    world.visit(Some(*place));
                }
            }
        }
        known = admitted.len();
    }
}

#[test]
fn whoever_comes_again_counts_once_and_whoever_does_not_come_is_made_up_for() {
    let mut world = world(1, 50);
    world.join(2500);
    minutes(&mut world, 14, 5, true);
    let Some(Turnout { came, released }) = world.room().turnout else { panic!("it is counted") };
    let percent = 100 * came / released;
    assert!((78..82).contains(&percent), "{came} of {released}");
    assert!((148..=153).contains(&world.room().rate().get()), "{}", world.room().rate());
    assert_eq!(world.outcome().above_rate(), None);
}

#[test]
fn a_change_of_the_turnout_stops_nothing_where_the_trigger_cannot_start_itself() {
    for lost in [false, true] {
        let world = World::new(5, RATE).with_lead_time_of_functions().with_scheduled_trigger();
        let mut world = oversubscribing(world, 50);
        world.inject(InjectedFault::Unconfirmed, move |call| lost && call == PortCall::KeepTurnout);
        world.join(2500);
        minutes(&mut world, 14, 5, false);
        assert!(world.room().turnout.is_some());
        let mut at: Vec<_> = world.observations.lock().confirmed.iter().map(|(_, at)| *at).collect();
        at.sort();
        let longest = at.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap();
        assert!(at.len() > 14 * RATE as usize && longest < MINUTE / 4, "{} released, {longest:?}", at.len());
    }
}

#[test]
fn nobody_counts_twice_over_kills_and_answers_that_are_lost() {
    let mut world = world(2, 100);
    let mut rng = StdRng::seed_from_u64(2);
    world.set_faults(move |call| match (call, rng.random_range(0..4)) {
        (PortCall::NoteCame, 0) => (InjectedFault::Unconfirmed, Duration::from_millis(9)),
        (PortCall::NoteCame, 1) => (InjectedFault::Refused(Fault::Busy), Duration::from_millis(9)),
        _ => (InjectedFault::None, Duration::from_millis(2)),
    });
    world.join(1500);
    for round in 0..9 {
        minutes(&mut world, 1, 4, true);
        if round % 3 == 0 {
            world.lose_power();
        } else {
            world.kill();
        }
        world.boot();
    }
    let Some(Turnout { came, released }) = world.room().turnout else { panic!("it is counted") };
    // A quarter doesn't come, and of the others some could not be counted.
    assert!(came * 4 <= released * 3, "{came} of {released}");
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.above_rate()), (0, 0, None));
}

#[test]
fn a_visitor_comes_in_whatever_counts_them_or_not() {
    let mut world = world(3, 30);
    world.join(5);
    world.run(2 * MINUTE);
    let places = admitted(&mut world);
    assert_eq!(places.len(), 5);
    for (place, takes) in places.iter().zip([1, 100, 400, 30_000, 300_000]) {
        world.set_faults(move |call| match call {
            PortCall::NoteCame => (InjectedFault::Refused(Fault::Broken), Duration::from_millis(takes)),
            _ => (InjectedFault::None, Duration::ZERO),
        });
        let cookie = format!("bk_sale={place}");
        let before = world.clock.now();
        let answer = world.request(&DoorRequest { cookies: &[&cookie], ..DoorRequest::GET }).unwrap();
        assert!(answer.location.unwrap().starts_with("https://shop.example/sale?"), "{takes}");
        assert!(world.clock.now() < before + Duration::from_secs(2), "{takes}");
    }
}

/// A hidden tab, or a phone that slept: others wait by then, and were let in meanwhile.
#[test]
fn whoever_comes_late_is_let_in_at_once_ahead_of_the_line() {
    let mut world = world(4, 30);
    world.join(2000);
    world.run(MINUTE);
    let sleeper = admitted(&mut world)[0];
    minutes(&mut world, 10, 7, false);
    assert!(world.waiting() > 0);
    let cookie = format!("bk_sale={sleeper}");
    let answer = world.request(&DoorRequest { cookies: &[&cookie], ..DoorRequest::GET }).unwrap();
    assert!(answer.location.unwrap().starts_with("https://shop.example/sale?"));
}
