//! A room behind `CloudFront`, which answers what is the same for everybody.

use aws_model::{AccountLimit, AccountLimits, Limit};
use config::{Region, RoomConfig};
use simulation::{Scenario, ScenarioRequest, SimulatedEvent, Simulation, SimulationPlan};
use waitroom::Rate;

use crate::scenarios::{account, on_aws};

fn run(scenario: &Scenario) -> SimulatedEvent {
    Simulation::run(scenario, |_| true)
}

fn behind_edge(mut scenario: Scenario) -> Scenario {
    let room = &mut account(&mut scenario).room;
    *room = room.clone().behind_edge();
    scenario
}

fn most(event: &SimulatedEvent, limit: Limit) -> Option<f64> {
    event.limits.iter().find(|used| used.limit == limit).map(|used| used.used)
}

#[test]
fn behind_an_edge_a_crowd_waits_as_long_and_costs_less_than_half() {
    let alone = run(&on_aws(30_000, "3m", 3000));
    let behind = run(&behind_edge(on_aws(30_000, "3m", 3000)));
    assert_eq!((behind.visitors.entered, behind.refused_requests), (30_000, 0));
    assert!(
        (behind.from_link.median - alone.from_link.median).abs() < 3.0,
        "{:?} {:?}",
        alone.from_link,
        behind.from_link
    );
    assert!(
        (behind.from_link.longest - alone.from_link.longest).abs() < 15.0,
        "{:?} {:?}",
        alone.from_link,
        behind.from_link
    );
    assert!(behind.dollars < alone.dollars / 2.0, "{} {}", alone.dollars, behind.dollars);
    assert!(behind.dollars_after_free_tier < Some(behind.dollars / 2.0), "{behind:?}");
    assert_eq!((alone.answered_by_edge, alone.dollars_after_free_tier), (None, None));
    let by_edge = behind.answered_by_edge.unwrap();
    assert!(by_edge > behind.requests / 3 && by_edge < behind.requests, "{by_edge} of {}", behind.requests);
    assert!(most(&behind, Limit::ApiRequests).is_none() && most(&alone, Limit::EdgeRequests).is_none());
    let functions = |event| most(event, Limit::Concurrency).unwrap();
    assert!(functions(&behind) > 1.3 * functions(&alone), "polls need functions too");
}

#[test]
fn in_an_account_with_ten_functions_an_edges_polls_are_refused_and_nobody_is_lost() {
    let crowd = |scenario: Scenario| {
        let mut scenario = scenario;
        account(&mut scenario).limits = AccountLimits::of_new_account("us-east-1");
        run(&scenario)
    };
    let alone = crowd(on_aws(5000, "5m", 600));
    let behind = crowd(behind_edge(on_aws(5000, "5m", 600)));
    assert_eq!((alone.visitors.entered, behind.visitors.entered), (5000, 5000));
    assert_eq!(behind.first_to_break, Some(Limit::Concurrency));
    assert!(
        behind.refused_requests > 10 * alone.refused_requests.max(1),
        "{} {}",
        alone.refused_requests,
        behind.refused_requests
    );
}

#[test]
fn what_contradicts_an_edge_is_refused_with_a_reason() {
    let request = ScenarioRequest {
        edge: true,
        visitors: Some(1000),
        rate: Rate::new(300).ok(),
        ..ScenarioRequest::default()
    };
    let refusal = |request: &ScenarioRequest, config: Option<&RoomConfig>| {
        SimulationPlan::of(request, None, config, None).err().map(|refusal| refusal.problem)
    };
    assert_eq!(refusal(&request, None), None);
    let here = ScenarioRequest { here: true, ..request.clone() };
    assert!(refusal(&here, None).unwrap().contains("one machine has none"));
    let limited = ScenarioRequest { limits: vec![(AccountLimit::ApiBurst, 9.0)], ..request.clone() };
    assert!(refusal(&limited, None).unwrap().contains("nobody asks API Gateway"));
    let region = Region::named("eu-central-2").ok();
    assert!(
        refusal(&ScenarioRequest { region, ..request.clone() }, None)
            .unwrap()
            .contains("gives functions no URL")
    );
    let config = RoomConfig::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(300).unwrap(),
    );
    assert_eq!(refusal(&request, Some(&config)), None);
    let config = RoomConfig {
        requests_per_second: config::SettingValue::from_value(config::ConfigValue::Number(600)).ok(),
        ..config
    };
    assert!(refusal(&request, Some(&config)).unwrap().contains("limits requests at its API"));
    assert_eq!(refusal(&ScenarioRequest { edge: false, ..request }, Some(&config)), None);
}
