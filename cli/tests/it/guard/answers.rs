//! What a guard tells a web server about a request.

use std::fs;
use std::process::Command;
use std::time::Duration;

use http_contract::{Client, RoomUnderTest};

use super::fixture::{Guard, cookie, issuer, pass, room};
use crate::support::text;

#[test]
fn a_web_server_asks_and_is_told() {
    let room = room();
    let guard = Guard::of(&room, &["--http"]);
    let door = format!("{}/beekeeper", issuer(&room));
    let away = guard.asked("/tickets/7?seat=a", &[]);
    assert!(
        away.header("set-cookie")
            .is_some_and(|set| set.starts_with("bk_demo_guard=") && !set.contains("Secure"))
    );
    assert_eq!((away.status, away.location()), (302, &*door));
    let away_for_nginx = guard.asked_at("/auth-request", "/tickets/7", &[]);
    assert_eq!((away_for_nginx.status, away_for_nginx.header("location")), (401, None));
    assert_eq!(away_for_nginx.header("x-beekeeper-location"), Some(&*door));
    let (away, pass) = (cookie(&away), pass(&room));
    let exchanged = guard.asked(&format!("/sale?bk_pass={pass}"), &[("Cookie", &away)]);
    assert_eq!((exchanged.status, exchanged.location()), (302, "/tickets/7?seat=a"));
    let session = cookie(&exchanged);
    for path in ["/forward-auth", "/auth-request"] {
        let inside = guard.asked_at(path, "/tickets/7", &[("Cookie", &session), ("X-Beekeeper-Number", "1")]);
        assert_eq!((inside.status, inside.header("set-cookie")), (200, None));
        assert_eq!(inside.header("x-beekeeper-subject").map(str::len), Some(64));
        assert_eq!(inside.header("x-beekeeper-number"), Some(""), "nobody waited, and that is said");
    }
    let not_ascii = guard.asked("/tickets/zürich", &[("Cookie", &session)]);
    assert_eq!(not_ascii.status, 200, "nginx passes on what a visitor sent");

    let client = Client::new(&guard.listens, "demo");
    for headers in [
        &[][..],
        &[("X-Forwarded-Uri", "/")],
        &[("X-Forwarded-Method", "GET")],
        &[("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/"), ("X-Forwarded-Uri", "/static/")],
    ] {
        let unclear = client.send("GET", "/forward-auth", headers);
        assert_eq!(unclear.status, 500, "{headers:?}");
        assert!(
            unclear.body.contains("must send X-Forwarded-Method and X-Forwarded-Uri"),
            "{}",
            unclear.body
        );
    }
    assert_eq!(client.get("/").status, 404);
}

/// nginx shows no body of an answer to `auth_request`, and asks for it afterwards.
#[test]
fn a_refusal_says_what_the_request_was_refused_for() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let client = Client::new(&guard.listens, "demo");
    for (headers, expected) in [
        (&[("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")][..], "Please wait in line first.\n"),
        (&[("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], "Open the shop in its own window"),
        (&[("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")], "open in another browser"),
    ] {
        let refused = client.send("GET", "/refused", headers);
        assert!(refused.status == 403 && refused.body.contains(expected), "{headers:?}: {refused:?}");
    }
}

#[test]
fn upstream_addresses_never_come_from_a_request() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let door = format!("{}/beekeeper", issuer(&room));
    let headers = [
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "gopher"),
        ("Forwarded", "host=evil.example"),
        ("X-Original-URL", "https://evil.example/"),
    ];
    let away = guard.asked("https://evil.example/", &headers);
    assert_eq!(away.location(), door);
    let arrival = format!("https://evil.example/?bk_pass={}", pass(&room));
    let exchanged = guard.asked(&arrival, &[("Cookie", &cookie(&away))]);
    assert_eq!(exchanged.location(), "/");
}

