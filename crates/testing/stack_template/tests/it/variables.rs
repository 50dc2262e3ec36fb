//! What of a request gets where. The table in docs/decisions/0007 lists every variable that the API's definition and its log use,
//! who controls it and what keeps it; the definition may use no other. And whatever a client sends, only a checked digit and
//! checked tokens get into a query to the table.

use std::collections::BTreeSet;
use std::fs;

use emulators::workspace;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use stack_template::TemplateRequest;

use crate::support::{TOKEN, asked, choosing, place, render, route, with_cookies};

/// A variable, and what its text gets into.
type Use = (String, String);

const RECORD: &str = "docs/decisions/0007-polls-without-lambda.md";
const TEMPLATE_ROOTS: [&str; 5] = ["context", "input", "stageVariables", "util", "method"];
const MAPPING_ROOTS: [&str; 4] = ["method.", "integration.", "context.", "stageVariables."];

/// The variables that a template names, each as it is written, without a function that is called on its text.
fn variables(template: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut found = Vec::new();
    for named in template.split('$').skip(1) {
        let named = named.trim_start_matches(['!', '{']).replacen("params().", "params.", 1);
        let name = named.split(|c| !is_part(c)).next().unwrap_or_default();
        let called = named[name.len()..].starts_with('(');
        let name = match name.rsplit_once('.') {
            Some((variable, function)) if called && function != "path" => variable,
            _ => name,
        };
        // What a template writes into the response is not read from anywhere.
        let is_read = !name.starts_with("context.responseOverride");
        if is_read && TEMPLATE_ROOTS.contains(&name.split('.').next().unwrap_or_default()) {
            found.push(name.trim_end_matches('.').to_owned());
        }
    }
    found
}

fn in_templates(by_type: &Value, into: &str, found: &mut BTreeSet<Use>) {
    for template in by_type.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str()) {
        found.extend(variables(template).into_iter().map(|name| (name, into.to_owned())));
    }
}

/// What a mapping refers to. API Gateway quotes constants.
fn in_mappings(parameters: &Value, into: &str, found: &mut BTreeSet<Use>) {
    for value in parameters.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
        if !value.starts_with('\'') {
            assert!(MAPPING_ROOTS.iter().any(|root| value.starts_with(root)), "{value} is no constant");
            found.insert((value.to_owned(), into.to_owned()));
        }
    }
}

/// Every use of a variable in the API.
fn uses() -> BTreeSet<Use> {
    let api = choosing(&[("AccessLog", "yes")]).properties("Api").unwrap();
    let (mut found, body) = (BTreeSet::new(), &api["DefinitionBody"]);
    for methods in body["paths"].as_object().unwrap().values() {
        for method in methods.as_object().unwrap().values() {
            let integration = &method["x-amazon-apigateway-integration"];
            let service = ["dynamodb", "s3", "lambda"].into_iter().find(|service| {
                integration["uri"].as_str().is_some_and(|uri| uri.contains(&format!(":{service}:")))
            });
            let into = match service {
                Some("dynamodb") => "query",
                Some("s3") => "file",
                Some(_) => "function",
                None => "answer",
            };
            in_templates(&integration["requestTemplates"], into, &mut found);
            in_mappings(&integration["requestParameters"], into, &mut found);
            for response in integration["responses"].as_object().into_iter().flatten().map(|(_, it)| it) {
                in_templates(&response["responseTemplates"], "answer", &mut found);
                in_mappings(&response["responseParameters"], "answer", &mut found);
            }
        }
    }
    for response in body["x-amazon-apigateway-gateway-responses"].as_object().unwrap().values() {
        in_templates(&response["responseTemplates"], "refusal", &mut found);
        in_mappings(&response["responseParameters"], "refusal", &mut found);
    }
    let log = api["AccessLogSetting"]["Format"].as_str().unwrap();
    found.extend(variables(log).into_iter().map(|name| (name, "log".to_owned())));
    found
}

