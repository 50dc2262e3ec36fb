//! The policy in the docs: short enough for IAM, as narrow as AWS allows, and explained.

use std::collections::BTreeSet;

use serde_json::Value;

const POLICY: &str = include_str!("../../../../docs/operator-policy.json");
const PAGE: &str = include_str!("../../../../docs/operator-policy.md");

/// IAM counts all but white space, and takes no more in a managed policy.
const LONGEST: usize = 6144;

fn statements() -> Vec<Value> {
    let policy: Value = serde_json::from_str(POLICY).unwrap();
    policy["Statement"].as_array().unwrap().clone()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        other => other.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
    }
}

#[test]
fn iam_takes_it() {
    let long = POLICY.chars().filter(|c| !c.is_whitespace()).count();
    assert!(long <= LONGEST, "{long} characters");
}

#[test]
fn every_statement_is_explained() {
    for statement in statements() {
        let id = statement["Sid"].as_str().unwrap();
        assert!(PAGE.contains(&format!("| `{id}` |")), "{id}");
    }
}

#[test]
fn nothing_but_looking_is_allowed_on_everything() {
    for statement in statements() {
        let actions = texts(&statement["Action"]);
        assert!(
            actions.iter().all(|action| !action.contains('*') || action.ends_with(":Get*")),
            "{actions:?}"
        );
        if texts(&statement["Resource"]).contains(&"*".to_owned()) {
            let looks = |action: &String| {
                ["Describe", "Get", "List"].iter().any(|verb| action.contains(&format!(":{verb}")))
            };
            assert!(actions.iter().all(looks), "{actions:?}");
        }
    }
}

#[test]
fn whatever_can_be_called_beekeeper_must_be() {
    // What AWS gives a random name.
    let nameless = ["apigateway", "wafv2"];
    for statement in statements() {
        for resource in texts(&statement["Resource"]) {
            let service = resource.split(':').nth(2).unwrap_or_default().to_owned();
            let is_named = resource.contains("beekeeper-");
            // And what AWS has called itself.
            let is_awss_own = [":transform/Serverless-", ":role/aws-service-role/"]
                .iter()
                .any(|own| resource.contains(own));
            assert!(
                resource == "*" || is_named || is_awss_own || nameless.contains(&service.as_str()),
                "{resource}"
            );
        }
    }
}

#[test]
fn no_action_is_allowed_twice_on_the_same() {
    let mut seen = BTreeSet::new();
    for statement in statements() {
        for action in texts(&statement["Action"]) {
            for resource in texts(&statement["Resource"]) {
                assert!(seen.insert((action.clone(), resource.clone())), "{action} on {resource}");
            }
        }
    }
}

#[test]
fn the_signing_keys_and_the_visitors_stay_out_of_sight() {
    for statement in statements() {
        let reads = texts(&statement["Action"]).iter().any(|action| action == "dynamodb:GetItem");
        if reads {
            let keys = texts(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
            assert!(
                keys.iter().all(|key| !key.starts_with("key") && !key.starts_with("admission")),
                "{keys:?}"
            );
        }
    }
}
