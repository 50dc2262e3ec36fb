//! Compares the operator's policies with what CloudFormation needs for the resources of the template, by its own schemas,
//! and with what `beekeeper` calls. The result is docs/operator-permissions.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::{env, fs};

use emulators::{Venv, workspace};
use serde_json::Value;

use crate::needs::{CALLED, NOT_NEEDED};
use crate::policy::statements;
use crate::statement::Statement;

const FACTS: &str = "crates/cloud/tests/fixtures/handler-permissions.json";
const TABLE: &str = "docs/operator-permissions.md";

/// One permission that CloudFormation needs for a type, and the handlers that need it.
struct Needed {
    kind: String,
    permission: String,
    handlers: Vec<String>,
}

impl Needed {
    /// Why a room does not need it after all.
    fn excuse(&self) -> Option<&'static str> {
        let covers = |pattern: &&str| self.permission.starts_with(pattern);
        let found = NOT_NEEDED
            .iter()
            .find(|(kind, permissions, _)| *kind == self.kind && permissions.iter().any(covers));
        found.map(|(.., why)| *why)
    }

    /// The statements that allow it.
    fn allowed_by(&self, statements: &[Statement]) -> Vec<String> {
        allowed_by(statements, &self.permission, &self.kind)
    }
}

fn allowed_by(statements: &[Statement], action: &str, kind: &str) -> Vec<String> {
    let arns = arns(action, kind);
    let allow = |statement: &&Statement| arns.iter().any(|arn| statement.allows(action, arn));
    statements.iter().filter(allow).map(|statement| statement.id.clone()).collect()
}

/// The ARNs that a call of this action has, for a resource of a room.
fn arns(action: &str, kind: &str) -> Vec<&'static str> {
    let (service, name) = action.split_once(':').unwrap();
    match service {
        "apigateway" => match kind {
            "AWS::ApiGateway::RestApi" => {
                vec!["arn:aws:apigateway:eu-west-1::/restapis", "arn:aws:apigateway:eu-west-1::/restapis/a1"]
            }
            "AWS::ApiGateway::DomainName" => vec![
                "arn:aws:apigateway:eu-west-1::/domainnames",
                "arn:aws:apigateway:eu-west-1::/domainnames/queue.shop.example",
            ],
            "AWS::ApiGateway::BasePathMapping" => {
                vec!["arn:aws:apigateway:eu-west-1::/domainnames/queue.shop.example/basepathmappings"]
            }
            _ => vec!["arn:aws:apigateway:eu-west-1::/restapis/a1/stages/prod"],
        },
        "cloudformation" => vec!["arn:aws:cloudformation:eu-west-1:1:stack/beekeeper-sale/1"],
        "cloudfront" if name.contains("OriginAccessControl") => {
            vec!["*", "arn:aws:cloudfront::1:origin-access-control/E1"]
        }
        "cloudfront" => vec!["*", "arn:aws:cloudfront::1:distribution/E1"],
        "cloudwatch" => vec!["arn:aws:cloudwatch:eu-west-1:1:alarm:beekeeper-sale-A-1"],
        "dynamodb" => vec!["arn:aws:dynamodb:eu-west-1:1:table/beekeeper-sale-Ledger-1"],
        "events" => vec!["arn:aws:events:eu-west-1:1:rule/beekeeper-sale-T-1"],
        "iam" if name == "CreateServiceLinkedRole" => vec![
            "arn:aws:iam::1:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway",
        ],
        "iam" => vec!["arn:aws:iam::1:role/beekeeper-sale-R-1"],
        "lambda" => vec!["arn:aws:lambda:eu-west-1:1:function:beekeeper-sale-F-1"],
        "logs" => vec!["arn:aws:logs:eu-west-1:1:log-group:beekeeper-sale-L-1:*"],
        "s3" => vec!["arn:aws:s3:::beekeeper-sale-b-1", "arn:aws:s3:::beekeeper-sale-b-1/key"],
        "secretsmanager" => vec!["arn:aws:secretsmanager:eu-west-1:1:secret:beekeeper-sale-keys-1"],
        // Of a topic's subscriptions, AWS knows no resource.
        "sns" if name == "Unsubscribe" => vec!["*"],
        "sns" => vec!["arn:aws:sns:eu-west-1:1:beekeeper-sale-T-1"],
        "sqs" => vec!["arn:aws:sqs:eu-west-1:1:beekeeper-sale-Q-1"],
        "wafv2" => vec![
            "arn:aws:wafv2:eu-west-1:1:regional/webacl/Firewall-1/1",
            "arn:aws:wafv2:us-east-1:1:global/webacl/Firewall-1/1",
            "arn:aws:apigateway:eu-west-1::/restapis/a1/stages/prod",
        ],
        // Their actions know no resources.
        _ => vec!["*"],
    }
}

