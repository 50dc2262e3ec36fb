//! Each fault of the release contract, injected at the port.

use std::time::Duration;

use fault_simulation::{Call, Faults, World};
use waitroom::ports::{Clock, Fault};

const MINUTE: Duration = Duration::from_mins(1);
const TAKES: Duration = Duration::from_millis(4);

/// A crowd of 3,000 at 600 a minute: full windows, for as long as a test looks.
fn crowded() -> World {
    let mut world = World::new(11, 600);
    world.join(3000);
    world.run(Duration::from_secs(1));
    world
}

/// Every `nth` call of this kind meets this weather.
fn every(nth: u32, fault: Call, weather: Faults) -> impl FnMut(Call) -> (Faults, Duration) + Send {
    let mut calls = 0;
    move |call| {
        calls += u32::from(call == fault);
        let struck = call == fault && calls % nth == 0;
        (if struck { weather } else { Faults::Fine }, TAKES)
    }
}

/// In the end: nobody lost, nobody twice, nothing above plan.
fn nobody_is_lost(world: &mut World) {
    world.clear_sky();
    world.drain(20);
    let audit = world.audit();
    assert_eq!((audit.lost.len(), audit.twice.len()), (0, 0), "lost, twice");
    assert_eq!(audit.above_plan(), []);
    assert!(audit.reported <= audit.released(), "{} of {}", audit.reported, audit.released());
}

#[test]
fn the_line_answers_empty_though_it_is_not() {
    let mut world = crowded();
    world.set_sky(every(2, Call::Receive, Faults::Empty));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600), "an empty answer does not end a slice");
    nobody_is_lost(&mut world);
}

#[test]
fn an_admission_is_refused_for_now() {
    let mut world = crowded();
    world.set_sky(every(3, Call::Admit, Faults::Refused(Fault::Busy)));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600), "it is tried again");
    nobody_is_lost(&mut world);
}

#[test]
fn an_admission_is_refused_for_good() {
    let mut world = crowded();
    world.set_sky(every(7, Call::Admit, Faults::Refused(Fault::Broken)));
    world.run(3 * MINUTE);
    nobody_is_lost(&mut world);
}

#[test]
fn an_admission_is_done_but_unconfirmed() {
    let mut world = crowded();
    world.set_sky(every(2, Call::Admit, Faults::Unconfirmed));
    world.run(3 * MINUTE);
    let (released, _) = world.audit().windows()[&3];
    // Whoever is not confirmed in three attempts has used up a place, so that the plan is never exceeded.
    assert!((590..=600).contains(&released), "{released}: asked again, the ledger confirms");
    nobody_is_lost(&mut world);
}

#[test]
fn admissions_are_never_confirmed() {
    let mut world = World::new(11, 60);
    world.join(500);
    world.set_sky(every(1, Call::Admit, Faults::Unconfirmed));
    world.run(3 * MINUTE);
    // The ledger has them, the consumers do not know: each used up a place, so the plan is not exceeded.
    let audit = world.audit();
    assert_eq!((audit.above_plan(), audit.reported), (vec![], 0));
    assert!(audit.released() >= 60, "{}", audit.released());
    nobody_is_lost(&mut world);
}

#[test]
fn the_same_visitor_is_delivered_twice_in_one_batch() {
    let mut world = crowded();
    world.set_sky(every(1, Call::Receive, Faults::Twice));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600));
    nobody_is_lost(&mut world);
}

#[test]
fn the_same_visitor_is_delivered_again_and_to_another_slice() {
    let mut world = World::new(12, 3300);
    world.join(12_000);
    world.run(Duration::from_secs(1));
    world.set_sky(every(2, Call::Receive, Faults::Again));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (3300, 3300));
    assert!(world.book.lock().reports.iter().any(|(_, report)| report.dropped > 0));
    nobody_is_lost(&mut world);
}

#[test]
fn removing_from_the_line_fails() {
    let mut world = crowded();
    world.set_sky(every(2, Call::Remove, Faults::Refused(Fault::Busy)));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600), "who comes again is not counted again");
    nobody_is_lost(&mut world);
}

