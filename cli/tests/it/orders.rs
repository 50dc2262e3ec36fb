//! Orders in a real room: how soon they are in force, and what is said of them. The simulation tries every state and a dozen rates.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clock::SystemClock;
use embedded::EmbeddedStore;
use emulators::console;
use waitroom::Timestamp;
use waitroom::ports::{Admissions, Clock};

use crate::crowd::{ask, authority};
use crate::support::{Home, Local, Sleeper, closed_pipe, operate, signal, text};

/// When an order has its full effect, and for how long the release is counted then.
const FULL_EFFECT: Duration = Duration::from_secs(2);
const COUNTED: Duration = Duration::from_secs(10);

#[test]
#[ignore = "takes a minute: cargo xtask test beekeeper"]
fn the_release_follows_every_order_within_two_seconds() {
    let room = Local::start(&["--rate", "60", "--minute", "60s"]);
    assert!(room.command(&["pause", "--local"]).status.success());
    thread::sleep(FULL_EFFECT);
    let (places, _) = ask(&authority(&room), "/beekeeper", 1500);
    assert_eq!(places.len(), 1500);

    let sleeper = Sleeper::start();
    // The order, and what it should release in ten seconds.
    let orders: [(&[&str], usize); 6] = [
        (&["on", "--local"], 10),
        (&["set-rate", "--local", "3000", "--yes"], 500),
        (&["set-rate", "--local", "120", "--yes"], 20),
        (&["release", "--local", "600"], 120),
        (&["pause", "--local"], 0),
        (&["on", "--local"], 20),
    ];
    let ordered: Vec<Timestamp> = orders
        .iter()
        .map(|(order, _)| {
            let output = room.command(order);
            assert!(output.status.success(), "{order:?}: {output:?}");
            let now = SystemClock.now();
            thread::sleep(FULL_EFFECT + COUNTED);
            now
        })
        .collect();
    // What the fastest order releases while the machine stands still.
    let missed = usize::try_from(sleeper.overslept().as_millis()).unwrap() * 50 / 1000;
    let (directory, _) = room.interrupt();

    let store =
        EmbeddedStore::open(directory.path(), waitroom::fixture::room(1), Timestamp::default).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let admitted = |token| runtime.block_on(store.admission(token)).unwrap();
    let times: Vec<_> = places.iter().filter_map(|place| Some(admitted(place.token)?.at)).collect();
    for ((order, expected), at) in orders.into_iter().zip(ordered) {
        let counted = at + FULL_EFFECT..at + FULL_EFFECT + COUNTED;
        let released = times.iter().filter(|at| counted.contains(at)).count();
        println!("{}: {released} in ten seconds, {expected} expected", order.join(" "));
        match expected {
            0 => assert_eq!(released, 0, "{order:?}"),
            // A batch of each slice at either end, and what a busy machine does a second too late.
            _ => assert!(
                released.abs_diff(expected) <= 20 + expected / 5 + missed,
                "{order:?}: {released} of {expected}, {missed} of them perhaps missed"
            ),
        }
    }
}

