//! A guard and its operator: flags, mistakes, monitoring.

use http_contract::{Client, RoomUnderTest};

use super::fixture::{Guard, cookie, issuer, pass, room};
use crate::support::{Home, web_server};

#[test]
fn monitoring_says_whether_passes_can_be_verified() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let monitor = Client::new(&guard.metrics, "demo");
    assert_eq!(monitor.get("/healthz").body, "ok\n");
    let arrival = format!("/?bk_pass={}", pass(&room));
    let session = cookie(&guard.asked(&arrival, &[]));
    guard.asked("/", &[("Cookie", &session)]);
    guard.asked("/", &[]);
    let metrics = monitor.get("/metrics");
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "beekeeper_guard_requests_total{outcome=\"exchanged\"} 1",
        "beekeeper_guard_requests_total{outcome=\"entered\"} 1",
        "beekeeper_guard_requests_total{outcome=\"sent\"} 1",
        "beekeeper_guard_seconds_count 3",
        "beekeeper_guard_sessions 1",
        "beekeeper_guard_keys 1",
        "beekeeper_guard_open 0",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line} in {}", metrics.body);
    }
    let silent = tempfile::tempdir().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let guard = Guard::start(&format!("http://{nobody}"), silent, &[]);
    let unhealthy = Client::new(&guard.metrics, "demo").get("/healthz");
    assert_eq!(unhealthy.status, 503);
    assert!(unhealthy.body.starts_with("no key of the room is known"), "{}", unhealthy.body);
}

#[test]
fn mistakes_are_explained() {
    let home = Home::new();
    let room = room();
    let shop = web_server(|_| "404 Not Found");
    let refused =
        |arguments: &[&str]| home.refused(&[&["guard", "demo", "--listen", "0"], arguments].concat());
    let base = room.base();
    let (code, error) = refused(&["--room", &base]);
    assert_eq!(code, 1);
    let expected = format!(
        "error: the room at {base} says that its URL is {0}, and its passes say so too\nhint: start the guard with --room {0}\n",
        issuer(&room)
    );
    assert_eq!(error, expected);
    let (code, error) = refused(&["--room", &shop]);
    assert_eq!(code, 1);
    assert!(
        error.starts_with(
            "error: could not fetch the room's keys; check --room: the room answered with status 404 at "
        ),
        "{error}"
    );
    let missing = home.config_file("no-keys");
    for (arguments, expected) in [
        (&["--room", "wait.example"][..], "not a URL"),
        (&["--room", "https://wait.example/beekeeper"], "without /beekeeper"),
        (&["--room", "https://a.example", "--bypass-path", "/"], "/ is every path of the shop"),
        (&["--room", "https://a.example", "--bypass-network", "10.0.0.0/8"], "--trust-proxy <ADDRESS>"),
        (
            &["--room", "https://a.example", "--bypass-network", "::/0", "--trust-proxy", "::1"],
            "is everybody",
        ),
        (&["--room", "https://a.example", "--idle", "5s"], "must be from 1m to 1d"),
        (&["--room", "https://a.example", "--open-after", "5m", "--keys", "x"], "cannot be used with"),
    ] {
        let (code, error) = refused(arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let (code, error) = refused(&["--room", "https://a.example", "--keys", missing.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(error.starts_with("error: could not read the keys in ~/"), "{error}");
}

/// The commands of the table of docs/guard.md are those of the command line.
#[test]
fn every_flag_is_documented() {
    let documented = include_str!("../../../../docs/guard.md");
    let help = Home::new().printed(&["guard", "--help"]);
    let flags = help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
        .map(|word| word.trim_end_matches([',', ';', '.', ':']));
    for flag in flags.filter(|flag| !["--json", "--log", "--help", "--version"].contains(flag)) {
        assert!(documented.contains(&format!("`{flag}")), "{flag} in docs/guard.md");
    }
}