#[test]
fn the_schedule_fires_twice() {
    let mut world = crowded();
    for _ in 0..3 {
        world.fire();
        world.run(MINUTE / 2);
        world.fire();
        world.fire();
        world.run(MINUTE / 2);
        let planned_until = world.book.lock().slices.values().map(|slice| slice.window.end).max();
        assert!(planned_until <= Some(world.clock.now() + MINUTE * 3 / 2), "windows run ahead of time");
    }
    assert_eq!(world.audit().windows()[&3], (600, 600));
    nobody_is_lost(&mut world);
}

#[test]
fn the_schedule_fires_early_and_late() {
    let mut world = crowded();
    world.run(MINUTE);
    for seconds in [25, 40, 35, 20, 50] {
        world.run(Duration::from_secs(seconds));
        world.fire();
    }
    let audit = world.audit();
    assert!(audit.windows().into_values().all(|(released, quota)| released <= quota));
    let mut windows: Vec<_> = world.book.lock().slices.values().map(|slice| slice.window).collect();
    windows.dedup();
    assert!(windows.windows(2).all(|pair| pair[0].end <= pair[1].start), "windows overlap: {windows:?}");
    nobody_is_lost(&mut world);
}

#[test]
fn the_trigger_is_killed_between_plan_and_invocation() {
    let mut world = crowded();
    world.run(Duration::from_secs(59));
    // The next plan is written, and nobody is sent.
    let mut planned = false;
    world.set_sky(move |call| {
        planned |= call == Call::WritePlan;
        let weather =
            if planned && call == Call::Send { Faults::Refused(Fault::Broken) } else { Faults::Fine };
        (weather, TAKES)
    });
    world.run(Duration::from_secs(5));
    assert!(!world.book.lock().slices.keys().any(|id| id.plan == 2), "nobody works on the second plan");
    world.clear_sky();
    world.fire();
    world.run(Duration::from_secs(57));
    assert_eq!(world.audit().windows()[&2], (600, 600), "the retry restores what was lost");
    nobody_is_lost(&mut world);
}

#[test]
fn a_ledger_that_refuses_plans_for_a_moment_costs_no_minute() {
    let mut world = crowded();
    world.run(Duration::from_secs(58));
    let until = world.clock.now() + Duration::from_secs(12);
    let clock = world.clock.clone();
    world.set_sky(move |call| {
        let refused = call == Call::WritePlan && clock.now() < until;
        (if refused { Faults::Refused(Fault::Busy) } else { Faults::Fine }, TAKES)
    });
    world.run(Duration::from_secs(30));
    assert!(world.book.lock().slices.keys().any(|id| id.plan == 2), "planned before the next minute");
    nobody_is_lost(&mut world);
}

#[test]
fn nobody_waits_for_a_board_that_hangs() {
    let mut world = crowded();
    // Every count of the line takes half a minute.
    world.set_sky(|call| {
        let hangs = call == Call::Count;
        (Faults::Fine, if hangs { Duration::from_secs(30) } else { TAKES })
    });
    world.run(2 * MINUTE + Duration::from_secs(40));
    let windows = world.audit().windows();
    assert!(windows.values().any(|&(released, _)| released == 600), "{windows:?}");
    nobody_is_lost(&mut world);
}

#[test]
fn a_consumer_is_killed_between_write_and_delete() {
    let mut world = crowded();
    for _ in 0..3 {
        world.run(MINUTE / 3);
        let mut admitted = false;
        world.set_sky(move |call| {
            admitted |= call == Call::Admit;
            // The delete takes so long that the consumer dies in it.
            let takes = if admitted && call == Call::Remove { Duration::from_secs(20) } else { TAKES };
            (Faults::Fine, takes)
        });
        world.run(Duration::from_secs(3));
        assert!(world.kill_a_consumer(), "there was somebody to kill");
        world.clear_sky();
        world.run(MINUTE * 2 / 3);
    }
    let dropped =
        |world: &World| world.book.lock().reports.iter().map(|(_, report)| report.dropped).sum::<u32>();
    nobody_is_lost(&mut world);
    assert!(dropped(&world) >= 3, "whom the dead admitted, the living drop: {}", dropped(&world));
}

#[test]
fn a_consumer_runs_out_of_time() {
    let mut world = crowded();
    // Every call takes three seconds: a slice cannot finish its sixty batches in its minute.
    world.set_sky(|_| (Faults::Fine, Duration::from_secs(3)));
    world.run(3 * MINUTE);
    let windows = world.audit().windows();
    assert!(windows.values().all(|(released, quota)| released < quota), "{windows:?}");
    nobody_is_lost(&mut world);
}

