//! Checks docs/operator-policy.json and docs/operator-policy-optional.json: their size, how narrow they are, and that
//! docs/operator-policy.md explains every statement. `permissions` compares them with what CloudFormation needs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::statement::Statement;

const POLICIES: [(&str, &str); 2] = [
    ("docs/operator-policy.json", include_str!("../../../../docs/operator-policy.json")),
    ("docs/operator-policy-optional.json", include_str!("../../../../docs/operator-policy-optional.json")),
];
const PAGE: &str = include_str!("../../../../docs/operator-policy.md");

/// IAM's limit for a managed policy. White space does not count.
const MAX_CHARACTERS: usize = 6144;
/// What a policy leaves for statements of the operator's own.
const SPARE_CHARACTERS: usize = 500;
/// Whoever is not in the first one replaces it.
const PARTITIONS: [&str; 8] =
    ["aws", "aws-cn", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f", "aws-us-gov"];

/// The statements of both policies.
pub(crate) fn statements() -> Vec<Statement> {
    POLICIES.iter().flat_map(|(_, policy)| Statement::all_of(policy)).collect()
}

#[test]
fn each_policy_fits_into_a_managed_policy_in_every_partition() {
    for (name, policy) in POLICIES {
        for partition in PARTITIONS {
            let policy = policy.replace("arn:aws:", &format!("arn:{partition}:"));
            let length = policy.chars().filter(|c| !c.is_whitespace()).count();
            assert!(
                length + SPARE_CHARACTERS <= MAX_CHARACTERS,
                "{name} has {length} characters in {partition}"
            );
        }
    }
}

#[test]
fn every_statement_has_a_name_of_its_own_and_is_explained() {
    let mut seen = BTreeSet::new();
    for Statement { id, .. } in statements() {
        assert!(PAGE.contains(&format!("| `{id}` |")), "{id}");
        assert!(seen.insert(id.clone()), "{id} is there twice");
    }
}

#[test]
fn only_reading_is_allowed_on_all_resources_to_the_operator_directly() {
    for statement in statements() {
        let Statement { actions, resources, .. } = &statement;
        assert!(
            actions.iter().all(|action| !action.contains('*') || action.ends_with(":Get*")),
            "{actions:?}"
        );
        // What CloudFront calls by no ARN, or without tags, a stack alone may do.
        if resources.contains(&"*".to_owned()) && !statement.is_for_stacks_alone() {
            let reads = |action: &String| {
                ["Describe", "Get", "List"].iter().any(|verb| action.contains(&format!(":{verb}")))
            };
            assert!(actions.iter().all(reads), "{actions:?}");
        }
    }
}

#[test]
fn resources_are_limited_by_their_name_or_by_the_rooms_tag() {
    for statement in statements() {
        for resource in &statement.resources {
            let is_named = resource.contains("beekeeper-");
            // These names are AWS's own.
            let is_named_by_aws = [":transform/Serverless-", ":role/aws-service-role/"]
                .iter()
                .any(|own| resource.contains(own));
            // AWS gives APIs and firewalls random names.
            let is_tagged = statement.needs_tag("aws:RequestTag") || statement.needs_tag("aws:ResourceTag");
            let only_reads = statement.actions.iter().all(|action| action == "apigateway:GET");
            // The firewall of an API. API Gateway asks for its own permission too, which needs the tag.
            let is_api_of_firewall = resource.ends_with(":/restapis/*/stages/*")
                && statement.actions.iter().all(|a| a.starts_with("wafv2:"));
            assert!(
                resource == "*"
                    || is_named
                    || is_named_by_aws
                    || is_tagged
                    || only_reads
                    || is_api_of_firewall,
                "{}: {resource}",
                statement.id
            );
        }
    }
}

#[test]
fn no_action_is_allowed_twice_on_the_same_resource_and_condition() {
    let mut seen = BTreeSet::new();
    for Statement { actions, resources, condition, .. } in statements() {
        for action in &actions {
            for resource in &resources {
                assert!(
                    seen.insert((action.clone(), resource.clone(), condition.to_string())),
                    "{action} on {resource}"
                );
            }
        }
    }
}

/// Who asked for help can be read by their code, and an admission by its visitor's token. Nobody can look through either.
#[test]
fn operators_cannot_read_signing_keys_nor_look_through_visitors() {
    for Statement { actions, condition, .. } in statements() {
        let forbidden = ["SecretValue", "dynamodb:Query", "dynamodb:Scan", "dynamodb:PartiQL"];
        assert!(
            actions.iter().all(|action| forbidden.iter().all(|words| !action.contains(words))),
            "{actions:?}"
        );
        if actions.iter().any(|action| action == "dynamodb:GetItem") {
            let keys = condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].as_array().unwrap();
            let is_public = |key: &str| key == "key/public" || !key.starts_with("key");
            assert!(keys.iter().filter_map(Value::as_str).all(is_public), "{keys:?}");
        }
    }
}
