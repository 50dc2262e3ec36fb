//! `beekeeper history` and `beekeeper undo`.

use std::thread;

use emulators::console;
use http_contract::{Client, IN_FORCE, Order, RoomUnderTest};
use serde_json::Value;

use crate::support::{Local, text};

fn said(room: &Local, arguments: &[&str]) -> String {
    let output = room.command(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    console::without_seconds(&text(&output.stdout))
}

/// The exit code, and the error.
fn refused(room: &Local, arguments: &[&str]) -> (i32, String) {
    let output = room.command(arguments);
    (output.status.code().unwrap(), text(&output.stderr))
}

/// What an `undo` wants to know first.
fn asked_at_undo(room: &Local) -> String {
    let (code, error) = refused(room, &["undo", "--local"]);
    assert_eq!(code, 6, "{error}");
    error
}

/// The changes of the history, without time and user.
fn changes(room: &Local) -> Vec<String> {
    let history = said(room, &["history", "--local"]);
    history.lines().map(|line| line.split_whitespace().skip(4).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn undo_takes_back_order_by_order() {
    let room = Local::start(&["--rate", "60"]);
    let undo = ["undo", "--local"];
    let nothing = "error: the room demo has no order to take back; `beekeeper history` shows all orders\n";
    assert_eq!(refused(&room, &undo), (1, nothing.into()));
    said(&room, &["set-rate", "--local", "120", "--yes"]);
    said(&room, &["message", "--local", "Back soon"]);
    said(&room, &["stretch", "--local", "3"]);
    assert_eq!(said(&room, &undo), "stretch: 3 -> 1\n");
    assert_eq!(said(&room, &undo), "message: \"Back soon\" -> \"\"\n");
    assert_eq!(said(&room, &undo), "rate: 120 -> 60, in force in … s\n");
    assert_eq!(refused(&room, &undo), (1, nothing.into()));

    said(&room, &["pause", "--local"]);
    let reset =
        "error: the room demo cannot take back the last order, because it was a reset: the places are gone\n";
    said(&room, &["reset", "--local", "--yes"]);
    assert_eq!(refused(&room, &undo), (1, reset.into()));
    let mut changes = changes(&room);
    assert!(changes.pop().unwrap().starts_with("reset, epoch: "));
    let expected = [
        "rate: 60 -> 120",
        "message: \"\" -> \"Back soon\"",
        "stretch: 1 -> 3",
        "stretch: 3 -> 1 (undo)",
        "message: \"Back soon\" -> \"\" (undo)",
        "rate: 120 -> 60 (undo)",
        "room: on -> paused",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn history_says_who_and_when_and_survives_a_restart() {
    let room = Local::start(&["--rate", "60"]);
    let started = std::time::SystemTime::now();
    said(&room, &["off", "--local"]);
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &["--rate", "90"]);
    assert_eq!(changes(&room), ["room: on -> off", "rate: 60 -> 90"], "the rate of the command line too");
    let me = std::process::Command::new("id").arg("-un").output().unwrap();
    let history = said(&room, &["history", "--local", "--limit", "1"]);
    let words: Vec<_> = history.split_whitespace().collect();
    // Not every system has its users in /etc/passwd.
    let is_me = words[3] == text(&me.stdout).trim() || words[3] == "uid";
    assert!(words[2] == "UTC" && is_me, "{history}");
    assert!(history.lines().count() == 1 && history.contains("rate: 60 -> 90"), "{history}");

    let json = said(&room, &["history", "--local", "--json"]);
    let entries: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let values = ["what", "from", "to"].map(|name| entries[0][name].as_str().unwrap());
    assert_eq!((entries[0]["number"].as_u64(), values), (Some(1), ["state", "on", "off"]));
    let started = started.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert!(u128::from(entries[0]["at"].as_u64().unwrap()) >= started);
}

#[test]
fn an_undo_that_turns_the_room_off_asks_first_if_visitors_wait() {
    let room = Local::start(&["--rate", "1", "--minute", "60s"]);
    said(&room, &["off", "--local"]);
    said(&room, &["pause", "--local"]);
    // Until the first order is in force, somebody who joins a room without a line is released at once.
    thread::sleep(IN_FORCE);
    let client = Client::new(&room.base(), "demo");
    client.join();
    let error = asked_at_undo(&room);
    assert!(
        error.starts_with(
            "error: without a terminal, this needs --yes: 1 visitor waits in demo, and would enter within minutes\n"
        ),
        "{error}"
    );
    assert_eq!(said(&room, &["undo", "--local", "--yes"]), "room: paused -> off\n");
    room.order(Order::On);
}

#[test]
fn an_undo_of_an_end_asks_first_if_visitors_wait() {
    let room = Local::start(&["--rate", "1", "--minute", "60s"]);
    let client = Client::new(&room.base(), "demo");
    for _ in 0..3 {
        client.join();
    }
    said(&room, &["end", "--local", "--yes"]);
    let error = asked_at_undo(&room);
    assert!(
        error.contains(
            " in demo, which is ended; afterwards also those are let in who were told that it's over, "
        ),
        "{error}"
    );
    assert_eq!(said(&room, &["undo", "--local", "--yes"]), "room: ended -> on, in force in … s\n");
    // It lets nobody in.
    said(&room, &["pause", "--local"]);
    said(&room, &["end", "--local", "--yes"]);
    assert_eq!(said(&room, &["undo", "--local"]), "room: ended -> paused\n");
}

#[test]
fn an_undo_that_closes_the_room_asks_first() {
    let room = Local::start(&["--rate", "60"]);
    said(&room, &["close", "--local", "--yes"]);
    said(&room, &["on", "--local"]);
    let error = asked_at_undo(&room);
    assert!(error.contains("nobody new could join demo, which is on; nobody waits"), "{error}");
    said(&room, &["undo", "--local", "--yes"]);
    assert_eq!(changes(&room).pop().unwrap(), "room: on -> closed (undo)");
}
