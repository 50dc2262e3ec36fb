//! An operator runs a deployed room: every order by `beekeeper`, with the permissions that the docs list.

use std::thread;
use std::time::{Duration, Instant};

use deployed_rooms::Operator;
use emulators::{LocalEmu, Options, console};
use http_contract::{Client, IN_FORCE};
use serde_json::{Value, json};

/// Waits until polls show a change. A room needs up to two seconds for that; this waits ten.
fn eventually(what: &str, client: &Client, place: &str, is_so: impl Fn(&Value) -> bool) {
    let is_told = (0..100).any(|_| {
        let told = is_so(&client.get_with("/polling", place).json());
        if !told {
            thread::sleep(Duration::from_millis(100));
        }
        told
    });
    assert!(is_told, "{what}");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn an_operator_says_and_the_room_does() {
    let aws: &'static LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let operator = Operator::new(aws, "operator").unwrap();
    operator.profile("sale", "Sale").unwrap();
    let absent = operator.run(&["status", "sale"]).unwrap();
    assert_eq!(absent.status.code(), Some(3), "{absent:?}");
    let deployed = operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    let stage = deployed["urls"]["stage"].as_str().unwrap();
    let client = Client::new(&aws.stage(stage), "sale");
    let said = |arguments: &[&str]| {
        let output = operator.run(arguments).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        console::without_seconds(&String::from_utf8(output.stdout).unwrap())
    };

    let begun = Instant::now();
    assert_eq!(said(&["pause", "sale"]), "room: on -> paused, in force in … s\n");
    println!("an order took {:?}", begun.elapsed());
    thread::sleep(IN_FORCE);
    let places: Vec<_> = (0..3).map(|_| client.join()).collect();
    eventually("paused", &client, &places[0], |poll| poll["state"] == "paused");
    assert_eq!(said(&["set-rate", "sale", "600", "--yes"]), "rate: 60 -> 600\n");
    assert_eq!(said(&["message", "sale", "More beer at noon"]), "message: \"\" -> \"More beer at noon\"\n");
    assert_eq!(said(&["stretch", "sale", "3"]), "stretch: 1 -> 3\n");
    assert_eq!(said(&["undo", "sale"]), "stretch: 3 -> 1\n");
    assert_eq!(said(&["stretch", "sale", "2"]), "stretch: 1 -> 2\n");
    eventually("what was said", &client, &places[0], |poll| {
        (&poll["rate"], &poll["message"], &poll["stretch"])
            == (&json!(600), &json!("More beer at noon"), &json!(2))
    });

    let status = operator.done(&["status", "sale", "--json"]).unwrap();
    let waiting = status["line"]["waiting"].as_u64().unwrap();
    assert!((3..=3 + client.refused_joins() as u64).contains(&waiting), "{status}");
    assert_eq!(
        (&status["dead_letters"], &status["room"]["state"]),
        (&json!(0), &json!("paused")),
        "{status}"
    );
    let shown = said(&["status", "sale"]);
    let line = format!("Sale (sale), paused\njoined         about {waiting}\nwaiting        {waiting}\n");
    assert!(shown.starts_with(&line), "{shown}");
    assert!(shown.contains(&format!("waiting room   {stage}/beekeeper\n")), "{shown}");
    let unasked = operator.run(&["off", "sale"]).unwrap();
    assert_eq!(unasked.status.code(), Some(6), "{unasked:?}");
    assert_eq!(said(&["off", "sale", "--yes"]), "room: paused -> off\n");
    eventually("off", &client, &places[0], |poll| poll["allow"] == true);
    assert_eq!(said(&["pause", "sale"]), "room: off -> paused\n");

    let logged = said(&["logs", "sale", "--since", "1h", "--json"]);
    let functions = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let functions: Vec<_> = functions.map(|line| line["function"].as_str().unwrap().to_owned()).collect();
    assert!(functions.iter().any(|function| function == "producer"), "{logged}");

    let reset = operator.done(&["reset", "sale", "--yes", "--json"]).unwrap();
    assert_eq!(reset["lost_places"], waiting, "{reset}");
    assert_ne!(reset["before"], reset["after"]);
    eventually("a newcomer", &client, &places[0], |poll| poll["join"] == true && poll["waiting"] == 0);
    let after_reset = operator.run(&["undo", "sale"]).unwrap();
    assert_eq!(after_reset.status.code(), Some(1), "{after_reset:?}");
    let history = said(&["history", "sale", "--json"]);
    let entries: Vec<Value> = history.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let subjects: Vec<_> = entries.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    let expected = "state rate message stretch stretch stretch state state reset";
    assert_eq!(subjects.join(" "), expected, "{history}");
    assert_eq!(entries[4]["undoes"], 4, "{history}");
    assert!(entries.iter().all(|entry| entry["who"].as_str().unwrap().starts_with("arn:aws:")), "{history}");
    // The reset took a minute, so the trigger has run meanwhile.
    let minutes = said(&["history", "sale", "--minutes", "--json"]);
    let minutes: Vec<Value> = minutes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(minutes.last().is_some_and(|minute| minute["rate"] == json!(null)), "paused: {minutes:?}");
    assert_eq!(said(&["on", "sale"]), "room: paused -> on, in force in … s\n");
    operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
}
