//! Rehearsals of a real room: a whole one, one that is killed, interrupted, too long, or whose room is reset or stops. Rooms
//! that are refused, and a shop that refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use clock::SystemClock;
use serde_json::Value;
use waitroom::ports::Clock;

use crate::support::{
    Home, Local, closed_pipe, even_on_a_busy_machine, eventually, signal, text, web_server,
};

fn command(room: &Local, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.args(["rehearse", "--local", "--json", "--data"]).arg(room.directory.path());
    command.args(if more.contains(&"--arrivals") { &[][..] } else { &["--arrivals", "2s"] });
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// A rehearsal of a room that releases too few to end, once so many visitors have joined.
fn under_way(room: &Local, joined: u64) -> Child {
    under_way_with(room, joined, &["--visitors", "200"])
}

fn under_way_with(room: &Local, joined: u64, more: &[&str]) -> Child {
    let rehearsal = command(room, more).spawn().unwrap();
    eventually("they join", || room.status()["joined"].as_u64().unwrap() >= joined);
    rehearsal
}

#[test]
fn five_hundred_visitors_enter_and_the_room_is_reset() {
    even_on_a_busy_machine(five_hundred_enter);
}

fn five_hundred_enter() {
    let room = Local::start(&["--rate", "300"]);
    let epoch = room.status()["room"]["epoch"].clone();
    let page = room.directory.path().join("rehearsal.html");
    let more = ["--visitors", "500", "--enter-shop", "--html", page.to_str().unwrap()];
    let output = command(&room, &more).output().unwrap();
    let report = report(&output);
    assert!(output.status.success(), "{}{report}", text(&output.stderr));
    assert_eq!((&report["passed"], &report["end"]), (&Value::from(true), &Value::from("all-done")));
    assert_eq!(report["ends"]["entered"], 500);
    let seconds = report["releases"]["seconds"].as_array().unwrap();
    assert_eq!(seconds.iter().map(|second| second["released"].as_u64().unwrap()).sum::<u64>(), 500);
    let windows = report["releases"]["windows"].as_array().unwrap();
    assert!(windows.iter().all(|window| window["released"].as_u64() <= window["planned"].as_u64()));
    assert_eq!((&report["counted"]["joined"], &report["counted"]["released"]), (&500.into(), &500.into()));
    assert_eq!(report["others"], 0);
    for route in report["latency"].as_array().unwrap() {
        let bars = route["histogram"].as_array().unwrap();
        let counted: u64 = bars.iter().map(|bar| bar["requests"].as_u64().unwrap()).sum();
        assert_eq!(Some(counted), route["requests"].as_u64(), "{route}");
    }
    let routes: Vec<_> =
        report["latency"].as_array().unwrap().iter().map(|route| route["route"].as_str().unwrap()).collect();
    assert_eq!(routes, ["join", "page", "poll", "enter", "shop"]);
    assert!(std::fs::read_to_string(page).unwrap().contains("Rehearsal of demo passed"));
    let after = room.status();
    assert_eq!((&after["room"]["rehearsal"], &after["line"]["waiting"]), (&Value::Null, &Value::from(0)));
    assert_ne!(after["room"]["epoch"], epoch);
    let history = text(&room.command(&["history", "--local"]).stdout);
    assert!(history.contains("rehearsal begun") && history.contains("reset, epoch"), "{history}");
}

#[test]
fn a_killed_rehearsal_blocks_on_until_the_reset() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let mut rehearsal = under_way(&room, 20);
    rehearsal.kill().unwrap();
    rehearsal.wait().unwrap();
    assert!(
        text(&room.command(&["status", "--local"]).stdout)
            .contains("\nrehearsal      under way, or left behind")
    );
    let in_an_hour = (SystemClock.now() + Duration::from_hours(1)).to_string().replace(" UTC", "Z");
    for order in
        [&["on", "--local"][..], &["on", "--local", "--at", &in_an_hour], &["rehearse", "--local", "--yes"]]
    {
        let refused = room.command(order);
        let error = text(&refused.stderr);
        assert!(!refused.status.success() && error.contains("`beekeeper reset`"), "{order:?}: {error}");
    }
    assert!(room.command(&["reset", "--local", "--yes"]).status.success());
    assert!(room.command(&["on", "--local"]).status.success());
    assert_eq!(room.status()["room"]["rehearsal"], Value::Null);
}

