//! The help of every command. `SNAPSHOTS=overwrite cargo xtask test beekeeper help` updates the snapshots.

use std::path::Path;

use snapbox::{Data, assert_data_eq};

use crate::support::Home;

const COMMANDS: &[&str] = &[
    "init",
    "list",
    "config",
    "local",
    "guard",
    "setup",
    "simulate",
    "rehearse",
    "deploy",
    "destroy",
    "logs",
    "doctor",
    "health",
    "status",
    "history",
    "report",
    "on",
    "pause",
    "close",
    "end",
    "off",
    "set-rate",
    "release",
    "mode",
    "message",
    "stretch",
    "find",
    "admit",
    "undo",
    "keys",
    "reset",
    "backup",
    "restore",
    "completions",
    "man",
];

fn snapshot(name: &str) -> Data {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.txt"));
    Data::read_from(&path, None).raw()
}

#[test]
fn every_command_explains_itself_with_examples() {
    let home = Home::new();
    let overview = home.printed(&["--help"]);
    let listed: Vec<_> = overview
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert_eq!(listed, COMMANDS);
    assert_data_eq!(overview, snapshot("help"));
    for command in COMMANDS {
        let help = home.printed(&[command, "--help"]);
        assert!(help.contains("\nExample"), "{command} has no example");
        assert_data_eq!(help, snapshot(&format!("help-{command}")));
    }
    for (command, inner) in [("keys", "list"), ("keys", "rotate"), ("keys", "drop"), ("setup", "nginx")] {
        let help = home.printed(&[command, inner, "--help"]);
        assert!(help.contains("\nExample"), "{command} {inner} has no example");
        assert_data_eq!(help, snapshot(&format!("help-{command}-{inner}")));
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let home = Home::new();
    let page = home.printed(&["man"]);
    assert!(page.contains(".TH beekeeper 1") && page.contains("Exit codes"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    home.printed(&["man", "--dir", folder.path().to_str().unwrap()]);
    assert!(folder.path().join("beekeeper.1").exists());
    for command in COMMANDS {
        assert!(folder.path().join(format!("beekeeper-{command}.1")).exists(), "{command}");
    }
}

#[test]
fn shells_can_complete_commands() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.printed(&["completions", shell]);
        assert!(script.contains("set-rate"), "{shell}");
    }
}
