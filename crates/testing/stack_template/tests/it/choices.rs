//! The optional parts of a room: which parameters create which resources.

use cloud::Reservation;
use serde_json::{Value, json};
use stack_template::Stack;

use crate::support::{choosing, stack};

/// Those of every room that has alarms. [`API_ALARMS`] are of an API, so an edge has none of them.
const ALARMS: &[&str] = &[
    "AlarmTopic",
    "ConsumersDroppedAlarm",
    "DeadLettersAlarm",
    "DoorErrorsAlarm",
    "DoorThrottlesAlarm",
    "FunctionErrorsAlarm",
    "FunctionThrottlesAlarm",
    "LineStalledAlarm",
    "OldestVisitorAlarm",
    "TableThrottlesAlarm",
    "TriggerStoppedAlarm",
];
const API_ALARMS: &[&str] = &["ApiErrorsAlarm", "RefusedRequestsAlarm"];
const DOMAIN: &[&str] = &["Domain", "DomainMapping"];
const EDGE: &[&str] = &[
    "Distribution",
    "DoorAccess",
    "DoorHeaders",
    "DoorUrl",
    "EdgeAsksDoor",
    "EdgeInvokesDoor",
    "PageHeaders",
];
const FIREWALL: &[&str] = &["Firewall", "FirewallOnApi"];
const THROTTLE: &[&str] = &["Throttle", "ThrottleLog", "ThrottleRole"];

/// Parameters, the resources that they add, and the other resources that they change.
type Choice =
    (&'static [(&'static str, &'static str)], &'static [&'static [&'static str]], &'static [&'static str]);

const CHOICES: [Choice; 18] = [
    (&[("Throttling", "yes")], &[THROTTLE], &["RoomSetup", "Trigger"]),
    (&[("Health", "https://shop.example/health")], &[], &["RoomSetup"]),
    (
        &[
            ("DomainName", "queue.shop.example"),
            ("CertificateArn", "arn:aws:acm:eu-central-1:1:certificate/1"),
        ],
        &[DOMAIN],
        &["RoomSetup"],
    ),
    // Without an API beside it, nobody goes around the edge.
    (
        &[("Edge", "yes")],
        &[EDGE],
        &["Api", "ApiRole", "DoorPermission", "GuardPermission", "Producer", "ProducerRole", "RoomSetup"],
    ),
    (
        &[
            ("Edge", "moving"),
            ("DomainName", "queue.shop.example"),
            ("CertificateArn", "arn:aws:acm:eu-central-1:1:certificate/1"),
            ("EdgeCertificateArn", "arn:aws:acm:us-east-1:1:certificate/1"),
        ],
        &[DOMAIN, EDGE],
        &["Producer", "ProducerRole", "RoomSetup"],
    ),
    // The firewall of an edge is in another stack, and has no alarm.
    (
        &[
            ("Edge", "yes"),
            ("AlarmEmail", "operator@shop.example"),
            ("DoorRequestsPerAddress", "5000"),
            ("EdgeFirewallArn", "arn:aws:wafv2:us-east-1:1:global/webacl/1/1"),
        ],
        &[ALARMS, EDGE, &["EdgeErrorsAlarm"]],
        &["Api", "ApiRole", "DoorPermission", "GuardPermission", "Producer", "ProducerRole", "RoomSetup"],
    ),
    (&[("RequestsPerSecond", "100")], &[], &["Api"]),
    (&[("RequestsPerAddress", "1000")], &[FIREWALL], &[]),
    (&[("DoorRequestsPerAddress", "5000")], &[FIREWALL], &[]),
    (&[("DoorChallengeAbove", "200")], &[FIREWALL], &[]),
    (&[("DoorChallengeAbove", "0")], &[FIREWALL], &[]),
    (&[("AlarmEmail", "operator@shop.example")], &[ALARMS, API_ALARMS], &[]),
    (
        &[("AlarmEmail", "operator@shop.example"), ("DoorRequestsPerAddress", "5000")],
        &[ALARMS, API_ALARMS, FIREWALL, &["DoorLimitAlarm"]],
        &[],
    ),
    (
        &[("AlarmEmail", "operator@shop.example"), ("Throttling", "yes")],
        &[ALARMS, API_ALARMS, THROTTLE, &["ShopFailingAlarm"]],
        &["RoomSetup", "Trigger"],
    ),
    (&[("AccessLog", "yes")], &[&["ApiLog"]], &["Api"]),
    (&[("WarmReads", "50000")], &[], &["Ledger"]),
    (&[("WarmWrites", "20000")], &[], &["Ledger"]),
    (&[("ReservedConsumers", "12")], &[], &["Consumer", "Trigger"]),
];

