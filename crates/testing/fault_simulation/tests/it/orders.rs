//! An order is in force within two seconds, from every state and at every rate, and nobody is released beyond it.

use std::time::Duration;

use fault_simulation::{ShopHealth, World};
use waitroom::ports::Clock;
use waitroom::{Rate, Room, RoomState};

const MINUTE: Duration = Duration::from_mins(1);
const RATES: [u32; 12] = [1, 10, 30, 60, 100, 300, 600, 1000, 1500, 3000, 6000, 12_000];

/// How many are released in the ten seconds that begin two seconds after the order.
fn released_after(world: &mut World, order: impl FnOnce(&mut Room) + Send + 'static) -> usize {
    world.change_room(order);
    released_after_change(world)
}

fn released_after_change(world: &mut World) -> usize {
    let from = world.clock.now() + Duration::from_secs(2);
    world.run(Duration::from_secs(15));
    let outcome = world.outcome();
    assert_eq!(outcome.above_rate(), None);
    outcome.released_between(from, from + Duration::from_secs(10))
}

/// Whether this is what the rate allows in ten seconds. At each end there may be one batch more or less, for each slice.
fn assert_is_the_rates(released: usize, rate: u32, case: &str) {
    let (expected, batches) = (rate as usize / 6, 10 * rate.div_ceil(1000) as usize);
    assert!(released.abs_diff(expected) <= batches, "{case}: {released} released, {expected} expected");
}

/// A room in the middle of a window, with enough visitors for half a minute at both rates.
fn crowded(before: u32, after: u32, second: u64) -> World {
    let mut world = World::new(u64::from(before) + u64::from(after), before);
    world.join(before.max(after) as usize * 3 / 2 + 200);
    world.run(Duration::from_secs(second));
    world
}

#[test]
fn a_rate_is_in_force_within_two_seconds_up_and_down() {
    for before in RATES {
        for after in RATES {
            let second = 5 + u64::from(before + after) % 50;
            let mut world = crowded(before, after, second);
            let set = move |room: &mut Room| room.settings.rate = Rate::new(after).unwrap();
            let released = released_after(&mut world, set);
            assert_is_the_rates(released, after, &format!("{before} to {after} in second {second}"));
        }
    }
}

#[test]
fn a_state_is_in_force_within_two_seconds_from_every_state() {
    for rate in RATES {
        for before in RoomState::ALL {
            for after in RoomState::ALL {
                let mut world = crowded(rate, rate, 10);
                world.change_room(move |room| room.state = before);
                world.run(Duration::from_secs(13));
                let released = released_after(&mut world, move |room| room.state = after);
                let expected = if after.switches().releases { rate } else { 0 };
                if expected == 0 {
                    assert_eq!(released, 0, "{before} to {after} at {rate}");
                } else {
                    assert_is_the_rates(released, expected, &format!("{before} to {after} at {rate}"));
                }
            }
        }
    }
}

#[test]
fn the_first_crowd_of_a_quiet_room_is_released_at_the_full_rate() {
    for rate in RATES {
        let mut world = World::new(31, rate);
        world.run(5 * MINUTE + Duration::from_secs(u64::from(rate) % 60));
        assert!(world.room().quiet);
        world.join(rate as usize / 2 + 100);
        assert_is_the_rates(released_after_change(&mut world), rate, &format!("a crowd at {rate}"));
    }
}

#[test]
fn a_rate_that_the_throttle_holds_or_eases_is_in_force_within_two_seconds() {
    let mut world = World::new(32, 3000).with_throttle();
    world.join(12_000);
    world.run(MINUTE + Duration::from_secs(30));
    for (health, rate) in [
        (ShopHealth::Down, 1500),
        (ShopHealth::Down, 750),
        (ShopHealth::Answers(Duration::from_millis(50)), 1313),
    ] {
        world.shop.set(health);
        while world.room().rate().get() != rate {
            world.run(Duration::from_millis(100));
        }
        assert_is_the_rates(released_after_change(&mut world), rate, &format!("throttled to {rate}"));
    }
}

#[test]
fn many_orders_in_a_minute_release_no_more_than_the_rates_allow() {
    for (pause, rates) in [(700, [3000, 60]), (1500, [600, 6000]), (4000, [60, 120]), (6000, [60, 61])] {
        let mut world = World::new(33, rates[0]);
        world.join(20_000);
        for order in 0..40 {
            world.set_rate(rates[order % 2]);
            world.run(Duration::from_millis(pause));
        }
        let outcome = world.outcome();
        assert_eq!(outcome.above_rate(), None, "every {pause} ms");
        let mean = u32::midpoint(rates[0], rates[1]);
        let expected = u64::from(mean) * 40 * pause / 60_000;
        assert!(u64::from(outcome.released()) * 10 > expected * 7, "{} of {expected}", outcome.released());
    }
}
