//! A shop's own API behind the Lambda authorizer, deployed with its shipped template.

use std::fs;
use std::path::Path;
use std::process::Command;

use deployed_rooms::sam;
use emulators::{LocalEmu, ScriptServer, boto3};
use guard::{
    Decision, Guard, GuardAnswer, GuardRules, GuardedRequest, HttpRoom, MemorySessions, Moment, RoomKeys,
    SessionKey,
};
use http::{HeaderMap, Method};
use http_contract::Client;
use pass::{Claims, KeyRing, Signer, fixture};
use serde_json::json;

/// Serves the files of its folder.
const FILES: [&str; 4] = ["-m", "http.server", "--bind", "127.0.0.1"];

/// Stores the session key, and prints the ARN of its secret.
const SECRET: &str = "
import sys, boto3
print(boto3.client('secretsmanager').create_secret(Name='guard', SecretString=sys.argv[1])['ARN'])
";

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn an_authorizer_lets_visitors_into_a_shops_api() {
    let aws = LocalEmu::shared().unwrap();
    let keys = KeyRing::generate().unwrap();
    let room = serve_keys(&keys);
    let url = format!("http://127.0.0.1:{}", room.port());
    let good = pass(&keys, &url, "sale");
    let headers = |pass: &str| format!("Bearer {pass}");

    let key = SessionKey::generate().unwrap();
    let secret = printed(boto3().unwrap().envs(aws.environment()).args(["-c", SECRET, &key]));
    let function = sam::deploy(
        aws,
        "authorizer",
        &sam::built_authorizer().unwrap(),
        &[("Room", "sale"), ("RoomUrl", &url), ("SessionKeySecret", &secret)],
    )
    .unwrap();
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plays/guarded_api.yaml");
    let uri = [("AuthorizerUri", function["AuthorizerUri"].as_str())];
    let api = sam::deploy(aws, "guarded-api", &template, &uri).unwrap();
    let api = Client::new(&aws.stage(&api["ApiUrl"]), "sale");
    let visitor = json!({ "subject": "visitor", "number": "4711" });
    let get = |path: &str, headers: &[(&str, &str)]| {
        let answer = api.send("GET", path, headers);
        (answer.status, if answer.status == 200 { answer.json() } else { json!(null) })
    };
    for path in ["/token", "/request"] {
        assert_eq!(get(path, &[("Authorization", &headers(&good))]), (200, visitor.clone()), "{path}");
        for refused in
            [pass(&keys, &url, "other"), pass(&KeyRing::generate().unwrap(), &url, "sale"), "x".into()]
        {
            assert_eq!(get(path, &[("Authorization", &headers(&refused))]).0, 401, "{path}");
        }
        assert_eq!(get(path, &[]).0, 401, "{path}");
    }
    let cookie = session(&key, &url, &good);
    assert_eq!(get("/request", &[("Cookie", &format!("a=1; {cookie}"))]), (200, visitor));
    assert_eq!(get("/request", &[("Cookie", &cookie.replace("4711", "1"))]).0, 401);
    let log = aws.function_log(&function["AuthorizerFunction"]).unwrap();
    assert!(log.contains("a pass for another room") && !log.contains(&good), "{log}");
}

/// A room, as far as an authorizer asks it.
fn serve_keys(keys: &KeyRing) -> ScriptServer {
    let python = boto3().unwrap().get_program().to_owned();
    let server = ScriptServer::start("room", Path::new(&python), |command, port| {
        command.args(FILES).arg(port.to_string());
    });
    let server = server.unwrap();
    let published = server.folder().join(".well-known");
    fs::create_dir(&published).unwrap();
    fs::write(published.join("jwks.json"), serde_json::to_string(&keys.jwks().unwrap()).unwrap()).unwrap();
    server
}

fn pass(keys: &KeyRing, room: &str, name: &str) -> String {
    let now = now();
    let claims = Claims { iss: room.into(), aud: name.into(), exp: now + 3600, ..fixture::claims(now) };
    Signer::new(&keys.current).unwrap().sign(&claims).unwrap()
}

fn now() -> u64 {
    Moment::now().unwrap().now
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The cookie that the guard of the shop's site gives for a pass.
fn session(key: &str, room: &str, pass: &str) -> String {
    let rules = GuardRules::new(room, "sale");
    let keys = RoomKeys::of_room(&rules, HttpRoom::new(&rules).unwrap());
    let guard = Guard::new(rules, SessionKey::new(key).unwrap(), MemorySessions::default(), keys);
    let (target, headers) = (format!("/?bk_pass={pass}"), HeaderMap::new());
    let request = GuardedRequest { method: &Method::GET, target: &target, headers: &headers, client: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(guard.decide(&request, Moment::now().unwrap())) {
        Decision::Answer(GuardAnswer { set_cookie: Some(set), .. }) => {
            set.split(';').next().unwrap_or_default().to_owned()
        }
        other => panic!("no session: {other:?}"),
    }
}
