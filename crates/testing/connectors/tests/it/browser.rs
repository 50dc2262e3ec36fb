//! The module for the shop's page, in Node.js, which has the same `WebCrypto`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use connectors::{PassVerdict, Vectors};
use serde_json::{Value, json};

/// What a script prints, which reads this.
fn run(script: &str, input: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("shops").join(script);
    let mut node =
        Command::new("node").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn web_crypto_says_the_same_of_each_pass() {
    let vectors = Vectors::read().unwrap();
    let valid = run("verify.mjs", &serde_json::to_value(&vectors).unwrap());
    let valid = valid.as_array().unwrap();
    assert_eq!(valid.len(), vectors.passes.len());
    for (vector, valid) in vectors.passes.iter().zip(valid) {
        assert_eq!(*valid, vector.verdict == PassVerdict::Accepted, "{}", vector.what);
    }
}

/// A visitor at `https://shop.example/sale#top` with this query. The room answers "none" if it's away.
fn visit(vectors: &Vectors, answer: &Value, query: &str, kept: &Value) -> Value {
    let (room, name, keys) = (&vectors.room, &vectors.name, &vectors.keys);
    run(
        "enter.mjs",
        &json!({ "room": room, "name": name, "keys": keys, "answer": answer, "query": query, "kept": kept }),
    )
}

fn pass<'a>(vectors: &'a Vectors, what: &str) -> &'a str {
    &vectors.passes.iter().find(|vector| vector.what == what).unwrap().pass
}

#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn the_room_decides_and_the_pass_where_the_room_does_not_know_who_asks() {
    let vectors = Vectors::read().unwrap();
    let (valid, expired) = (pass(&vectors, "a pass"), pass(&vectors, "expired"));
    let (admitted, waiting) = (json!({ "allow": true }), json!({ "allow": false }));
    let (unknown, silent) = (json!({ "allow": false, "known": false }), json!("none"));
    let busy = json!({ "error": "try again" });
    let with_pass = format!("?x=1&bk_pass={valid}&y");
    let [nothing, has_valid, has_expired] = [json!({}), json!({ "pass": valid }), json!({ "pass": expired })];
    let has_keys = json!({ "pass": valid, "keys": json!(vectors.keys).to_string() });
    for (answer, query, kept, enters) in [
        (&admitted, "", &nothing, true),
        (&waiting, "", &nothing, false),
        (&waiting, "", &has_valid, false),
        (&waiting, with_pass.as_str(), &nothing, false),
        (&unknown, "", &nothing, false),
        (&unknown, &with_pass, &nothing, true),
        (&unknown, "", &has_valid, true),
        (&unknown, "", &has_expired, false),
        (&unknown, &format!("?bk_pass={expired}"), &has_valid, false),
        (&silent, "", &nothing, false),
        (&silent, "", &has_valid, false),
        (&silent, "", &has_keys, true),
        (&busy, "", &nothing, false),
        (&busy, "", &has_valid, true),
    ] {
        let case = format!("{answer} {query} {kept}");
        let seen = visit(&vectors, answer, query, kept);
        assert_eq!(seen["entered"], enters, "{case}");
        let door = format!("{}/beekeeper", vectors.room);
        assert_eq!(seen["wentTo"], if enters { Value::Null } else { json!(door) }, "{case}");
    }
    for answer in [&admitted, &unknown] {
        let seen = visit(&vectors, answer, &with_pass, &nothing);
        assert_eq!(seen["url"], "https://shop.example/sale?x=1&y#top");
        assert_eq!(seen["keeps"], has_keys, "for when the room is away");
    }
}

#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn a_visitor_comes_back_to_the_page_that_they_asked_for() {
    let vectors = Vectors::read().unwrap();
    let (valid, expired) = (pass(&vectors, "a pass"), pass(&vectors, "expired"));
    let (admitted, unknown) = (json!({ "allow": true }), json!({ "allow": false, "known": false }));
    let page = "https://shop.example/tickets/7?seat=a#map";
    let asked_for = json!({ "page": page });

    let away = visit(&vectors, &unknown, "?x=1", &asked_for);
    assert_eq!(away["keeps"]["page"], "https://shop.example/sale?x=1#top", "the newer page");
    let away = visit(&vectors, &unknown, &format!("?bk_pass={expired}"), &json!({}));
    assert_eq!(away["keeps"]["page"], "https://shop.example/sale#top", "without the pass");

    let with_pass = format!("?bk_pass={valid}");
    for answer in [&admitted, &unknown] {
        let back = visit(&vectors, answer, &with_pass, &asked_for);
        assert_eq!((&back["entered"], &back["wentTo"]), (&json!(true), &json!(page)), "{answer}");
        assert_eq!(back["keeps"]["page"], Value::Null, "{answer}: once");
        let back = visit(&vectors, answer, &with_pass, &json!({ "page": "https://shop.example.evil/" }));
        assert_eq!((&back["entered"], &back["wentTo"]), (&json!(true), &Value::Null), "{answer}");
    }
    let inside = visit(&vectors, &admitted, "", &asked_for);
    assert_eq!(
        (&inside["wentTo"], &inside["keeps"]),
        (&Value::Null, &json!({})),
        "they went on by themselves"
    );
}

/// As with a clock that is wrong, or another name of the room: it would go on for ever.
#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn nobody_is_sent_round_in_a_circle() {
    let vectors = Vectors::read().unwrap();
    let unknown = json!({ "allow": false, "known": false });
    let arrives =
        |what, kept: &Value| visit(&vectors, &unknown, &format!("?bk_pass={}", pass(&vectors, what)), kept);
    for what in ["expired", "for another room"] {
        let first = arrives(what, &json!({}));
        assert_eq!((&first["said"], first["wentTo"].is_string()), (&Value::Null, true), "{what}: {first}");
        let again = arrives(what, &first["keeps"]);
        assert_eq!((&again["entered"], &again["wentTo"]), (&json!(false), &Value::Null), "{what}");
        assert!(again["said"].as_str().unwrap().contains("date and time"), "{what}: {again}");
    }
    for what in ["not valid yet", "not issued yet"] {
        assert_eq!(arrives(what, &json!({}))["entered"], true, "{what}: the visitor's clock is slow");
    }
}

/// A room that observes sends everybody back with a pass. Of whom it couldn't write down, it knows only an old place, and says no.
#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn whoever_the_room_sends_back_enters_although_it_says_no() {
    let vectors = Vectors::read().unwrap();
    let waiting = json!({ "allow": false });
    let with = |what| format!("?bk_pass={}", pass(&vectors, what));
    let away = visit(&vectors, &waiting, "?x=1", &json!({}));
    assert!(away["wentTo"].is_string(), "{away}");

    let back = visit(&vectors, &waiting, &with("a pass"), &away["keeps"]);
    assert_eq!((&back["entered"], &back["wentTo"]), (&json!(true), &away["keeps"]["page"]));
    let next = visit(&vectors, &waiting, "?x=1", &back["keeps"]);
    assert_eq!((&next["entered"], &next["wentTo"]), (&json!(true), &Value::Null), "{next}");

    let refused = visit(&vectors, &waiting, &with("expired"), &away["keeps"]);
    assert_eq!((&refused["entered"], &refused["wentTo"]), (&json!(false), &Value::Null), "{refused}");
    assert!(refused["said"].as_str().unwrap().contains("date and time"), "{refused}");
    let other = visit(&vectors, &waiting, &with("expired"), &back["keeps"]);
    assert!(other["wentTo"].is_string(), "that isn't the pass which let them in: {other}");
}