#[test]
fn a_rehearsal_whose_connection_is_lost_resets_the_room_and_reports() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let rehearsal = under_way(&room, 20);
    signal(&rehearsal, "-HUP");
    let output = rehearsal.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let report = report(&output);
    assert_eq!((&report["end"], &report["passed"]), (&"interrupted".into(), &false.into()));
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() >= 5 && checks.iter().all(|check| check["is_kept"] == true), "{checks:?}");
    let ends = report["ends"].as_object().unwrap();
    assert_eq!(ends.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 200);
    assert!(ends["waiting"].as_u64().unwrap() >= 18, "{ends:?}");
    let after = room.status();
    assert_eq!((&after["room"]["rehearsal"], &after["line"]["waiting"]), (&Value::Null, &Value::from(0)));
}

#[test]
fn a_room_that_stops_during_its_rehearsal_says_how_to_end_it() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let rehearsal = under_way(&room, 20);
    let (directory, _) = room.interrupt();
    signal(&rehearsal, "-INT");
    let output = rehearsal.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("is still in its rehearsal") && said.contains("no room runs in"), "{said}");
    assert!(said.contains("`beekeeper reset --data "), "{said}");
    assert_eq!(report(&output)["end"], "interrupted");
    let mut room = Local::start_in(directory, &[]);
    let end_it = format!("To end it: beekeeper reset --data {}", room.directory.path().display());
    let is_warning = |line: &String| line.starts_with("warning: a rehearsal was left in this room");
    assert!(room.log().find(is_warning).unwrap().ends_with(&end_it));
    assert!(!room.command(&["on", "--local"]).status.success());
    assert!(room.command(&["reset", "--local", "--yes"]).status.success());
    assert!(room.command(&["on", "--local"]).status.success());
}

