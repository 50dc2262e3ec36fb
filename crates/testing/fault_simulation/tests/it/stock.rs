//! A room with a stock: exactly so many are let in from the order on, then it ends by itself, whatever crashes.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use producer::DoorRequest;
use waitroom::ports::{Clock, Fault};
use waitroom::{RoomState, StockSize, Timestamp};

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);
/// Until an order is in force.
const LEAD_TIME: Duration = SECOND;

fn size(size: u32) -> StockSize {
    StockSize::new(size).unwrap()
}

/// A room at this rate, in which some are let in before the order.
fn selling(seed: u64, rate: u32, stock: u32, crowd: usize) -> World {
    let mut world = World::new(seed, rate);
    world.run(MINUTE);
    for _ in 0..crowd.div_ceil(2000) {
        world.join(crowd.min(2000));
        world.run(2 * SECOND);
    }
    world.run(MINUTE);
    world.change_room(move |room| room.sell(size(stock)));
    world
}

/// How many were let in since an order that was given then. Who was let in before it was in force does not count.
fn let_in_since(world: &mut World, order: Timestamp) -> usize {
    world.outcome().released_between(order + LEAD_TIME, Timestamp::from_millis(u64::MAX))
}

fn assert_sold_out(world: &mut World, order: Timestamp, stock: usize) {
    let room = world.room();
    assert_eq!((room.state, room.stock), (RoomState::Ended, None));
    assert_eq!(let_in_since(world, order), stock);
    assert_eq!(world.outcome().twice.len(), 0);
}

/// Whoever runs the page reads it there.
#[test]
fn whoever_runs_no_script_is_told_by_the_door_that_the_line_is_longer_than_what_is_left() {
    let mut world = World::new(6, 600);
    world.change_room(|room| room.turn(RoomState::Paused));
    world.run(Duration::from_secs(5));
    world.join(50);
    world.run(Duration::from_secs(5));
    let places = world.places();
    let ask = |world: &mut World, number: usize, runs_no_script| {
        let cookie = format!("bk_sale={}", places[number]);
        world.request(&DoorRequest { cookies: &[&cookie], runs_no_script, ..DoorRequest::GET }).unwrap()
    };
    assert_eq!(ask(&mut world, 49, true).status, 302, "there is enough for everybody");
    world.change_room(|room| room.sell(20.try_into().unwrap()));
    world.run(Duration::from_secs(5));
    assert_eq!((ask(&mut world, 19, true).status, ask(&mut world, 49, false).status), (302, 302));
    let told = ask(&mut world, 49, true);
    let says = "People who can still enter: 20. Ahead of you: about 49.";
    assert!(told.status == 200 && told.body.contains(says) && told.set_cookie.is_none(), "{told:?}");
    world.inject(InjectedFault::Refused(Fault::Busy), |call| call == PortCall::Status);
    assert_eq!(ask(&mut world, 49, true).status, 302, "they are in line all the same");
}

#[test]
fn of_8000_who_come_exactly_5000_are_let_in() {
    for (seed, rate) in [(1, 600), (2, 5000)] {
        let mut world = selling(seed, rate, 5000, 8000 + 2 * rate as usize);
        assert!(world.waiting() >= 8000);
        let order = world.clock.now();
        let before = world.outcome().released() as usize;
        world.run(12 * MINUTE);
        let early = world.outcome().released() as usize - before - let_in_since(&mut world, order);
        assert!(early <= rate as usize / 30, "{early} before it was in force");
        assert_sold_out(&mut world, order, 5000);
        let status = world.status();
        assert_eq!((status.left, world.outcome().above_rate()), (None, None));
        // A restart, second visits of everybody and a late one let nobody in.
        for restart in [World::kill as fn(&mut World), World::lose_power] {
            restart(&mut world);
            world.boot();
            for place in world.places() {
                world.visit(Some(place));
            }
            world.join(20);
            drop(world.fire_trigger());
            world.run(3 * MINUTE);
        }
        assert_sold_out(&mut world, order, 5000);
        world.change_room(|room| room.turn(RoomState::On));
        world.drain(30);
        let outcome = world.outcome();
        assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "nobody has lost a place");
    }
}

