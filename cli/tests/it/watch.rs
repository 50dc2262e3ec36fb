//! `beekeeper status --watch`, with and without a terminal.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use http_contract::{Order, RoomUnderTest};
use rexpect::process::WaitStatus;

use crate::support::{Home, Local, signal};

/// Much less than a watcher waits for a room that does not answer.
const PROMPTLY: Duration = Duration::from_secs(30);

#[test]
fn the_terminal_is_restored() {
    let room = Local::start(&[]);
    let home = Home::new();
    for leaving in ["q", "\u{3}"] {
        let directory = room.directory.path().to_str().unwrap();
        let mut person = home.person(&["status", "--local", "--watch", "--every", "1s", "--data", directory]);
        person.exp_string("\u{1b}[?1049h").unwrap();
        // Each word is drawn separately, so only one is expected.
        person.exp_string("released/rate").unwrap();
        person.send(leaving).unwrap();
        person.flush().unwrap();
        person.exp_string("\u{1b}[?1049l").unwrap();
        person.exp_eof().unwrap();
        assert!(matches!(person.process().wait().unwrap(), WaitStatus::Exited(_, 0)));
    }
}

#[test]
fn without_a_terminal_it_prints_each_change() {
    let room = Local::start(&[]);
    let home = Home::new();
    for (extra, paused) in [(None, " paused, "), (Some("--json"), "\"state\":\"paused\"")] {
        room.order(Order::On);
        let mut command = home.command(&["status", "--local", "--watch", "--every", "1s", "--data"]);
        command.arg(room.directory.path()).args(extra).stdout(Stdio::piped());
        let mut watcher = command.spawn().unwrap();
        let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        assert!(first.contains("waiting") && !first.contains(paused), "{first}");
        room.order(Order::Pause);
        assert!(lines.by_ref().any(|line| line.contains(paused)));
        watcher.kill().unwrap();
        watcher.wait().unwrap();
    }
}

#[test]
fn a_room_that_hangs_is_told_and_that_it_answers_again() {
    let room = Local::start(&[]);
    let home = Home::new();
    let mut command = home.command(&["status", "--local", "--watch", "--every", "1s", "--data"]);
    command.arg(room.directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watcher = command.spawn().unwrap();
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.next().unwrap();
    room.signal("-STOP");
    let mut notes = BufReader::new(watcher.stderr.take().unwrap()).lines().map(Result::unwrap);
    let hangs = notes.next().unwrap();
    room.signal("-CONT");
    assert_eq!(hangs, "no answer for 10 s");
    assert_eq!(notes.next().unwrap(), "the room answers again");
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}

#[test]
fn ctrl_c_is_heard_while_the_room_does_not_answer() {
    let room = Local::start(&[]);
    let home = Home::new();
    let mut command = home.command(&["status", "--local", "--watch", "--every", "1s", "--data"]);
    let mut watcher = command.arg(room.directory.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.next().unwrap();
    // It has looked once more, so it listens for signals by now.
    room.order(Order::Pause);
    assert!(lines.by_ref().any(|line| line.contains(" paused, ")));
    room.signal("-STOP");
    std::thread::sleep(Duration::from_secs(3));
    signal(&watcher, "-INT");
    let until = Instant::now() + PROMPTLY;
    while watcher.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let ended = watcher.try_wait().unwrap();
    watcher.kill().unwrap();
    room.signal("-CONT");
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
}
