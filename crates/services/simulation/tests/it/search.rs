//! The inverse questions.

use std::collections::BTreeMap;

use aws_model::Limit;
use simulation::{Scenario, Simulation, quotas_to_raise, rate_for};
use waitroom::Rate;

use crate::scenarios::{account, on_aws, on_one_machine};

fn rate(rate: u32) -> Rate {
    Rate::new(rate).unwrap()
}

#[test]
fn the_rate_that_is_found_is_enough_and_a_lower_one_is_not() {
    let scenario = on_one_machine(3000, "1m", 1);
    let found = rate_for(&scenario, 600.0, |_| true).unwrap();
    let drained = |rate| Simulation::run(&Scenario { rate, ..scenario.clone() }, |_| true).drained_after;
    let drained = [found, rate(found.get() - 1)].map(|rate| drained(rate).unwrap());
    assert!(drained[0] <= 600.0 && drained[1] > 600.0, "{found:?}: {drained:?}");
}

/// Half of them come when the room is closed.
#[test]
fn where_not_everybody_is_let_in_a_lower_rate_is_found() {
    let mut scenario = on_one_machine(3000, "20m", 1);
    scenario.orders = vec!["10m close".parse().unwrap()];
    let found = rate_for(&scenario, 1800.0, |_| true).unwrap();
    assert!((40..=60).contains(&found.get()), "1,500 within 30 minutes, not 3,000: {found:?}");
}

#[test]
fn nothing_is_simulated_if_the_last_visitor_comes_too_late() {
    let scenario = on_one_machine(100, "2h", 1);
    assert_eq!(rate_for(&scenario, 3600.0, |_| unreachable!("the last one comes after two hours")), None);
}

#[test]
fn a_search_can_be_stopped() {
    assert_eq!(rate_for(&on_one_machine(500, "1m", 1), 600.0, |_| false), None);
    assert_eq!(quotas_to_raise(&on_aws(500, "1m", 60), |_| false), None);
}

/// What a crowd needs of each limit, with these functions and requests a second.
fn needed(concurrency: f64, api_requests: f64) -> BTreeMap<Limit, Option<f64>> {
    let mut scenario = on_aws(20_000, "spike", 1200);
    let limits = &mut account(&mut scenario).limits;
    (limits.concurrency, limits.api_requests, limits.api_burst) =
        (concurrency, api_requests, api_requests / 2.0);
    let quotas = quotas_to_raise(&scenario, |_| true).unwrap();
    quotas.into_iter().map(|quota| (quota.limit, quota.needed)).collect()
}

#[test]
fn what_a_crowd_needs_does_not_depend_on_how_low_the_limits_are() {
    let usual = needed(10.0, 2500.0);
    assert_eq!(usual.keys().copied().collect::<Vec<_>>(), [Limit::ApiRequests, Limit::Concurrency]);
    assert_eq!(needed(1.0, 10.0), usual);
    assert_eq!(needed(1000.0, 10_000.0), BTreeMap::new());
}

#[test]
fn with_the_limits_that_it_needs_nobody_of_a_crowd_is_refused() {
    let needed = needed(10.0, 2500.0);
    let mut scenario = on_aws(20_000, "spike", 1200);
    let limits = &mut account(&mut scenario).limits;
    limits.concurrency = needed[&Limit::Concurrency].unwrap();
    limits.api_requests = needed[&Limit::ApiRequests].unwrap();
    // AWS raises both together.
    limits.api_burst = limits.api_requests / 2.0;
    // So many functions are enough for a reservation, which takes some of them.
    let scenario = scenario.at_rate(scenario.rate);
    assert_eq!(scenario.aws.as_ref().unwrap().room.reserved_consumers, 10);
    let event = Simulation::run(&scenario, |_| true);
    assert_eq!((event.refused_requests, event.first_to_break), (0, None));
}

#[test]
fn a_room_of_another_rate_has_the_reservation_that_deploy_makes() {
    let scenario = on_aws(1, "1s", 60).at_rate(rate(20_000));
    let reserved = |scenario: &Scenario| scenario.aws.as_ref().unwrap().room.reserved_consumers;
    assert_eq!((scenario.rate, scenario.aws.as_ref().unwrap().room.rate), (rate(20_000), rate(20_000)));
    assert_eq!([reserved(&scenario), reserved(&scenario.at_rate(rate(60)))], [40, 10]);
    assert_eq!(on_one_machine(1, "1s", 60).at_rate(rate(600)).rate, rate(600));
}

#[test]
fn for_a_limit_that_nothing_raises_no_number_is_given() {
    let quotas = quotas_to_raise(&on_aws(60_000, "10s", 6000), |_| true).unwrap();
    let reads = quotas.iter().find(|quota| quota.limit == Limit::PageReads).unwrap();
    assert_eq!(reads.needed, None);
}
