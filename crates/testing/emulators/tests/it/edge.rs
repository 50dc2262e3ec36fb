use std::process::Command;
use std::thread;
use std::time::Duration;

use emulators::{EdgeProxy, LocalEmu};
use http_contract::Client;
use serde_json::{Value, json};

use crate::edge_stack::{EdgeStack, client};

const HIT: Option<&str> = Some("Hit from cloudfront");
const MISS: Option<&str> = Some("Miss from cloudfront");

/// A stack, and the edge of its distribution.
fn start(name: &'static str) -> (EdgeStack, EdgeProxy, Client) {
    let mut stack = EdgeStack::create(name, |_| ());
    let edge = edge_of(&mut stack, |_| ());
    let visitor = client(edge.http_port());
    (stack, edge, visitor)
}

/// The edge of the stack's distribution with this change.
fn edge_of(stack: &mut EdgeStack, change: impl FnOnce(&mut Value)) -> EdgeProxy {
    let aws = LocalEmu::shared().unwrap();
    let (id, mut kept) = (stack.output("Id"), aws.distributions().unwrap());
    let all = kept["Distributions"].as_array_mut().unwrap();
    change(&mut all.iter_mut().find(|one| one["Id"] == *id).unwrap()["DistributionConfig"]);
    EdgeProxy::before(&kept, &id, aws.port()).unwrap()
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn cookies_headers_and_queries_reach_the_function_and_its_cookies_the_visitor() {
    let (mut stack, edge, visitor) = start("edge-passes");
    let headers = [
        ("Cookie", "a=1"),
        ("Cookie", "b=2; c=3"),
        ("Accept-Language", "eo"),
        ("Under_Score", "1"),
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Testbed-Distribution", "arn:aws:cloudfront::000000000000:distribution/EOTHER"),
        ("If-None-Match", "\"x\""),
    ];
    let answer = visitor.send("GET", "/a%20path//x?q=%2F&q=2", &headers);
    assert_eq!((answer.status, answer.header("x-cache")), (200, MISS));
    assert_eq!(answer.headers("set-cookie"), ["a=1; Path=/; HttpOnly", "b=2; Path=/"]);
    assert_eq!(answer.header("x-accel-expires"), None);
    let event = answer.json();
    assert_eq!((&event["rawPath"], &event["rawQueryString"]), (&json!("/a%20path//x"), &json!("q=%2F&q=2")));
    assert_eq!(event["cookies"], json!(["a=1", "b=2", "c=3"]));
    let sent = &event["headers"];
    assert_eq!((&sent["accept-language"], &sent["under_score"]), (&json!("eo"), &json!("1")));
    assert_eq!(sent["if-none-match"], "\"x\"");
    assert_eq!(sent["x-forwarded-for"], "203.0.113.9, 127.0.0.1,127.0.0.1");
    assert_eq!(format!("https://{}/", sent["host"].as_str().unwrap()), stack.output("Url"));
    assert_eq!((&sent["x-testbed-distribution"], &sent["x-edge-behavior"]), (&Value::Null, &Value::Null));
    assert!(sent["via"].as_str().unwrap().ends_with("(CloudFront)"), "{sent}");

    let hash = ("X-Amz-Content-Sha256", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    let post = |path: &str, headers: &[(&str, &str)]| {
        let headers: String =
            headers.iter().flat_map(|(name, value)| [*name, ": ", *value, "\r\n"]).collect();
        let request = format!("{}{headers}Content-Length: 2\r\n\r\n{{}}", visitor.head("POST", path));
        visitor.raw(request.as_bytes()).unwrap()
    };
    assert_eq!(post("/order", &[]).status, 403, "nobody signs a body without its hash");
    assert_eq!(post("/order", &[hash, ("Content-Type", "application/json")]).json()["body"], "{}");
    for path in ["/kept/order", "/only-look", "/kept//order", "/x/../kept/order"] {
        assert_eq!(post(path, &[hash]).status, 403, "{path}");
    }
    assert_eq!(visitor.send("HEAD", "/head", &[]).status, 200);
    assert_eq!((stack.asked("POST /order"), stack.asked("HEAD /head")), (1, 1));
    let looks = format!("{}Content-Length: 2\r\n\r\n{{}}", visitor.head("GET", "/body"));
    assert_eq!(visitor.raw(looks.as_bytes()).unwrap().status, 403);

    // A browser sends each cookie in a header of its own.
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--http2", "--cacert"]).arg(edge.certificate());
    curl.args(["--resolve", &format!("{}:{}:127.0.0.1", edge.host(), edge.https_port())]);
    curl.args(["-H", "Cookie: a=1", "-H", "Cookie: b=2"]);
    let output = curl.arg(format!("https://{}:{}/browser", edge.host(), edge.https_port())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(event["cookies"], json!(["a=1", "b=2"]));
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn of_many_who_ask_for_what_is_kept_one_reaches_the_function() {
    let (stack, _edge, visitor) = start("edge-keeps");
    let all_at_once = |path: &str| {
        thread::scope(|scope| {
            let asking: Vec<_> = (0..50).map(|_| scope.spawn(|| visitor.get(path))).collect();
            for one in asking {
                assert_eq!(one.join().unwrap().status, 200);
            }
        });
        stack.asked(&format!("GET {path}"))
    };
    assert_eq!(all_at_once("/kept/slow-for-a-minute"), 1);
    assert_eq!(visitor.get("/kept/slow-for-a-minute").header("x-cache"), HIT);

    for path in ["/for-a-minute", "/only-look", "/unsaid"] {
        for _ in 0..3 {
            assert_eq!(visitor.get(path).header("x-cache"), MISS, "{path}");
        }
        assert_eq!(stack.asked(&format!("GET {path}")), 3, "{path}");
    }
    let again = |path: &str, after: u64| {
        visitor.get(path);
        thread::sleep(Duration::from_millis(after));
        visitor.get(path);
        stack.asked(&format!("GET {path}"))
    };
    assert_eq!(again("/kept/unsaid", 1500), 1, "a day, if the origin says nothing");
    assert_eq!(again("/kept/for-a-second", 2500), 2);
    // A busy machine may take longer than that second.
    let is_kept = |n: u32| again(&format!("/kept/{n}/not-at-all"), 0) == 1;
    assert!((0..10).any(is_kept), "what must not be kept is kept for the least time");
    assert_eq!(again("/kept/a/not-at-all", 2500), 2);
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn nothing_that_one_visitor_sends_changes_what_others_get() {
    let (stack, _edge, visitor) = start("edge-unmixed");
    let hostile = [
        ("Cookie", "a=mine"),
        ("X-Forwarded-Host", "evil.example"),
        ("Cache-Control", "no-cache"),
        ("Pragma", "no-cache"),
        ("Vary", "Accept"),
        ("Accept", "evil"),
        ("Authorization", "evil"),
        ("User-Agent", "evil"),
    ];
    let first = visitor.send("GET", "/kept/for-a-minute?evil=1", &hostile);
    assert!(!first.body.contains("evil") && !first.body.contains("mine"), "{}", first.body);
    assert_eq!(first.json()["rawQueryString"], "");
    for path in ["/kept/for-a-minute", "/kept/for-a-minute?evil=2"] {
        for headers in [&hostile[..], &[], &[("Accept", "text/html")], &[("Cookie", "a=yours")]] {
            let answer = visitor.send("GET", path, headers);
            assert_eq!((answer.header("x-cache"), &answer.body), (HIT, &first.body), "{path} {headers:?}");
        }
    }
    assert_eq!(stack.asked("GET /kept/for-a-minute"), 1);
    let compressed = visitor.send("GET", "/kept/for-a-minute", &[("Accept-Encoding", "br;q=1, gzip")]);
    assert_eq!(compressed.header("x-cache"), MISS, "answers are kept by encoding");
    assert_eq!(visitor.get("/kept/for-a-minute").body, first.body);
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn errors_are_kept_as_the_distribution_says_and_never_replace_a_good_answer() {
    let (mut stack, _edge, visitor) = start("edge-errors");
    for path in ["/kept/failing", "/kept/missing", "/failing"] {
        for _ in 0..2 {
            assert_eq!(visitor.get(path).header("x-cache"), Some("Error from cloudfront"), "{path}");
        }
        assert_eq!(stack.asked(&format!("GET {path}")), 2, "{path}");
    }
    let good = visitor.get("/kept/once");
    thread::sleep(Duration::from_millis(2500));
    let stale = visitor.get("/kept/once");
    assert_eq!((stale.status, &stale.body), (200, &good.body));
    assert_eq!(stack.asked("GET /kept/once"), 2);

    let unsaid = edge_of(&mut stack, |config| config["CustomErrorResponses"] = json!([]));
    let visitor = client(unsaid.http_port());
    for path in ["/kept/a/failing", "/kept/a/missing", "/a/failing"] {
        let answers = [visitor.get(path), visitor.get(path)];
        assert_eq!((answers[0].status, answers[1].header("x-cache")), (answers[1].status, HIT), "{path}");
        assert_eq!(stack.asked(&format!("GET {path}")), 1, "{path}: by default, even where nothing is kept");
    }
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn an_edge_is_as_its_stack_and_starts_only_if_it_understands_all_of_it() {
    let (mut stack, edge, visitor) = start("edge-translated");
    assert_eq!(visitor.get("/kept/unsaid").header("x-cache"), MISS);
    assert_eq!(visitor.get("/kept/unsaid").header("x-cache"), HIT);
    drop(edge);
    let elsewhere = |template: &mut Value| {
        let config = &mut template["Resources"]["Edge"]["Properties"]["DistributionConfig"];
        config["CacheBehaviors"][0]["PathPattern"] = "/now/kep?/*".into();
    };
    assert_eq!(stack.deploy("UPDATE", elsewhere), Ok("UPDATE_COMPLETE".to_owned()));
    let (aws, id) = (LocalEmu::shared().unwrap(), stack.output("Id"));
    let edge = EdgeProxy::of(aws, &id).unwrap();
    let visitor = client(edge.http_port());
    for (path, then) in [
        ("/kept/unsaid", MISS),
        ("/now/kept/unsaid", HIT),
        ("/now/kepp/unsaid", HIT),
        ("/now/kep/unsaid", MISS),
    ] {
        assert_eq!(visitor.get(path).header("x-cache"), MISS, "{path}");
        assert_eq!(visitor.get(path).header("x-cache"), then, "{path}");
    }
    let unsigned = edge_of(&mut stack, |config| {
        drop(config["Origins"][0].as_object_mut().unwrap().remove("OriginAccessControlId"));
    });
    assert_eq!(client(unsigned.http_port()).get("/").status, 403, "nobody signs");

    let refuses = |change: &dyn Fn(&mut Value), why: &str| {
        let mut kept = aws.distributions().unwrap();
        let all = kept["Distributions"].as_array_mut().unwrap();
        change(&mut all.iter_mut().find(|one| one["Id"] == *id).unwrap()["DistributionConfig"]);
        let said = format!("{:#}", EdgeProxy::before(&kept, &id, aws.port()).unwrap_err());
        assert!(said.contains(why), "{why}: {said}");
    };
    refuses(&|config| config["ContinuousDeploymentPolicyId"] = "x".into(), "ContinuousDeploymentPolicyId");
    refuses(&|config| config["Enabled"] = false.into(), "is disabled");
    refuses(&|config| config["CacheBehaviors"][0]["CachePolicyId"] = "x".into(), "knows no x");
    refuses(&|config| config["CacheBehaviors"][0]["OriginRequestPolicyId"] = "x".into(), "knows no x");
    refuses(&|config| config["CacheBehaviors"][0]["PathPattern"] = "/(a)".into(), "does not know '('");
    refuses(&|config| config["CacheBehaviors"][0]["SmoothStreaming"] = true.into(), "SmoothStreaming");
    refuses(&|config| config["CustomErrorResponses"][0]["ResponsePagePath"] = "/".into(), "ResponsePagePath");
    refuses(&|config| config["Origins"][0]["OriginShield"] = json!({}), "OriginShield");
}

#[test]
#[ignore = "needs LocalEmu and nginx: cargo xtask test emulators"]
fn a_stack_may_have_policies_of_its_own() {
    let none = |part: &str| json!({ part: "none" });
    let own = |template: &mut Value| {
        template["Resources"]["Keeping"] = json!({ "Type": "AWS::CloudFront::CachePolicy", "Properties": { "CachePolicyConfig": {
            "Name": "edge-policies", "MinTTL": 0, "DefaultTTL": 2, "MaxTTL": 2,
            "ParametersInCacheKeyAndForwardedToOrigin": {
                "EnableAcceptEncodingGzip": false, "HeadersConfig": none("HeaderBehavior"),
                "CookiesConfig": none("CookieBehavior"), "QueryStringsConfig": none("QueryStringBehavior"),
            },
        } } });
        template["Resources"]["Heading"] = json!({
            "Type": "AWS::CloudFront::ResponseHeadersPolicy",
            "Properties": { "ResponseHeadersPolicyConfig": {
                "Name": "edge-policies",
                "CustomHeadersConfig": { "Items": [
                    { "Header": "Vary", "Value": "nothing", "Override": true },
                    { "Header": "Refresh", "Value": "20", "Override": false },
                    { "Header": "Content-Type", "Value": "text/plain", "Override": false },
                ] },
                "RemoveHeadersConfig": { "Items": [{ "Header": "Set-Cookie" }] },
                "SecurityHeadersConfig": { "StrictTransportSecurity": { "AccessControlMaxAgeSec": "60", "Override": true } },
            } },
        });
        let kept =
            &mut template["Resources"]["Edge"]["Properties"]["DistributionConfig"]["CacheBehaviors"][0];
        kept["CachePolicyId"] = json!({ "Ref": "Keeping" });
        kept["ResponseHeadersPolicyId"] = json!({ "Ref": "Heading" });
    };
    let mut stack = EdgeStack::create("edge-policies", own);
    let edge = edge_of(&mut stack, |_| ());
    let visitor = client(edge.http_port());
    let answer = visitor.get("/kept/for-a-minute");
    assert_eq!((answer.header("vary"), answer.header("set-cookie")), (Some("nothing"), None));
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=60"));
    assert_eq!(answer.header("refresh"), Some("20"));
    assert_ne!(answer.header("content-type"), Some("text/plain"), "the function sends its own");
    let encoded = [("Accept-Encoding", "gzip")];
    // A busy machine may take longer than the policy's two seconds.
    let is_kept = |n: u32| {
        let path = format!("/kept/{n}/for-a-minute");
        visitor.get(&path);
        visitor.send("GET", &path, &encoded).header("x-cache") == HIT
    };
    assert!((0..10).any(is_kept), "for every encoding");
    thread::sleep(Duration::from_millis(3500));
    visitor.get("/kept/for-a-minute");
    assert_eq!(stack.asked("GET /kept/for-a-minute"), 2, "no longer than the policy's most");
    for _ in 0..2 {
        assert_eq!(visitor.get("/kept/not-at-all").header("x-cache"), MISS, "the least time is none");
    }
    assert_eq!(stack.delete(), Ok("DELETE_COMPLETE".to_owned()));
    let kept = LocalEmu::shared().unwrap().distributions().unwrap();
    for kind in ["CachePolicies", "ResponseHeadersPolicies"] {
        assert!(kept[kind].as_array().unwrap().iter().all(|one| one["Stack"] != "edge-policies"), "{kind}");
    }
}
