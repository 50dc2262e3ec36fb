//! The firewall: what its rules count, and what they do.

use serde_json::{Value, json};

use crate::support::{choosing, stack};

/// The rules of a room with these parameters.
fn rules(chosen: &[(&str, &str)]) -> Vec<Value> {
    choosing(chosen).properties("Firewall").unwrap()["Rules"].as_array().unwrap().clone()
}

/// The only rule.
fn rule(chosen: &[(&str, &str)]) -> Value {
    let rules = rules(chosen);
    assert_eq!(rules.len(), 1, "{rules:?}");
    rules[0].clone()
}

/// What a path has to contain to count as the door's.
fn door() -> Value {
    let statement = &rule(&[("DoorRequestsPerAddress", "5000")])["Statement"]["RateBasedStatement"];
    statement["ScopeDownStatement"].clone()
}

#[test]
fn the_limit_at_the_door_counts_an_address_in_a_window() {
    let rule = rule(&[("DoorRequestsPerAddress", "5000"), ("DoorWindowSeconds", "60")]);
    assert_eq!(rule["Action"], json!({ "Block": {} }));
    let statement = &rule["Statement"]["RateBasedStatement"];
    assert_eq!(
        (&statement["AggregateKeyType"], &statement["Limit"], &statement["EvaluationWindowSec"]),
        (&json!("IP"), &json!("5000"), &json!("60"))
    );
}

/// API Gateway's own domain has the stage before the path. A domain of one's own has not.
#[test]
fn only_the_door_and_reports_count_with_and_without_the_stage() {
    let door = door();
    let matched = door["OrStatement"]["Statements"].as_array().unwrap();
    let texts = matched.iter().map(|statement| {
        let matched = &statement["ByteMatchStatement"];
        assert_eq!(matched["FieldToMatch"], json!({ "UriPath": {} }));
        assert_eq!(matched["PositionalConstraint"], "CONTAINS");
        // API Gateway decodes a path before it looks for the route.
        assert_eq!(matched["TextTransformations"], json!([{ "Priority": 0, "Type": "URL_DECODE" }]));
        matched["SearchString"].as_str().unwrap()
    });
    let texts: Vec<_> = texts.collect();
    let api = stack().properties("Api").unwrap();
    for path in api["DefinitionBody"]["paths"].as_object().unwrap().keys() {
        for stage in ["/prod", ""] {
            // The same function answers both.
            let counts = ["/beekeeper", "/guard"].contains(&path.as_str());
            let path = format!("{stage}{path}");
            assert_eq!(texts.iter().any(|text| path.contains(text)), counts, "{path}");
        }
    }
}

/// An answer of the firewall's own would replace the page that tries again.
#[test]
fn the_firewall_leaves_the_answer_to_the_api() {
    let all = [("RequestsPerAddress", "50"), ("DoorRequestsPerAddress", "5000"), ("DoorChallengeAbove", "0")];
    for rule in rules(&all) {
        let plain = [json!({ "Block": {} }), json!({ "Challenge": {} })];
        assert!(plain.contains(&rule["Action"]), "{rule}");
    }
}

/// It counts each address of IPv6 by itself, and one machine has more of them than there are visitors.
#[test]
fn an_edge_with_a_firewall_takes_no_visitor_around_it_by_ipv6() {
    let of = |firewall: &[(&str, &str)]| {
        let stack = choosing(firewall);
        let config = &stack.template["Resources"]["Distribution"]["Properties"]["DistributionConfig"];
        ["WebACLId", "IPV6Enabled"].map(|property| stack.resolve(&config[property]).unwrap())
    };
    let arn = "arn:aws:wafv2:us-east-1:1:global/webacl/1/1";
    assert_eq!(of(&[]), [json!({ "Ref": "AWS::NoValue" }), json!(true)]);
    assert_eq!(of(&[("EdgeFirewallArn", arn)]), [json!(arn), json!(false)]);
}

#[test]
fn browsers_are_challenged_above_a_number_of_requests_or_always() {
    let above = rule(&[("DoorChallengeAbove", "200"), ("DoorWindowSeconds", "600")]);
    let always = rule(&[("DoorChallengeAbove", "0")]);
    let get = json!({ "ByteMatchStatement": {
        "FieldToMatch": { "Method": {} },
        "PositionalConstraint": "EXACTLY",
        "SearchString": "GET",
        "TextTransformations": [{ "Priority": 0, "Type": "NONE" }],
    } });
    // HEAD gives no place, and the look at a deployed room from outside uses it.
    let newcomers = json!({ "AndStatement": { "Statements": [door(), get] } });
    assert_eq!(always["Statement"], newcomers);
    let counted = json!({ "RateBasedStatement": {
        "AggregateKeyType": "IP",
        "EvaluationWindowSec": "600",
        "Limit": "200",
        "ScopeDownStatement": newcomers,
    } });
    assert_eq!(above["Statement"], counted);
    for rule in [above, always] {
        assert_eq!(rule["Action"], json!({ "Challenge": {} }));
    }
}

/// A visitor who has passed a challenge is counted by the limit all the same: a token can be copied to a thousand machines.
#[test]
fn the_limit_comes_before_the_challenge_and_each_rule_has_its_metric() {
    let all = [("RequestsPerAddress", "50"), ("DoorRequestsPerAddress", "5000"), ("DoorChallengeAbove", "0")];
    let rules = rules(&all);
    let text = |rule: &Value, name: &str| rule[name].as_str().unwrap().to_owned();
    let names: Vec<_> = rules.iter().map(|rule| text(rule, "Name")).collect();
    assert_eq!(names, ["per-address", "door-limit", "door-challenge"]);
    for (priority, rule) in rules.iter().enumerate() {
        assert_eq!(rule["Priority"], priority);
        let visibility = &rule["VisibilityConfig"];
        assert_eq!(text(visibility, "MetricName"), text(rule, "Name"));
        // A sample of a request has its cookies, and a cookie is enough to enter with.
        assert_eq!(
            (&visibility["CloudWatchMetricsEnabled"], &visibility["SampledRequestsEnabled"]),
            (&json!(true), &json!(false))
        );
    }
}
