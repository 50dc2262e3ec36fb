//! Runs every command of the README's first five minutes, and compares what it prints; and starts a room for a shop, as
//! docs/local.md does.

use std::process::Command;
use std::thread;
use std::time::Duration;

use emulators::console;
use http_contract::Client;

use crate::support::{Local, eventually, text};

const README: &str = include_str!("../../../README.md");
const LOCAL: &str = include_str!("../../../docs/local.md");
const OPERATOR: &str = "target/release/beekeeper ";

/// Hides what differs between runs: numbers, epochs, and alignment.
fn masked(output: &str) -> String {
    // The epoch first, because masked digits have no fixed length.
    let output = match output.split_once("\"epoch\":\"") {
        Some((before, after)) => format!("{before}\"epoch\":\"{}", after.get(4..).unwrap_or_default()),
        None => output.to_owned(),
    };
    // Whether a window is a minute depends on when the room was started.
    let lines: Vec<_> = output
        .lines()
        .map(|line| match line.split_once(" in ") {
            Some((window, _)) if line.contains("window ") => window,
            _ => line,
        })
        .collect();
    let output = lines.join("\n") + if output.ends_with('\n') { "\n" } else { "" };
    let mut masked: String = output.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    while masked.contains("00") {
        masked = masked.replace("00", "0");
    }
    masked
}

#[test]
#[ignore = "takes a minute: cargo xtask test beekeeper"]
fn the_first_five_minutes_print_what_the_readme_shows() {
    let commands = console::commands(README);
    let (start, greeting) = &commands[0];
    assert_eq!(start, "cargo run --release -p beekeeper -- local");
    // The same room, with another port and directory.
    let room = Local::start(&["--minute", "60s", "--visitors", "8"]);
    let kept_in = room.directory.path().display().to_string();
    let said = room.greeting.replace(&kept_in, "/home/you/.local/share/beekeeper/demo");
    assert_eq!(masked(&said), masked(greeting));
    let client = Client::new(&room.url, "demo");
    let place = client.join();
    eventually("the visitor enters", || client.get_with("/polling", &place).json()["allow"] == true);
    // A slice records its progress every two seconds.
    eventually("others are counted as released, and as many wait again", || {
        let status = room.status();
        status["released"].as_u64() > Some(1) && status["line"]["waiting"] == 8
    });

    let mut executed = 0;
    for (command, expected) in &commands[1..] {
        let said = if let Some(arguments) = command.strip_prefix(OPERATOR) {
            let words = console::words(arguments);
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            text(&room.command(&words).stdout)
        } else if let Some(rest) = command.strip_prefix("curl -s http://localhost:8080") {
            // An order takes up to two seconds.
            thread::sleep(Duration::from_secs(2));
            let output = Command::new("curl").args(["-s", &format!("{}{rest}", room.url)]).output();
            text(&output.expect("curl is needed; on Debian: apt-get install curl").stdout) + "\n"
        } else {
            panic!("{command}: who tries that?")
        };
        assert_eq!(masked(&said), masked(expected), "{command}");
        executed += 1;
    }
    assert_eq!(executed, 6);
}

#[test]
fn a_room_for_a_shop_starts_from_the_flags_in_the_documentation() {
    const COMMAND: &str = "beekeeper local spring-sale --title ";
    let command = LOCAL.lines().find(|line| line.starts_with(COMMAND)).unwrap();
    let words = console::words(command);
    let flags: Vec<_> = words.iter().skip(2).map(String::as_str).collect();
    assert!(Local::start(&flags).interrupt().1.contains("stopped. 0 waiting"));
}