#[test]
fn every_variable_is_listed_with_who_controls_it_and_what_keeps_it() {
    let record = fs::read_to_string(workspace::root().join(RECORD)).unwrap();
    let (_, table) = record.split_once("| variable | gets into | controlled by | what keeps it |").unwrap();
    let mut listed = BTreeSet::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [variables, into, who, kept] = cells[..] else { panic!("{RECORD}: {row}") };
        assert!(["AWS", "client", "operator", "room"].contains(&who), "{RECORD}: {row}");
        assert!(!kept.is_empty(), "{RECORD}: {row}");
        for variable in variables.split(", ") {
            for into in into.split(", ") {
                listed.insert((variable.trim_matches('`').to_owned(), into.to_owned()));
            }
        }
    }
    let used = uses();
    let unlisted: Vec<_> = used.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&used).collect();
    assert!(unlisted.is_empty(), "add to the table in {RECORD}, with what keeps it: {unlisted:?}");
    assert!(gone.is_empty(), "no longer used; remove from the table in {RECORD}: {gone:?}");
}

#[test]
fn a_new_variable_is_seen_however_it_is_written() {
    let template = r#"#set($a = "$!context.identity.userAgent")${context.path.replaceAll("/", "")}$input.params('x')
        $!{input.params().querystring.x}$util.urlDecode($method.request)$stageVariables.room:$input.path('$').Item"#;
    let expected = [
        "context.identity.userAgent",
        "context.path",
        "input",
        "input.params.querystring.x",
        "util",
        "method.request",
        "stageVariables.room",
        "input.path",
    ];
    assert_eq!(variables(template), expected);
}

