//! The routes of the API are the rows of `routes::ROUTES`. Also: what API Gateway answers by itself.

use std::fs;

use emulators::workspace;
use pass::Discovery;
use routes::{AwsHandler, DOOR, Handler, RETRY_AFTER, ROUTES, Route, problem};
use serde_json::{Value, json};
use stack_template::{ApiMethod, Rendered, Stack, TemplateRequest};
use waitroom::WebUrl;

use crate::support::{asked, choosing, render, stack};

/// The key in API Gateway's definitions for every method that a path does not define.
const ANY: &str = "x-amazon-apigateway-any-method";

/// The path that API Gateway itself answers with "not found". It covers every other path.
const NOT_FOUND: &str = "/{other+}";

fn body() -> Value {
    stack().properties("Api").unwrap()["DefinitionBody"].clone()
}

fn method(name: &str, path: &str) -> ApiMethod {
    ApiMethod::of(stack(), name, path).unwrap_or_else(|error| panic!("{name} {path}: {error:#}"))
}

fn on_aws() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.on_aws != AwsHandler::Absent)
}

/// The headers of one response of an integration, sorted, names in lower case.
fn headers(response: &Value) -> Vec<(String, String)> {
    let parameters = response["responseParameters"].as_object().into_iter().flatten();
    let mut headers: Vec<_> = parameters
        .map(|(name, value)| {
            let name = name.strip_prefix("method.response.header.").unwrap().to_lowercase();
            (name, value.as_str().unwrap().to_owned())
        })
        .collect();
    headers.sort();
    headers
}

/// The headers with a constant value. API Gateway quotes constants; everything else is a reference.
fn constants(response: &Value) -> Vec<(String, String)> {
    let unquoted = |value: &str| Some(value.strip_prefix('\'')?.strip_suffix('\'')?.to_owned());
    headers(response).into_iter().filter_map(|(name, value)| Some((name, unquoted(&value)?))).collect()
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut headers: Vec<_> =
        headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    headers.sort();
    headers
}

/// A mock integration's status, constant headers and error text.
fn mock(method: &ApiMethod) -> (u16, Vec<(String, String)>, String) {
    let integration = method.integration();
    assert_eq!(
        (&integration["type"], &integration["passthroughBehavior"]),
        (&json!("mock"), &json!("never"))
    );
    let (template, status) = method.response(200).unwrap();
    let body: Value = serde_json::from_str(&template.0).unwrap();
    (status, constants(&integration["responses"]["default"]), body["error"].as_str().unwrap().to_owned())
}

#[test]
fn the_paths_and_methods_are_those_of_the_table() {
    let body = body();
    let mut found: Vec<&str> = body["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = on_aws().map(|route| route.path).chain([NOT_FOUND]).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for route in on_aws() {
        let definitions = body["paths"][route.path].as_object().unwrap();
        let mut found: Vec<&str> = definitions.keys().map(String::as_str).collect();
        let methods: Vec<String> = route.methods.iter().map(|method| method.to_lowercase()).collect();
        let mut expected: Vec<&str> = methods.iter().map(String::as_str).chain([ANY]).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{}", route.path);
        for method in &methods {
            assert_eq!(definitions[method], definitions[&methods[0]], "{method} {}", route.path);
        }
    }
}

#[test]
fn another_method_is_answered_as_on_one_machine() {
    for route in on_aws() {
        let headers = owned(&[("allow", &route.allow()), ("cache-control", "no-store")]);
        let expected = (405, headers, route.refusal().to_owned());
        assert_eq!(mock(&method(ANY, route.path)), expected, "{}", route.path);
    }
}

