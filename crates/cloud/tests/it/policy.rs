//! Checks docs/operator-policy.json: its size, how narrow it is, and that docs/operator-policy.md explains every statement.

use std::collections::BTreeSet;

use serde_json::Value;

const POLICY: &str = include_str!("../../../../docs/operator-policy.json");
const PAGE: &str = include_str!("../../../../docs/operator-policy.md");

/// IAM's limit for a managed policy. White space does not count.
const MAX_CHARACTERS: usize = 6144;

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
fn the_policy_fits_into_a_managed_policy() {
    let length = POLICY.chars().filter(|c| !c.is_whitespace()).count();
    assert!(length <= MAX_CHARACTERS, "{length} characters");
}

#[test]
fn every_statement_is_explained() {
    for statement in statements() {
        let id = statement["Sid"].as_str().unwrap();
        assert!(PAGE.contains(&format!("| `{id}` |")), "{id}");
    }
}

#[test]
fn only_reading_is_allowed_on_all_resources() {
    for statement in statements() {
        let actions = texts(&statement["Action"]);
        assert!(
            actions.iter().all(|action| !action.contains('*') || action.ends_with(":Get*")),
            "{actions:?}"
        );
        if texts(&statement["Resource"]).contains(&"*".to_owned()) {
            let reads = |action: &String| {
                ["Describe", "Get", "List"].iter().any(|verb| action.contains(&format!(":{verb}")))
            };
            assert!(actions.iter().all(reads), "{actions:?}");
        }
    }
}

#[test]
fn resources_are_limited_to_names_with_beekeeper_where_possible() {
    // AWS gives their resources random names.
    let random_names = ["apigateway", "wafv2"];
    for statement in statements() {
        for resource in texts(&statement["Resource"]) {
            let service = resource.split(':').nth(2).unwrap_or_default().to_owned();
            let is_named = resource.contains("beekeeper-");
            // These names are AWS's own.
            let is_named_by_aws = [":transform/Serverless-", ":role/aws-service-role/"]
                .iter()
                .any(|own| resource.contains(own));
            assert!(
                resource == "*" || is_named || is_named_by_aws || random_names.contains(&service.as_str()),
                "{resource}"
            );
        }
    }
}

#[test]
fn no_action_is_allowed_twice_on_the_same_resource() {
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
fn operators_cannot_read_signing_keys_or_visitors() {
    for statement in statements() {
        let actions = texts(&statement["Action"]);
        assert!(actions.iter().all(|action| !action.contains("SecretValue")), "{actions:?}");
        let reads = texts(&statement["Action"]).iter().any(|action| action == "dynamodb:GetItem");
        if reads {
            let keys = texts(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
            assert!(
                keys.iter().all(|key| {
                    key == "key/public" || !key.starts_with("key") && !key.starts_with("admission")
                }),
                "{keys:?}"
            );
        }
    }
}
