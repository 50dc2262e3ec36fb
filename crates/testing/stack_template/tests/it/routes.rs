//! The routes of the API, and what it answers by itself.

use std::fs;

use emulators::workspace;
use serde_json::{Value, json};
use stack_template::Route;

use crate::support::{TROUBLE, stack};

const OURS: [&str; 5] = ["/beekeeper", "/client", "/polling", "/wait/{file}", "/.well-known/jwks.json"];

fn body() -> Value {
    stack().properties("Api").unwrap()["DefinitionBody"].clone()
}

#[test]
fn the_routes_are_those_of_one_machine() {
    let body = body();
    let paths: Vec<&String> = body["paths"].as_object().unwrap().keys().collect();
    let mut expected = vec!["/", "/{other+}"];
    expected.extend(OURS);
    expected.sort_unstable();
    let mut found = paths;
    found.sort();
    assert_eq!(found, expected);
    for path in OURS {
        let get = Route::of(stack(), "get", path).unwrap();
        let head = Route::of(stack(), "head", path).unwrap();
        assert_eq!(get.definition(), head.definition(), "{path}");
        let other = Route::of(stack(), "x-amazon-apigateway-any-method", path).unwrap();
        assert_eq!(
            (other.integration()["type"].as_str(), other.response(200).unwrap().1),
            (Some("mock"), 405),
            "{path}"
        );
    }
    for path in ["/", "/{other+}"] {
        let any = Route::of(stack(), "x-amazon-apigateway-any-method", path).unwrap();
        assert_eq!(
            (any.integration()["type"].as_str(), any.response(200).unwrap().1),
            (Some("mock"), 404),
            "{path}"
        );
    }
}

#[test]
fn only_the_door_goes_to_a_function_and_no_strangers_body_to_the_table() {
    for path in OURS {
        let route = Route::of(stack(), "get", path).unwrap();
        let uri = route.integration()["uri"].as_str().unwrap();
        assert_eq!(uri.contains(":lambda:"), path == "/beekeeper", "{uri}");
        if uri.contains(":dynamodb:") {
            assert_eq!(route.integration()["passthroughBehavior"], "never", "{path}");
        }
        if path != "/beekeeper" {
            assert_eq!(route.integration()["credentials"], "ApiRole.Arn", "{path}");
        }
    }
}

#[test]
fn every_answer_that_is_mapped_is_declared() {
    for path in OURS.into_iter().filter(|path| *path != "/beekeeper") {
        for method in ["get", "x-amazon-apigateway-any-method"] {
            let route = Route::of(stack(), method, path).unwrap();
            for response in route.integration()["responses"].as_object().unwrap().values() {
                let declared = &route.definition()["responses"][response["statusCode"].as_str().unwrap()];
                assert!(declared.is_object(), "{path}: {response}");
                for name in
                    response["responseParameters"].as_object().into_iter().flatten().map(|(name, _)| name)
                {
                    let name = name.strip_prefix("method.response.header.").unwrap();
                    assert!(declared["headers"][name].is_object(), "{path}: {name}");
                }
            }
        }
    }
}

#[test]
fn the_page_has_the_headers_that_it_has_on_one_machine() {
    let page = Route::of(stack(), "get", "/wait/{file}").unwrap();
    let headers = &page.integration()["responses"]["200"]["responseParameters"];
    let text = |name: &str| {
        let value =
            headers[format!("method.response.header.{name}")].as_str().unwrap_or_else(|| panic!("{name}"));
        value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value).to_owned()
    };
    let read =
        |path: &str| fs::read_to_string(workspace::root().join("crates/server/src").join(path)).unwrap();
    let source = read("files.rs") + &read("app.rs");
    assert_eq!(text("Content-Security-Policy"), "integration.response.header.x-amz-meta-policy");
    for (name, value) in [
        ("Cache-Control", "public, max-age=60"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Robots-Tag", "noindex"),
    ] {
        assert_eq!(text(name), value);
        assert!(source.contains(&format!("\"{value}\"")), "{value} in crates/server");
    }
    assert_eq!(text("Content-Type"), "integration.response.header.Content-Type");
    assert_eq!(page.response(403).unwrap().1, 404);
    assert_eq!(page.response(404).unwrap().1, 404);
    assert_eq!(page.response(503).unwrap().1, 503);
}

#[test]
fn throttled_or_failing_requests_are_asked_to_come_again() {
    let busy = fs::read_to_string(workspace::root().join("crates/producer/src/busy.html")).unwrap();
    let responses = &body()["x-amazon-apigateway-gateway-responses"];
    for (kind, status) in [("THROTTLED", "429"), ("WAF_FILTERED", "429"), ("DEFAULT_5XX", "503")] {
        let response = &responses[kind];
        assert_eq!(response["statusCode"], status, "{kind}");
        assert_eq!(response["responseParameters"]["gatewayresponse.header.Retry-After"], "'5'", "{kind}");
        assert_eq!(response["responseTemplates"]["text/html"], busy, "{kind}: the page of crates/producer");
        let body: Value =
            serde_json::from_str(response["responseTemplates"]["application/json"].as_str().unwrap())
                .unwrap();
        assert_eq!(body, json!({ "error": TROUBLE }), "{kind}");
    }
}

#[test]
fn whatever_api_gateway_says_by_itself_is_json_with_an_error_and_may_be_read_by_the_page_that_asked() {
    let body = body();
    for (kind, response) in body["x-amazon-apigateway-gateway-responses"].as_object().unwrap() {
        let headers = &response["responseParameters"];
        assert_eq!(
            headers["gatewayresponse.header.Access-Control-Allow-Origin"], "method.request.header.Origin",
            "{kind}"
        );
        let template = response["responseTemplates"]["application/json"].as_str().unwrap();
        // Simple substitution, no Velocity: this variable is a quoted text.
        let said = template.replace("$context.error.messageString", "\"Forbidden\"");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert!(said["error"].is_string(), "{kind}: {said}");
    }
    for path in OURS.into_iter().chain(["/", "/{other+}"]) {
        let route = Route::of(stack(), "x-amazon-apigateway-any-method", path).unwrap();
        let said: Value = serde_json::from_str(&route.response(200).unwrap().0.0).unwrap();
        assert!(said["error"].is_string(), "{path}: {said}");
    }
}
