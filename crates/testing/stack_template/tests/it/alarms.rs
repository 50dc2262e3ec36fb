//! An alarm says what is wrong and what to do. So its metric may rise for nothing that its text does not say: refused requests,
//! errors and functions that may not start each have an alarm of their own, and none rings for another.

use serde_json::{Value, json};
use stack_template::Stack;
use waitroom::throttle_rules::{MAX_FAILURES, SAMPLE_SIZE};

use crate::support::choosing;

/// An alarm, the metrics that it watches (of what they are), and what its text says.
type Rings = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const ALARMS: [Rings; 14] = [
    (
        "ApiErrorsAlarm",
        &[("AWS/ApiGateway 5XXError", "AWS::StackName")],
        &["server error", "beekeeper logs sale"],
    ),
    ("ConsumersDroppedAlarm", &[("AWS/Lambda AsyncEventsDropped", "Consumer")], &["consumers did not start"]),
    (
        "DeadLettersAlarm",
        &[("AWS/SQS ApproximateNumberOfMessagesVisible", "DeadLetters.QueueName")],
        &["message that is no visitor"],
    ),
    (
        "DoorErrorsAlarm",
        &[("AWS/Lambda Errors", "Producer")],
        &["the door is broken", "fails or takes longer than 10 seconds", "beekeeper logs sale"],
    ),
    (
        "DoorLimitAlarm",
        &[("AWS/WAFV2 BlockedRequests", "AWS::StackName")],
        &["the firewall refuses requests to the door"],
    ),
    (
        "DoorThrottlesAlarm",
        &[("AWS/Lambda Throttles", "Producer")],
        &["Lambda does not start the door", "limit of concurrent functions", "ask AWS for more"],
    ),
    (
        "FunctionErrorsAlarm",
        &[
            ("AWS/Lambda Errors", "Trigger"),
            ("AWS/Lambda Errors", "Consumer"),
            ("AWS/Lambda Errors", "Throttle"),
        ],
        &["plans, releases or measures", "fails or takes too long", "beekeeper logs sale"],
    ),
    (
        "FunctionThrottlesAlarm",
        &[
            ("AWS/Lambda Throttles", "Trigger"),
            ("AWS/Lambda Throttles", "Consumer"),
            ("AWS/Lambda Throttles", "Throttle"),
        ],
        &["plan, release or measure", "limit of concurrent functions", "ask AWS for more", "deploy it again"],
    ),
    (
        "LineStalledAlarm",
        &[("Beekeeper Waiting", "sale"), ("Beekeeper Rate", "sale"), ("Beekeeper Admitted", "sale")],
        &["nobody was admitted"],
    ),
    (
        "OldestVisitorAlarm",
        &[("AWS/SQS ApproximateAgeOfOldestMessage", "Line.QueueName")],
        &["waited for ten days"],
    ),
    (
        "RefusedRequestsAlarm",
        &[("AWS/ApiGateway 4XXError", "AWS::StackName")],
        &["is refused", "If many people are here", "If few are here"],
    ),
    (
        "ShopFailingAlarm",
        &[("Beekeeper ShopFailing", "sale")],
        &["the shop fails", "beekeeper status sale", "beekeeper pause sale", "beekeeper on sale"],
    ),
    (
        "TableThrottlesAlarm",
        &[("AWS/DynamoDB ReadThrottleEvents", "Ledger"), ("AWS/DynamoDB WriteThrottleEvents", "Ledger")],
        &["the table refuses requests", "warm_reads and warm_writes"],
    ),
    ("TriggerStoppedAlarm", &[("AWS/Lambda Invocations", "Trigger")], &["has not started the trigger"]),
];