#[test]
fn a_shop_that_refuses_the_pass_fails_the_rehearsal() {
    let shop = web_server(|_| "403 Forbidden");
    let room = Local::start(&["--rate", "600", "--shop", &shop]);
    let output = command(&room, &["--visitors", "5", "--enter-shop"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("failed: the shop let everybody in: 5 of 5 got no page there"), "{said}");
    let mut unread = command(&room, &["--visitors", "5", "--enter-shop"]);
    assert_eq!(unread.stdout(closed_pipe()).output().unwrap().status.code(), Some(1));
    let before_it = command(&room, &["--visitors", "5"]).output().unwrap();
    assert!(before_it.status.success(), "{}", text(&before_it.stderr));
}

/// Its guard refuses every pass and sends the visitors to the room that it was started with. Without a pass it shows its page, because
/// a room that starts asks for that too.
#[test]
fn a_shop_of_another_room_fails_the_rehearsal_and_sends_nobody_there() {
    let other = Local::start(&[]);
    let answer: &'static str = format!("302 Found\r\nLocation: {}/beekeeper", other.url).leak();
    let shop = web_server(move |path| if path.contains("bk_pass=") { answer } else { "200 OK" });
    let room = Local::start(&["--rate", "600", "--shop", &shop]);
    let output = command(&room, &["--visitors", "5", "--enter-shop"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("failed: the shop let everybody in: 5 of 5 got no page there"), "{said}");
    let report = report(&output);
    let at_shop = report["errors"].as_array().unwrap().iter().find(|error| error["route"] == "shop").unwrap();
    assert!(at_shop["kind"].as_str().unwrap().starts_with("sent on to another room"), "{at_shop}");
    assert_eq!(other.status()["joined"], 0);
}

#[test]
fn a_refused_rehearsal_keeps_an_earlier_report() {
    let room = Local::start(&[]);
    let page = room.directory.path().join("rehearsal.html");
    std::fs::write(&page, "earlier").unwrap();
    assert!(room.command(&["pause", "--local"]).status.success());
    let output = command(&room, &["--html", page.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(page).unwrap(), "earlier");
}

#[test]
fn a_rehearsal_whose_time_is_over_says_who_still_waits() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let output = command(&room, &["--visitors", "20", "--at-most", "10s"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("It ends after 10 s at the latest, when some of them still wait"), "{said}");
    let report = report(&output);
    assert_eq!((&report["passed"], &report["end"]), (&Value::from(false), &Value::from("time-over")));
    let (entered, waiting) = (&report["ends"]["entered"], &report["ends"]["waiting"]);
    assert_eq!(entered.as_u64().unwrap() + waiting.as_u64().unwrap(), 20, "{report}");
    assert!(waiting.as_u64().unwrap() >= 18, "{report}");
    let broken = format!("everybody entered: {entered} of 20; {waiting} waiting");
    assert!(said.contains("the rehearsal of demo failed") && said.contains(&broken), "{said}");
    let after = room.status();
    assert_eq!((&after["room"]["rehearsal"], &after["line"]["waiting"]), (&Value::Null, &Value::from(0)));
}

/// The room does not answer, so the reset after the first Ctrl-C cannot end.
#[test]
fn a_second_interrupt_leaves_at_once_and_says_what_is_left() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let mut rehearsal = under_way(&room, 20);
    let mut said = BufReader::new(rehearsal.stderr.take().unwrap());
    room.signal("-STOP");
    signal(&rehearsal, "-INT");
    let mut heard = String::new();
    while !heard.contains("Ctrl-C again leaves at once") {
        assert!(said.read_line(&mut heard).unwrap() > 0, "{heard}");
    }
    signal(&rehearsal, "-INT");
    let output = rehearsal.wait_with_output();
    room.signal("-CONT");
    said.read_to_string(&mut heard).unwrap();
    let output = output.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(5), 0), "{heard}");
    assert!(heard.contains("left: the room may still be marked; `beekeeper status --data "), "{heard}");
    assert!(heard.contains("`beekeeper reset --data "), "{heard}");
    assert!(!room.command(&["on", "--local"]).status.success());
    assert!(room.command(&["reset", "--local", "--yes"]).status.success());
    assert!(room.command(&["on", "--local"]).status.success());
}

/// Passes on what this room is ordered, except a reset, which nobody answers: it lasts, as while SQS empties a line.
fn hold_resets(room: &Local) {
    let socket = room.directory.path().join("control.sock");
    let behind = socket.with_extension("behind");
    std::fs::rename(&socket, &behind).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for operator in listener.incoming() {
            let mut operator = operator.unwrap();
            let mut order = String::new();
            drop(BufReader::new(&operator).read_line(&mut order));
            if order.contains(r#""reset""#) {
                held.push(operator);
            } else if !order.is_empty() {
                let mut room = UnixStream::connect(&behind).unwrap();
                room.write_all(order.as_bytes()).unwrap();
                let mut reply = Vec::new();
                room.read_to_end(&mut reply).unwrap();
                drop(operator.write_all(&reply));
            }
        }
    });
}

#[test]
fn what_a_rehearsal_found_is_told_once_and_before_the_reset() {
    let room = Local::start(&["--rate", "600"]);
    let page = room.directory.path().join("rehearsal.html");
    hold_resets(&room);
    let more = ["--visitors", "5", "--html", page.to_str().unwrap()];
    let mut rehearsal = command(&room, &more).spawn().unwrap();
    let mut printed = BufReader::new(rehearsal.stdout.take().unwrap());
    let mut said = BufReader::new(rehearsal.stderr.take().unwrap());
    let (mut found, mut rest, mut heard) = (String::new(), String::new(), String::new());
    printed.read_line(&mut found).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap()["end"], "all-done");
    assert!(std::fs::read_to_string(page).unwrap().contains("Rehearsal of demo "));
    signal(&rehearsal, "-INT");
    while !heard.contains("Ctrl-C again leaves at once") {
        assert!(said.read_line(&mut heard).unwrap() > 0, "{heard}");
    }
    signal(&rehearsal, "-INT");
    assert_eq!(rehearsal.wait().unwrap().code(), Some(5));
    printed.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_ne!(room.status()["room"]["rehearsal"], Value::Null, "the reset was under way");
}

