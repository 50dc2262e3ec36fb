//! Kills, power cuts and a full disk.

use std::time::Duration;

use fault_simulation::World;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn no_redirected_visitor_is_lost_by_kills_and_power_cuts() {
    for seed in 0..40 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = World::new(seed, 1200);
        for _ in 0..8 {
            for _ in 0..rng.random_range(1..20) {
                world.join(rng.random_range(1..20));
                world.run(Duration::from_millis(rng.random_range(1..1500)));
            }
            // These visitors are still joining when the fault happens.
            world.join(rng.random_range(1..20));
            if rng.random() {
                world.lose_power();
            } else {
                world.kill();
            }
            world.boot();
        }
        world.drain(20);
        let outcome = world.outcome();
        assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "seed {seed}: lost, twice");
        assert_eq!(outcome.above_quota(), [], "seed {seed}");
        assert!(outcome.redirected > 100, "seed {seed}: only {} visitors", outcome.redirected);
    }
}

/// Each time, some of what the system says it has written isn't on the disk, and perhaps the power goes before anything else does.
#[test]
fn no_redirected_visitor_is_lost_by_a_disk_that_fails_and_forgets_what_it_did_not_write() {
    for seed in 0..40 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut world = World::new(seed, 1200);
        for _ in 0..12 {
            world.join(rng.random_range(1..40));
            world.run(Duration::from_millis(rng.random_range(1..5000)));
            world.disk.drop_next_sync(&mut rng);
            world.join(rng.random_range(1..40));
            world.run(Duration::from_millis(rng.random_range(1..5000)));
            if rng.random_ratio(1, 3) {
                world.lose_power();
                world.boot();
            }
        }
        world.drain(20);
        let outcome = world.outcome();
        assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "seed {seed}: lost, twice");
        assert_eq!(outcome.above_quota(), [], "seed {seed}");
        assert!(outcome.redirected > 100 && outcome.told_to_retry > 20, "seed {seed}");
    }
}

#[test]
fn a_room_whose_file_cannot_be_opened_again_takes_nobody_and_says_why() {
    let mut world = World::new(4, 600);
    world.join(10);
    world.run(Duration::from_secs(1));
    world.disk.ruin();
    world.disk.drop_next_sync(&mut StdRng::seed_from_u64(4));
    for _ in 0..2 {
        world.join(10);
        world.run(Duration::from_secs(1));
    }
    let expected = "DB corrupted: Failed to repair database. All roots are corrupted";
    assert_eq!(world.write_trouble().unwrap().reason, expected);
    let observations = world.observations.lock();
    assert_eq!((observations.redirected.len(), observations.told_to_retry), (10, 20));
}

#[test]
fn on_a_full_disk_visitors_retry_and_the_room_recovers_without_a_restart() {
    let mut world = World::new(1, 600);
    world.join(500);
    world.run(Duration::from_secs(10));
    assert_eq!(world.write_trouble(), None);
    world.disk.set_full(true);
    for _ in 0..20 {
        world.join(10);
        world.run(Duration::from_secs(1));
    }
    let trouble = world.write_trouble().unwrap();
    assert!(trouble.reason.starts_with("the disk is full: free some space"), "{trouble:?}");
    {
        let observations = world.observations.lock();
        assert_eq!((observations.redirected.len(), observations.told_to_retry), (500, 200));
    }
    world.disk.set_full(false);
    world.run(Duration::from_secs(1));
    world.reopen();
    assert_eq!(
        world.write_trouble(),
        Some(trouble),
        "since the first change that failed, until one is stored"
    );
    world.join(100);
    world.drain(10);
    assert_eq!(world.write_trouble(), None);
    let outcome = world.outcome();
    assert_eq!((outcome.redirected, outcome.told_to_retry), (600, 200));
    assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "lost, twice");
}

#[test]
fn a_restart_continues_where_the_room_was() {
    let mut world = World::new(2, 600);
    world.join(1000);
    world.run(MINUTE);
    world.set_rate(300);
    world.run(Duration::from_secs(1));
    world.kill();
    world.boot();
    assert_eq!(world.room().settings.rate.get(), 300);
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.released()), (0, 0, 1000));
}

#[test]
fn an_order_that_was_stored_although_the_disk_said_no_is_in_force_as_soon_as_any() {
    let mut world = World::new(3, 60);
    world.join(2000);
    world.run(MINUTE / 2);
    world.disk.lose_next_answer();
    world.set_rate(6000);
    let before = world.outcome().released();
    world.run(Duration::from_secs(5));
    assert_eq!(world.room().settings.rate.get(), 6000);
    let released = world.outcome().released() - before;
    assert!(released > 200, "only {released} at a hundred a second");
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), outcome.above_rate()), (0, 0, None));
}
