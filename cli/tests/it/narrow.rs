//! What a terminal of 60 columns shows: no word is broken, and nothing is lost.

use http_contract::{Client, RoomUnderTest};

use crate::support::{Home, Local};

const COLUMNS: u16 = 60;
const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/report-format-1.json");

/// A command or an address is not cut, however long it is.
fn may_be_long(line: &str) -> bool {
    const WHOLE: [&str; 4] = ["beekeeper ", "aws ", "cargo ", "kill "];
    let line = line.trim().trim_start_matches('`');
    // Beside the names of a check, or below them.
    let last = line.rsplit("  ").next().unwrap_or(line);
    WHOLE.iter().any(|command| last.starts_with(command)) || !last.contains(' ')
}

/// The numbers of a room that runs change meanwhile.
fn words(said: &str) -> Vec<String> {
    let shown = said.split_whitespace().filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()));
    shown.map(ToOwned::to_owned).collect()
}

#[test]
fn no_screen_breaks_a_word() {
    let home = Home::new();
    let room = Local::start_at_home(&home, "summer-night-sale");
    drop(Client::new(&room.base(), "summer-night-sale").join());
    let message = "More beer at noon, and a band that nobody here has heard before";
    home.printed(&["message", "--local", "summer-night-sale", message]);
    let mut screens: Vec<Vec<&str>> = vec![
        vec!["status", "--local"],
        vec!["doctor", "--local"],
        vec!["history", "--local"],
        vec!["history", "--local", "--minutes"],
        vec!["keys", "list", "--local"],
        vec!["report", "--local"],
        vec!["report", REPORT],
        vec!["list"],
        vec!["on", "--local"],
        vec!["status", "nowhere"],
        vec!["resume"],
        vec!["local", "summer-night-sale"],
        vec!["simulate", "--local", "--visitors", "2k", "--rate", "600"],
        vec!["rehearse", "--local", "--visitors", "5", "--arrivals", "1s", "--yes"],
        vec!["--help"],
    ];
    for command in
        ["init", "local", "guard", "simulate", "rehearse", "status", "on", "reset", "keys", "report"]
    {
        screens.push(vec!["help", command]);
    }
    for screen in screens {
        let shown = home.person_at(COLUMNS, &screen).exp_eof().unwrap();
        // It reads each byte as a letter.
        let bytes = shown.chars().filter_map(|letter| u8::try_from(u32::from(letter)).ok()).collect();
        let shown = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        // A live line is rewritten in place.
        let lines = shown.lines().map(|line| line.rsplit("\r\u{1b}[K").next().unwrap_or_default());
        for line in lines {
            assert!(
                line.chars().count() <= COLUMNS.into() || may_be_long(line),
                "{screen:?} breaks {line:?}\n{shown}"
            );
        }
        if ["help", "--help", "resume"].contains(&screen[0]) {
            let output = home.run(&screen);
            let unwrapped = [output.stdout, output.stderr].concat();
            assert_eq!(words(&shown), words(&String::from_utf8(unwrapped).unwrap()), "{screen:?}");
        }
    }
}

#[test]
fn a_minute_of_a_report_stays_in_its_columns() {
    let shown = Home::new().person_at(COLUMNS, &["report", REPORT]).exp_eof().unwrap().replace("\r\n", "\n");
    for row in [
        "until     joined  released    came    waiting\n            rate   longest  median  note\n",
        "12:00:31   1,200         0       0      1,200\n          paused         -       -\n",
        "12:02:31     100       300     290        700\n             300     2 min   110 s  throttled\n",
    ] {
        assert!(shown.contains(row), "{row}\n{shown}");
    }
}
