//! The programs themselves. `cargo xtask test` also builds the function packages of the tests through this test: cargo
//! builds the programs for it with the features of all other tests.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::process::Command;

#[test]
fn every_program_names_the_settings_that_are_missing() {
    for program in [
        env!("CARGO_BIN_EXE_consumer"),
        env!("CARGO_BIN_EXE_producer"),
        env!("CARGO_BIN_EXE_setup"),
        env!("CARGO_BIN_EXE_throttle"),
        env!("CARGO_BIN_EXE_trigger"),
    ] {
        let mut command = Command::new(program);
        let output = command.env_clear().env("AWS_REGION", "eu-central-1").output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success(), "{program}: {printed}");
        for setting in ["LEDGER_TABLE", "LINE_URL", "DEAD_LETTERS_URL", "ROOM_NAME"] {
            assert!(printed.contains(setting), "{program} does not name {setting}: {printed}");
        }
    }
}
