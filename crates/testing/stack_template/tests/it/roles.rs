//! Each role allows exactly the calls that its function makes, on exactly those items and queues.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::with_throttle;

/// Caller, action, resource and, for the ledger, the keys of the items. These are the calls of crates/adapters/aws
/// and of the API's integrations. A transaction needs the permission for each of its writes. The transaction itself
/// needs none.
const CALLS: &[(&str, &str, &str, &[&str])] = &[
    (
        "Producer",
        "dynamodb:GetItem",
        "Ledger",
        &["admission/*", "guards", "help/*", "key/*", "permits", "progress", "room", "status/*"],
    ),
    (
        "Producer",
        "dynamodb:PutItem",
        "Ledger",
        &["admission/*", "guards", "key/private", "key/proof", "key/public"],
    ),
    (
        "Producer",
        "dynamodb:UpdateItem",
        "Ledger",
        &["admission/*", "came/*", "help/*", "permits", "room", "tickets"],
    ),
    ("Producer", "lambda:InvokeFunction", "Trigger", &[]),
    ("Producer", "secretsmanager:GetSecretValue", "KeySecret", &[]),
    ("Producer", "secretsmanager:PutSecretValue", "KeySecret", &[]),
    ("Producer", "sqs:GetQueueAttributes", "Line", &[]),
    ("Producer", "sqs:SendMessage", "Line", &[]),
    (
        "Trigger",
        "dynamodb:BatchGetItem",
        "Ledger",
        &["came/*", "minute/*", "status/*", "stock/*", "window/*"],
    ),
    ("Trigger", "dynamodb:GetItem", "Ledger", &["guards", "permits", "progress", "room", "tickets"]),
    ("Trigger", "dynamodb:PutItem", "Ledger", &["window/*"]),
    (
        "Trigger",
        "dynamodb:UpdateItem",
        "Ledger",
        &["audit/*", "minute/*", "permits", "progress", "room", "status/*", "window/*"],
    ),
    ("Trigger", "lambda:InvokeFunction", "Consumer", &[]),
    ("Trigger", "sqs:GetQueueAttributes", "Line", &[]),
    ("Consumer", "dynamodb:BatchGetItem", "Ledger", &["stock/*"]),
    ("Consumer", "dynamodb:GetItem", "Ledger", &["admission/*", "permits", "progress", "room", "tickets"]),
    ("Consumer", "dynamodb:PutItem", "Ledger", &["admission/*"]),
    (
        "Consumer",
        "dynamodb:UpdateItem",
        "Ledger",
        &["audit/*", "minute/*", "permits", "progress", "room", "status/*", "stock/*", "window/*"],
    ),
    ("Consumer", "sqs:ChangeMessageVisibility", "Line", &[]),
    ("Consumer", "sqs:DeleteMessage", "Line", &[]),
    ("Consumer", "sqs:GetQueueAttributes", "Line", &[]),
    ("Consumer", "sqs:ReceiveMessage", "Line", &[]),
    ("Consumer", "sqs:SendMessage", "DeadLetters", &[]),
    ("Throttle", "dynamodb:GetItem", "Ledger", &["room", "throttle"]),
    ("Throttle", "dynamodb:PutItem", "Ledger", &["throttle"]),
    ("Throttle", "dynamodb:UpdateItem", "Ledger", &["audit/*", "room"]),
    ("Throttle", "lambda:InvokeFunction", "Trigger", &[]),
    ("Setup", "dynamodb:GetItem", "Ledger", &["room"]),
    ("Setup", "dynamodb:PutItem", "Ledger", &["progress", "room", "status/*", "tickets"]),
    ("Setup", "dynamodb:UpdateItem", "Ledger", &["room", "status/*"]),
    ("Setup", "lambda:InvokeFunction", "Trigger", &[]),
    ("Setup", "s3:DeleteObject", "PageBucket/*", &[]),
    ("Setup", "s3:ListBucket", "PageBucket", &[]),
    ("Setup", "s3:PutObject", "PageBucket/*", &[]),
    ("Api", "dynamodb:BatchGetItem", "Ledger", &["admission/*", "status/*"]),
    ("Api", "dynamodb:GetItem", "Ledger", &["key/public"]),
    ("Api", "s3:GetObject", "PageBucket/*", &[]),
];

type Call = (String, String, Vec<String>);

