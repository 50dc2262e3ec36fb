//! `beekeeper simulate`, with small crowds.

use std::fs;

use html5gum::{Token, Tokenizer};
use serde_json::Value;

use crate::support::Home;

const CROWD: [&str; 5] = ["simulate", "--visitors", "2k", "--rate", "600"];

fn simulated(home: &Home, more: &[&str]) -> String {
    home.printed(&[&CROWD, more].concat())
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let home = Home::new();
    let of_seed = |seed| simulated(&home, &["--json", "--seed", seed]);
    let first = of_seed("7");
    assert_eq!(first, of_seed("7"));
    assert_ne!(first, of_seed("8"));
    let answer: Value = serde_json::from_str(&first).unwrap();
    let scenario = &answer["scenario"];
    assert_eq!(
        (&scenario["seed"], &scenario["visitors"], &scenario["rate"]),
        (&7.into(), &2000.into(), &600.into())
    );
    assert_eq!(answer["visitors"]["entered"], 2000);
}

#[test]
fn the_text_begins_with_the_answer_and_the_page_is_one_file() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("simulation.html");
    let text = simulated(&home, &["--html", page.to_str().unwrap(), "--new-account"]);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("2,000 visitors come within a minute"), "{text}");
    assert!(lines.next().unwrap().starts_with("The last visitor enters after "), "{text}");
    for told in ["Warning: ", "longest line", "The line", "allowed", "together"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let html = fs::read_to_string(page).unwrap();
    for token in Tokenizer::new(&html) {
        match token.unwrap() {
            Token::StartTag(tag) => assert_ne!(&tag.name[..], b"script"),
            Token::Error(error) => panic!("{error:?}"),
            _ => {}
        }
    }
    assert!(html.contains("<h1>Simulation of a room</h1>") && html.contains("<svg"), "{html}");
}

#[test]
fn one_machine_has_neither_limits_nor_costs() {
    let answer: Value = serde_json::from_str(&simulated(&Home::new(), &["--local", "--json"])).unwrap();
    assert_eq!(
        (&answer["limits"], &answer["costs"]),
        (&Value::from(Vec::<Value>::new()), &Value::from(Vec::<Value>::new()))
    );
    assert_eq!(answer["scenario"]["host"], "machine");
}

#[test]
fn a_rate_that_was_found_is_enough() {
    let home = Home::new();
    let json = |more: &[&str]| -> Value {
        let crowd = ["simulate", "--local", "--visitors", "500", "--json"];
        serde_json::from_str(&home.printed(&[&crowd, more].concat())).unwrap()
    };
    let found = json(&["--find", "rate", "--within", "10m"])["found_rate"].as_u64().unwrap();
    assert!((50..200).contains(&found), "{found}");
    let event = json(&["--rate", &found.to_string()]);
    assert!(event["drained_after"].as_f64().unwrap() <= 600.0, "{event}");
}

#[test]
fn a_crowd_too_large_for_a_new_account_says_what_to_raise() {
    let more = ["--new-account", "--find", "quota", "--json"];
    let answer: Value = serde_json::from_str(&simulated(&Home::new(), &more)).unwrap();
    let quotas = answer["quotas"].as_array().unwrap();
    assert!(quotas.iter().any(|quota| quota["limit"] == "concurrency"), "{quotas:?}");
}

#[test]
fn what_cannot_be_simulated_says_what_to_do() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts.csv");
    fs::write(&counts, "at,joined\n2027-03-05T12:00:00Z,many\n").unwrap();
    let counts = counts.to_str().unwrap();
    let cases: [(&[&str], &str); 11] = [
        (&["--visitors", "0"], "from 1 to 100m"),
        (&["--visitors", "50m", "--rate", "60"], "can be simulated"),
        (&["--visitors", "9"], "--rate 3k"),
        (&["--rate", "60"], "--visitors 50k"),
        (&["--arrivals", "flood"], "a time like 10m"),
        (&["--arrivals", "missing.csv"], "missing.csv: "),
        (&["--arrivals", counts], "line 2"),
        (&["--give-up", "101"], "from 0 to 100"),
        (&["--shop-bears", "600"], "--shop-answers-in"),
        (&["--visitors", "9", "--find", "rate"], "--within"),
        (&["--limit", "functions=9"], "concurrency"),
    ];
    for (flags, told) in cases {
        let (code, error) = home.refused(&[&["simulate"], flags].concat());
        assert!(code == 2 && error.contains(told), "{flags:?}: {code} {error}");
    }
    let too_late =
        ["simulate", "--local", "--visitors", "9", "--arrivals", "2h", "--find", "rate", "--within", "1m"];
    let (code, error) = home.refused(&too_late);
    assert!(code == 1 && error.contains("more time with --within"), "{error}");
    let (code, error) = home.refused(&["simulate", "nowhere", "--visitors", "9"]);
    assert!(code == 3 && error.contains("beekeeper init nowhere"), "{error}");
}
