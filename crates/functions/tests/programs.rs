//! The program itself. `cargo xtask test` also builds the function package of the tests through this test: cargo builds the
//! program for it with the features of all other tests.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::process::Command;

/// What the program prints when it is started as this function, and fails.
fn refused(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_functions"));
    command.env_clear().env("AWS_REGION", "eu-central-1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success(), "{variables:?}: {printed}");
    printed
}

#[test]
fn every_function_names_the_settings_that_are_missing() {
    let names = |variables: &[(&str, &str)], settings: &[&str]| {
        let printed = refused(variables);
        for setting in settings {
            assert!(printed.contains(setting), "{variables:?} does not name {setting}: {printed}");
        }
    };
    let of_a_room = ["LEDGER_TABLE", "LINE_URL", "DEAD_LETTERS_URL", "ROOM_NAME"];
    for function in ["producer", "trigger", "consumer", "throttle", "setup"] {
        names(&[("_HANDLER", function)], &of_a_room);
    }
    names(&[("_HANDLER", "authorizer")], &["ROOM_URL"]);
    // As in the middle of an update of an older stack.
    let name = ("AWS_LAMBDA_FUNCTION_NAME", "beekeeper-sale-Trigger-0A1b2C3d4E5f");
    names(&[("_HANDLER", "bootstrap"), name], &of_a_room);
}

#[test]
fn an_authorizer_says_how_many_minutes_a_session_may_have() {
    let known = [("_HANDLER", "authorizer"), ("ROOM_URL", "https://room.example"), ("ROOM_NAME", "sale")];
    for minutes in ["2h", "0", "1441"] {
        let printed = refused(&[&known[..], &[("SESSION_MINUTES", minutes)]].concat());
        assert!(printed.contains("SESSION_MINUTES"), "{minutes}: {printed}");
    }
}

#[test]
fn a_handler_that_does_not_exist_is_refused_with_those_that_do() {
    for variables in [&[][..], &[("_HANDLER", "door")], &[("_HANDLER", "bootstrap")]] {
        let printed = refused(variables);
        assert!(printed.contains("producer, trigger, consumer, throttle, setup or authorizer"), "{printed}");
    }
}
