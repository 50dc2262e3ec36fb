//! `--log` and `RUST_LOG`.

use std::time::Duration;

use http_contract::Client;

use crate::support::{Home, Local, text};

#[test]
fn a_local_room_logs_what_each_window_and_slice_did() {
    let mut room = Local::start(&["--log", "info", "--rate", "600"]);
    Client::new(&room.url, "demo").get("/beekeeper");
    let lines = room.log();
    let mut trigger = None;
    let mut released = None;
    for line in lines {
        assert!(!line.contains('\x1b'), "no colours off a terminal: {line}");
        if line.contains("INFO trigger{room=demo epoch=") && line.contains("trigger: trigger finished") {
            trigger.get_or_insert(line);
        } else if line.contains(": slice finished") && line.contains(" released=1 ") {
            released = Some(line);
            break;
        }
    }
    let trigger = trigger.expect("a report of the trigger before that of a slice");
    for field in [" window=1 ", " quota=600 ", " sent=1 ", " not_sent=0", " waiting="] {
        assert!(trigger.contains(field), "{field} in {trigger}");
    }
    let released = released.expect("the report of the slice that released the visitor");
    assert!(released.contains("INFO slice{window="), "{released}");
    for field in [" room=demo ", " epoch=", " slice=", " quota=600 ", " dropped=0 ", " failures=0"] {
        assert!(released.contains(field), "{field} in {released}");
    }
}

#[test]
fn a_warning_of_the_door_names_the_room_and_the_request() {
    let mut room = Local::start(&["--trust-proxy", "10.0.0.1", "--join-limit", "1"]);
    let client = Client::new(&room.url, "demo");
    for _ in 0..3 {
        client.get("/beekeeper");
    }
    let warning = room.log().find(|line| line.contains("WARN request{")).unwrap();
    for field in ["{room=demo ", " id=", " method=GET path=\"/beekeeper\"", " epoch=", "refused"] {
        assert!(warning.contains(field), "{field} in {warning}");
    }
}

#[test]
fn the_access_log_does_not_depend_on_the_filter() {
    let mut room = Local::start(&["--log", "off", "--access-log"]);
    Client::new(&room.url, "demo").get("/polling");
    assert!(room.log().any(|line| line.contains("INFO access: GET /polling 200 ")));
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    let home = Home::new();
    let config = |rust_log: &str, arguments: &[&str]| {
        let output = home.command(&[&["config"], arguments].concat()).env("RUST_LOG", rust_log).output();
        let output = output.unwrap();
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, said) = config("info", &["--log", "inof"]);
    assert_eq!(code, 2);
    let expected = "error: invalid value 'inof' for '--log <FILTER>': \"inof\" is not a level (error, warn, info, debug, trace or off); write levels of modules like consumer=debug\n";
    assert!(said.starts_with(expected), "{said}");
    let (code, said) = config("consumer=loud", &[]);
    assert_eq!(code, 2);
    assert!(said.starts_with("error: invalid filter in the environment variable RUST_LOG: "), "{said}");
    assert!(said.contains("\nhint: unset it, or override it with --log"), "{said}");
    assert_eq!(config("consumer=loud", &["--log", "consumer=debug"]).0, 0, "--log wins");
    assert_eq!(config("", &[]).0, 0, "an empty variable is as none");
}

/// Its consumers end before its store is closed: at any moment of a second, in which each looks for visitors once.
#[test]
fn a_room_that_is_stopped_in_mid_window_complains_of_nothing() {
    let stopped = |millis| {
        let mut room = Local::start(&["--minute", "60s"]);
        let log = room.log();
        std::thread::sleep(Duration::from_millis(millis));
        drop(room.interrupt());
        log
    };
    let complaints: Vec<_> = (0..6).flat_map(|stop| stopped(1_000 + 170 * stop)).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}