/// What a request with this ID and this cookie makes of the query, which must be one of the few that a room asks.
fn query(id: Option<&str>, cookie: &str) -> Result<Vec<String>, String> {
    let asked = TemplateRequest { id: id.map(Into::into), ..with_cookies(&[cookie]) };
    let text = render(&route("/polling").request().unwrap(), &asked).text;
    let shared = render(&route("/status").request().unwrap(), &asked).text;
    let of_status =
        shared.split("status/").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let one_copy =
        format!(r#"{{"RequestItems":{{"Ledger":{{"Keys":[{{"id":{{"S":"status/{of_status}"}}}}]}}}}}}"#);
    if of_status.len() != 1 || shared.split_whitespace().collect::<String>() != one_copy {
        return Err(shared);
    }
    let query: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    let keys = query["RequestItems"]["Ledger"]["Keys"].as_array().ok_or(&text)?;
    let ids: Vec<String> = keys.iter().filter_map(|key| Some(key["id"]["S"].as_str()?.to_owned())).collect();
    let exact: Vec<Value> = ids.iter().map(|id| json!({ "id": { "S": id } })).collect();
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
    };
    let [status, admissions @ ..] = ids.as_slice() else { return Err(text) };
    let is_one_of_ours = query == json!({ "RequestItems": { "Ledger": { "Keys": exact } } })
        && status.strip_prefix("status/").is_some_and(|digit| is_hex(digit, 1))
        && admissions.len() <= 4
        && admissions.iter().all(|id| id.strip_prefix("admission/").is_some_and(|token| is_hex(token, 32)));
    if is_one_of_ours { Ok(ids) } else { Err(text) }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn no_text_of_a_requests_id_gets_into_the_query() {
    let long = "a".repeat(100_000) + "g";
    for (id, copy) in [
        (None, "0"),
        (Some(""), "0"),
        (Some("3f2d1c6e-8a4b-4f70-9c55-0d1e2f3a4b5c"), "c"),
        (Some("7"), "7"),
        (Some("it ends with a digit: 7"), "7"),
        (Some("key/private"), "e"),
        (Some("JKJaXmPLvHcESHA="), "0"),
        (Some("C"), "0"),
        (Some("g"), "0"),
        (Some("7\n"), "0"),
        (Some("7\r\n"), "0"),
        (Some("a\nb7"), "0"),
        (Some("7\u{2028}"), "0"),
        (Some("\u{663}"), "0"),
        (Some("\u{ff13}"), "0"),
        (Some("\u{1d7d9}"), "0"),
        (Some("x\"}},{\"id\":{\"S\":\"key/private\"}}"), "0"),
        (Some("\"}}],\"ConsistentRead\":true,\"AttributesToGet\":[\"jwks\"]}"), "0"),
        (Some("x\\"), "0"),
        (Some("'"), "0"),
        (Some("}"), "0"),
        (Some("$stageVariables.table"), "e"),
        (Some("${stageVariables.table}"), "0"),
        (Some("$util.base64Decode('a2V5')"), "0"),
        (Some("#set($copy = \"key\")"), "0"),
        (Some("$1 \\1"), "1"),
        (Some("%00%22"), "2"),
        (Some(long.as_str()), "0"),
    ] {
        let shown: String = id.unwrap_or("none").chars().take(40).collect();
        assert_eq!(query(id, ""), Ok(vec![format!("status/{copy}")]), "{shown:?}");
    }
    // Who has a place reads the copy of its token.
    let ids = query(Some("\"}}"), &place("ab12", TOKEN, "7"));
    assert_eq!(ids, Ok(vec!["status/0".to_owned(), format!("admission/{TOKEN}")]));
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn whatever_a_client_sends_the_query_is_one_of_ours() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let token = prop_oneof![Just(TOKEN.to_owned()), "[0-9a-f]{32}", "[0-9a-f\u{663}\"]{31,33}"];
    let cookie = ("[\u{0}-\u{7f}\u{661}\u{1f9ad}]{0,6}", token, "[0-9\u{663}\n\"}]{0,18}")
        .prop_map(|(other, token, ticket)| format!("{other};bk_sale=ab12-{token}-{ticket}"));
    let id = proptest::option::of("[\u{0}-\u{7f}\u{663}\u{ff13}\u{1f9ad}]{0,12}[0-9a-g\n\"}]{0,2}");
    let result = TestRunner::new(config).run(&(id, cookie), |(id, cookie)| {
        prop_assert!(query(id.as_deref(), &cookie).is_ok(), "{:?}", query(id.as_deref(), &cookie));
        Ok(())
    });
    result.unwrap();
}

/// Neither the `Host` nor the path of a request is more than what a URL of the room may contain.
#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn no_text_of_a_host_or_a_path_gets_into_an_answer() {
    let discovery = route("/.well-known/openid-configuration").response(200).unwrap().0;
    let end = "/.well-known/openid-configuration";
    for (domain, path) in [
        ("queue.shop.example\"", String::new()),
        ("user@queue.shop.example", String::new()),
        ("queue.shop.example\n", String::new()),
        ("\u{fc}.example", String::new()),
        ("", String::new()),
        ("queue.shop.example", "/a\"b".to_owned()),
        ("queue.shop.example", "/a\\".to_owned()),
        ("queue.shop.example", "/%22".to_owned()),
        ("queue.shop.example", "//evil.example".to_owned()),
        ("queue.shop.example", "/$context.path".to_owned()),
        ("queue.shop.example", "/\u{663}".to_owned()),
    ] {
        let request = TemplateRequest { domain: domain.into(), path: format!("{path}{end}"), ..asked() };
        let said = render(&discovery, &request);
        assert_eq!(said.status, Some(404), "{domain:?} {path:?}: {}", said.text);
        assert_eq!(said.json().unwrap()["error"], routes::problem::NOT_FOUND);
    }
    let root = route("/").response(200).unwrap().0;
    for path in ["/javascript:x", "/prod\n", "/a b", "/%0d", "/\u{fc}", "/a\\b"] {
        let rendered = render(&root, &TemplateRequest { path: path.into(), ..asked() });
        assert_eq!(rendered.headers["Location"], "beekeeper", "{path:?}");
    }
}