#[test]
fn the_settings_cannot_be_read() {
    let mut world = crowded();
    world.set_sky(every(2, Call::Room, Faults::Refused(Fault::Busy)));
    world.run(3 * MINUTE);
    nobody_is_lost(&mut world);
}

#[test]
fn progress_cannot_be_recorded() {
    let mut world = crowded();
    // Refused, and slowly: it must not hold the people up.
    world.set_sky(|call| match call {
        Call::Record => (Faults::Refused(Fault::Busy), Duration::from_millis(700)),
        _ => (Faults::Fine, TAKES),
    });
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&2], (600, 600), "what cannot be told is released all the same");
    nobody_is_lost(&mut world);
}

#[test]
fn claims_and_plans_are_answered_late_or_not_at_all() {
    for call in [Call::Claim, Call::Count, Call::WritePlan, Call::Recent] {
        for weather in [Faults::Refused(Fault::Busy), Faults::Unconfirmed] {
            let mut world = crowded();
            world.set_sky(every(2, call, weather));
            world.run(3 * MINUTE);
            let released = world.audit().released();
            assert!(released >= 600, "{call:?} {weather:?}: only {released}");
            nobody_is_lost(&mut world);
        }
    }
}

#[test]
fn one_lost_claim_does_not_lose_the_slice() {
    let mut world = crowded();
    world.set_sky(every(2, Call::Claim, Faults::Unconfirmed));
    world.run(3 * MINUTE);
    assert_eq!(world.audit().windows()[&3], (600, 600));
    nobody_is_lost(&mut world);
}

#[test]
fn a_line_that_answers_after_a_pause_releases_nobody() {
    let mut world = crowded();
    world.set_sky(|call| (Faults::Fine, if call == Call::Receive { Duration::from_secs(8) } else { TAKES }));
    world.run(Duration::from_secs(2));
    world.change_room(|room| room.paused = true);
    world.run(Duration::from_secs(2));
    let before = world.audit().released();
    world.run(2 * MINUTE);
    assert_eq!(world.audit().released(), before);
    world.change_room(|room| room.paused = false);
    nobody_is_lost(&mut world);
}

#[test]
fn a_reset_does_not_lose_who_comes_right_after_it() {
    for delay in [0, 500, 1500] {
        let mut world = World::new(15, 600);
        world.join(100);
        world.run(MINUTE);
        world.join(20);
        // Consumers learn of the new epoch late: their settings take up to a second to arrive.
        world.set_sky(|call| {
            (Faults::Fine, if call == Call::Room { Duration::from_millis(900) } else { TAKES })
        });
        world.run(Duration::from_millis(delay));
        let before = world.book.lock().redirected.len();
        world.reset("next");
        world.run(Duration::from_millis(20));
        world.join(30);
        world.run(MINUTE);
        world.clear_sky();
        world.drain(20);
        let newcomers: Vec<_> = world.book.lock().redirected[before..].to_vec();
        let newcomers =
            newcomers.iter().filter(|place| place.epoch.to_string() == "next").map(|place| place.token);
        let lost = world.audit().lost;
        assert_eq!(newcomers.filter(|token| lost.contains(token)).count(), 0, "after {delay} ms");
    }
}

#[test]
fn a_throttled_counter_delays_joins_and_fails_none() {
    let mut world = World::new(13, 600);
    world.set_sky(every(1, Call::Lease, Faults::Refused(Fault::Busy)));
    world.join(200);
    world.run(Duration::from_secs(5));
    assert_eq!(world.audit().redirected, 0);
    world.clear_sky();
    world.run(Duration::from_secs(5));
    assert_eq!((world.audit().redirected, world.audit().turned_away), (200, 0));
}

#[test]
fn a_line_that_takes_nobody_turns_visitors_away_without_a_cookie() {
    let mut world = World::new(14, 600);
    world.set_sky(every(2, Call::Join, Faults::Refused(Fault::Broken)));
    world.join(200);
    world.run(Duration::from_secs(5));
    assert_eq!((world.audit().redirected, world.audit().turned_away), (100, 100));
    nobody_is_lost(&mut world);
}
