use emulators::LocalEmu;
use http_contract::HttpAnswer;
use serde_json::{Value, json};

use crate::edge_stack::{EdgeStack, client};

/// The URL's answer to its distribution.
fn ask(stack: &mut EdgeStack, request: &str, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
    let arn = format!("arn:aws:cloudfront::000000000000:distribution/{}", stack.output("Id"));
    ask_as(stack, request, &[&[("X-Testbed-Distribution", &*arn)], headers].concat(), body)
}

fn ask_as(stack: &mut EdgeStack, request: &str, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
    let url = stack.output("Url");
    let host = url.trim_start_matches("https://").trim_end_matches('/');
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (headers, length) = (headers.concat(), body.len());
    let request = format!(
        "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    client(LocalEmu::shared().unwrap().port()).raw(request.as_bytes()).unwrap()
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_function_gets_the_request_and_its_response_is_the_answer() {
    let mut stack = EdgeStack::create("url-events", |_| ());
    let headers = [
        ("Cookie", "a=1; b=2"),
        ("X-Two", "1"),
        ("Cookie", "c=3"),
        ("X-Two", "2"),
        ("Origin", "https://shop.example"),
    ];
    let answer = ask(&mut stack, "GET /some%20path//?x=1&x=2&y=%2F", &headers, "");
    assert_eq!(answer.status, 200, "{answer:?}");
    let event = answer.json();
    assert_eq!(event["version"], "2.0");
    assert_eq!(event["rawPath"], "/some%20path//");
    assert_eq!(event["rawQueryString"], "x=1&x=2&y=%2F");
    assert_eq!(event["queryStringParameters"], json!({ "x": "1,2", "y": "/" }));
    assert_eq!(event["cookies"], json!(["a=1", "b=2", "c=3"]));
    assert_eq!((&event["headers"]["x-two"], &event["headers"]["cookie"]), (&json!("1,2"), &Value::Null));
    assert_eq!(event["headers"]["x-testbed-distribution"], Value::Null);
    assert_eq!(event["requestContext"]["http"]["method"], "GET");
    assert_eq!((&event["body"], &event["isBase64Encoded"]), (&Value::Null, &json!(false)));
    assert_eq!(answer.headers("set-cookie"), ["a=1; Path=/; HttpOnly", "b=2; Path=/"]);
    assert_eq!(answer.header("access-control-allow-origin"), None, "the emulator's own");

    let large = ask(&mut stack, "GET /large", &[("Cookie", &"a".repeat(10_240))], "");
    assert_eq!((large.status, stack.asked("GET /large")), (413, 0), "{large:?}");
    assert_eq!(ask(&mut stack, "GET /large", &[("Cookie", &"a".repeat(9_000))], "").status, 200);

    let head = ask(&mut stack, "HEAD /head", &[], "");
    assert_eq!((head.status, &*head.body), (200, ""));
    assert_eq!(stack.asked("HEAD /head"), 1);
    assert_eq!(ask(&mut stack, "GET /plain", &[], "").json(), json!({ "no": "status" }));
    let bytes = ask(&mut stack, "GET /bytes", &[], "");
    assert_eq!((bytes.header("content-type"), bytes.body.ends_with("PNG")), (Some("image/png"), true));
    assert_eq!(ask(&mut stack, "GET /failing", &[], "").status, 503);
    assert_eq!(ask(&mut stack, "GET /no-response", &[], "").status, 502);
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_body_is_passed_if_its_hash_was_sent() {
    let mut stack = EdgeStack::create("url-bodies", |_| ());
    let hash = ("X-Amz-Content-Sha256", "50b5a89b8a0a8ce6d5c56ea39ee12a6ee5dd43e1d2a9e3a6e1d7b6d3a9a0c0f0");
    for (kind, encoded, body) in
        [("application/json", false, json!("{}")), ("application/x-www-form-urlencoded", true, json!("e30="))]
    {
        let kind = ("Content-Type", kind);
        assert_eq!(ask(&mut stack, "POST /", &[kind], "{}").status, 403, "a body without its hash");
        assert_eq!(ask(&mut stack, "POST /", &[kind, hash], "{}").status, 403, "the hash of another body");
        let own =
            ("X-Amz-Content-Sha256", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        let event = ask(&mut stack, "POST /", &[kind, own], "{}").json();
        assert_eq!((&event["body"], &event["isBase64Encoded"]), (&body, &json!(encoded)));
    }
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn only_the_distribution_that_may_reaches_the_function() {
    let mut stack = EdgeStack::create("url-callers", |_| ());
    assert_eq!(ask(&mut stack, "GET /", &[], "").status, 200);
    assert_eq!(ask_as(&mut stack, "GET /", &[], "").status, 403, "a visitor who found the URL");
    let other = "arn:aws:cloudfront::000000000000:distribution/EOTHER";
    assert_eq!(ask_as(&mut stack, "GET /", &[("X-Testbed-Distribution", other)], "").status, 403);
    for missing in ["EdgeMayAsk", "EdgeMayInvoke"] {
        let change =
            |template: &mut Value| drop(template["Resources"].as_object_mut().unwrap().remove(missing));
        assert_eq!(stack.deploy("UPDATE", change), Ok("UPDATE_COMPLETE".to_owned()));
        assert_eq!(ask(&mut stack, "GET /", &[], "").status, 403, "without {missing}");
        assert_eq!(stack.deploy("UPDATE", |_| ()), Ok("UPDATE_COMPLETE".to_owned()));
    }
    let open =
        |template: &mut Value| template["Resources"]["DoorUrl"]["Properties"]["AuthType"] = "NONE".into();
    assert_eq!(stack.deploy("UPDATE", open), Ok("UPDATE_COMPLETE".to_owned()));
    assert_eq!(ask_as(&mut stack, "GET /", &[], "").status, 403, "open, and nobody is allowed");
}