/// As docs/local.md promises.
#[test]
fn an_order_is_in_force_within_two_seconds_and_the_eighth_in_a_row_within_six() {
    let room = Local::start(&["--rate", "800"]);
    let in_force = |rate: u32| {
        let said = text(&room.command(&["set-rate", "--local", &rate.to_string(), "--yes"]).stdout);
        let (_, seconds) = said.split_once("in force in ").unwrap_or_else(|| panic!("{said}"));
        seconds.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let seconds: Vec<_> = (1..=8).map(|number| in_force(800 - number)).collect();
    assert!(seconds[0] <= 2 && seconds.iter().all(|seconds| *seconds <= 6), "{seconds:?}");
}

/// As docs/closing.md promises.
#[test]
fn another_text_keeps_the_link_the_state_and_what_comes_then() {
    let room = Local::start(&[]);
    let said = |arguments: &[&str]| {
        let output = room.command(arguments);
        text(if output.status.success() { &output.stdout } else { &output.stderr })
    };
    let link = "--link=https://shop.example/next";
    said(&["close", "--local", "--then", "off", "--message", "Full", link, "--yes"]);
    let lines = [
        (&["close", "--local", "--message", "Sold out"][..], "notice: \"Full\" -> \"Sold out\"\n"),
        (&["pause", "--local"], "room: closed -> closed-paused, in force in 1 s\n"),
        (&["close", "--local", "--link", ""], "link: https://shop.example/next -> none\n"),
        (
            &["end", "--local", "--yes"],
            "then: off, when everybody who waited was let in -> nothing\nroom: closed-paused -> ended\n",
        ),
        (&["close", "--local", "--message", "Gone"], "notice: \"Sold out\" -> \"Gone\"\n"),
    ];
    for (order, expected) in lines {
        assert_eq!(said(order), expected, "{order:?}");
    }
}

/// Each command of docs/closing.md. The room is another for each line that is closed.
#[test]
fn the_documentation_shows_what_closing_prints() {
    let commands = console::commands(include_str!("../../../docs/closing.md"));
    assert_eq!(commands.len(), 4);
    let mut room = Local::start(&[]);
    for (command, told) in &commands {
        if command.starts_with("beekeeper close ") {
            room = Local::start(&[]);
        }
        let words = console::words(command.strip_prefix("beekeeper ").unwrap());
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let said = text(&room.command(&words).stdout);
        assert_eq!(console::without_seconds(&said), console::without_seconds(told), "{command}");
    }
}

#[test]
fn a_release_says_until_when_and_is_refused_where_it_lets_nobody_in() {
    let room = Local::start(&["--rate", "60", "--minute", "60s"]);
    let run = |arguments: &[&str]| {
        let output = room.command(arguments);
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (code, said, _) = run(&["release", "--local", "50"]);
    assert_eq!(code, 0);
    assert!(said.starts_with("release: none -> 50 more until ") && said.contains(", in force in "), "{said}");
    let (_, status, _) = run(&["status", "--local"]);
    let line =
        |label: &str| status.lines().find(|line| line.starts_with(label)).unwrap_or_default().to_owned();
    assert!(line("release ").contains("50 more until "), "{status}");
    assert!(line("rate ").ends_with(" 60 a minute"), "{status}");
    let (code, _, refused) = run(&["release", "--local", "5"]);
    assert!(code == 1 && refused.contains("releases 50 more until "), "{refused}");
    let (_, taken_back, _) = run(&["undo", "--local"]);
    assert!(
        taken_back.starts_with("release: 50 more until ") && taken_back.contains(" -> none, "),
        "{taken_back}"
    );

    let (code, _, asked) = run(&["release", "--local", "601"]);
    assert!(code == 6 && asked.contains("601 more would be let into demo within a minute"), "{asked}");
    let (code, json, _) = run(&["release", "--local", "601", "--yes", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["after"]["extra"]["visitors"]), (0, &601.into()));
    for nonsense in ["0", "-1", "1.5", "10000000000", "all"] {
        let (code, _, refused) = run(&["release", "--local", "--", nonsense]);
        assert!(
            code == 2 && refused.contains("a release is a whole number of visitors, from 1 to 270000"),
            "{refused}"
        );
    }
    run(&["pause", "--local"]);
    let (code, _, refused) = run(&["release", "--local", "50"]);
    assert!(
        code == 1 && refused.contains("is paused: nobody is let in; first turn it on: `beekeeper on`"),
        "{refused}"
    );
}

#[test]
fn an_order_of_another_version_is_refused_with_what_to_do() {
    let room = Local::start(&[]);
    let mut socket = UnixStream::connect(room.directory.path().join("control.sock")).unwrap();
    socket.write_all(b"{\"order\":\"dance\"}\n").unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let expected = "{\"reply\":\"failed\",\"error\":\"does not know this order, and nothing was changed: it runs beekeeper ";
    assert!(reply.starts_with(expected) && reply.contains("Start the room again"), "{reply}");
}

/// A room that takes an order and is killed over it.
#[test]
fn whoever_gets_no_answer_is_told_that_it_may_be_done_and_where_to_look() {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("control.sock")).unwrap();
    std::thread::spawn(move || {
        for order in listener.incoming() {
            let mut line = String::new();
            BufReader::new(order.unwrap()).read_line(&mut line).unwrap();
        }
    });
    let pause = |more: &[&str]| {
        let output = operate(directory.path(), &[&["pause", "sale", "--local"], more].concat());
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, said) = pause(&[]);
    assert_eq!(code, 1);
    assert!(
        said.starts_with("error: the room sale ended before it answered\nhint: if it doesn't run any more, "),
        "{said}"
    );
    assert!(
        said.contains("before you repeat the order, look whether it was carried out: `beekeeper status`"),
        "{said}"
    );
    let json: serde_json::Value = serde_json::from_str(&pause(&["--json"]).1).unwrap();
    assert_eq!((&json["may_be_done"], &json["kind"]), (&true.into(), &"failed".into()));
}

#[test]
fn a_flag_may_stand_between_the_room_and_the_value() {
    let room = Local::start(&["--rate", "60"]);
    for (order, expected) in [
        (["set-rate", "demo", "--local", "59"], "rate: 60 -> 59, "),
        (["stretch", "demo", "--local", "3"], "stretch: 1 -> 3\n"),
        (["message", "demo", "--local", "Hello"], "message: \"\" -> \"Hello\"\n"),
        (["mode", "demo", "--local", "overflow"], "mode: line -> overflow"),
    ] {
        let said = room.command(&order);
        assert!(text(&said.stdout).starts_with(expected), "{order:?}: {said:?}");
    }
}

#[test]
fn a_rate_and_a_mode_at_the_start_are_both_in_the_trail() {
    let room = Local::start(&["--rate", "60"]);
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &["--rate", "90", "--mode", "overflow"]);
    let history = text(&room.command(&["history", "--local"]).stdout);
    assert!(
        history.contains("rate: 60 -> 90\n") && history.contains("mode: line -> overflow\n"),
        "{history}"
    );
}