/// What API Gateway answers by itself, with its own status, and the words of an alarm's text that say so. Without authorizers,
/// API keys and validators there is nothing else:
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html>
const BY_THE_GATEWAY: [(&str, u16, &str); 10] = [
    ("THROTTLED", 429, "the limit of requests a second is reached"),
    ("WAF_FILTERED", 403, "the firewall refuses it"),
    ("MISSING_AUTHENTICATION_TOKEN", 403, "asks for what the room does not have"),
    ("RESOURCE_NOT_FOUND", 404, "asks for what the room does not have"),
    ("UNSUPPORTED_MEDIA_TYPE", 415, "sends what no browser sends"),
    ("REQUEST_TOO_LARGE", 413, "cookies exceed 10 kB"),
    ("BAD_REQUEST_PARAMETERS", 400, "sends what no browser sends"),
    ("API_CONFIGURATION_ERROR", 500, "API Gateway does not reach"),
    ("INTEGRATION_FAILURE", 504, "API Gateway does not reach"),
    ("INTEGRATION_TIMEOUT", 504, "does not answer in time"),
];

/// What the API's own responses with an error say, by the service behind the route.
const BY_THE_ROOM: [(&str, &str); 4] = [
    ("dynamodb", "If TableThrottlesAlarm rings too, it is the table"),
    ("s3", "the page"),
    ("lambda", "If DoorErrorsAlarm or DoorThrottlesAlarm rings too, it is the door"),
    ("mock", "asks for what the room does not have"),
];

fn with_alarms() -> Stack {
    choosing(&[
        ("AlarmEmail", "operator@shop.example"),
        ("Throttling", "yes"),
        ("DoorRequestsPerAddress", "5000"),
    ])
}

fn alarms(stack: &Stack) -> Vec<(String, Value)> {
    let alarms = stack.resources().unwrap().into_iter().filter(|(_, kind)| kind == "AWS::CloudWatch::Alarm");
    alarms.map(|(name, _)| (name.clone(), stack.properties(&name).unwrap())).collect()
}

fn text(alarm: &Value) -> &str {
    alarm["AlarmDescription"].as_str().unwrap()
}

/// The metrics that an alarm watches, and the first dimension of each.
fn watched(alarm: &Value) -> Vec<(String, String)> {
    let metrics =
        alarm["Metrics"].as_array().into_iter().flatten().map(|metric| &metric["MetricStat"]["Metric"]);
    let alone = alarm["MetricName"].is_string().then_some(alarm);
    let metrics = metrics.filter(|metric| metric.is_object()).chain(alone);
    let metric = |metric: &Value| {
        let named = |name: &str| metric[name].as_str().unwrap().to_owned();
        let of = metric["Dimensions"][0]["Value"].as_str().unwrap().to_owned();
        (format!("{} {}", named("Namespace"), named("MetricName")), of)
    };
    metrics.map(metric).collect()
}

/// The text of the alarm that watches this metric of the API.
fn text_of_api_alarm(stack: &Stack, metric: &str) -> String {
    let metric = format!("AWS/ApiGateway {metric}");
    let watching =
        |(_, alarm): &(String, Value)| watched(alarm).iter().any(|(watched, _)| *watched == metric);
    let alarm = alarms(stack).into_iter().find(watching).unwrap().1;
    text(&alarm).to_owned()
}

#[test]
fn each_alarm_watches_what_its_text_says() {
    let stack = with_alarms();
    let found = alarms(&stack);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ALARMS.map(|(name, ..)| name));
    for ((name, alarm), (_, metrics, said)) in found.iter().zip(ALARMS) {
        let watched = watched(alarm);
        let watched: Vec<_> = watched.iter().map(|(metric, of)| (metric.as_str(), of.as_str())).collect();
        assert_eq!(watched, metrics, "{name}");
        for words in said {
            assert!(text(alarm).contains(words), "{name} does not say {words:?}: {}", text(alarm));
        }
        assert!(text(alarm).len() <= 1024, "{name}: CloudWatch's limit");
        assert_eq!(alarm["AlarmActions"], json!(["AlarmTopic"]), "{name}");
    }
    let topic = stack.properties("AlarmTopic").unwrap();
    assert_eq!(topic["Subscription"], json!([{ "Protocol": "email", "Endpoint": "operator@shop.example" }]));
    // The texts of two have numbers.
    assert_eq!(stack.properties("Producer").unwrap()["Timeout"], 10);
    assert_eq!((SAMPLE_SIZE, MAX_FAILURES), (20, 2));
}