#[test]
fn sessions_outlive_a_restart_of_the_guard() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let arrival = format!("/?bk_pass={}", pass(&room));
    let session = cookie(&guard.asked(&arrival, &[]));
    let directory = guard.terminate();
    let guard = Guard::start(&issuer(&room), directory, &[]);
    assert_eq!(guard.asked("/", &[("Cookie", &session)]).status, 200);
    std::thread::sleep(Duration::from_secs(4));
    let replayed = guard.asked(&arrival, &[]);
    assert_eq!((replayed.status, replayed.location()), (302, &*format!("{}/beekeeper", issuer(&room))));
    let another = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
        .args(["guard", "demo", "--listen", "0", "--room", &issuer(&room), "--data"])
        .arg(guard.directory.path())
        .output()
        .unwrap();
    let error = text(&another.stderr);
    assert!(error.starts_with("error: another guard uses "), "{error}");
}

/// By an answer that nginx keeps under anything else, somebody without a session would get in.
#[test]
fn nginx_may_keep_an_answer_under_the_session_that_let_the_visitor_in_alone() {
    let room = room();
    let guard = Guard::of(&room, &["--http", "--bypass-path", "/static/"]);
    let enter = || cookie(&guard.asked(&format!("/?bk_pass={}", pass(&room)), &[]));
    let (session, of_another) = (enter(), enter());
    let made_up = "bk_demo_guard=session.made-up";
    let both = format!("{made_up}; {session}");
    let is_kept = |path: &str, target: &str, text: &str| {
        let headers = [("Cookie", &*both), ("X-Beekeeper-Cached-As", text)];
        let answer = guard.asked_at(path, target, &headers);
        assert_eq!(answer.status, 200, "{text}");
        answer.header("x-accel-expires").is_some()
    };
    assert!(is_kept("/auth-request", "/", &session));
    let value = session.strip_prefix("bk_demo_guard=").unwrap();
    for text in [made_up, &both, &of_another, value, &format!("{session}A"), ""] {
        assert!(!is_kept("/auth-request", "/", text), "{text}");
    }
    assert!(!is_kept("/auth-request", "/static/a.css", &session), "it needs no session");
    assert!(!is_kept("/forward-auth", "/", &session), "Traefik and Caddy keep nothing");
}

#[test]
fn what_bypasses_is_configured() {
    let room = room();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "x-shop-secret: 0123456789abcdef0123456789abcdef\n").unwrap();
    let guard = Guard::of(
        &room,
        &[
            "--bypass-path",
            "/static/",
            "--bypass-method",
            "options",
            "--bypass-network",
            "10.0.0.0/8",
            "--trust-proxy",
            "127.0.0.1",
            "--bypass-header",
            secret.to_str().unwrap(),
        ],
    );
    let status = |target: &str, headers: &[(&str, &str)]| guard.asked(target, headers).status;
    assert_eq!(status("/static/a.css", &[]), 200);
    assert_eq!(status("/static/../a", &[]), 302);
    assert_eq!(status("/", &[("X-Forwarded-For", "10.1.2.3")]), 200);
    assert_eq!(
        status("/", &[("X-Forwarded-For", "10.1.2.3, 203.0.113.9")]),
        302,
        "the browser wrote the first"
    );
    assert_eq!(status("/", &[("X-Shop-Secret", "0123456789abcdef0123456789abcdef")]), 200);
    assert_eq!(status("/", &[("X-Shop-Secret", "0123456789abcdef")]), 302);
    let preflight = [("X-Forwarded-Method", "OPTIONS"), ("X-Forwarded-Uri", "/order")];
    assert_eq!(Client::new(&guard.listens, "demo").send("GET", "/forward-auth", &preflight).status, 200);
    let metrics = Client::new(&guard.metrics, "demo").get("/metrics").body;
    assert!(metrics.contains("beekeeper_guard_requests_total{outcome=\"bypassed\"} 4\n"), "{metrics}");
}

#[test]
fn keys_can_be_given() {
    let room = room();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    fs::write(&file, Client::new(&room.base(), "demo").get("/.well-known/jwks.json").body).unwrap();
    let guard = Guard::of(&room, &["--keys", file.to_str().unwrap()]);
    let arrival = format!("/?bk_pass={}", pass(&room));
    drop(room);
    assert_eq!(guard.asked(&arrival, &[]).location(), "/", "without a room");
}
