//! A `beekeeper` that was built without AWS speaks as if there were only this machine. `cargo xtask test` builds one for these
//! tests, and nothing else.

#![cfg(not(feature = "aws"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

#[allow(dead_code, unused_imports, reason = "most of it is for the other tests")]
#[path = "../it/support.rs"]
mod support;

use std::fs;

use http_contract::{Client, RoomUnderTest};

use support::{Home, Local, text, website};

/// What means nothing to somebody who has only this machine.
const ELSEWHERE: [&str; 10] = [
    "AWS",
    "Lambda",
    "SQS",
    "--local",
    "deploy",
    "destroy",
    "region",
    "account",
    "profile",
    "beekeeper logs",
];

/// What was printed is about this machine.
fn stays_here(what: &str, said: &str) {
    for word in ELSEWHERE {
        let line = said.lines().find(|line| line.contains(word));
        // The name of a flag of `simulate` and of a shop's API are no offers.
        assert!(line.is_none_or(|line| line.contains("Amazon API Gateway")), "{what} says {word}: {line:?}");
    }
}

#[test]
fn every_help_is_about_this_machine() {
    let home = Home::new();
    let overview = home.printed(&["--help"]);
    stays_here("--help", &overview);
    let listed = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> = listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 20 && !commands.contains(&"logs"), "{commands:?}");
    for command in commands {
        let help = home.printed(&[command, "--help"]);
        assert!(help.contains("\nExample"), "{command} has no example");
        stays_here(command, &help);
    }
    for command in ["list", "rotate", "drop"] {
        stays_here("keys", &home.printed(&["keys", command, "--help"]));
    }
    let folder = tempfile::tempdir().unwrap();
    home.printed(&["man", "--dir", folder.path().to_str().unwrap()]);
    for page in fs::read_dir(&folder).unwrap() {
        let page = page.unwrap().path();
        stays_here(&page.display().to_string(), &fs::read_to_string(&page).unwrap());
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        stays_here(shell, &home.printed(&["completions", shell]));
    }
}

#[test]
fn init_asks_four_questions_and_writes_no_more() {
    let home = Home::new();
    let site = website();
    let mut person = home.person(&["init", "sale"]);
    let mut said = String::new();
    for (question, answer) in [
        ("Title that visitors see:", "Seal's Sale\r"),
        ("URL of the shop:", &format!("{site}/sale\r")),
        ("How many visitors may enter a minute?", "300\r"),
        ("Lower the rate", "\r"),
    ] {
        said += &person.exp_string(question).unwrap();
        said += question;
        person.send(answer).unwrap();
        person.flush().unwrap();
    }
    said += &person.exp_eof().unwrap();
    stays_here("init", &said);
    assert!(said.contains("start it with: beekeeper local sale"), "{said}");
    let written = fs::read_to_string(home.config_file("sale")).unwrap();
    stays_here("the file", &written);
    assert!(written.contains("beekeeper local sale") && written.contains("# health = "), "{written}");
    for shown in [&["config"][..], &["config", "sale"], &["list"]] {
        stays_here("config", &home.masked(&home.printed(shown)));
    }
    assert_eq!(home.printed(&["list"]), "sale  never started; to start it: beekeeper local sale\n");
    let missing = "error: missing for a new room: --title, --shop, --rate, --throttle or --no-throttle\n";
    assert!(home.refused(&["init", "ale"]).1.starts_with(missing));
}

#[test]
fn a_file_with_settings_for_aws_is_read_and_kept() {
    let home = Home::new();
    home.write(
        "sale",
        "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example\"\nrate = 300\nlog_days = 30\n",
    );
    assert_eq!(home.printed(&["init", "sale", "--rate", "500"]), "rate: 300 -> 500\n");
    let kept = fs::read_to_string(home.config_file("sale")).unwrap();
    assert!(kept.contains("region = \"eu-central-1\"") && kept.contains("log_days = 30"), "{kept}");
}

#[test]
fn the_only_room_is_meant() {
    let home = Home::new();
    let summer = Local::start_at_home(&home, "summer");
    drop(Client::new(&summer.base(), "summer").join());
    for order in [
        &["status"][..],
        &["pause"],
        &["set-rate", "50"],
        &["message", "More beer at noon"],
        &["stretch", "2"],
        &["undo"],
        &["on"],
        &["history"],
        &["history", "--minutes"],
        &["keys", "list"],
        &["rehearse", "--help"],
        &["list"],
        &["status", "summer"],
        &["status", "--local"],
        &["status", "--local", "summer"],
    ] {
        let output = home.run(order);
        assert!(output.status.success(), "{order:?}: {}", text(&output.stderr));
        stays_here(&order.join(" "), &(text(&output.stdout) + &text(&output.stderr)));
    }
    assert!(home.printed(&["list"]).starts_with("summer  port "), "{}", home.printed(&["list"]));
    for order in [&["doctor"][..], &["off"], &["report"], &["message", "summer"], &["backup", "summer"]] {
        let output = home.run(order);
        stays_here(&order.join(" "), &(text(&output.stdout) + &text(&output.stderr)));
    }

    let winter = Local::start_at_home(&home, "winter");
    let (code, said) = home.refused(&["pause"]);
    let several = "error: several rooms run on this machine, and none is named\n\
                   hint: use NAME for one of the rooms that run on this machine: summer, winter\n";
    assert_eq!((code, &*said), (2, several));
    assert!(home.printed(&["pause", "winter"]).starts_with("room: on -> paused"));
    assert!(!home.printed(&["status", "summer"]).contains("(summer), paused\n"));
    drop((summer, winter));
    let (code, said) = home.refused(&["status", "spring"]);
    assert_eq!(code, 3);
    assert!(said.contains("there is no room in ~/.local/share/beekeeper/spring"), "{said}");
    stays_here("status", &said);
}

#[test]
fn a_simulation_is_of_one_machine_until_somebody_asks_about_aws() {
    let home = Home::new();
    let host = |extra: &[&str]| {
        let said = home.printed(&[&["simulate", "--visitors", "200", "--rate", "600"], extra].concat());
        stays_here("simulate", if extra.is_empty() { &said } else { "" });
        said
    };
    assert!(host(&[]).contains("one machine"), "{}", host(&[]));
    assert!(host(&["--region", "eu-central-1"]).contains("a room on AWS in eu-central-1"));
}

#[test]
fn what_only_aws_has_is_said_to_be_missing_here() {
    let home = Home::new();
    for command in ["deploy", "destroy", "logs"] {
        let (code, said) = home.refused(&[command, "sale"]);
        let tip = "this beekeeper was built without AWS; to build one with it: cargo xtask dist";
        assert!(code == 2 && said.contains(tip), "{said}");
    }
}