/// API Gateway counts a response of its own as a 4XX error as soon as the definition gives it another status:
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html>
#[test]
fn what_api_gateway_answers_by_itself_counts_as_what_it_is() {
    let stack = with_alarms();
    let body = &stack.properties("Api").unwrap()["DefinitionBody"];
    for (absent, only_with) in
        [("security", "authorizers and API keys"), ("x-amazon-apigateway-request-validators", "")]
    {
        assert!(body.get(absent).is_none(), "{absent}: add the gateway responses of {only_with} to the list");
    }
    let responses = &body["x-amazon-apigateway-gateway-responses"];
    for (kind, own, words) in BY_THE_GATEWAY {
        let class = own / 100;
        let general = &responses[format!("DEFAULT_{class}XX")];
        let response = if responses[kind].is_object() { &responses[kind] } else { general };
        let given: Option<u16> = response["statusCode"].as_str().map(|status| status.parse().unwrap());
        let counted = if given.is_none_or(|given| given == own) { class } else { 4 };
        assert_eq!(counted, class, "{kind} has status {own} and would count as {counted}XXError");
        let said = text_of_api_alarm(&stack, &format!("{counted}XXError"));
        assert!(said.contains(words), "{kind}: {words:?} is not in {said}");
    }
    for kind in responses.as_object().unwrap().keys().filter(|kind| !kind.starts_with("DEFAULT_")) {
        assert!(BY_THE_GATEWAY.iter().any(|(listed, ..)| kind == listed), "{kind} is not in the list");
    }
}

#[test]
fn what_the_room_answers_counts_as_what_it_is() {
    let stack = with_alarms();
    let body = &stack.properties("Api").unwrap()["DefinitionBody"];
    for (path, methods) in body["paths"].as_object().unwrap() {
        for (method, definition) in methods.as_object().unwrap() {
            let integration = &definition["x-amazon-apigateway-integration"];
            let uri = integration["uri"].as_str().unwrap_or_default();
            let behind = BY_THE_ROOM.iter().find(|(service, _)| uri.contains(&format!(":{service}:")));
            let (service, words) = behind.unwrap_or(&BY_THE_ROOM[3]);
            let answers = integration["responses"].as_object().into_iter().flatten();
            let mut statuses: Vec<u16> = answers
                .map(|(_, answer)| answer["statusCode"].as_str().unwrap().parse().unwrap())
                .filter(|status| *status >= 400)
                .collect();
            if *service == "lambda" {
                statuses.push(503);
            }
            for status in statuses {
                let words = if status < 500 { BY_THE_ROOM[3].1 } else { words };
                let said = text_of_api_alarm(&stack, &format!("{}XXError", status / 100));
                assert!(said.contains(words), "{method} {path}, {status}: {words:?} is not in {said}");
            }
        }
    }
}

#[test]
fn the_alarm_of_the_door_watches_the_metric_that_the_firewall_writes() {
    let stack = with_alarms();
    let (alarm, firewall) =
        (stack.properties("DoorLimitAlarm").unwrap(), stack.properties("Firewall").unwrap());
    let metric = |config: &Value| {
        assert_eq!(config["CloudWatchMetricsEnabled"], true, "{config}");
        config["MetricName"].clone()
    };
    let dimensions = json!([
        { "Name": "WebACL", "Value": metric(&firewall["VisibilityConfig"]) },
        { "Name": "Rule", "Value": metric(&firewall["Rules"][0]["VisibilityConfig"]) },
        { "Name": "Region", "Value": "AWS::Region" },
    ]);
    assert_eq!(alarm["Dimensions"], dimensions);
}