/// As `beekeeper mode` refuses it.
#[test]
fn a_start_with_a_mode_that_the_room_refuses_changes_nothing() {
    let room = Local::start(&[]);
    assert!(room.command(&["close", "--local", "--after", "5", "--yes"]).status.success());
    let (directory, _) = room.interrupt();
    let refused = operate(directory.path(), &["local", "--listen", "0", "--mode", "observe"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    let why = "error: the room demo lets in only so many more, and a room that observes lets everybody in; first withdraw that: \
               `beekeeper close --never`\n\
               hint: start it without --mode observe, do that, and then: beekeeper mode observe";
    assert!(said.contains(why), "{said}");
    let room = Local::start_in(directory, &["--mode", "line"]);
    let refused = text(&room.command(&["mode", "--local", "observe"]).stderr);
    assert!(
        refused.contains("lets in only so many more, and a room that observes lets everybody in"),
        "{refused}"
    );
    let asked = text(&room.command(&["close", "--local", "--never"]).stderr);
    assert!(asked.contains("needs --yes: the stock of 5 (5 are left) would be withdrawn"), "{asked}");
    assert!(room.command(&["close", "--local", "--never", "--yes"]).status.success());
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &["--mode", "observe"]);
    let told = text(&room.command(&["status", "--local"]).stdout);
    assert!(told.contains("observe: everybody passes"), "{told}");
}

#[test]
fn a_room_opens_by_itself_also_after_a_restart() {
    let room = Local::start(&[]);
    let said = |arguments: &[&str]| {
        let output = room.command(arguments);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for (typo, why) in
        [("lunch", "write it like"), ("2020-01-01T12:00", "is past"), ("2999-01-01T12:00", "than a year")]
    {
        let (code, stdout, stderr) = said(&["on", "--local", "--at", typo]);
        assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
        assert!(stderr.contains(why), "{typo}: {stderr}");
    }
    let opens = Timestamp::from_millis((SystemClock.now() + Duration::from_secs(12)).as_secs() * 1000);
    let at = opens.to_string().replace(" UTC", "Z");
    let (code, stdout, stderr) = said(&["on", "--local", "--at", &at]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.starts_with("room: on -> paused, in force in ") && stdout.contains("\nopens at 20"),
        "{stdout}"
    );
    assert!(said(&["on", "--local", "--at", &at]).1.starts_with("nothing changed: opens at 20"));
    let (_, status, _) = said(&["status", "--local"]);
    assert!(status.contains(", paused\nopens          20"), "{status}");
    let (_, history, _) = said(&["history", "--local"]);
    assert!(history.contains(&format!("room: on -> paused, opens {opens}")), "{history}");
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &[]);
    while SystemClock.now() < opens {
        thread::sleep(Duration::from_millis(100));
    }
    let status = text(&room.command(&["status", "--local"]).stdout);
    assert!(status.starts_with("The demonstration room (demo), on\n"), "{status}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_order_whose_answer_cannot_be_printed_is_told_to_be_carried_out() {
    let room = Local::start(&["--active-visitors", "5"]);
    for order in [&["set-rate", "50"][..], &["reset", "--yes"], &["keys", "rotate"], &["keys", "guard"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.args(order).args(["--local", "--data"]).arg(room.directory.path()).stdout(full);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let told = "error: the order was carried out, but its answer could not be printed: ";
        assert!(said.contains(told), "{order:?}: {said}");
    }
    assert!(text(&room.command(&["status", "--local"]).stdout).contains("50 a minute"));
}

/// Without these words it would be taken for the room's disk.
#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_printed_is_named() {
    let room = Local::start(&[]);
    assert!(room.command(&["pause", "--local"]).status.success());
    for question in [&["status"][..], &["history"], &["keys", "list"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.args(question).args(["--local", "--data"]).arg(room.directory.path()).stdout(full);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{question:?}: {said}");
        let told = "error: could not print the answer: No space left on device (os error 28)\n";
        assert_eq!(said, told, "{question:?}");
        let closed = command.stdout(closed_pipe()).output().unwrap();
        assert!(closed.status.success() && closed.stderr.is_empty(), "{question:?}: {closed:?}");
    }
}

/// Unlike another answer, whoever stops reading has lost it.
#[test]
fn a_key_for_the_guards_that_nobody_reads_is_an_error() {
    let room = Local::start(&["--active-visitors", "5"]);
    let mut order = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    order.args(["keys", "guard", "--local", "--data"]).arg(room.directory.path()).stdout(closed_pipe());
    let output = order.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("the one before counts no more: run this again\n"), "{said}");
}

/// A room that takes an order, and is slow to answer.
#[test]
fn whoever_interrupts_an_order_is_told_whether_the_room_may_have_it() {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("control.sock")).unwrap();
    let taken = || {
        let (mut order, _) = listener.accept().unwrap();
        BufReader::new(&mut order).read_line(&mut String::new()).unwrap();
        order
    };
    let interrupted_at_ask = |number: usize, order: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.args(order).args(["--local", "--data"]).arg(directory.path());
        let interrupted = command.stderr(Stdio::piped()).spawn().unwrap();
        (1..number).for_each(|_| drop(taken()));
        let unanswered = taken();
        signal(&interrupted, "-INT");
        let output = interrupted.wait_with_output().unwrap();
        drop(unanswered);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{order:?}: {said}");
        said
    };
    for order in [
        &["keys", "rotate", "sale"][..],
        &["keys", "guard", "sale", "--yes"],
        &["admit", "sale", "0123-4567"],
    ] {
        // It's asked for its name first, and needn't answer.
        let said = interrupted_at_ask(2, order);
        assert!(said.starts_with("error: interrupted: sale may have got the order"), "{order:?}: {said}");
    }
    for (number, order) in [
        (1, &["pause"][..]),
        (1, &["off", "--yes"][..]),
        (1, &["set-rate", "50"][..]),
        (2, &["set-rate", "sale", "50"][..]),
        (2, &["off", "sale"][..]),
    ] {
        let said = interrupted_at_ask(number, order);
        assert_eq!(said, "error: interrupted; nothing was changed\n", "{order:?}");
    }
}

