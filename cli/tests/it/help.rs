//! The help of every command, and docs/commands.md, which is all of it. `SNAPSHOTS=overwrite cargo xtask test beekeeper help`
//! writes that page.

use std::path::Path;

use snapbox::{Data, assert_data_eq};

use crate::support::Home;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/commands.md");

/// As much as GitHub shows of a line without a scrollbar.
const WIDTH: usize = 100;

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

/// The commands that a help lists.
fn listed(help: &str) -> Vec<&str> {
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).filter(|command| *command != "help").collect()
}

/// The lines of a help. A line that is too long, and those that go on with it, are one.
fn paragraphs(help: &str) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    for line in help.trim_end().lines() {
        let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
        match lines.last_mut() {
            Some(last) if is_text(last) && last.chars().count() > WIDTH && is_text(line) => {
                last.extend([" ", line]);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// A line as several, no longer than [`WIDTH`]. What stands beside a flag stays beside it; an example
/// stays whole, to be copied.
fn wrapped(line: &str) -> String {
    let begins = line.len() - line.trim_start().len();
    if line.trim_start().starts_with("beekeeper ") {
        return line.to_owned();
    }
    let beside = line[begins..].rfind("  ").map_or(begins, |gap| begins + gap + 2);
    let (mut lines, mut last) = (String::new(), line[..beside].to_owned());
    for word in line[beside..].split(' ') {
        if last.chars().count() + word.chars().count() > WIDTH && last.len() > beside {
            lines += last.trim_end();
            lines.push('\n');
            last = " ".repeat(beside);
        }
        last += word;
        last.push(' ');
    }
    lines + last.trim_end()
}

/// One command's part of the page, and those of the commands in it.
fn explained(home: &Home, command: &[&str]) -> String {
    let help = home.printed(&[command, &["--help"]].concat());
    let name = command.join(" ");
    let inner = listed(&help);
    if command.is_empty() {
        assert_eq!(inner, COMMANDS);
    } else {
        assert!(help.contains("\nExample"), "{name} has no example");
    }
    let heading = match command {
        [] => String::new(),
        _ => format!("{} beekeeper {name}\n\n", "#".repeat(command.len() + 1)),
    };
    let lines: Vec<_> = paragraphs(&help).iter().map(|line| wrapped(line)).collect();
    let own = format!("{heading}```text shown\n{}\n```\n", lines.join("\n"));
    inner.iter().fold(own, |page, inner| page + "\n" + &explained(home, &[command, &[*inner]].concat()))
}

#[test]
fn every_command_explains_itself_with_examples() {
    let links: Vec<_> = COMMANDS.iter().map(|command| format!("[{command}](#beekeeper-{command})")).collect();
    let intro = "What `beekeeper help` and `beekeeper COMMAND --help` print. The program writes this page, and a test compares them. \
                 [cli.md](cli.md)\nhas what help doesn't say: which room is meant, how a time is written, exit codes, the fields of `--json`.";
    let page =
        format!("# Every command\n\n{intro}\n\n{}\n\n{}", links.join(",\n"), explained(&Home::new(), &[]));
    assert_data_eq!(page, Data::read_from(Path::new(PAGE), None).raw());
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
