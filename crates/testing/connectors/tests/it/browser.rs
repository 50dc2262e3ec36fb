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

#[test]
#[ignore = "needs Node.js: cargo xtask test connectors"]
fn the_room_decides_and_the_pass_where_the_room_does_not_know_who_asks() {
    let vectors = Vectors::read().unwrap();
    let find = |verdict| &vectors.passes.iter().find(|vector| vector.verdict == verdict).unwrap().pass;
    let (valid, expired) = (find(PassVerdict::Accepted), find(PassVerdict::Expired));
    let visit = |answer: Value, query: &str, kept: Option<&str>| {
        run(
            "enter.mjs",
            &json!({
                "room": vectors.room, "name": vectors.name, "keys": vectors.keys,
                "answer": answer, "query": query, "kept": kept,
            }),
        )
    };
    let (admitted, waiting) = (json!({ "allow": true }), json!({ "allow": false }));
    let (unknown, silent) = (json!({ "allow": false, "known": false }), json!("none"));
    let busy = json!({ "error": "try again" });
    let with_pass = format!("?x=1&bk_pass={valid}&y");
    for (answer, query, kept, enters) in [
        (&admitted, "", None, true),
        (&waiting, "", None, false),
        (&waiting, with_pass.as_str(), None, false),
        (&unknown, "", None, false),
        (&unknown, &with_pass, None, true),
        (&unknown, "", Some(valid.as_str()), true),
        (&unknown, "", Some(expired.as_str()), false),
        (&unknown, &format!("?bk_pass={expired}"), Some(valid.as_str()), false),
        (&silent, "", None, false),
        (&silent, "", Some(valid.as_str()), true),
        (&busy, "", None, false),
        (&busy, "", Some(valid.as_str()), true),
    ] {
        let case = format!("{answer} {query} {kept:?}");
        let seen = visit(answer.clone(), query, kept);
        assert_eq!(seen["entered"], enters, "{case}");
        let door = format!("{}/beekeeper", vectors.room);
        assert_eq!(seen["wentTo"], if enters { Value::Null } else { json!(door) }, "{case}");
    }
    let seen = visit(admitted, &with_pass, None);
    assert_eq!((&seen["url"], &seen["kept"]), (&json!("/sale?x=1&y#top"), &json!(valid)));
}
