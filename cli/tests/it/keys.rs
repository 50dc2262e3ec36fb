//! `beekeeper keys`.

use http_contract::{Client, RoomUnderTest};
use serde_json::Value;

use crate::support::{Local, awaited, text};

fn keys(room: &Local, arguments: &[&str]) -> Vec<Value> {
    let output = room.command(&[&["keys", arguments[0], "--local", "--json"], &arguments[1..]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The exit code, and the error.
fn refused(room: &Local, arguments: &[&str]) -> (i32, String) {
    let output = room.command(arguments);
    (output.status.code().unwrap(), text(&output.stderr))
}

fn published(room: &Local) -> Vec<String> {
    let keys = Client::new(&room.base(), "demo").get("/.well-known/jwks.json").json();
    keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_key_is_published_for_as_long_as_the_operator_wants_before_it_signs() {
    let room = Local::start(&["--rate", "60"]);
    let (code, error) = refused(&room, &["keys", "rotate", "--local", "--lead-time", "5m"]);
    assert_eq!((code, error.contains("must be from 6m to 1d")), (2, true), "{error}");
    let output = room.command(&["keys", "rotate", "--local", "--lead-time", "2h"]);
    assert!(text(&output.stderr).contains("signs with it 120 minutes later"), "{}", text(&output.stderr));
    // The next pass makes the key. A room that is off gives everybody one.
    assert!(room.command(&["off", "--local"]).status.success());
    let visitor = Client::new(&room.base(), "demo");
    let ask = || {
        visitor.get("/beekeeper");
        keys(&room, &["list"])
    };
    let listed = awaited("there are two", ask, |listed| listed.len() == 2);
    let [signing, next] = &*listed else { panic!("{listed:?}") };
    assert_eq!((&signing["state"], &next["state"]), (&"signing".into(), &"next".into()));
    let millis = |key: &Value, field: &str| key[field].as_u64().unwrap();
    assert_eq!(millis(next, "signs_from") - millis(next, "since"), 2 * 60 * 60 * 1000);
    assert_eq!(published(&room).len(), 2, "shops can read it already");
}

#[test]
fn keys_are_listed_rotated_and_dropped_and_that_is_not_taken_back() {
    let room = Local::start(&["--rate", "60"]);
    let first = keys(&room, &["list"]);
    let id = first[0]["id"].as_str().unwrap().to_owned();
    assert_eq!((first.len(), &first[0]["state"]), (1, &"signing".into()));
    assert_eq!(published(&room), std::slice::from_ref(&id));

    let output = room.command(&["keys", "rotate", "--local"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with(&format!("{id}  since ")), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("another key was asked for"), "{}", text(&output.stderr));
    let (code, error) = refused(&room, &["keys", "rotate", "--local"]);
    assert_eq!((code, error.contains("is changing to another key already")), (1, true), "{error}");
    let (code, error) = refused(&room, &["undo", "--local"]);
    assert_eq!((code, error.contains("because it changed the keys")), (1, true), "{error}");

    let (code, error) = refused(&room, &["keys", "drop", "--local", "nothing"]);
    assert_eq!((code, error.contains("publishes no key whose id begins with nothing")), (1, true), "{error}");
    // One id in 64 begins with a hyphen, which looks like a flag.
    let typed = id.trim_start_matches('-');
    let (code, error) = refused(&room, &["keys", "drop", "--local", &typed[..10]]);
    assert_eq!((code, error.contains("signs the passes of demo")), (6, true), "{error}");
    assert_eq!(published(&room)[0], id, "nobody confirmed it");
    assert!(keys(&room, &["drop", typed, "--yes"]).iter().all(|key| key["id"] != id.as_str()));
    assert!(!published(&room).contains(&id));

    let history = text(&room.command(&["history", "--local"]).stdout);
    let lines: Vec<_> = history.lines().collect();
    assert!(lines[0].ends_with(&format!("keys: rotated, from {id}")), "{history}");
    assert!(lines[1].ends_with(&format!("keys: dropped {id}")), "{history}");
}

#[test]
fn another_key_for_the_guards_is_asked_about() {
    let room = Local::start(&["--active-visitors", "5"]);
    let order = ["keys", "guard", "--local"];
    let made = |arguments: &[&str]| {
        let output = room.command(arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    let first = made(&order);
    let (code, error) = refused(&room, &order);
    assert_eq!((code, error.contains("the guards of demo would report nothing until")), (6, true), "{error}");
    let report = |key: &str| {
        let headers = [("Beekeeper-Key", key), ("Content-Length", "0")];
        Client::new(&room.base(), "demo").send("POST", "/guard", &headers).status
    };
    assert_eq!(report(&first), 400, "the room still knows the key, and reads what it comes with");
    let second = made(&[&order[..], &["--yes"]].concat());
    assert_eq!([report(&first), report(&second)], [401, 400]);
}
