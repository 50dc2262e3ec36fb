//! Killed, without power, without space.

use std::time::Duration;

use fault_simulation::World;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn whoever_got_a_redirect_survives_kills_and_power_cuts_at_any_moment() {
    for seed in 0..40 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = World::new(seed, 1200);
        for _ in 0..8 {
            for _ in 0..rng.random_range(1..20) {
                world.join(rng.random_range(1..20));
                world.run(Duration::from_millis(rng.random_range(1..1500)));
            }
            // These are on their way when it happens.
            world.join(rng.random_range(1..20));
            if rng.random() {
                world.lose_power();
            } else {
                world.kill();
            }
            world.boot();
        }
        world.drain(20);
        let audit = world.audit();
        assert_eq!((audit.lost.len(), audit.twice.len()), (0, 0), "seed {seed}: lost, twice");
        assert_eq!(audit.above_plan(), [], "seed {seed}");
        assert!(audit.redirected > 100, "seed {seed}: only {} visitors", audit.redirected);
    }
}

#[test]
fn a_full_disk_turns_visitors_away_and_recovers_without_a_restart() {
    let mut world = World::new(1, 600);
    world.join(500);
    world.run(Duration::from_secs(10));
    world.disk.set_full(true);
    for _ in 0..20 {
        world.join(10);
        world.run(Duration::from_secs(1));
    }
    {
        let book = world.book.lock();
        assert_eq!((book.redirected.len(), book.turned_away), (500, 200));
    }
    world.disk.set_full(false);
    world.run(Duration::from_secs(1));
    world.reopen();
    world.join(100);
    world.drain(10);
    let audit = world.audit();
    assert_eq!((audit.redirected, audit.turned_away), (600, 200));
    assert_eq!((audit.lost.len(), audit.twice.len()), (0, 0), "lost, twice");
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let mut world = World::new(2, 600);
    world.join(1000);
    world.run(MINUTE);
    world.set_rate(300);
    world.run(Duration::from_secs(1));
    world.kill();
    world.boot();
    assert_eq!(world.room().settings.rate.get(), 300);
    world.drain(10);
    let audit = world.audit();
    assert_eq!((audit.lost.len(), audit.twice.len(), audit.released()), (0, 0, 1000));
}