fn facts() -> Value {
    serde_json::from_str(&fs::read_to_string(workspace::root().join(FACTS)).unwrap()).unwrap()
}

fn needed(facts: &Value) -> Vec<Needed> {
    let mut needed = Vec::new();
    for (kind, handlers) in facts["types"].as_object().unwrap() {
        let mut of_type: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (handler, permissions) in handlers.as_object().unwrap() {
            for permission in permissions.as_array().unwrap() {
                of_type.entry(permission.as_str().unwrap()).or_default().push(handler.clone());
            }
        }
        needed.extend(of_type.into_iter().map(|(permission, handlers)| Needed {
            kind: kind.clone(),
            permission: permission.to_owned(),
            handlers,
        }));
    }
    needed
}

/// The types that a stack has after the SAM transform.
fn types_of_template() -> BTreeSet<String> {
    let template = cloud::template::parse(cloud::template::TEMPLATE).unwrap();
    let mut types = BTreeSet::new();
    for (name, resource) in template["Resources"].as_object().unwrap() {
        let made: &[&str] = match resource["Type"].as_str().unwrap() {
            "AWS::Serverless::Api" => {
                &["AWS::ApiGateway::RestApi", "AWS::ApiGateway::Deployment", "AWS::ApiGateway::Stage"]
            }
            "AWS::Serverless::Function" => {
                let events = resource["Properties"]["Events"].as_object();
                let only_schedules =
                    events.into_iter().flatten().all(|(_, event)| event["Type"] == "Schedule");
                assert!(only_schedules, "{name} has events of another kind");
                &[
                    "AWS::Lambda::Function",
                    "AWS::Lambda::EventInvokeConfig",
                    "AWS::Lambda::Permission",
                    "AWS::Events::Rule",
                ]
            }
            // A custom resource is a call of its function.
            "Custom::Room" => continue,
            other => {
                types.insert(other.to_owned());
                continue;
            }
        };
        types.extend(made.iter().map(ToString::to_string));
    }
    types
}

#[test]
fn every_type_of_the_template_is_known() {
    let facts = facts();
    let known: BTreeSet<String> = facts["types"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        types_of_template(),
        known,
        "to read the permissions of a new type from AWS's schemas: \
         SNAPSHOTS=overwrite cargo xtask test cloud permissions"
    );
}

#[test]
fn what_cloudformation_needs_is_allowed_or_has_a_reason_why_not() {
    let (facts, statements) = (facts(), statements());
    let missing: Vec<_> = needed(&facts)
        .into_iter()
        .filter(|needed| needed.excuse().is_none() && needed.allowed_by(&statements).is_empty())
        .map(|Needed { kind, permission, handlers }| {
            format!("{kind}: {permission} ({})", handlers.join(", "))
        })
        .collect();
    assert!(missing.is_empty(), "neither allowed nor excused: {missing:#?}");
}

#[test]
fn every_excuse_is_for_something() {
    let facts = facts();
    let needed = needed(&facts);
    for (kind, permissions, why) in NOT_NEEDED {
        for pattern in *permissions {
            assert!(
                needed.iter().any(|needed| needed.kind == *kind && needed.permission.starts_with(pattern)),
                "{kind} does not need {pattern} ({why})"
            );
        }
    }
}

#[test]
fn nothing_is_allowed_that_nobody_needs() {
    let facts = facts();
    let needed = needed(&facts);
    for Statement { id, actions, .. } in statements() {
        for action in actions.iter().filter(|action| !action.ends_with('*')) {
            let is_called = CALLED.iter().any(|(called, ..)| called == action);
            let is_needed =
                needed.iter().any(|needed| needed.permission == *action && needed.excuse().is_none());
            assert!(is_called || is_needed, "{id} allows {action}, which nobody needs");
        }
    }
}

#[test]
fn what_is_called_is_allowed_and_is_still_called() {
    let statements = statements();
    let mut sources = String::new();
    for folder in ["crates/cloud/src", "crates/adapters/aws/src"] {
        read_all(&workspace::root().join(folder), &mut sources);
    }
    for (action, method, what) in CALLED {
        assert!(!allowed_by(&statements, action, "").is_empty(), "{action} ({what}) is not allowed");
        if let Some(method) = method {
            assert!(sources.contains(&format!(".{method}()")), "nothing calls {method} any more ({action})");
        }
    }
}

