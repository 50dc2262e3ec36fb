//! As many come to the shop as the rate says, although some of those whose turn it is don't.

use std::ops::Range;

use simulation::{CrowdHabits, Scenario, ShopLoad, SimulatedEvent, Simulation};
use waitroom::Oversubscription;

use crate::scenarios::{on_aws, on_one_machine};

const RATE: u32 = 3000;

/// A crowd of which this part doesn't come, in a room that releases up to so many percent more.
fn run(scenario: Scenario, never_enter: f64, percent: u32) -> SimulatedEvent {
    let habits = CrowdHabits { never_enter, ..CrowdHabits::default() };
    let oversubscribe = Oversubscription::new(percent).ok();
    Simulation::run(&Scenario { habits, oversubscribe, ..scenario }, |_| true)
}

/// How many came to the shop in these minutes, as a part of the rate.
fn came(event: &SimulatedEvent, minutes: Range<usize>) -> f64 {
    let came = event.minutes[minutes.clone()].iter().map(|minute| minute.entered).sum::<u64>();
    let [came, minutes] =
        [came, minutes.count() as u64].map(|count| f64::from(u32::try_from(count).unwrap()));
    came / (f64::from(RATE) * minutes)
}

#[test]
fn a_fifth_that_does_not_come_is_made_up_for_within_three_percent() {
    for scenario in [on_one_machine(75_000, "spike", RATE), on_aws(75_000, "spike", RATE)] {
        let event = run(scenario, 0.2, 30);
        let part = came(&event, 8..18);
        assert!((0.97..=1.03).contains(&part), "{part}");
        let most = event.windows.iter().map(|window| window.rate).max().unwrap();
        assert!((3690..=3810).contains(&most), "a quarter more are released, not {most}");
    }
}

#[test]
fn no_more_is_made_up_for_than_the_operator_allows() {
    let event = run(on_one_machine(75_000, "spike", RATE), 0.3, 30);
    let part = came(&event, 8..18);
    assert!((0.895..=0.925).contains(&part), "1.3 of 0.7, not {part}");
    assert!(event.windows.iter().all(|window| window.rate <= RATE * 13 / 10), "{:?}", event.windows);
}

#[test]
fn nothing_changes_where_everybody_comes_or_nothing_is_to_be_made_up_for() {
    for (never_enter, percent) in [(0.0, 30), (0.2, 0)] {
        let event = run(on_one_machine(30_000, "spike", RATE), never_enter, percent);
        assert!(event.windows.iter().all(|window| window.rate == RATE), "{:?}", event.windows);
    }
}

#[test]
fn a_shop_that_becomes_slow_gets_no_more_than_it_bears() {
    let shop = Some(ShopLoad { answers_in: std::time::Duration::from_millis(200), bears: 1500 });
    let event = run(Scenario { shop, ..on_one_machine(30_000, "spike", RATE) }, 0.2, 30);
    let held = event.windows.iter().skip(4);
    assert!(
        held.clone().count() > 5 && held.clone().all(|window| window.rate <= RATE),
        "{:?}",
        event.windows
    );
}
