//! The throttle in a running room: the rate follows the shop's health.

use std::time::Duration;

use fault_simulation::{ShopHealth, World};

const MINUTE: Duration = Duration::from_mins(1);

fn answers(millis: u64) -> ShopHealth {
    ShopHealth::Answers(Duration::from_millis(millis))
}

fn rate_after_a_minute(world: &mut World, health: ShopHealth) -> u32 {
    world.shop.set(health);
    world.run(MINUTE);
    world.room().rate().get()
}

#[test]
fn a_slow_or_failing_shop_lowers_the_rate_and_a_recovered_one_restores_it() {
    let mut world = World::new(21, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, answers(100)), 1000, "the baseline");
    assert_eq!(rate_after_a_minute(&mut world, answers(114)), 1000, "within 3 x 5% of it");
    assert_eq!(rate_after_a_minute(&mut world, answers(116)), 500);
    assert_eq!(rate_after_a_minute(&mut world, ShopHealth::Down), 250);
    assert_eq!(rate_after_a_minute(&mut world, answers(6000)), 125);
    for rate in [344, 508, 631] {
        assert_eq!(rate_after_a_minute(&mut world, answers(100)), rate);
    }
    for _ in 0..20 {
        rate_after_a_minute(&mut world, answers(100));
    }
    assert_eq!(world.room().rate().get(), 1000);
    assert_eq!(world.room().throttled, None);
}

/// A visitor doesn't notice these answers, however fast the shop was before.
#[test]
fn nobody_calls_a_shop_slow_that_answers_in_100_ms() {
    let mut world = World::new(26, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, answers(4)), 1000, "the baseline");
    for millis in [21, 99] {
        assert_eq!(rate_after_a_minute(&mut world, answers(millis)), 1000, "{millis} ms");
    }
    assert_eq!(rate_after_a_minute(&mut world, answers(101)), 500);
}

/// Garbage is collected, a log is rotated: that is over before the throttle looks again.
#[test]
fn a_slow_moment_is_not_a_slow_shop() {
    let mut world = World::new(27, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, answers(40)), 1000, "the baseline");
    for _ in 0..3 {
        world.shop.set(answers(900));
        world.run(Duration::from_secs(5));
        world.shop.set(answers(40));
        world.run(Duration::from_secs(55));
        assert_eq!(world.room().rate().get(), 1000);
    }
    world.shop.set(answers(900));
    world.run(Duration::from_secs(5));
    world.shop.set(ShopHealth::Down);
    world.run(Duration::from_secs(50));
    assert_eq!(world.room().rate().get(), 500, "slow, then failing: halved once");
}

#[test]
fn without_a_baseline_a_failing_shop_lowers_the_rate() {
    let mut world = World::new(22, 1000).with_throttle();
    for rate in [500, 250, 125] {
        assert_eq!(rate_after_a_minute(&mut world, ShopHealth::Down), rate);
    }
    assert_eq!(rate_after_a_minute(&mut world, answers(80)), 344);
}

#[test]
fn another_page_is_no_slow_shop() {
    let mut world = World::new(28, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, answers(60)), 1000, "the baseline");
    world.change_room(|room| room.settings.health = Some("https://shop.example/heavy".parse().unwrap()));
    assert_eq!(rate_after_a_minute(&mut world, answers(180)), 1000, "its own baseline");
    assert_eq!(rate_after_a_minute(&mut world, answers(220)), 500);
}

/// The shop may run another version by then, or on another machine.
#[test]
fn a_throttle_that_was_off_for_an_hour_takes_a_new_baseline() {
    let mut world = World::new(29, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, answers(60)), 1000, "the baseline");
    for (minutes, rate) in [(55, 500), (65, 625)] {
        world = world.without_throttle();
        world.run(MINUTE * minutes);
        world = world.with_throttle();
        assert_eq!(rate_after_a_minute(&mut world, answers(180)), rate, "off for {minutes} minutes");
    }
}

/// A refusal is quick. As a baseline, it would make every page that the shop serves look slow.
#[test]
fn a_shop_that_refuses_visitors_without_a_pass_is_not_measured() {
    let mut world = World::new(25, 1000).with_throttle();
    assert_eq!(rate_after_a_minute(&mut world, ShopHealth::Protected), 1000, "no failure");
    assert_eq!(rate_after_a_minute(&mut world, answers(100)), 1000, "the baseline");
    assert_eq!(rate_after_a_minute(&mut world, answers(116)), 500);
    assert_eq!(rate_after_a_minute(&mut world, ShopHealth::Protected), 625, "nothing holds the rate down");
}

#[test]
fn a_lower_rate_set_by_the_operator_is_in_force_at_once() {
    let mut world = World::new(23, 1000).with_throttle();
    world.run(MINUTE);
    rate_after_a_minute(&mut world, ShopHealth::Down);
    world.shop.set(answers(100));
    world.set_rate(100);
    world.run(Duration::from_secs(1));
    assert_eq!(world.room().rate().get(), 100);
}

#[test]
fn a_release_follows_the_rate_in_force() {
    let mut world = World::new(24, 1200).with_throttle();
    world.join(6000);
    world.run(MINUTE);
    world.shop.set(ShopHealth::Down);
    world.run(MINUTE);
    world.run(MINUTE);
    let windows = world.outcome().windows();
    assert!(windows[&3].0 < 1200, "{windows:?}");
}
