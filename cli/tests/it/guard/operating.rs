//! A guard and its operator: flags, mistakes, monitoring.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http_contract::{Client, RoomUnderTest};
use pass::Discovery;
use tempfile::{NamedTempFile, TempDir};

use super::fixture::{Guard, cookie, issuer, pass, room};
use crate::hosting::{GUARD_SERVICE, shipped_flags};
use crate::support::{Home, eventually, text, web_server, web_server_with_bodies};

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
    let url = issuer(&room);
    let (code, error) = home.refused(&["guard", "summer", "--listen", "0", "--room", &url]);
    assert_eq!(code, 1);
    let expected = format!(
        "error: the room at {url} is demo, not summer, and so are its passes\nhint: start the guard with that name: beekeeper guard demo --room {url}\n"
    );
    assert_eq!(error, expected);
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

#[test]
fn certificates_that_were_named_are_not_replaced_by_others() {
    let guard = ["guard", "demo", "--listen", "0", "--room", "https://a.example"];
    let output = Home::new()
        .command(&guard)
        .env_remove("SSL_CERT_DIR")
        .env("SSL_CERT_FILE", "/nowhere/ca.pem")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    let expected = "error: the guard cannot ask the room: could not read the CA certificates of SSL_CERT_FILE=/nowhere/ca.pem: ";
    assert!(output.status.code() == Some(1) && said.starts_with(expected), "{said}");
}

/// A guard, and the file with what it logs.
fn guard_with_a_log(room: &str) -> (Guard, NamedTempFile) {
    guard_with_a_log_in(tempfile::tempdir().unwrap(), room)
}

fn guard_with_a_log_in(directory: TempDir, room: &str) -> (Guard, NamedTempFile) {
    let log = NamedTempFile::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.stderr(File::options().append(true).open(log.path()).unwrap());
    (Guard::started(command, room, directory, &[]), log)
}

/// First it is not up, then it is another room, and then the right one. No visitor comes meanwhile.
#[test]
fn a_guard_that_started_before_its_room_finds_out_whose_it_is() {
    let real = room();
    let keys = Client::new(&real.base(), "demo").get("/.well-known/jwks.json").body;
    let (stage, here) = (Arc::new(AtomicUsize::new(0)), Arc::new(OnceLock::new()));
    let (is_at, issuer, told) = (stage.clone(), here.clone(), AtomicUsize::new(0));
    let url = web_server_with_bodies(move |path| {
        let stage = is_at.load(Ordering::SeqCst);
        let name = ["", "other", "demo"][stage];
        let discovery = Discovery::of(issuer.get().cloned().unwrap_or_default(), name);
        let asks_for_keys = path == "/.well-known/jwks.json";
        // The guard asks for both at once, and takes the keys of a room that doesn't say its name.
        if stage == 0 || (asks_for_keys && told.load(Ordering::SeqCst) != stage) {
            ("503 Service Unavailable", String::new())
        } else if asks_for_keys {
            ("200 OK", keys.clone())
        } else {
            told.store(stage, Ordering::SeqCst);
            ("200 OK", serde_json::to_string(&discovery).unwrap())
        }
    });
    here.set(url.clone()).unwrap();
    let (guard, log) = guard_with_a_log(&url);
    let logged = |text: &str| fs::read_to_string(log.path()).unwrap().contains(text);
    let health = || Client::new(&guard.metrics, "demo").get("/healthz");
    assert!(logged("status 503") && logged("no new visitor can enter until the room answers"));
    let runs = format!("The guard of demo runs, but lets nobody new in until the room answers at {url}\n");
    assert!(guard.greeting.starts_with(&runs), "{}", guard.greeting);
    assert_eq!(health().status, 503);
    stage.store(1, Ordering::SeqCst);
    eventually("the log names the room", || logged(&format!("the room at {url} is other, not demo")));
    assert_eq!(health().status, 503, "nobody can enter with the passes of another room");
    stage.store(2, Ordering::SeqCst);
    eventually("the guard has the room's keys", || health().status == 200);
}

#[test]
fn a_room_that_does_not_say_its_name_is_not_checked() {
    let real = room();
    let keys = Client::new(&real.base(), "demo").get("/.well-known/jwks.json").body;
    let url = web_server_with_bodies(move |path| match path {
        "/.well-known/jwks.json" => ("200 OK", keys.clone()),
        _ => ("404 Not Found", String::new()),
    });
    let (guard, log) = guard_with_a_log(&url);
    let warned = fs::read_to_string(log.path()).unwrap();
    assert!(warned.contains(&format!("the room at {url} does not say its name")), "{warned}");
    assert_eq!(Client::new(&guard.metrics, "demo").get("/healthz").status, 200);
}

/// What is at the room's URL meanwhile would end a first start, or hold it up.
#[test]
fn a_guard_that_starts_again_lets_in_whoever_has_a_session() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let session = cookie(&guard.asked(&format!("/?bk_pass={}", pass(&room)), &[]));
    let mut directory = guard.terminate();
    let other_issuer = "says that its URL is";
    for (url, warning) in [(web_server(|_| "404 Not Found"), "status 404"), (room.base(), other_issuer)] {
        let (guard, log) = guard_with_a_log_in(directory, &url);
        assert_eq!(guard.asked("/", &[("Cookie", &session)]).status, 200, "{url}");
        let logged = fs::read_to_string(log.path()).unwrap();
        assert!(logged.contains(warning) && logged.contains("no new visitor can enter"), "{logged}");
        directory = guard.terminate();
    }

    // It takes connections, and answers none.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let port = emulators::free_port().unwrap().to_string();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
        .args(["guard", "demo", "--listen", &port, "--room", &url, "--data"])
        .arg(directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    eventually("the guard listens", || TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    let headers = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/"), ("Cookie", &*session)];
    let answer =
        Client::new(&format!("http://127.0.0.1:{port}"), "demo").send("GET", "/forward-auth", &headers);
    guard.kill().unwrap();
    guard.wait().unwrap();
    assert_eq!(answer.status, 200);
    // It would take ten to find out that the room is silent.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
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
    for flag in flags.filter(|flag| !["--json", "--log", "--yes", "--help", "--version"].contains(flag)) {
        assert!(documented.contains(&format!("`{flag}")), "{flag} in docs/guard.md");
    }
}

/// Its room does not answer, and is another than the one in the file.
#[test]
fn the_units_command_starts_a_guard() {
    let flags = shipped_flags(GUARD_SERVICE, "guard");
    let nobody = "http://127.0.0.1:1";
    let guard = Guard::start(nobody, tempfile::tempdir().unwrap(), &["--config", &flags]);
    let health = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
        .args(["health", "--url", &format!("{}/healthz", guard.metrics)])
        .output()
        .unwrap();
    let said = text(&health.stderr);
    assert!(
        health.status.code() == Some(1) && said.contains("answers 503: no key of the room is known"),
        "{said}"
    );
    guard.terminate();
}