fn read_all(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, sources);
        } else {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// The policy limits APIs, domains and firewalls by this tag.
#[test]
fn what_the_policy_limits_by_its_tag_has_the_tag() {
    let template = cloud::template::parse(cloud::template::TEMPLATE).unwrap();
    let properties = |resource: &str| &template["Resources"][resource]["Properties"];
    assert_eq!(properties("Api")["Tags"]["beekeeper:room"]["Ref"], "Room");
    assert_eq!(properties("Api")["PropagateTags"], true, "otherwise only the stage has it, and not the API");
    for resource in ["Domain", "Firewall"] {
        assert_eq!(properties(resource)["Tags"][0]["Key"], "beekeeper:room", "{resource}");
    }
}

fn table() -> String {
    let (facts, statements) = (facts(), statements());
    let mut text = format!(
        "# Every permission, and what needs it\n\n\
         [operator-policy.md](operator-policy.md) explains the policies. This page is the proof that they allow what's needed and no\n\
         more. A test writes it (`SNAPSHOTS=overwrite cargo xtask test cloud permissions`), and fails when the template gains a type of\n\
         resource.\n\n\
         ## CloudFormation, for you\n\n\
         CloudFormation's resource schemas list the permissions that each handler of a type may need, and those for its tags\n\
         ({}). Each is allowed by a statement, unless a room doesn't need it.\n\n\
         | resource | handlers | permission | statement |\n| --- | --- | --- | --- |\n",
        facts["from"].as_str().unwrap()
    );
    let mut excused: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    for needed in needed(&facts) {
        if let Some(why) = needed.excuse() {
            excused.entry((needed.kind.clone(), why)).or_default().push(format!("`{}`", needed.permission));
            continue;
        }
        let by: Vec<_> = needed.allowed_by(&statements).iter().map(|id| format!("`{id}`")).collect();
        let Needed { kind, permission, handlers } = needed;
        let _ = writeln!(text, "| {kind} | {} | `{permission}` | {} |", handlers.join(", "), by.join(", "));
    }
    text.push_str("\n## What a room doesn't need\n\nThe schemas list these as well, for features that the template doesn't use.\n\n");
    text.push_str("| resource | permissions | why not |\n| --- | --- | --- |\n");
    for ((kind, why), permissions) in excused {
        let _ = writeln!(text, "| {kind} | {} | {why} |", permissions.join(", "));
    }
    text.push_str("\n## `beekeeper`, and AWS on its own\n\n| permission | who calls it | statement |\n| --- | --- | --- |\n");
    for (action, _, what) in CALLED {
        let by: Vec<_> = allowed_by(&statements, action, "").iter().map(|id| format!("`{id}`")).collect();
        let _ = writeln!(text, "| `{action}` | {what} | {} |", by.join(", "));
    }
    text
}

fn overwrites() -> bool {
    env::var_os("SNAPSHOTS").is_some_and(|mode| mode == "overwrite")
}

#[test]
fn the_table_is_what_is_made() {
    let path = workspace::root().join(TABLE);
    if overwrites() {
        fs::write(&path, table()).unwrap();
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == table(),
        "{TABLE} is not what is made now; to write it again: SNAPSHOTS=overwrite cargo xtask test cloud permissions"
    );
}

#[test]
#[ignore = "needs sam and cfn-lint: cargo xtask test cloud"]
fn the_permissions_are_those_of_the_schemas() {
    let template = cloud::template::parse(cloud::template::TEMPLATE).unwrap();
    let mut python = std::process::Command::new(Venv::sam().unwrap().python());
    python.arg(workspace::root().join("crates/cloud/tests/python/handler_permissions.py"));
    // Nothing calls AWS, but the transform wants a region.
    python.env("AWS_DEFAULT_REGION", "us-east-1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = python.spawn().unwrap();
    running.stdin.take().unwrap().write_all(template.to_string().as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let path = workspace::root().join(FACTS);
    if overwrites() {
        fs::write(&path, &output.stdout).unwrap();
    }
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        facts(),
        printed,
        "{FACTS} is not what the schemas say; to write it again: SNAPSHOTS=overwrite cargo xtask test cloud permissions"
    );
}