#[test]
fn as_many_visitors_come_as_a_file_counts() {
    even_on_a_busy_machine(as_many_come);
}

fn as_many_come() {
    let room = Local::start(&["--rate", "600"]);
    let counts = room.directory.path().join("counts.csv");
    let rehearse = |counted: &str| {
        std::fs::write(&counts, counted).unwrap();
        let mut rehearse = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        rehearse.args(["rehearse", "--local", "--json", "--data"]).arg(room.directory.path());
        rehearse.arg("--arrivals").arg(&counts).stdin(Stdio::null()).output().unwrap()
    };
    let output = rehearse("at,joined\n1000,30\n3000,10\n");
    let report = report(&output);
    assert!(output.status.success(), "{}{report}", text(&output.stderr));
    assert_eq!((&report["visitors"], &report["ends"]["entered"]), (&Value::from(40), &Value::from(40)));

    let refused = rehearse("60000\n60000\n");
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("counts 120000 visitors, and a rehearsal sends at most 100000"), "{error}");
    assert!(error.contains("--visitors 100000"), "{error}");
}

/// Ten come in each second. The next one joins and polls, and that poll stops everybody. It may take a busy machine a while.
#[test]
fn visitors_stop_when_the_mark_is_gone() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let rehearsal = under_way_with(&room, 5, &["--visitors", "2000", "--arrivals", "200s"]);
    let begun = Instant::now();
    assert!(room.command(&["reset", "--local", "--yes"]).status.success());
    let output = rehearsal.wait_with_output().unwrap();
    let took = begun.elapsed();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = report(&output);
    assert_eq!((&report["end"], &report["counted"]), (&Value::from("mark-lost"), &Value::Null));
    // In the new epoch. The rehearsal went on for a second after it had stopped them.
    let joined = room.status()["joined"].as_u64().unwrap();
    assert!(
        took < Duration::from_mins(1) && joined <= 20 + 10 * took.as_secs(),
        "{joined} in {took:?}: {report}"
    );
}

#[test]
fn visitors_whom_a_room_lets_in_because_it_is_off_fail_the_rehearsal() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let more = ["--visitors", "2000", "--arrivals", "200s", "--at-most", "10s"];
    let rehearsal = under_way_with(&room, 5, &more);
    assert!(room.command(&["off", "--local", "--yes"]).status.success());
    let output = rehearsal.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nobody entered without an admission: "), "{said}");
}

#[test]
fn somebody_else_who_joins_is_counted() {
    even_on_a_busy_machine(somebody_else_joins);
}

fn somebody_else_joins() {
    let room = Local::start(&["--rate", "600"]);
    let rehearsal = under_way_with(&room, 5, &["--visitors", "100"]);
    let (_, refusals) = crate::crowd::ask(&crate::crowd::authority(&room), "/beekeeper", 3);
    let output = rehearsal.wait_with_output().unwrap();
    let report = report(&output);
    assert!(output.status.success(), "{}{report}", text(&output.stderr));
    let others = report["others"].as_u64().unwrap();
    assert!((3..=3 + refusals as u64).contains(&others), "{report}");
    assert_eq!(report["counted"]["joined"], 100 + others);
}