#[test]
fn each_choice_adds_its_resources_and_leaves_the_others_unchanged() {
    let usual = stack().resources().unwrap();
    for (chosen, new, changed) in CHOICES {
        let chosen_stack = choosing(chosen);
        let made = chosen_stack.resources().unwrap();
        let added: Vec<_> = made.keys().filter(|name| !usual.contains_key(*name)).collect();
        let mut new = new.concat();
        new.sort_unstable();
        assert_eq!(added, new, "{chosen:?}");
        let differs = |name: &&String| {
            !made.contains_key(*name)
                || chosen_stack.properties(name).unwrap() != stack().properties(name).unwrap()
        };
        let others: Vec<_> = usual.keys().filter(differs).collect();
        assert_eq!(others, changed, "{chosen:?}");
    }
}

#[test]
fn every_condition_is_tested_as_a_choice() {
    for name in stack().template["Conditions"].as_object().unwrap().keys() {
        let holds = |stack: &Stack| stack.resolve(&json!({ "Fn::If": [name, true, false] })).unwrap() == true;
        let usual = holds(stack());
        let is_other = |(chosen, ..): &Choice| holds(&choosing(chosen)) != usual;
        assert!(CHOICES.iter().any(is_other), "{name} is {usual} with every choice");
    }
}

#[test]
fn warm_capacity_is_set_only_where_it_is_asked_for() {
    let warm =
        |chosen: &[(&str, &str)]| choosing(chosen).properties("Ledger").unwrap()["WarmThroughput"].clone();
    assert_eq!(warm(&[]), Value::Null);
    assert_eq!(warm(&[("WarmReads", "50000")]), json!({ "ReadUnitsPerSecond": "50000" }));
    assert_eq!(warm(&[("WarmWrites", "20000")]), json!({ "WriteUnitsPerSecond": "20000" }));
    let both = json!({ "ReadUnitsPerSecond": "50000", "WriteUnitsPerSecond": "20000" });
    assert_eq!(warm(&[("WarmReads", "50000"), ("WarmWrites", "20000")]), both);
}

#[test]
fn functions_for_releasing_are_reserved_only_where_it_is_asked_for() {
    let reserved = |chosen: &[(&str, &str)]| {
        let stack = choosing(chosen);
        ["Producer", "Trigger", "Consumer", "Setup", "Throttle"]
            .map(|function| stack.properties(function).unwrap()["ReservedConcurrentExecutions"].clone())
    };
    assert_eq!(reserved(&[("Throttling", "yes")]), [const { Value::Null }; 5]);
    // The door has none: a reservation would also be its limit.
    let [producer, trigger, consumer, setup, throttle] =
        reserved(&[("Throttling", "yes"), ("ReservedConsumers", "12")]);
    assert_eq!([producer, setup], [const { Value::Null }; 2]);
    let (triggers, throttles) = (Reservation::TRIGGERS, Reservation::THROTTLES);
    assert_eq!([trigger, consumer, throttle], [json!(triggers), json!("12"), json!(throttles)]);
}

#[test]
fn the_access_log_is_json_without_cookies_and_addresses() {
    let api = choosing(&[("AccessLog", "yes")]).properties("Api").unwrap();
    let setting = &api["AccessLogSetting"];
    assert_eq!(setting["DestinationArn"], "ApiLog.Arn");
    let format = setting["Format"].as_str().unwrap();
    let logged: Vec<_> =
        format.split("$context.").skip(1).map(|rest| rest.split(['"', ',', '}']).next()).collect();
    let allowed = ["requestTime", "extendedRequestId", "httpMethod", "path", "status", "responseLatency"];
    assert_eq!(logged, allowed.map(Some));
    let example = format.replace("$context.status", "200").replace("$context.responseLatency", "12");
    assert!(serde_json::from_str::<Value>(&example).is_ok(), "{example}");
}

#[test]
fn the_request_limit_applies_to_all_routes() {
    let api = choosing(&[("RequestsPerSecond", "100"), ("RequestBurst", "200")]).properties("Api").unwrap();
    let settings = &api["MethodSettings"][0];
    assert_eq!((&settings["ResourcePath"], &settings["HttpMethod"]), (&json!("/*"), &json!("*")));
    assert_eq!(
        (&settings["ThrottlingRateLimit"], &settings["ThrottlingBurstLimit"]),
        (&json!("100"), &json!("200"))
    );
}
