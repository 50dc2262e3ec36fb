//! What the operator does while visitors come: an opening, a change of the rate, a pause.

use std::time::Duration;

use simulation::{EarlyVisitors, Scenario, SimulatedEvent, Simulation, TimedOrder};

use crate::scenarios::{on_aws, on_one_machine};

fn run(scenario: Scenario, orders: &[&str]) -> SimulatedEvent {
    let orders = orders.iter().map(|order| order.parse().unwrap()).collect();
    let event = Simulation::run(&Scenario { orders, ..scenario }, |_| true);
    assert_eq!(event.visitors.entered, event.visitors.came, "{event:?}");
    event
}

/// How many are released from one minute to another.
fn released(event: &SimulatedEvent, minutes: std::ops::Range<usize>) -> u64 {
    event.minutes[minutes].iter().map(|minute| minute.released).sum()
}

#[test]
fn who_comes_before_the_opening_waits_for_it() {
    for scenario in [on_one_machine(3000, "10m", 600), on_aws(3000, "10m", 600)] {
        let before = Duration::from_mins(10);
        let arrivals = scenario.arrivals.clone().with_early(EarlyVisitors { share: 0.5, before });
        let event = run(Scenario { arrivals, opens_after: Some(before), ..scenario }, &[]);
        assert_eq!((released(&event, 0..10), event.minutes[9].waiting), (0, 1500));
        // 1,500 stand there, and 150 a minute come to 600 that are released.
        let first = event.windows[0];
        assert!((600.0..603.0).contains(&first.from), "{first:?}");
        assert_eq!(released(&event, 10..12), 1200);
        assert!((1190.0..1230.0).contains(&event.drained_after.unwrap()), "{:?}", event.drained_after);
        assert!((600.0..690.0).contains(&event.waits.longest), "{:?}", event.waits);
    }
}

#[test]
fn a_page_asks_seldom_before_the_opening_and_after_it_as_usual() {
    let before = Duration::from_mins(30);
    let scenario = on_one_machine(1000, "1m", 6000);
    let event = run(Scenario { opens_after: Some(before), ..scenario }, &[]);
    // Every five minutes, and at the opening.
    let polls = event.requests / 1000;
    assert!((8..14).contains(&polls), "{polls}");
    let after = event.drained_after.unwrap();
    assert!((1800.0..1815.0).contains(&after), "{after}");
}

#[test]
fn a_rate_that_is_set_holds_from_then_on() {
    let event = run(on_one_machine(4000, "spike", 600), &["2m set-rate 1200", "3m set-rate 300"]);
    let minutes: Vec<_> = event.minutes.iter().take(6).map(|minute| (minute.released, minute.rate)).collect();
    for ((released, rate), expected) in minutes.iter().zip([600, 600, 1200, 300, 300, 300]) {
        assert!(*rate == expected && released.abs_diff(expected.into()) <= 40, "{minutes:?}");
    }
}

#[test]
fn a_release_lets_so_many_more_in_within_its_minute() {
    let event = run(on_one_machine(4000, "spike", 600), &["2m release 300"]);
    let minutes: Vec<_> = event.minutes.iter().take(5).map(|minute| minute.released).collect();
    for (released, expected) in minutes.iter().zip([600, 600, 900, 600, 600]) {
        assert!(released.abs_diff(expected) <= 40, "{minutes:?}");
    }
}

#[test]
fn nobody_is_released_during_a_pause() {
    let event = run(on_aws(3000, "spike", 600), &["4m on", "2m pause"]);
    let of_pause = released(&event, 2..4);
    // An order is in force two seconds later.
    assert!(of_pause <= 40 && released(&event, 4..6) >= 1100, "{:?}", event.minutes);
}

#[test]
fn who_comes_to_a_closed_room_comes_too_late_and_who_waits_is_let_in() {
    for scenario in [on_one_machine(3000, "10m", 200), on_aws(3000, "10m", 200)] {
        let orders = vec!["5m close".parse::<TimedOrder>().unwrap()];
        let event = Simulation::run(&Scenario { orders, ..scenario }, |_| true);
        let count = event.visitors;
        assert_eq!((count.entered + count.too_late, count.still_waiting), (count.came, 0), "{count:?}");
        assert!(count.too_late.abs_diff(1500) < 100, "{count:?}");
        // 1,500 joined in five minutes, 200 a minute leave.
        assert!((430.0..480.0).contains(&event.drained_after.unwrap()), "{:?}", event.drained_after);
    }
}

#[test]
fn a_stock_is_sold_out_when_its_last_one_is_let_in() {
    for scenario in [on_one_machine(3000, "1m", 600), on_aws(3000, "1m", 600)] {
        let sold_out = |order: &str| {
            let orders = vec![order.parse::<TimedOrder>().unwrap()];
            Simulation::run(&Scenario { orders, ..scenario.clone() }, |_| true).sold_out_after
        };
        // 600 a minute.
        let after = sold_out("0s close --after 300").unwrap();
        assert!((25.0..100.0).contains(&after), "{after}");
        assert_eq!(sold_out("0s close --after 5000"), None, "more than come");
        assert_eq!(sold_out("3m end"), None);
    }
}

#[test]
fn an_end_leaves_everybody_else_outside() {
    for scenario in [on_one_machine(3000, "1m", 600), on_aws(3000, "1m", 600)] {
        let orders = vec!["3m end".parse::<TimedOrder>().unwrap()];
        let event = Simulation::run(&Scenario { orders, ..scenario }, |_| true);
        let count = event.visitors;
        assert_eq!((count.entered + count.too_late, count.still_waiting), (count.came, 0), "{count:?}");
        assert!(count.entered.abs_diff(1800) < 60, "{count:?}");
        assert_eq!(event.drained_after, None, "so that no search takes a rate for enough");
    }
}