/// The calls that a role allows.
fn allowed(role: &Value) -> BTreeSet<Call> {
    let mut allowed = BTreeSet::new();
    for policy in role["Policies"].as_array().unwrap() {
        for statement in policy["PolicyDocument"]["Statement"].as_array().unwrap() {
            assert_eq!(statement["Effect"], "Allow");
            let resource =
                statement["Resource"].as_str().unwrap_or_else(|| panic!("one resource: {statement}"));
            for action in texts(&statement["Action"]) {
                assert!(!action.contains('*'), "{action}");
                let call = (action, resource.replacen(".Arn", "", 1), keys(statement));
                assert!(allowed.insert(call), "allowed twice: {statement}");
            }
        }
    }
    allowed
}

/// The keys in the statement's condition. Without the condition a statement about the ledger allows every item.
fn keys(statement: &Value) -> Vec<String> {
    let Some(condition) = statement.get("Condition") else { return Vec::new() };
    let mut keys = texts(&condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
    keys.sort();
    let expected = json!({ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] } });
    assert_eq!(*condition, expected, "one condition");
    keys
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().map(|text| text.as_str().unwrap_or_else(|| panic!("{text} is a text")).to_owned()).collect()
}

#[test]
fn each_role_allows_exactly_the_calls_that_are_made() {
    let stack = with_throttle();
    for who in ["Producer", "Trigger", "Consumer", "Throttle", "Setup", "Api"] {
        let calls = CALLS.iter().filter(|(caller, ..)| *caller == who);
        let mut called: BTreeSet<Call> = calls
            .map(|(_, action, resource, keys)| {
                let keys = keys.iter().map(|key| (*key).to_owned()).collect();
                ((*action).to_owned(), (*resource).to_owned(), keys)
            })
            .collect();
        if who != "Api" {
            for action in ["logs:CreateLogStream", "logs:PutLogEvents"] {
                called.insert((action.to_owned(), format!("{who}Log"), Vec::new()));
            }
        }
        let role = stack.properties(&format!("{who}Role")).unwrap();
        assert_eq!(allowed(&role), called, "{who}");
        assert!(role.get("ManagedPolicyArns").is_none(), "{who}");
        let trusted = &role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"];
        let service = if who == "Api" { "apigateway.amazonaws.com" } else { "lambda.amazonaws.com" };
        assert_eq!(trusted, service, "{who}");
    }
}

#[test]
fn only_the_producer_can_reach_the_private_keys() {
    let stack = with_throttle();
    for who in ["Producer", "Trigger", "Consumer", "Throttle", "Setup", "Api"] {
        let role = stack.properties(&format!("{who}Role")).unwrap();
        let reaches = allowed(&role).into_iter().filter(|(action, _, keys)| {
            // Rooms of before have one in the table for an hour.
            let named = keys.iter().any(|key| "key/private".starts_with(key.trim_end_matches('*')));
            action.starts_with("secretsmanager:")
                || action.starts_with("dynamodb:") && (named || keys.is_empty())
        });
        assert_eq!(reaches.count() > 0, who == "Producer", "{who}");
    }
}

/// A reader of the template, of the functions' variables or of the stack's outputs finds the secret's name and no more.
#[test]
fn the_secret_is_made_empty_and_goes_with_the_stack() {
    let secret = &with_throttle().template["Resources"]["KeySecret"];
    let properties = secret["Properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["Description", "Name", "Tags"], "no value");
    assert_eq!(secret.get("DeletionPolicy"), None);
    assert!(properties["Name"].to_string().contains("AWS::StackId"), "another name for each new stack");
    assert_eq!(
        with_throttle().properties("ProducerRole").unwrap().to_string().matches("KeySecret").count(),
        1
    );
}

#[test]
fn there_are_no_other_roles_and_no_other_grants() {
    let stack = with_throttle();
    let resources = stack.resources().unwrap();
    let roles = resources.values().filter(|kind| *kind == "AWS::IAM::Role").count();
    assert_eq!(roles, 6);
    for kind in [
        "AWS::IAM::Policy",
        "AWS::IAM::ManagedPolicy",
        "AWS::SQS::QueuePolicy",
        "AWS::S3::BucketPolicy",
        "AWS::SecretsManager::ResourcePolicy",
    ] {
        assert!(!resources.values().any(|found| found == kind), "{kind}");
    }
    for (name, _) in resources.iter().filter(|(_, kind)| *kind == "AWS::Serverless::Function") {
        assert!(stack.properties(name).unwrap().get("Policies").is_none(), "{name}");
    }
    let permission = stack.properties("DoorPermission").unwrap();
    assert_eq!(permission["FunctionName"], "Producer");
    assert!(permission["SourceArn"].as_str().unwrap().ends_with("/*/*/beekeeper"));
    let permission = stack.properties("GuardPermission").unwrap();
    assert_eq!(permission["FunctionName"], "Producer");
    assert!(permission["SourceArn"].as_str().unwrap().ends_with("/*/POST/guard"));
}