#[test]
fn a_misspelled_time_zone_is_not_taken_for_utc() {
    let home = Home::new();
    let on_at = |time: &str| {
        let output = home.command(&["on", "--local", "--at", time]).env("TZ", "Bogus/Zone").output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let expected = "error: this machine knows no time zone `Bogus/Zone`, which the variable TZ names\n\
        hint: set TZ to a name like Europe/Berlin, or write the time with its offset: 2027-03-05T12:00Z\n";
    for time in ["12:00", "tomorrow 12pm", "Friday 12:00", "2027-03-05T12:00"] {
        assert_eq!(on_at(time), (Some(2), expected.into()), "{time}");
    }
    // Nothing depends on the zone, and no room runs.
    assert_eq!(on_at("in 2h").0, Some(3));
}

/// In a mount namespace, a machine whose `/etc` has only this link to a time zone, and which has no rules of any.
#[cfg(target_os = "linux")]
fn past_noon_where(localtime: Option<&str>) -> String {
    const EMPTY: &str = "mount -t tmpfs tmpfs /etc
        if [ -d /usr/share/zoneinfo ]; then mount -t tmpfs tmpfs /usr/share/zoneinfo; fi
        if [ -n \"$1\" ]; then ln -s \"$1\" /etc/localtime; fi
        exec \"$0\" on --local --at 2020-03-05T12:00";

    let mut command = emulators::unshared().unwrap();
    command.args(["sh", "-ec", EMPTY, env!("CARGO_BIN_EXE_beekeeper")]);
    command.arg(localtime.unwrap_or_default()).env_remove("TZ").env_remove("TZDIR");
    let output = command.env("HOME", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    text(&output.stderr)
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_without_rules_of_time_zones_knows_its_own() {
    let berlin = past_noon_where(Some("/usr/share/zoneinfo/Europe/Berlin"));
    assert!(berlin.starts_with("error: 2020-03-05 Thu 12:00 CET (11:00 UTC) is past"), "{berlin}");
    let none = past_noon_where(None);
    assert!(none.starts_with("error: 2020-03-05 Thu 12:00 UTC is past"), "{none}");
    let unknown = past_noon_where(Some("/usr/share/zoneinfo/Europe/Berlinn"));
    let expected =
        "error: could not read this machine's time zone from /etc/localtime\nhint: set TZ to a name like";
    assert!(unknown.starts_with(expected), "{unknown}");
}