/// Nothing answers at the URL of this room, so a rehearsal looks for its mark until it gives up.
#[test]
fn an_interrupt_takes_effect_while_the_mark_is_looked_for() {
    let home = Home::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}");
    let _room = Local::start_at_home_with(&home, "sale", &["--url", &url]);
    let rehearsal = || {
        let status = home.printed(&["status", "sale", "--local", "--json"]);
        serde_json::from_str::<Value>(&status).unwrap()["room"]["rehearsal"].clone()
    };
    let mut command = home.command(&["rehearse", &url]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let rehearse = command.spawn().unwrap();
    eventually("the room is marked", || rehearsal() != Value::Null);
    signal(&rehearse, "-INT");
    let output = rehearse.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("interrupted before a visitor was sent; the room is reset"), "{said}");
    assert_eq!(rehearsal(), Value::Null);
}

#[test]
fn a_room_of_somebody_else_gets_no_request() {
    // It runs, and is not in the data directory of this user.
    let (room, home) = (Local::start(&[]), Home::new());
    home.write("autumn", "rate = 'fast'");
    let piped = "title = 'Sale'\nregion = 'eu-central-1'\nshop = 'https://shop.example'\nrate = 60\n";
    home.write("spring-sale", piped);
    let (code, error) = home.refused(&["rehearse", &room.url, "--yes"]);
    assert_eq!(code, 3);
    assert!(error.contains("is not the URL of a room of yours, so nothing was sent there"), "{error}");
    assert!(error.contains("could not ask autumn: ") && error.contains("autumn.toml is invalid"), "{error}");
    assert!(
        error.contains("; spring-sale: it wasn't deployed from here, so its file has no account"),
        "{error}"
    );
    assert_eq!(room.status()["joined"], 0);
}

#[test]
fn a_room_is_named_or_has_a_url() {
    let (code, error) = Home::new().refused(&["rehearse", "https://wait.example", "--local", "--yes"]);
    assert_eq!(code, 2);
    assert!(error.contains("is a URL: --local and --data belong to a room that is named"), "{error}");
}

#[test]
fn a_room_is_rehearsed_by_its_url() {
    let home = Home::new();
    let room = Local::start_at_home_with(&home, "sale", &["--rate", "600"]);
    let report = home.printed(&["rehearse", &room.url, "--visitors", "5", "--arrivals", "1s"]);
    assert!(report.starts_with("Rehearsal of sale passed"), "{report}");
}

#[test]
fn a_limit_of_active_visitors_is_not_tried_and_the_rehearsal_says_so() {
    even_on_a_busy_machine(one_more_than_the_limit_enters);
}

fn one_more_than_the_limit_enters() {
    let home = Home::new();
    let config = "title = \"Sale\"\nshop = \"http://127.0.0.1:9/\"\nrate = 600\nactive_visitors = 3\n";
    home.write("sale", config);
    let _room = Local::start_at_home(&home, "sale");
    let output = home.run(&["rehearse", "sale", "--local", "--visitors", "4", "--arrivals", "1s", "--yes"]);
    let (said, report) = (text(&output.stderr), text(&output.stdout));
    assert!(
        said.contains(
            "\nIts limit of 3 active visitors isn't tried: it holds up no visitor of a rehearsal.\n"
        ),
        "{said}"
    );
    assert!(output.status.success() && report.starts_with("Rehearsal of sale passed"), "{said}{report}");
}

#[test]
fn visitors_of_a_rehearsal_need_no_places_of_their_address() {
    even_on_a_busy_machine(twenty_come_from_one_address);
}

fn twenty_come_from_one_address() {
    let room = Local::start(&["--rate", "600", "--trust-proxy", "10.0.0.1", "--join-limit", "1"]);
    let output = command(&room, &["--visitors", "20"]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stderr), text(&output.stdout));
}

#[test]
fn a_room_with_visitors_or_paused_is_not_rehearsed() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    assert!(room.command(&["pause", "--local"]).status.success());
    let rehearse = || {
        let output = command(&room, &["--yes"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert!(rehearse().contains("is paused, and a rehearsal needs a room that is on"));
    assert!(room.command(&["on", "--local"]).status.success());
    let authority = crate::crowd::authority(&room);
    crate::crowd::ask(&authority, "/beekeeper", 20);
    let error = rehearse();
    assert!(error.contains("waiting visitors, and a rehearsal needs an empty line"), "{error}");
}
