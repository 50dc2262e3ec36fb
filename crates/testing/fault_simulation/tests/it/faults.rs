//! Each fault that releasing must survive, injected at the ports.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World, every};
use waitroom::RoomState;
use waitroom::ports::{Clock, Fault};

const MINUTE: Duration = Duration::from_mins(1);
const TAKES: Duration = Duration::from_millis(4);

/// 3,000 visitors at 600 a minute, so that every window of a test is full.
fn crowded() -> World {
    let mut world = World::new(11, 600);
    world.join(3000);
    world.run(Duration::from_secs(1));
    world
}

/// Ends the faults, empties the line, and checks that nobody was lost or admitted twice and no quota exceeded.
fn assert_nobody_is_lost(world: &mut World) {
    world.clear_faults();
    world.drain(20);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "lost, twice");
    assert_eq!(outcome.above_quota(), []);
    assert!(outcome.reported <= outcome.released(), "{} of {}", outcome.reported, outcome.released());
}

#[test]
fn the_line_answers_empty_although_visitors_wait() {
    let mut world = crowded();
    world.inject(InjectedFault::EmptyLine, every(2, PortCall::Receive));
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().windows()[&3], (600, 600), "an empty answer does not end a slice");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn an_admission_fails_with_busy() {
    let mut world = crowded();
    world.inject(InjectedFault::Refused(Fault::Busy), every(3, PortCall::Admit));
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().windows()[&3], (600, 600), "the consumer retries");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn an_admission_fails_with_broken() {
    let mut world = crowded();
    world.inject(InjectedFault::Refused(Fault::Broken), every(7, PortCall::Admit));
    world.run(3 * MINUTE);
    assert_nobody_is_lost(&mut world);
}

