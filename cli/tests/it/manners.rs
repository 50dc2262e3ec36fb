//! Exit codes, errors and output of all commands.

use std::process::Command;

use rexpect::session::spawn_command;

use crate::support::{Home, Local, text};

#[test]
fn an_error_is_one_line_of_json_for_scripts() {
    let home = Home::new();
    let (code, said) = home.refused(&["status", "spring", "--json"]);
    let error = serde_json::json!({
        "error": "there is no room spring: ~/beekeeper/spring.toml does not exist", "kind": "missing",
        "advice": "configure it with: beekeeper init spring; or for a room on this machine, use --local",
    });
    assert_eq!((code, serde_json::from_str::<serde_json::Value>(&said).unwrap()), (3, error));
    let (code, said) = home.refused(&["--json", "dance"]);
    let error = serde_json::json!({
        "error": "unrecognized subcommand 'dance'", "kind": "usage", "advice": "see: beekeeper help",
    });
    assert_eq!((code, serde_json::from_str::<serde_json::Value>(&said).unwrap()), (2, error));
}

#[test]
fn a_message_without_quotation_marks_gets_a_tip() {
    let home = Home::new();
    let tip = "put the message in quotation marks: beekeeper message NAME \"More beer at noon\"";
    for line in
        [&["message", "More", "beer"][..], &["message", "sale", "More", "beer"], &["message", "back", "soon"]]
    {
        let (code, said) = home.refused(line);
        assert!(matches!(code, 2 | 3) && said.contains(tip), "{line:?}: {said}");
        let (_, json) = home.refused(&[line, &["--json"]].concat());
        let error: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(error["advice"].as_str().unwrap().ends_with(tip), "{error}");
    }
    let first = "the name of the room comes first: beekeeper message NAME \"More beer at noon\"";
    let (code, said) = home.refused(&["message", "Two more hours", "sale", "--local"]);
    assert!(code == 2 && said.contains(first) && !said.contains(tip), "{said}");
    for line in [&["message", "sale", "\u{7}"][..], &["message", "sale", "--locl"], &["on", "My", "Room"]] {
        let (code, said) = home.refused(line);
        assert!(code == 2 && !said.contains(tip), "{line:?}: {said}");
    }
}

#[test]
fn every_command_takes_yes_before_and_after_its_own_words() {
    let home = Home::new();
    let room = Local::start(&[]);
    let data = room.directory.path().to_str().unwrap();
    for order in [
        &["pause"][..],
        &["on"],
        &["set-rate", "600"],
        &["message", "More beer at noon"],
        &["off"],
        &["undo"],
    ] {
        let after = [order, &["--local", "--data", data, "-y"]].concat();
        home.printed(&after);
        home.printed(&[&["--yes"][..], order, &["--local", "--data", data]].concat());
    }
    for command in ["deploy", "destroy", "init", "keys", "rehearse", "reset", "status"] {
        assert!(home.printed(&[command, "--help"]).contains("-y, --yes"), "{command}");
    }
}

#[test]
fn a_reader_that_stops_is_not_an_error() {
    let home = Home::new();
    let mut child =
        home.command(&["completions", "bash"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    let home = Home::new();
    for arguments in [&["--help"][..], &["dance"], &["status"]] {
        let output = home.run(arguments);
        assert!(!text(&output.stdout).contains('\x1b') && !text(&output.stderr).contains('\x1b'));
    }
}

#[test]
fn no_live_line_runs_into_what_a_pipe_prints() {
    let room = Local::start(&[]);
    let printed = |end: &str| {
        let mut shell = Command::new("sh");
        let line = format!("\"$0\" doctor --local --data \"$1\" {end}");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_beekeeper")]).arg(room.directory.path());
        shell.env("HOME", room.directory.path());
        spawn_command(shell, Some(20_000)).unwrap().exp_eof().unwrap()
    };
    let piped = printed("| cat");
    assert!(piped.contains("way-around") && !piped.contains("checking:"), "{piped}");
    let filed = printed("> /dev/null");
    assert!(filed.contains("checking:"), "{filed}");
}

#[test]
fn a_room_on_this_machine_has_no_logs_to_show() {
    let expected = "error: a room on this machine keeps no logs: it prints them in its terminal\n\
        hint: to print a line for every request, start it with --access-log\n";
    assert_eq!(Home::new().refused(&["logs", "--local"]), (2, expected.into()));
}

#[test]
fn a_version_says_which_build_it_is() {
    let home = Home::new();
    assert_eq!(home.printed(&["-V"]), concat!("beekeeper ", env!("CARGO_PKG_VERSION"), "\n"));
    let json = home.printed(&["--version", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["version"], &json["aws"]), (&env!("CARGO_PKG_VERSION").into(), &true.into()));
    // `cargo xtask test` builds it with them, for this machine.
    let functions = match json["functions"].as_array().unwrap().as_slice() {
        [] => "without functions".to_owned(),
        [one] => format!("functions for {}", one.as_str().unwrap()),
        several => panic!("{several:?}"),
    };
    let target = json["target"].as_str().unwrap();
    let commit = match (json["commit"].as_str(), json["commit_date"].as_str()) {
        (Some(commit), Some(date)) => format!("{commit} {date}, "),
        _ => String::new(),
    };
    let expected =
        format!("beekeeper {} ({commit}{target}, with AWS, {functions})\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(home.printed(&["--version"]), expected);
    assert!(!home.printed(&["man"]).contains(target), "a manual page is of no build");
}