/// The answer for a path where nothing is, to somebody who accepts this.
fn not_found(path: &str, accept: Option<&str>) -> Rendered {
    let other = path.trim_start_matches("/prod").trim_matches('/');
    let (method, status, parameter) = match other.strip_prefix("wait/").filter(|file| !file.contains('/')) {
        // S3 has no such file.
        Some(file) => (method("get", "/wait/{file}"), 403, ("file".to_owned(), file.to_owned())),
        None => (method(ANY, NOT_FOUND), 200, ("other".to_owned(), other.to_owned())),
    };
    let (template, status) = method.response(status).unwrap();
    assert_eq!(status, 404);
    let headers = accept.map(|accept| ("Accept".to_owned(), accept.to_owned())).into_iter().collect();
    render(&template, &TemplateRequest { headers, path: path.into(), parameters: vec![parameter], ..asked() })
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn a_browser_at_a_wrong_address_gets_the_page_of_one_machine() {
    let page = fs::read_to_string(workspace::root().join("crates/server/routes/src/not_found.html")).unwrap();
    let browser = Some("text/html,application/xhtml+xml,*/*;q=0.8");
    for (path, door) in [
        ("/prod/beekeper", "beekeeper"),
        ("/prod/beekeper/", "../beekeeper"),
        ("/prod/a/b/c", "../../beekeeper"),
        ("/a/b", "../beekeeper"),
        ("/prod/\"><script>/$context.path", "../beekeeper"),
        ("/prod/wait/index.htm", "../beekeeper"),
    ] {
        for accept in [browser, Some("application/xml;q=0.1, text/html ;q=0.9")] {
            let answer = not_found(path, accept);
            let expected = page.replace("{}{}", door);
            assert_eq!(answer.text.trim(), expected.trim(), "{path}");
            assert_eq!(answer.headers["Content-Type"], "text/html; charset=utf-8");
        }
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn whoever_is_no_browser_gets_the_error_of_one_machine() {
    for path in ["/prod/beekeper", "/prod/a/b/", "/prod/wait/index.htm"] {
        for accept in [None, Some("*/*"), Some("application/json"), Some("text/htmlx"), Some("nottext/html")]
        {
            let answer = not_found(path, accept);
            let expected = json!({ "error": problem::NOT_FOUND });
            assert_eq!((answer.json().unwrap(), answer.headers.len()), (expected, 0), "{path}: {accept:?}");
        }
    }
    let other = method(ANY, NOT_FOUND);
    let answer = &other.integration()["responses"]["default"];
    assert_eq!(constants(answer), owned(&[("cache-control", "no-store")]));
    for header in ["Cache-Control", "Content-Type"] {
        assert!(other.definition()["responses"]["404"]["headers"][header].is_object(), "{header}");
    }
}

#[test]
fn each_route_goes_where_the_table_says() {
    for route in on_aws() {
        let path = route.path;
        let method = method(&route.methods[0].to_lowercase(), path);
        let integration = method.integration();
        let (kind, target) = match route.on_aws {
            AwsHandler::Function => ("aws_proxy", ":lambda:path/".to_owned()),
            AwsHandler::Table { action } => ("aws", format!(":dynamodb:action/{action}")),
            AwsHandler::Bucket => ("aws", ":s3:path/".to_owned()),
            AwsHandler::Gateway { status } => {
                assert_eq!((&integration["type"], method.response(200).unwrap().1), (&json!("mock"), status));
                let request: Value = serde_json::from_str(&method.request().unwrap().0).unwrap();
                assert_eq!(request, json!({ "statusCode": status }), "{path}");
                continue;
            }
            AwsHandler::Absent => unreachable!("not on AWS"),
        };
        let uri = integration["uri"].as_str().unwrap();
        assert_eq!(integration["type"], kind, "{path}");
        assert!(uri.contains(&target), "{path}: {uri}");
        if let AwsHandler::Table { .. } = route.on_aws {
            // The body of a visitor's request never reaches the table.
            assert_eq!(integration["passthroughBehavior"], "never", "{path}");
            assert!(uri.ends_with(&target), "{path}: {uri}");
        }
        if route.on_aws != AwsHandler::Function {
            assert_eq!(integration["credentials"], "ApiRole.Arn", "{path}");
        }
    }
}

/// A function sends its own headers; the tests of `server` compare those with the table.
#[test]
fn the_constant_headers_are_those_of_the_table() {
    for route in on_aws().filter(|route| route.on_aws != AwsHandler::Function) {
        let method = method("get", route.path);
        let answer = match route.on_aws {
            AwsHandler::Gateway { .. } => "default",
            _ => "200",
        };
        assert_eq!(
            constants(&method.integration()["responses"][answer]),
            owned(route.headers),
            "{}",
            route.path
        );
    }
}

#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn an_issuer_says_where_its_keys_are() {
    let (template, _) = method("get", "/.well-known/openid-configuration").response(200).unwrap();
    for (domain, path) in [
        ("abc.execute-api.eu-central-1.amazonaws.com", "/prod"),
        ("queue.shop.example", ""),
        ("shop.example", "/queue"),
    ] {
        for end in ["", "/"] {
            let request = TemplateRequest {
                domain: domain.into(),
                path: format!("{path}/.well-known/openid-configuration{end}"),
                ..asked()
            };
            let said = render(&template, &request).json().unwrap();
            let expected = Discovery::of(format!("https://{domain}{path}"), "sale");
            assert_eq!(said, serde_json::to_value(expected).unwrap());
        }
    }
}

/// A browser resolves a relative location against the URL that it requested: below the stage, with or without a slash at
/// the end, or at the root of a domain.
#[test]
#[ignore = "needs Velocity: cargo xtask test stack_template"]
fn the_rooms_url_leads_to_its_door() {
    let (template, status) = method("get", "/").response(200).unwrap();
    assert_eq!(status, 302);
    for (requested, door) in [
        ("https://abc.example/prod", "https://abc.example/prod/beekeeper"),
        ("https://abc.example/prod/", "https://abc.example/prod/beekeeper"),
        ("https://queue.shop.example", "https://queue.shop.example/beekeeper"),
    ] {
        let requested: WebUrl = requested.parse().unwrap();
        let path = requested.as_url().path().to_owned();
        let rendered = render(&template, &TemplateRequest { path, ..asked() });
        assert_eq!((rendered.text.trim(), rendered.status), ("", None), "{requested}");
        assert_eq!(requested.as_url().join(&rendered.headers["Location"]).unwrap().as_str(), door);
    }
    let unknown = render(&template, &asked());
    assert_eq!(unknown.headers["Location"], DOOR, "as on one machine");
}

#[test]
fn every_header_and_status_is_declared() {
    for route in on_aws().filter(|route| route.on_aws != AwsHandler::Function) {
        let path = route.path;
        for name in ["get", ANY] {
            let method = method(name, path);
            for response in method.integration()["responses"].as_object().unwrap().values() {
                let declared = &method.definition()["responses"][response["statusCode"].as_str().unwrap()];
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
fn the_bucket_adds_the_type_and_the_policy_of_each_file() {
    let page = method("get", "/wait/{file}");
    let headers = headers(&page.integration()["responses"]["200"]);
    for (name, value) in [
        ("content-security-policy", "integration.response.header.x-amz-meta-policy"),
        ("content-type", "integration.response.header.Content-Type"),
    ] {
        assert!(headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {headers:?}");
    }
    assert_eq!(page.response(403).unwrap().1, 404);
    assert_eq!(page.response(404).unwrap().1, 404);
    assert_eq!(page.response(503).unwrap().1, 503);
}

/// SAM imports the definition again with every update, and what is not in it is lost. A room serves text only, so it has no
/// binary types.
#[test]
fn compression_is_in_the_definition() {
    let api = stack().properties("Api").unwrap();
    assert_eq!(body()["x-amazon-apigateway-minimum-compression-size"], 512);
    for outside in ["MinimumCompressionSize", "BinaryMediaTypes"] {
        assert_eq!(api.get(outside), None, "{outside} belongs into the definition");
    }
}

/// The policy of an edge for the headers of its answers on this path.
fn edge_headers(edge: &Stack, path: &str) -> Value {
    let config = &edge.template["Resources"]["Distribution"]["Properties"]["DistributionConfig"];
    let part = |name: &str| edge.resolve(&config[name]).unwrap();
    let (behaviors, usual) = (part("CacheBehaviors"), part("DefaultCacheBehavior"));
    let is_for = |behavior: &&Value| {
        let pattern = behavior["PathPattern"].as_str().unwrap();
        pattern.strip_suffix('*').map_or(path == pattern, |start| path.starts_with(start))
    };
    let behavior = behaviors.as_array().unwrap().iter().find(is_for).unwrap_or(&usual);
    let policy = behavior["ResponseHeadersPolicyId"].as_str().unwrap();
    edge.properties(policy).unwrap()["ResponseHeadersPolicyConfig"].clone()
}

/// Lambda's error for whom no function is free is none of ours, so nothing else tells a browser to come again.
#[test]
fn behind_an_edge_a_browser_comes_again_to_whatever_it_had_opened() {
    let edge = choosing(&[("Edge", "yes")]);
    let in_place = json!([{ "Header": "Refresh", "Value": "20", "Override": false }]);
    let to_door = json!([{ "Header": "Refresh", "Value": format!("20; url=/{DOOR}"), "Override": false }]);
    let opened = on_aws()
        .filter(|route| matches!(route.handler, Handler::Root | Handler::Door | Handler::Page))
        .map(|route| (route.path.replace("{file}", "index.html"), route.handler == Handler::Door))
        .chain([("/nothing/here".to_owned(), false)]);
    for (path, is_door) in opened {
        let policy = edge_headers(&edge, &path);
        let expected = if is_door { &in_place } else { &to_door };
        assert_eq!(policy["CustomHeadersConfig"]["Items"], *expected, "{path}");
        let frames = &policy["SecurityHeadersConfig"]["FrameOptions"];
        assert_eq!(frames.is_null(), is_door, "{path}: only the door has a page for frames");
    }
}

#[test]
fn throttled_or_failing_requests_get_the_page_that_retries() {
    let busy = fs::read_to_string(workspace::root().join("crates/producer/src/busy.html")).unwrap();
    let responses = &body()["x-amazon-apigateway-gateway-responses"];
    let throttled = json!("429");
    for (kind, status) in
        [("THROTTLED", &throttled), ("WAF_FILTERED", &throttled), ("DEFAULT_5XX", &Value::Null)]
    {
        let response = &responses[kind];
        assert_eq!(response["statusCode"], *status, "{kind}");
        let header = |name| &response["responseParameters"][format!("gatewayresponse.header.{name}")];
        assert_eq!(*header("Retry-After"), format!("'{RETRY_AFTER}'"), "{kind}");
        assert_eq!(*header("Content-Type"), "'text/html; charset=utf-8'", "{kind}");
        // Whichever form API Gateway chooses. In a gateway response it replaces only variables, so there must be none.
        let forms = json!({ "application/json": busy, "text/html": busy });
        assert_eq!(response["responseTemplates"], forms, "{kind}: the page of crates/producer");
        assert!(!busy.contains('$'), "{kind}");
    }
}

#[test]
fn api_gateways_own_errors_are_readable_across_origins_and_json_unless_they_are_the_busy_page() {
    let body = body();
    for (kind, response) in body["x-amazon-apigateway-gateway-responses"].as_object().unwrap() {
        let headers = &response["responseParameters"];
        assert_eq!(
            headers["gatewayresponse.header.Access-Control-Allow-Origin"], "method.request.header.Origin",
            "{kind}"
        );
        if headers["gatewayresponse.header.Content-Type"].is_string() {
            continue;
        }
        let template = response["responseTemplates"]["application/json"].as_str().unwrap();
        // API Gateway replaces this variable without Velocity. Its value is a text with quotation marks.
        let text = template.replace("$context.error.messageString", "\"Forbidden\"");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["error"].is_string(), "{kind}: {answer}");
    }
}