#[test]
fn an_admission_is_written_but_not_confirmed() {
    let mut world = crowded();
    world.inject(InjectedFault::Unconfirmed, every(2, PortCall::Admit));
    world.run(3 * MINUTE);
    let (released, _) = world.outcome().windows()[&3];
    // An admission that three attempts could not confirm counts against the quota, so that the quota is never
    // exceeded.
    assert!((590..=600).contains(&released), "{released}: the ledger confirms a retry");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn admissions_are_never_confirmed() {
    let mut world = World::new(11, 60);
    world.join(500);
    world.run(Duration::from_secs(5));
    world.inject(InjectedFault::Unconfirmed, every(1, PortCall::Admit));
    world.run(3 * MINUTE);
    // The ledger has ten admissions more than the consumer knows. They count against the quota, and nobody is received
    // until the ledger answers again.
    let outcome = world.outcome();
    assert_eq!((outcome.above_quota(), outcome.reported, outcome.released()), (vec![], 10, 20));
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_same_visitor_is_delivered_twice_in_one_batch() {
    let mut world = crowded();
    world.inject(InjectedFault::DeliveredTwice, every(1, PortCall::Receive));
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().windows()[&3], (600, 600));
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_same_visitor_is_delivered_again_and_to_another_slice() {
    let mut world = World::new(12, 3300);
    world.join(12_000);
    world.run(Duration::from_secs(1));
    world.inject(InjectedFault::DeliveredAgain, every(2, PortCall::Receive));
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().windows()[&3], (3300, 3300));
    assert!(world.observations.lock().reports.iter().any(|(_, report)| report.dropped > 0));
    assert_nobody_is_lost(&mut world);
}

#[test]
fn removing_from_the_line_fails() {
    let mut world = crowded();
    world.inject(InjectedFault::Refused(Fault::Busy), every(2, PortCall::Remove));
    world.run(3 * MINUTE);
    assert_eq!(
        world.outcome().windows()[&3],
        (600, 600),
        "a visitor who is delivered again is not counted again"
    );
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_schedule_fires_twice() {
    let mut world = crowded();
    for _ in 0..3 {
        world.fire_trigger();
        world.run(MINUTE / 2);
        world.fire_trigger();
        world.fire_trigger();
        world.run(MINUTE / 2);
        let planned_until = world.observations.lock().slices.values().map(|slice| slice.window.end).max();
        assert!(planned_until <= Some(world.clock.now() + MINUTE * 5 / 2), "a window was planned too early");
    }
    let windows = world.outcome().windows();
    assert!(windows.values().take(3).all(|(released, quota)| released == quota), "{windows:?}");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_schedule_fires_early_and_late() {
    let mut world = crowded();
    world.run(MINUTE);
    for seconds in [25, 40, 35, 20, 50] {
        world.run(Duration::from_secs(seconds));
        world.fire_trigger();
    }
    let outcome = world.outcome();
    assert!(outcome.windows().into_values().all(|(released, quota)| released <= quota));
    let mut windows: Vec<_> = world.observations.lock().slices.values().map(|slice| slice.window).collect();
    windows.dedup();
    assert!(windows.windows(2).all(|pair| pair[0].end <= pair[1].start), "windows overlap: {windows:?}");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_trigger_is_killed_between_plan_and_invocation() {
    let mut world = crowded();
    world.run(Duration::from_secs(59));
    // The next plan is written, but no consumer is sent.
    let mut planned = false;
    world.inject(InjectedFault::Refused(Fault::Broken), move |call| {
        planned |= call == PortCall::WritePlan;
        planned && call == PortCall::Send
    });
    world.run(Duration::from_secs(5));
    assert!(
        !world.observations.lock().slices.keys().any(|id| id.plan == 2),
        "no consumer works on the second plan"
    );
    world.clear_faults();
    world.fire_trigger();
    world.run(Duration::from_secs(57));
    assert_eq!(world.outcome().windows()[&2], (600, 600), "the next trigger sends the missing consumers");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn a_plan_that_is_refused_for_twelve_seconds_is_retried_within_the_minute() {
    let mut world = crowded();
    world.run(Duration::from_secs(58));
    let until = world.clock.now() + Duration::from_secs(12);
    let clock = world.clock.clone();
    world.inject(InjectedFault::Refused(Fault::Busy), move |call| {
        call == PortCall::WritePlan && clock.now() < until
    });
    world.run(Duration::from_secs(30));
    assert!(
        world.observations.lock().slices.keys().any(|id| id.plan == 2),
        "planned before the next minute began"
    );
    assert_nobody_is_lost(&mut world);
}

#[test]
fn a_slow_count_of_the_line_does_not_delay_the_release() {
    let mut world = crowded();
    // Counting the line takes 30 seconds.
    world.set_faults(|call| {
        let hangs = call == PortCall::CountWaiting;
        (InjectedFault::None, if hangs { Duration::from_secs(30) } else { TAKES })
    });
    world.run(2 * MINUTE + Duration::from_secs(40));
    let windows = world.outcome().windows();
    assert!(windows.values().any(|&(released, _)| released == 600), "{windows:?}");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn a_consumer_is_killed_between_admitting_and_removing() {
    let mut world = crowded();
    for _ in 0..3 {
        world.run(MINUTE / 3);
        let mut admitted = false;
        world.set_faults(move |call| {
            admitted |= call == PortCall::Admit;
            // Removing takes so long that the consumer is killed before it ends.
            let takes = if admitted && call == PortCall::Remove { Duration::from_secs(20) } else { TAKES };
            (InjectedFault::None, takes)
        });
        world.run(Duration::from_secs(3));
        assert!(world.kill_one_consumer(), "no consumer was running");
        world.clear_faults();
        world.run(MINUTE * 2 / 3);
    }
    let dropped = |world: &World| {
        world.observations.lock().reports.iter().map(|(_, report)| report.dropped).sum::<u32>()
    };
    assert_nobody_is_lost(&mut world);
    assert!(dropped(&world) >= 3, "other consumers drop whom a killed one admitted: {}", dropped(&world));
}

#[test]
fn a_consumer_runs_out_of_time() {
    let mut world = crowded();
    // Every call takes three seconds, so a slice cannot finish its 60 batches within the minute.
    world.set_faults(|_| (InjectedFault::None, Duration::from_secs(3)));
    world.run(3 * MINUTE);
    let windows = world.outcome().windows();
    assert!(windows.values().all(|(released, quota)| released < quota), "{windows:?}");
    assert_nobody_is_lost(&mut world);
}

#[test]
fn the_settings_cannot_be_read() {
    let mut world = crowded();
    world.inject(InjectedFault::Refused(Fault::Busy), every(2, PortCall::Room));
    world.run(3 * MINUTE);
    assert_nobody_is_lost(&mut world);
}

#[test]
fn progress_cannot_be_recorded() {
    let mut world = crowded();
    // The call fails after 700 ms. That must not delay the release.
    world.set_faults(|call| match call {
        PortCall::Record => (InjectedFault::Refused(Fault::Busy), Duration::from_millis(700)),
        _ => (InjectedFault::None, TAKES),
    });
    world.run(3 * MINUTE);
    assert_eq!(
        world.outcome().windows()[&2],
        (600, 600),
        "visitors are released although progress cannot be recorded"
    );
    assert_nobody_is_lost(&mut world);
}

#[test]
fn taking_and_planning_fail_or_are_not_confirmed() {
    for call in [PortCall::Take, PortCall::CountWaiting, PortCall::WritePlan, PortCall::RecentPlans] {
        for fault in [InjectedFault::Refused(Fault::Busy), InjectedFault::Unconfirmed] {
            let mut world = crowded();
            world.inject(fault, every(2, call));
            world.run(3 * MINUTE);
            let released = world.outcome().released();
            assert!(released >= 600, "{call:?} {fault:?}: only {released}");
            assert_nobody_is_lost(&mut world);
        }
    }
}

#[test]
fn a_slice_that_was_taken_without_an_answer_is_not_lost() {
    let mut world = crowded();
    world.inject(InjectedFault::Unconfirmed, every(2, PortCall::Take));
    world.run(3 * MINUTE);
    assert_eq!(world.outcome().windows()[&3], (600, 600));
    assert_nobody_is_lost(&mut world);
}

#[test]
fn a_batch_that_arrives_after_a_pause_is_not_released() {
    let mut world = crowded();
    world.set_faults(|call| {
        (InjectedFault::None, if call == PortCall::Receive { Duration::from_secs(8) } else { TAKES })
    });
    world.run(Duration::from_secs(2));
    world.change_room(|room| room.state = RoomState::Paused);
    world.run(Duration::from_secs(2));
    let before = world.outcome().released();
    world.run(2 * MINUTE);
    assert_eq!(world.outcome().released(), before);
    world.change_room(|room| room.state = RoomState::On);
    assert_nobody_is_lost(&mut world);
}

#[test]
fn a_reset_does_not_lose_visitors_who_join_right_after_it() {
    for delay in [0, 500, 1500] {
        let mut world = World::new(15, 600);
        world.join(100);
        world.run(MINUTE);
        world.join(20);
        // Consumers learn of the new epoch up to a second late.
        world.set_faults(|call| {
            (InjectedFault::None, if call == PortCall::Room { Duration::from_millis(900) } else { TAKES })
        });
        world.run(Duration::from_millis(delay));
        let before = world.observations.lock().redirected.len();
        world.reset("next");
        world.run(Duration::from_millis(20));
        world.join(30);
        world.run(MINUTE);
        world.clear_faults();
        world.drain(20);
        let newcomers: Vec<_> = world.observations.lock().redirected[before..].to_vec();
        let newcomers =
            newcomers.iter().filter(|place| place.epoch.to_string() == "next").map(|place| place.token);
        let lost = world.outcome().lost;
        assert_eq!(newcomers.filter(|token| lost.contains(token)).count(), 0, "after {delay} ms");
    }
}

#[test]
fn a_busy_ticket_counter_delays_joins_and_fails_none() {
    let mut world = World::new(13, 600);
    world.inject(InjectedFault::Refused(Fault::Busy), every(1, PortCall::LeaseTickets));
    world.join(200);
    world.run(Duration::from_secs(1));
    assert_eq!(world.outcome().redirected, 0);
    world.clear_faults();
    world.run(Duration::from_secs(5));
    assert_eq!((world.outcome().redirected, world.outcome().told_to_retry), (200, 0));
}

#[test]
fn the_door_asks_a_visitor_to_come_again_after_three_seconds() {
    let mut world = World::new(13, 600);
    for slow in [PortCall::LeaseTickets, PortCall::Join] {
        world.set_faults(move |call| {
            let delay = if call == slow { MINUTE } else { Duration::ZERO };
            (InjectedFault::None, delay)
        });
        let before = world.outcome().told_to_retry;
        world.join(200);
        world.run(Duration::from_millis(2900));
        assert_eq!(world.outcome().told_to_retry, before, "{slow:?}");
        world.run(Duration::from_millis(200));
        assert_eq!(world.outcome().told_to_retry, before + 200, "{slow:?}");
    }
    world.clear_faults();
    world.join(200);
    world.run(Duration::from_secs(5));
    assert_eq!(world.outcome().redirected, 200);
    assert_nobody_is_lost(&mut world);
}

#[test]
fn those_who_leave_before_the_first_report_count_for_how_far_the_line_is() {
    let mut world = World::new(15, 600);
    world.inject(InjectedFault::Refused(Fault::Busy), every(1, PortCall::Reach));
    world.join(30);
    world.run(Duration::from_secs(5));
    assert_eq!((world.outcome().released(), world.status().reached), (30, 0));
    world.clear_faults();
    world.run(Duration::from_secs(30));
    assert_eq!(world.status().reached, 30);
}

#[test]
fn visitors_who_cannot_join_are_told_to_retry_without_a_cookie() {
    let mut world = World::new(14, 600);
    world.inject(InjectedFault::Refused(Fault::Broken), every(2, PortCall::Join));
    world.join(200);
    world.run(Duration::from_secs(5));
    assert_eq!((world.outcome().redirected, world.outcome().told_to_retry), (100, 100));
    assert_nobody_is_lost(&mut world);
}

/// On one machine the file's lock proves that the old process is gone, so its slices are resumed.
#[test]
fn a_process_that_is_killed_releases_the_rest_of_the_running_window_after_its_restart() {
    for seconds in [5, 20, 40, 55] {
        let mut world = World::new(12, 2000);
        world.join(8000);
        world.run(MINUTE + Duration::from_secs(seconds));
        world.kill();
        world.boot();
        world.fire_trigger();
        world.run(MINUTE);
        assert_eq!(world.outcome().windows()[&2], (2000, 2000), "killed after {seconds} s of window 2");
        assert_nobody_is_lost(&mut world);
        let outcome = world.outcome();
        assert_eq!(outcome.counted, u64::from(outcome.released()), "the count is exact again");
    }
}

#[test]
fn a_process_that_is_killed_again_and_again_exceeds_no_quota() {
    let mut world = World::new(13, 3300);
    world.join(12_000);
    world.run(MINUTE);
    for _ in 0..20 {
        world.run(Duration::from_secs(7));
        world.kill();
        world.boot();
        world.fire_trigger();
    }
    let outcome = world.outcome();
    assert_eq!(outcome.above_quota(), []);
    assert_eq!(outcome.windows()[&2], (3300, 3300));
    assert_nobody_is_lost(&mut world);
    let outcome = world.outcome();
    assert_eq!(outcome.counted, u64::from(outcome.released()), "every admission is counted once");
}
