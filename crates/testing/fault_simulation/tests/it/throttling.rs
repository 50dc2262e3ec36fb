//! The throttle in the room: the rate follows the shop's health.

use std::time::Duration;

use fault_simulation::{Health, World};

const MINUTE: Duration = Duration::from_mins(1);

fn rate_after_a_minute(world: &mut World, health: Health) -> u32 {
    world.shop.set(health);
    world.run(MINUTE);
    world.room().rate().get()
}

#[test]
fn a_suffering_shop_gets_fewer_and_a_recovered_one_all_again() {
    let mut world = World::new(21, 1000).with_throttle();
    let answers = |millis| Health::Answers(Duration::from_millis(millis));
    assert_eq!(rate_after_a_minute(&mut world, answers(100)), 1000, "the baseline");
    assert_eq!(rate_after_a_minute(&mut world, answers(114)), 1000, "within 3 x 5% of it");
    assert_eq!(rate_after_a_minute(&mut world, answers(116)), 500);
    assert_eq!(rate_after_a_minute(&mut world, Health::Down), 250);
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

#[test]
fn a_shop_that_is_down_from_the_start_gets_few_until_it_has_a_baseline() {
    let mut world = World::new(22, 1000).with_throttle();
    for rate in [500, 250, 125] {
        assert_eq!(rate_after_a_minute(&mut world, Health::Down), rate);
    }
    let well = Health::Answers(Duration::from_millis(80));
    assert_eq!(rate_after_a_minute(&mut world, well), 344);
}

#[test]
fn the_operators_lower_rate_holds_at_once() {
    let mut world = World::new(23, 1000).with_throttle();
    world.run(MINUTE);
    rate_after_a_minute(&mut world, Health::Down);
    world.shop.set(Health::Answers(Duration::from_millis(100)));
    world.set_rate(100);
    world.run(Duration::from_secs(1));
    assert_eq!(world.room().rate().get(), 100);
}

#[test]
fn a_release_follows_the_rate_in_force() {
    let mut world = World::new(24, 1200).with_throttle();
    world.join(6000);
    world.run(MINUTE);
    world.shop.set(Health::Down);
    world.run(MINUTE);
    world.run(MINUTE);
    let windows = world.audit().windows();
    assert!(windows[&3].0 < 1200, "{windows:?}");
}
