//! The environment, retries and cost of the functions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stack_template::Stack;

use waitroom::ports::Delivery;

use crate::support::{stack, with_throttle};

/// Every function reads these variables. `FUNCTIONS` has each function's own.
const COMMON: [&str; 4] = ["DEAD_LETTERS_URL", "LEDGER_TABLE", "LINE_URL", "ROOM_NAME"];

const FUNCTIONS: [(&str, &[&str]); 5] = [
    ("Producer", &["KEY_SECRET", "TRIGGER_FUNCTION"]),
    ("Trigger", &["CONSUMER_FUNCTION", "THROTTLING"]),
    ("Consumer", &[]),
    ("Throttle", &["TRIGGER_FUNCTION"]),
    ("Setup", &["PAGE_BUCKET", "TRIGGER_FUNCTION"]),
];

#[test]
fn the_line_hides_visitors_for_as_long_as_consumers_believe_and_buries_nobody() {
    let line = with_throttle().properties("Line").unwrap();
    assert_eq!(line["VisibilityTimeout"], Delivery::HIDDEN_FOR.as_secs());
    assert_eq!(line.get("RedrivePolicy"), None, "whoever is received often stays in the line");
}

#[test]
fn each_function_gets_the_variables_that_it_reads_and_no_others() {
    let stack = with_throttle();
    let common = stack.resolve(&stack.template["Globals"]["Function"]["Environment"]["Variables"]).unwrap();
    assert_eq!(names(&common), COMMON);
    assert_eq!(
        common,
        json!({ "LEDGER_TABLE": "Ledger", "LINE_URL": "Line", "DEAD_LETTERS_URL": "DeadLetters", "ROOM_NAME": "sale" })
    );
    for (function, own) in FUNCTIONS {
        let properties = stack.properties(function).unwrap();
        assert_eq!(names(&properties["Environment"]["Variables"]), own, "{function}");
    }
    assert_eq!(
        stack.properties("Trigger").unwrap()["Environment"]["Variables"]["CONSUMER_FUNCTION"],
        "Consumer"
    );
    assert_eq!(stack.properties("Setup").unwrap()["Environment"]["Variables"]["PAGE_BUCKET"], "PageBucket");
}

fn names(variables: &Value) -> Vec<&str> {
    variables.as_object().map(|variables| variables.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[test]
fn there_are_no_other_functions_and_the_throttle_is_optional() {
    let functions = |stack: &Stack| {
        let made = stack.resources().unwrap().into_iter();
        made.filter(|(_, kind)| kind == "AWS::Serverless::Function").map(|(name, _)| name).collect::<Vec<_>>()
    };
    let mut all = FUNCTIONS.map(|(name, _)| name);
    all.sort_unstable();
    assert_eq!(functions(&with_throttle()), all);
    assert_eq!(functions(stack()), ["Consumer", "Producer", "Setup", "Trigger"]);
    for resource in ["ThrottleRole", "ThrottleLog"] {
        assert!(!stack().resources().unwrap().contains_key(resource), "{resource}");
    }
}

#[test]
fn each_function_has_its_own_role_and_log_which_are_deleted_with_the_room() {
    let stack = with_throttle();
    for (function, _) in FUNCTIONS {
        let properties = stack.properties(function).unwrap();
        assert_eq!(properties["Role"], format!("{function}Role.Arn"));
        assert_eq!(properties["LoggingConfig"]["LogGroup"], format!("{function}Log"));
        assert_eq!(stack.properties(&format!("{function}Log")).unwrap()["RetentionInDays"], 14);
        assert_eq!(properties["CodeUri"], "../target/lambda/arm64");
        assert_eq!(properties["Handler"], function.to_lowercase(), "the program of all asks which one it is");
    }
    let resources = stack.template["Resources"].as_object().unwrap();
    let kept: Vec<_> =
        resources.iter().filter(|(_, resource)| resource.get("DeletionPolicy").is_some()).collect();
    assert!(kept.is_empty(), "kept after the room is deleted: {kept:?}");
}

#[test]
fn functions_that_a_schedule_or_another_function_starts_are_never_retried() {
    let stack = with_throttle();
    for function in ["Trigger", "Consumer", "Throttle"] {
        let properties = stack.properties(function).unwrap();
        assert_eq!(properties["EventInvokeConfig"]["MaximumRetryAttempts"], 0, "{function}");
    }
    for function in ["Trigger", "Throttle"] {
        let events = stack.properties(function).unwrap()["Events"].clone();
        assert_eq!(events["EveryMinute"]["Properties"]["Schedule"], "rate(1 minute)", "{function}");
        assert_eq!(
            events["EveryMinute"]["Properties"]["RetryPolicy"]["MaximumRetryAttempts"], 0,
            "{function}"
        );
    }
    assert_eq!(stack.properties("Consumer").unwrap()["Timeout"], 330);
}

#[test]
fn resources_that_cost_money_are_optional() {
    let made = stack().resources().unwrap();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in made.values() {
        *kinds.entry(kind).or_default() += 1;
    }
    for kind in
        ["AWS::CloudWatch::Alarm", "AWS::WAFv2::WebACL", "AWS::ApiGateway::DomainName", "AWS::SNS::Topic"]
    {
        assert_eq!(kinds.get(kind), None, "{kind}");
    }
    assert_eq!(stack().properties("Ledger").unwrap()["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(stack().properties("Consumer").unwrap()["MemorySize"], 128, "a consumer runs all day");
}
