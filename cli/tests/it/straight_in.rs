//! A room in which newcomers go straight in: while nobody waits, or all of them.

use std::fs;
use std::thread;
use std::time::Duration;

use emulators::console;
use http_contract::Client;

use crate::crowd::{ask, authority};
use crate::support::{Local, even_on_a_busy_machine, eventually, operate, text};

/// Whether the door sent this newcomer to the shop.
fn goes_straight_in(client: &Client) -> bool {
    client.newcomer(&[]).location().contains("bk_pass=")
}

#[test]
fn newcomers_go_straight_in_until_too_many_come_and_again_once_the_line_is_gone() {
    even_on_a_busy_machine(straight_in_until_too_many_come);
}

/// Where 300 requests take as long as two of its minutes, the line may be gone again meanwhile.
fn straight_in_until_too_many_come() {
    let room = Local::start(&["--mode", "overflow", "--rate", "60"]);
    let client = Client::new(&room.url, "demo");
    // A process that has just begun lets nobody in for a moment.
    eventually("the first permit", || goes_straight_in(&client));

    thread::sleep(Duration::from_millis(200));
    let entered = client.newcomer(&[]);
    assert!(entered.location().contains("bk_pass="), "{entered:?}");
    let place = client.cookie(&entered);
    assert_eq!(client.get_with("/polling", &place).json()["allow"], true);
    assert_eq!(client.get_with("/client", &place).json()["allow"], true);
    assert!(client.get_with("/beekeeper", &place).location().contains("bk_pass="), "they may come again");
    let known = room.status();
    assert_eq!(
        (&known["room"]["settings"]["mode"], &known["line"]["waiting"]),
        (&"overflow".into(), &0.into())
    );
    assert_eq!(known["joined"], known["released"], "they count");
    let told = text(&room.command(&["status", "--local"]).stdout);
    assert!(told.contains("overflow: newcomers go straight in\n"), "{told}");

    let (crowd, _) = ask(&authority(&room), "/beekeeper", 300);
    let straight = crowd.iter().filter(|place| place.ticket.get() == 1).count();
    assert!(straight < 150, "{straight} of 300 who came at once went straight in");
    let told = text(&room.command(&["status", "--local"]).stdout);
    assert!(told.contains("overflow: a line has formed"), "{told}");
    eventually("everybody was let in", || room.status()["line"]["waiting"] == 0);
    eventually("the line is gone", || goes_straight_in(&client));
    for place in crowd {
        let cookie = format!("bk_demo={place}");
        assert_eq!(client.get_with("/polling", &cookie).json()["allow"], true, "{place:?} got in");
    }
}

#[test]
fn the_mode_can_be_changed_while_the_room_runs_and_taken_back() {
    let room = Local::start(&[]);
    let client = Client::new(&room.url, "demo");
    assert!(!goes_straight_in(&client), "everybody waits in line at first");
    let said = text(&room.command(&["mode", "--local", "overflow"]).stdout);
    assert!(said.starts_with("mode: line -> overflow"), "{said}");
    eventually("straight in", || goes_straight_in(&client));
    let said = text(&room.command(&["mode", "--local", "line"]).stdout);
    assert!(said.starts_with("mode: overflow -> line"), "{said}");
    eventually("in line", || !goes_straight_in(&client));
    let said = text(&room.command(&["undo", "--local"]).stdout);
    assert!(said.starts_with("mode: line -> overflow"), "{said}");
    let said = text(&room.command(&["rehearse", "--local", "--visitors", "5", "--yes"]).stderr);
    assert!(said.contains("a rehearsal is of the line: order `beekeeper mode line` first"), "{said}");
    let said = text(&room.command(&["mode", "--local", "queue"]).stderr);
    assert!(said.contains("a mode is line, overflow or observe"), "{said}");
}

#[test]
fn everybody_passes_a_room_that_observes_and_it_says_what_the_line_would_have_been() {
    let room = Local::start(&["--rate", "60", "--minute", "60s"]);
    let client = Client::new(&room.url, "demo");
    let waits = client.cookie(&client.newcomer(&[]));
    let said = text(&room.command(&["mode", "--local", "observe", "--yes"]).stdout);
    assert!(said.starts_with("mode: line -> observe; within seconds, everybody passes"), "{said}");
    eventually("nobody waits", || goes_straight_in(&client));
    assert_eq!(
        client.get_with("/polling", &waits).json()["allow"],
        true,
        "the page of who waits goes to the door"
    );
    assert!(client.get_with("/beekeeper", &waits).location().contains("bk_pass="));
    let asked = room.command(&["status", "--local"]);
    let told = text(&asked.stdout);
    assert!(
        told.contains("observe: everybody passes. In the last hour, nobody would have waited\n"),
        "{told}{}",
        text(&asked.stderr)
    );

    // Ten times what a minute releases.
    let (passed, _) = ask(&authority(&room), "/beekeeper", 600);
    assert!(passed.iter().all(|place| place.ticket.get() == 1), "somebody got a number in line");
    let known = room.status();
    assert_eq!(known["line"]["waiting"], 0);
    let counted = |name: &str| known[name].as_u64().unwrap();
    assert!(
        counted("joined") - counted("released") <= 1,
        "who stood in line counts as released only if it was their turn"
    );
    let observed = |name: &str| known["observed"][name].as_u64().unwrap();
    assert!((540..600).contains(&observed("waited")), "{known}");
    assert!(
        (540..600).contains(&observed("longest_line")) && (540..600).contains(&observed("longest_wait")),
        "{known}"
    );
    assert!((600..610).contains(&observed("busiest")), "{known}");
    let told = text(&room.command(&["status", "--local"]).stdout);
    assert!(
        told.contains(" would have waited\n") && told.contains("would have waited longer than a minute\n"),
        "{told}"
    );
    let said = text(&room.command(&["close", "--local", "--after", "5", "--yes"]).stderr);
    assert!(said.contains("first let them wait: `beekeeper mode line`"), "{said}");

    let said = text(&room.command(&["undo", "--local"]).stdout);
    assert!(said.starts_with("mode: observe -> line"), "{said}");
    eventually("in line", || !goes_straight_in(&client));
    for place in passed.into_iter().step_by(50) {
        let cookie = format!("bk_demo={place}");
        assert_eq!(client.get_with("/client", &cookie).json()["allow"], true, "{place:?} may come back");
    }

    // What was counted since the last minute is written down as it stops.
    let (directory, _) = room.interrupt();
    let report = text(&operate(directory.path(), &["report", "--local", "--since", "1h"]).stdout);
    assert!(report.contains("would-be line") && report.contains("would have waited"), "{report}");
    let report = text(&operate(directory.path(), &["report", "--local", "--since", "1h", "--json"]).stdout);
    let summary = &serde_json::from_str::<serde_json::Value>(&report).unwrap()["summary"]["observed"];
    assert!((540..600).contains(&summary["waited"].as_u64().unwrap()), "{summary}");
}

/// Each command of docs/observe.md.
#[test]
fn the_documentation_shows_what_changing_the_mode_prints() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observe.md")).unwrap();
    let room = Local::start(&[]);
    let commands = console::commands(&guide);
    for (command, told) in &commands {
        let words = console::words(command.strip_prefix("beekeeper ").unwrap());
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let said = text(&room.command(&words).stdout);
        assert!(console::is_as_told(&said, told), "paste into docs/observe.md:\n$ {command}\n{said}");
    }
    assert_eq!(commands.len(), 2);
}
