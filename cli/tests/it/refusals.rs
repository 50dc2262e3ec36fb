//! What an operator sees of a room that refuses visitors.

use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::{fs, iter};

use http_contract::{Client, RoomUnderTest};
use serde_json::Value;

use crate::hosting::within;
use crate::support::{Local, operate, text};

fn status(directory: &Path, more: &[&str]) -> String {
    let output = operate(directory, &[&["status", "--local"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn status_json(directory: &Path) -> Value {
    serde_json::from_str(&status(directory, &["--json"])).unwrap()
}

fn door(client: &Client) -> u16 {
    client.get("/beekeeper").status
}

#[test]
fn a_full_disk_is_in_the_status_until_visitors_join_again() {
    let room = Local::start_on_small_disk(&[]);
    let client = Client::new(&room.base(), "demo");
    assert_eq!(door(&client), 302);
    let before = status_json(&room.disk());
    assert_eq!((before.get("refusals"), before.get("limited")), (None, None));

    let ballast = room.disk().join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    // Some joins still fit into pages of the file that were used before.
    assert!((0..20_000).any(|_| door(&client) == 503), "nobody was refused");
    let refused = 1 + iter::repeat_with(|| door(&client)).take(20).filter(|status| *status == 503).count();

    let health = operate(&room.disk(), &["health"]);
    let said = text(&health.stderr);
    assert!(
        health.status.code() == Some(1) && said.contains("cannot write to its file, so nobody can join"),
        "{said}"
    );
    let json = status_json(&room.disk());
    let refusals = &json["refusals"];
    assert!(refusals["requests"].as_u64() >= Some(refused as u64), "{refused} refused: {refusals}");
    assert!(refusals["since"].as_u64() > Some(1_700_000_000_000), "{refusals}");
    let why = format!("the disk of {} is full: free some space", room.directory.path().display());
    assert!(refusals["reason"].as_str().unwrap().contains(&why), "{refusals}");
    assert_eq!(json.get("limited"), None, "no address took too many places");
    let text = status(&room.disk(), &[]);
    let line =
        text.lines().find(|line| line.starts_with("refused        ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(" at the door in the last two minutes, since ") && line.contains(&why), "{line}");

    fs::remove_file(&ballast).unwrap();
    // It is over ten seconds after the last refusal.
    within(Duration::from_secs(100), "visitors join, and the status says so", || {
        door(&client) == 302 && status_json(&room.disk()).get("refusals").is_none()
    });
}

#[test]
fn places_that_the_join_limit_refuses_are_no_failure() {
    let room = Local::start(&["--trust-proxy", "127.0.0.1", "--join-limit", "1"]);
    let client = Client::new(&room.base(), "demo");
    let visit = || client.send("GET", "/beekeeper", &[("X-Forwarded-For", "203.0.113.9")]).status;
    assert_eq!([visit(), visit(), visit()], [302, 429, 429]);
    let directory = room.directory.path();
    let json = status_json(directory);
    assert_eq!((json.get("refusals"), &json["limited"]["requests"]), (None, &2.into()));
    let text = status(directory, &[]);
    let expected = "join limit     2 refused in the last two minutes, since ";
    let line = text.lines().find(|line| line.starts_with(expected)).unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with(": 203.0.113.9 took as many places as --join-limit allows"), "{line}");
}
