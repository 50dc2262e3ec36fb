//! What an operator may choose beside the room itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stack_template::Stack;

use crate::support::stack;

const ROOM: [(&str, &str); 4] =
    [("Room", "sale"), ("Title", "Sale"), ("Shop", "https://shop.example/sale"), ("Rate", "300")];

fn choosing(chosen: &[(&str, &str)]) -> Stack {
    Stack::with(&[&ROOM, chosen].concat()).unwrap()
}

/// A choice, what is made for it, and what else becomes another.
type Choice = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);

const CHOICES: [Choice; 7] = [
    (&[("Throttling", "yes")], &["Throttle", "ThrottleLog", "ThrottleRole"], &["RoomSetup"]),
    (&[("Health", "https://shop.example/health")], &[], &["RoomSetup"]),
    (
        &[
            ("DomainName", "queue.shop.example"),
            ("CertificateArn", "arn:aws:acm:eu-central-1:1:certificate/1"),
        ],
        &["Domain", "DomainMapping"],
        &["RoomSetup"],
    ),
    (&[("RequestsPerSecond", "100")], &[], &["Api"]),
    (&[("RequestsPerAddress", "1000")], &["Firewall", "FirewallOnApi"], &[]),
    (
        &[("AlarmEmail", "operator@shop.example")],
        &[
            "AlarmTopic",
            "ApiErrorsAlarm",
            "DeadLettersAlarm",
            "FunctionErrorsAlarm",
            "FunctionThrottlesAlarm",
            "LineStalledAlarm",
            "TriggerStoppedAlarm",
        ],
        &[],
    ),
    (&[("AccessLog", "yes")], &["ApiLog"], &["Api"]),
];

#[test]
fn each_choice_makes_what_it_is_for_and_leaves_the_rest_as_it_is() {
    let usual = stack().resources().unwrap();
    for (chosen, new, changed) in CHOICES {
        let chosen_stack = choosing(chosen);
        let made = chosen_stack.resources().unwrap();
        let added: Vec<_> = made.keys().filter(|name| !usual.contains_key(*name)).collect();
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
fn every_condition_is_a_choice_that_is_tried_here() {
    let conditions: BTreeSet<_> = stack().template["Conditions"].as_object().unwrap().keys().collect();
    assert_eq!(conditions.len(), CHOICES.len(), "{conditions:?}");
}

#[test]
fn the_access_log_is_json_and_tells_nothing_that_lets_somebody_in() {
    let api = choosing(&[("AccessLog", "yes")]).properties("Api").unwrap();
    let setting = &api["AccessLogSetting"];
    assert_eq!(setting["DestinationArn"], "ApiLog.Arn");
    let format = setting["Format"].as_str().unwrap();
    let said: Vec<_> =
        format.split("$context.").skip(1).map(|rest| rest.split(['"', ',', '}']).next()).collect();
    let may_be_said = ["requestTime", "requestId", "httpMethod", "path", "status", "responseLatency"];
    assert_eq!(said, may_be_said.map(Some));
    let example = format.replace("$context.status", "200").replace("$context.responseLatency", "12");
    assert!(serde_json::from_str::<Value>(&example).is_ok(), "{example}");
}

#[test]
fn a_limit_of_requests_is_one_for_all_routes() {
    let api = choosing(&[("RequestsPerSecond", "100"), ("RequestBurst", "200")]).properties("Api").unwrap();
    let settings = &api["MethodSettings"][0];
    assert_eq!((&settings["ResourcePath"], &settings["HttpMethod"]), (&json!("/*"), &json!("*")));
    assert_eq!(
        (&settings["ThrottlingRateLimit"], &settings["ThrottlingBurstLimit"]),
        (&json!("100"), &json!("200"))
    );
}

#[test]
fn alarms_watch_every_function_that_the_minute_needs_and_tell_the_operator() {
    let stack = choosing(&[("AlarmEmail", "operator@shop.example"), ("Throttling", "yes")]);
    let topic = stack.properties("AlarmTopic").unwrap();
    assert_eq!(topic["Subscription"], json!([{ "Protocol": "email", "Endpoint": "operator@shop.example" }]));
    for (name, kind) in stack.resources().unwrap() {
        if kind == "AWS::CloudWatch::Alarm" {
            assert_eq!(stack.properties(&name).unwrap()["AlarmActions"], json!(["AlarmTopic"]), "{name}");
        }
    }
    for alarm in ["FunctionErrorsAlarm", "FunctionThrottlesAlarm"] {
        let alarm = stack.properties(alarm).unwrap();
        let watched = alarm["Metrics"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|metric| metric["MetricStat"]["Metric"]["Dimensions"][0]["Value"].as_str());
        assert_eq!(watched.collect::<Vec<_>>(), ["Producer", "Trigger", "Consumer", "Throttle"]);
    }
}
