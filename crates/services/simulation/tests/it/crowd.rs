//! What becomes of a crowd.

use std::time::Duration;

use aws_model::{AccountLimits, Limit};
use simulation::{CrowdHabits, LineBehaviour, Scenario, ShopLoad, SimulatedEvent, Simulation};

use crate::scenarios::{account, on_aws, on_one_machine, used};

fn run(scenario: &Scenario) -> SimulatedEvent {
    Simulation::run(scenario, |_| true)
}

/// Everybody is accounted for.
fn assert_complete(event: &SimulatedEvent) {
    let count = event.visitors;
    let ended = count.entered + count.gave_up + count.never_entered + count.still_waiting + count.too_late;
    assert_eq!(ended, count.came, "{count:?}");
}

#[test]
fn a_spike_is_released_at_the_rate_and_everybody_enters() {
    for scenario in [on_one_machine(5000, "spike", 1200), on_aws(5000, "spike", 1200)] {
        let event = run(&scenario);
        assert_complete(&event);
        assert_eq!((event.visitors.entered, event.visitors.still_waiting), (5000, 0));
        let (last, full) = event.windows.split_last().unwrap();
        assert!(full.len() >= 4 && full.iter().all(|window| window.released == window.planned), "{event:?}");
        assert!(last.released <= last.planned);
        // 5,000 at 20 a second.
        assert!((245.0..260.0).contains(&event.drained_after.unwrap()), "{:?}", event.drained_after);
        assert!((100.0..140.0).contains(&event.waits.median), "{:?}", event.waits);
        assert!(event.longest_line.people > 3500);
    }
}

#[test]
fn the_same_seed_gives_the_same_json_and_another_gives_another() {
    let json = |seed| {
        let scenario = Scenario { seed, ..on_aws(3000, "email", 120) };
        serde_json::to_string(&run(&scenario)).unwrap()
    };
    assert_eq!(json(3), json(3));
    assert_ne!(json(3), json(4));
}

#[test]
fn visitors_who_leave_or_do_not_come_use_up_the_rate_all_the_same() {
    let habits = CrowdHabits { give_up: 0.2, never_enter: 0.1, ..CrowdHabits::default() };
    let event = run(&Scenario { habits, ..on_one_machine(4000, "spike", 600) });
    assert_complete(&event);
    let count = event.visitors;
    assert!((650..900).contains(&count.gave_up) && (250..450).contains(&count.never_entered), "{count:?}");
    let released: u32 = event.windows.iter().map(|window| window.released).sum();
    assert_eq!(released, 4000, "nobody who has left the page has left the line");
}

#[test]
fn a_shop_that_becomes_slow_is_spared_by_the_throttle() {
    let shop = ShopLoad { answers_in: Duration::from_millis(200), bears: 300 };
    let throttled = run(&Scenario { shop: Some(shop), ..on_one_machine(4000, "spike", 600) });
    let usual = run(&on_one_machine(4000, "spike", 600));
    let lowest = throttled.minutes.iter().map(|minute| minute.rate).min().unwrap();
    assert!(lowest <= 300, "{:?}", throttled.minutes);
    assert!(throttled.drained_after.unwrap() > 1.3 * usual.drained_after.unwrap());
    assert_complete(&throttled);
}

#[test]
fn a_rush_that_api_gateway_refuses_comes_again_until_everybody_is_in_line() {
    let mut scenario = on_aws(30_000, "1s", 6000);
    let limits = &mut account(&mut scenario).limits;
    (limits.api_requests, limits.api_burst) = (2000.0, 1000.0);
    let event = run(&scenario);
    assert_complete(&event);
    assert_eq!(event.visitors.entered, 30_000);
    assert!(
        event.refused_requests > 20_000 && event.until_in_line.longest > 20.0,
        "{:?}",
        event.until_in_line
    );
    assert_eq!(event.first_to_break, Some(Limit::ApiRequests));
}

#[test]
fn visits_that_find_no_free_function_show_how_many_are_needed() {
    let mut scenario = on_aws(20_000, "spike", 600);
    account(&mut scenario).limits = AccountLimits::of_new_account("us-east-1");
    let event = run(&scenario);
    assert_complete(&event);
    assert_eq!(event.visitors.entered, 20_000);
    // In the first second about 1,400 visits, and a function serves ten. Soon those who were refused come again, too.
    let needed = used(&event, Limit::Concurrency);
    assert!((130.0..260.0).contains(&needed), "{needed}");
    assert_eq!(event.first_to_break, Some(Limit::Concurrency));
}

#[test]
fn visitors_whom_the_room_never_lets_in_are_not_followed_for_days() {
    let mut scenario = on_aws(200, "spike", 60);
    // A consumer needs more than that.
    account(&mut scenario).limits.concurrency = 1.0;
    let event = run(&scenario);
    assert_complete(&event);
    assert_eq!((event.visitors.still_waiting, event.drained_after), (200, None));
    assert_eq!((event.requests, event.refused_requests), (200 * 120, 200 * 120));
    assert!((40..120).contains(&event.minutes.len()), "about an hour: {} minutes", event.minutes.len());
    assert_eq!(event.first_to_break, Some(Limit::Concurrency));
}

#[test]
fn a_page_of_many_files_sends_a_request_for_each() {
    let sent = |further_files, requests_per_second| {
        let mut scenario = on_aws(500, "spike", 600);
        let room = &mut account(&mut scenario).room;
        (room.further_files, room.requests_per_second) = (further_files, requests_per_second);
        room.request_burst = requests_per_second;
        run(&scenario)
    };
    assert_eq!(sent(11, None).requests, sent(0, None).requests + 11 * 500);
    let refused = |further_files| sent(further_files, Some(150.0)).refused_requests;
    assert!(refused(0) == 0 && refused(11) > 100, "{} {}", refused(0), refused(11));
}

#[test]
fn the_table_is_written_when_visitors_are_released_whether_or_not_they_come() {
    let habits = CrowdHabits { never_enter: 1.0, ..CrowdHabits::default() };
    let event = run(&Scenario { habits, ..on_aws(600, "2m", 240) });
    // A batch of ten is released at once, and the room itself writes about ten times a second.
    let writes = used(&event, Limit::WarmWrites);
    assert!((18.0..40.0).contains(&writes), "{writes}");
}

#[test]
fn a_line_that_is_not_in_order_loses_nobody() {
    let line =
        LineBehaviour { disorder: 1000, count_lag: Duration::from_mins(1), ..LineBehaviour::default() };
    let event = run(&Scenario { line, ..on_aws(10_000, "email", 1000) });
    assert_complete(&event);
    assert_eq!(event.visitors.entered, 10_000);
}

#[test]
fn a_simulation_can_be_stopped_and_says_who_still_waits() {
    let mut minutes = 0;
    let event = Simulation::run(&on_one_machine(2000, "spike", 60), |_| {
        minutes += 1;
        minutes < 5
    });
    assert_complete(&event);
    assert!(event.visitors.still_waiting > 1500 && event.drained_after.is_none(), "{:?}", event.visitors);
}

#[test]
fn a_large_crowd_can_be_stopped_within_a_simulated_minute() {
    let mut stopped_after = None;
    let event = Simulation::run(&on_one_machine(60_000, "1s", 60), |progress| {
        stopped_after = Some(progress.time);
        false
    });
    assert!(stopped_after.unwrap() < Duration::from_secs(1), "{stopped_after:?}");
    assert_complete(&event);
    assert!(event.minutes[0].waiting > 10_000, "{:?}", event.minutes);
}
