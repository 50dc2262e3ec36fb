//! A room that doesn't run: its file tells what the room would, and stays as it was.

use std::fs;
use std::path::Path;
use std::time::Duration;

use embedded::EmbeddedStore;
use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Local, operate, text};

const VISITORS: usize = 7;

/// A room in which so many wait, and one order was given.
fn busy_room() -> Local {
    let room = Local::start(&["--rate", "60", "--minute", "1m"]);
    room.order(Order::Pause);
    let client = Client::new(&room.base(), "demo");
    (0..VISITORS).for_each(|_| drop(client.join()));
    room
}

fn file(directory: &TempDir) -> Vec<u8> {
    fs::read(directory.path().join(EmbeddedStore::FILE)).unwrap()
}

fn json(directory: &TempDir, arguments: &[&str]) -> Value {
    let output = operate(directory.path(), &[arguments, &["--local", "--json"]].concat());
    let said = text(&output.stderr);
    assert!(
        output.status.success() && said.contains("demo isn't running; this is how it stood at 20"),
        "{said}"
    );
    // Of a history the last line: a room that ran over the end of a minute has two.
    let printed = text(&output.stdout);
    let last = printed.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

fn assert_tells_everything(directory: &TempDir) {
    let before = file(directory);
    let status = json(directory, &["status"]);
    assert_eq!((&status["line"]["waiting"], &status["room"]["state"]), (&VISITORS.into(), &"paused".into()));
    assert!(status["stopped_at"].as_u64().unwrap() > 1_600_000_000_000, "{status}");
    let shown = text(&operate(directory.path(), &["status", "--local"]).stdout);
    assert!(
        shown.contains("(demo), not running since 20") && shown.contains(" UTC, when it was paused\n"),
        "{shown}"
    );
    let order = json(directory, &["history"]);
    assert_eq!((&order["what"], &order["to"]), (&"state".into(), &"paused".into()));

    let copy = directory.path().join("copy.redb");
    let copied = json(directory, &["backup", copy.to_str().unwrap()]);
    assert_eq!((&copied["waiting"], &copied["stopped_at"]), (&VISITORS.into(), &status["stopped_at"]));
    let (copied, _) = EmbeddedStore::look_at(&copy).unwrap();
    assert_eq!(copied.status().waiting, VISITORS as u64);
    let exists = operate(directory.path(), &["backup", "--local", copy.to_str().unwrap()]);
    assert!(text(&exists.stderr).contains("a backup never overwrites a file"), "{}", text(&exists.stderr));
    assert_eq!(file(directory), before, "nothing was written");

    // An order needs a room that runs.
    for order in [&["set-rate", "600"][..], &["off"], &["reset", "--yes"], &["undo"], &["status", "--watch"]]
    {
        let refused = operate(directory.path(), &[order, &["--local"]].concat());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{order:?}: {said}");
        assert!(
            said.contains("no room runs in")
                && said.contains("start it as before, such as: beekeeper local --config"),
            "{said}"
        );
    }
}

#[test]
fn a_stopped_room_tells_how_it_stood() {
    let (directory, _) = busy_room().interrupt();
    assert_tells_everything(&directory);
    // Ctrl-C wrote the record of the last minute.
    let report = json(&directory, &["report"]);
    assert_eq!(report["summary"]["joined"], VISITORS);
    assert_eq!(report["stopped_at"], json(&directory, &["status"])["stopped_at"]);
    let shown = text(&operate(directory.path(), &["report", "--local"]).stdout);
    assert!(shown.contains("The room wasn't running: this is how it stood at 20"), "{shown}");
    let minute = json(&directory, &["history", "--minutes"]);
    assert_eq!(minute["joined"], VISITORS);
    let room = Local::start_in(directory, &[]);
    let status = room.status();
    assert_eq!(status.get("stopped_at"), None, "{status}");
}

/// Its file has to be repaired before it can be read.
#[test]
fn a_killed_room_tells_how_it_stood() {
    assert_tells_everything(&busy_room().kill());
}

#[test]
fn a_room_that_starts_while_its_file_is_read_waits_a_moment() {
    let directory = busy_room().kill();
    let looks =
        [(); 2].map(|()| EmbeddedStore::look_at(&directory.path().join(EmbeddedStore::FILE)).unwrap());
    let starting = std::thread::spawn(move || Local::start_in(directory, &[]));
    std::thread::sleep(Duration::from_millis(300));
    assert!(!starting.is_finished(), "the file is taken");
    drop(looks);
    let room = starting.join().unwrap();
    let second = operate(room.directory.path(), &["local", "--port", "0"]);
    assert!(text(&second.stderr).contains("runs already"), "{}", text(&second.stderr));
}

#[test]
fn a_file_that_is_no_room_is_named() {
    let said = |directory: &Path, arguments: &[&str]| {
        let output = operate(directory, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        text(&output.stderr)
    };
    for content in ["", "beekeeper", &"beekeeper ".repeat(10_000)] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(EmbeddedStore::FILE);
        fs::write(&file, content).unwrap();
        let copy = directory.path().join("copy.redb");
        for arguments in [
            &["status", "--local"][..],
            &["report", "--local"],
            &["backup", "--local", copy.to_str().unwrap()],
        ] {
            let said = said(directory.path(), arguments);
            assert!(said.contains("room.redb is not the file of a room"), "{said}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
        assert!(!copy.exists());
    }
    let directory = busy_room().kill();
    let said = operate(directory.path(), &["status", "other", "--local"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("holds the room demo, not other"), "{}", text(&said.stderr));
}