#[test]
fn whoever_joins_while_something_is_left_is_let_in_and_then_the_room_ends_at_once() {
    let mut world = selling(4, 600, 300, 0);
    let order = world.clock.now();
    world.run(3 * MINUTE);
    assert_eq!((world.room().state, world.status().left), (RoomState::On, Some(300)));
    world.join(250);
    world.run(3 * MINUTE);
    assert_eq!((world.status().left, world.waiting()), (Some(50), 0));
    world.join(50);
    for _ in 0..30 {
        world.run(SECOND);
        if world.room().is_over() {
            break;
        }
    }
    // Nobody had to be turned back for that, and no minute to pass.
    assert_sold_out(&mut world, order, 300);
}

#[test]
fn a_stock_goes_on_after_a_pause_and_counts_anew_after_another_order() {
    let mut world = selling(5, 600, 1000, 4000);
    let order = world.clock.now();
    world.run(MINUTE);
    world.change_room(waitroom::Room::pause);
    world.run(2 * MINUTE);
    let left = world.status().left.unwrap();
    world.change_room(|room| room.turn(RoomState::On));
    world.run(5 * MINUTE);
    assert_sold_out(&mut world, order, 1000);
    assert!((300..500).contains(&left), "{left}");
    // More turned up. Whoever waits goes on, and nobody joins.
    world.change_room(|room| room.sell(size(700)));
    let order = world.clock.now();
    world.run(20 * SECOND);
    assert_eq!(world.room().state, RoomState::Closed);
    world.change_room(|room| room.sell(size(100)));
    let corrected = world.clock.now();
    world.run(5 * MINUTE);
    assert_sold_out(&mut world, corrected, 100);
    let first = world.outcome().released_between(order + LEAD_TIME, corrected + LEAD_TIME);
    assert!((150..250).contains(&first), "{first} until the correction");
}

#[test]
fn a_stock_is_exact_over_kills_power_cuts_and_unsure_writes() {
    for seed in 10..16 {
        let mut world = selling(seed, 1200, 900, 3000);
        let order = world.clock.now();
        let mut calls = 0;
        world.set_faults(move |call| {
            calls += 1;
            let fault = match (call, calls % 7) {
                (PortCall::Admit, 0 | 3) => InjectedFault::Unconfirmed,
                (PortCall::Admit | PortCall::EndIfSoldOut, 5) => InjectedFault::Refused(Fault::Busy),
                (PortCall::Receive, 1) => InjectedFault::DeliveredTwice,
                (PortCall::Receive, 2) => InjectedFault::DeliveredAgain,
                _ => InjectedFault::None,
            };
            (fault, Duration::from_millis(3))
        });
        for second in 0..150_u64 {
            world.run(SECOND);
            match (second * 7 + seed) % 23 {
                0 => _ = world.kill_one_consumer(),
                5 => {
                    world.kill();
                    world.boot();
                }
                11 => {
                    world.lose_power();
                    world.boot();
                }
                _ => {}
            }
        }
        world.clear_faults();
        world.run(5 * MINUTE);
        assert_sold_out(&mut world, order, 900);
        let stocks: Vec<_> = world.outcome().stocks().into_values().collect();
        assert_eq!(stocks, [(900, 900)], "seed {seed}");
    }
}

/// As while the disk syncs an order: a consumer has read the room before that, and the ledger hears of it once the order is in force.
#[test]
fn a_stock_is_exact_although_admissions_arrive_late() {
    let mut world = selling(7, 1200, 900, 4000);
    let first = world.clock.now() + LEAD_TIME;
    world.set_faults(|call| {
        let takes = if call == PortCall::Admit { 2 * SECOND } else { Duration::ZERO };
        (InjectedFault::None, takes)
    });
    world.run(20 * SECOND);
    let order = world.clock.now();
    world.change_room(|room| room.sell(size(300)));
    world.run(10 * SECOND);
    world.clear_faults();
    world.run(5 * MINUTE);
    assert_sold_out(&mut world, order, 300);
    let stocks: Vec<_> = world.outcome().stocks().into_values().collect();
    let written = |from: Timestamp, until: Timestamp| {
        let observations = world.observations.lock();
        let times = observations.confirmed.iter().filter(|(_, at)| (from..until).contains(at));
        u32::try_from(times.count()).unwrap()
    };
    let second = order + LEAD_TIME;
    let late = Timestamp::from_millis(u64::MAX);
    assert_eq!(stocks, [(900, written(first, second)), (300, written(second, late))]);
    world.change_room(|room| room.turn(RoomState::On));
    world.drain(10);
    assert_eq!((world.outcome().lost.len(), world.outcome().twice.len()), (0, 0));
}
