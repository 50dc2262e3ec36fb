//! Hundreds of random schedules: joins, returns, kills, changes of mind and faults, all at random points.

use std::time::Duration;

use fault_simulation::{Audit, Call, Faults, Health, World};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::Fault;

const MINUTE: Duration = Duration::from_mins(1);

/// How bad a day it is: the chance of a fault in each call.
fn sky(seed: u64, chance: f64) -> impl FnMut(Call) -> (Faults, Duration) + Send {
    let mut rng = StdRng::seed_from_u64(seed);
    move |call| {
        let takes = Duration::from_millis(rng.random_range(1..40));
        if !rng.random_bool(chance) {
            return (Faults::Fine, takes);
        }
        let weather = match (call, rng.random_range(0..6)) {
            (Call::Receive, 0..2) => Faults::Empty,
            (Call::Receive, 2) => Faults::Twice,
            (Call::Receive, 3) => Faults::Again,
            (_, 0..3) => Faults::Refused(Fault::Busy),
            (_, 3) => Faults::Refused(Fault::Broken),
            _ => Faults::Unconfirmed,
        };
        // Some answers are not lost but late.
        (weather, takes * rng.random_range(1..50))
    }
}

fn schedule(seed: u64, chance: f64, killed: bool) -> (Audit, u32) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut largest_rate = rng.random_range(30..2500);
    let mut world = World::new(seed, largest_rate);
    if seed.is_multiple_of(2) {
        world = world.with_throttle();
    }
    world.set_sky(sky(seed, chance));
    for _ in 0..rng.random_range(20..60) {
        match rng.random_range(0..13) {
            0..5 => world.join(rng.random_range(1..60)),
            5 => {
                let somebody = {
                    let places = &world.book.lock().redirected;
                    (!places.is_empty()).then(|| places[rng.random_range(0..places.len())])
                };
                world.visit(somebody);
            }
            6 => drop(world.fire()),
            7 => {
                let rate = rng.random_range(1..2500);
                largest_rate = largest_rate.max(rate);
                world.set_rate(rate);
            }
            8 => {
                let (open, paused) = (rng.random_bool(0.8), rng.random_bool(0.2));
                world.change_room(move |room| (room.open, room.paused) = (open, paused));
            }
            9 if killed => _ = world.kill_a_consumer(),
            10 if killed => {
                world.kill();
                world.boot();
            }
            12 => {
                let slow = Health::Answers(Duration::from_millis(rng.random_range(50..300)));
                world.shop.set(if rng.random_bool(0.2) { Health::Down } else { slow });
            }
            11 if killed => {
                world.lose_power();
                world.boot();
            }
            _ => {}
        }
        world.run(Duration::from_millis(rng.random_range(1..20_000)));
    }
    world.clear_sky();
    let rate = rng.random_range(600..2500);
    largest_rate = largest_rate.max(rate);
    world.change_room(|room| (room.open, room.paused) = (true, false));
    world.set_rate(rate);
    world.shop.set(Health::Answers(Duration::from_millis(50)));
    world.drain(120);
    (world.audit(), largest_rate)
}

fn nobody_is_lost_nobody_counted_twice(seed: u64, (audit, largest_rate): &(Audit, u32)) {
    assert_eq!((audit.lost.len(), audit.twice.len()), (0, 0), "seed {seed}: lost, twice");
    assert_eq!(audit.above_plan(), [], "seed {seed}: above plan");
    assert!(audit.reported <= audit.released(), "seed {seed}: counted more than were released");
    // In whole batches, as people leave in batches, and one that was in flight at a fault.
    let largest = audit.largest_second();
    assert!(
        largest <= 10 * (2 * *largest_rate as usize).div_ceil(600) + 10,
        "seed {seed}: {largest} in one second, at a rate of at most {largest_rate}"
    );
}

#[test]
fn two_hundred_days_of_bad_weather() {
    for seed in 0..200 {
        nobody_is_lost_nobody_counted_twice(seed, &schedule(seed, 0.05, false));
    }
}

#[test]
fn two_hundred_days_of_bad_weather_and_kills() {
    for seed in 200..400 {
        nobody_is_lost_nobody_counted_twice(seed, &schedule(seed, 0.05, true));
    }
}

#[test]
fn twenty_terrible_days() {
    for seed in 400..420 {
        nobody_is_lost_nobody_counted_twice(seed, &schedule(seed, 0.4, true));
    }
}

#[test]
fn the_same_seed_gives_the_same_day() {
    let (one, other) = (schedule(7, 0.1, true).0, schedule(7, 0.1, true).0);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// Without faults a window in which enough people wait releases exactly its plan, whatever the rate.
#[test]
fn fair_weather_releases_exactly_the_plan() {
    for seed in 0..60 {
        let mut rng = StdRng::seed_from_u64(seed);
        let rate = rng.random_range(1..4000);
        let mut world = World::new(seed, rate);
        world.set_sky(sky(seed, 0.0));
        world.join(3 * rate as usize);
        world.run(Duration::from_millis(rng.random_range(1..2000)));
        world.run(3 * MINUTE);
        let windows: Vec<_> = world.audit().windows().into_values().collect();
        // The first was planned while they were still coming.
        assert_eq!(windows[1..3], [(rate, rate); 2], "seed {seed}");
        let (largest, whole_batches) = (world.audit().largest_second(), (2 * rate as usize).div_ceil(600));
        assert!(largest <= 10 * whole_batches, "seed {seed}: {largest} in one second of a rate of {rate}");
    }
}
