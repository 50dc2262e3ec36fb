//! The release, when nothing goes wrong.

use std::time::Duration;

use fault_simulation::World;

const MINUTE: Duration = Duration::from_mins(1);

fn full_windows(rate: u32) {
    let mut world = World::new(1, rate);
    world.join(3 * rate as usize);
    world.run(3 * MINUTE + MINUTE / 2);
    let audit = world.audit();
    let windows: Vec<_> = audit.windows().into_values().collect();
    assert_eq!(windows[..3], [(rate, rate); 3], "released and quota of each window");
    assert!(
        audit.largest_second() <= 10 || audit.largest_second() * 60 <= 2 * rate as usize,
        "{} in one second of a rate of {rate}",
        audit.largest_second()
    );
}

#[test]
fn every_window_releases_its_plan_exactly() {
    for rate in [1, 7, 25, 60, 333, 1000, 1001, 3300, 6000] {
        full_windows(rate);
    }
}

#[test]
fn people_leave_in_the_order_in_which_they_came() {
    let mut world = World::new(2, 1000);
    for _ in 0..300 {
        world.join(7);
        world.run(Duration::from_millis(70));
    }
    world.drain(10);
    let audit = world.audit();
    assert_eq!(audit.redirected, 2100);
    assert_eq!(audit.order, {
        let mut sorted = audit.order.clone();
        sorted.sort_unstable();
        sorted
    });
    assert_eq!((audit.lost.len(), audit.twice.len(), audit.released()), (0, 0, 2100));
    assert_eq!(audit.reported, 2100);
}

#[test]
fn whoever_comes_to_an_empty_room_waits_no_longer_than_their_batch() {
    let mut world = World::new(3, 600);
    world.run(5 * MINUTE);
    world.join(1);
    world.run(Duration::from_secs(2));
    assert_eq!(world.audit().released(), 1);
}

#[test]
fn an_idle_room_gets_one_slice_a_minute() {
    let mut world = World::new(4, 6000);
    world.run(5 * MINUTE);
    assert_eq!(world.book.lock().slices.len(), 5);
}

#[test]
fn paused_keeps_places_and_releases_nobody() {
    let mut world = World::new(5, 600);
    world.join(2000);
    world.run(2 * MINUTE);
    world.change_room(|room| room.paused = true);
    world.run(Duration::from_secs(2));
    let before = world.audit().released();
    world.join(100);
    world.run(5 * MINUTE);
    assert_eq!(world.audit().released(), before);
    assert_eq!(world.audit().redirected, 2100, "joining goes on");
    world.change_room(|room| room.paused = false);
    world.drain(10);
    let audit = world.audit();
    assert_eq!((audit.lost.len(), audit.twice.len(), audit.released()), (0, 0, 2100));
}

#[test]
fn a_lower_rate_thins_the_rest_of_the_window() {
    let mut world = World::new(6, 6000);
    world.join(20_000);
    world.run(MINUTE + MINUTE / 2);
    world.set_rate(600);
    world.run(MINUTE / 2);
    let (released, quota) = world.audit().windows()[&2];
    assert_eq!(quota, 6000);
    // Half a window at 6,000, half at 600; two seconds until everybody knows.
    assert!((3250..=3550).contains(&released), "{released}");
    world.run(MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600));
}

#[test]
fn a_higher_rate_counts_from_the_next_window() {
    let mut world = World::new(7, 600);
    world.join(10_000);
    world.run(MINUTE + MINUTE / 2);
    world.set_rate(3000);
    world.run(MINUTE / 2);
    assert_eq!(world.audit().windows()[&2], (600, 600));
    world.run(MINUTE);
    assert_eq!(world.audit().windows()[&3], (3000, 3000));
}

#[test]
fn off_lets_everybody_go_and_whoever_went_is_not_counted_later() {
    let mut world = World::new(8, 600);
    world.join(1500);
    world.run(MINUTE + MINUTE / 2);
    world.change_room(|room| room.open = false);
    world.run(Duration::from_secs(2));
    let released = world.audit().released();
    let places = world.book.lock().redirected.clone();
    for place in places.iter().rev().take(500) {
        world.visit(Some(*place));
    }
    // Longer than a claim lasts: the ledger must not forget while the line remembers.
    world.run(Duration::from_hours(3));
    assert_eq!((world.audit().released(), world.audit().by_door), (released, 500));
    world.change_room(|room| room.open = true);
    world.drain(10);
    let audit = world.audit();
    assert_eq!((audit.lost.len(), audit.twice.len(), audit.released()), (0, 0, 1000));
    assert_eq!(audit.reported, 1000, "those who went through the door are dropped uncounted");
}
