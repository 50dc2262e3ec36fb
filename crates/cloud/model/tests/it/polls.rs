//! A visitor of the model polls as often as the real page does.

use aws_model::{ModelledRoom, Visit};
use emulators::with_line_js;
use serde_json::json;
use waitroom::Rate;

/// Walks through a wait in a line that moves steadily and keeps its length, with the page's own functions.
const SCRIPT: &str = r#"
    import { readFileSync } from "node:fs";
    import { pathToFileURL } from "node:url";
    const { forecast, nextPoll } = await import(pathToFileURL(process.argv[1]));
    const polls = ({ minutes, rate }) => {
        const wait = minutes * 60_000;
        const ticket = Math.floor((wait * rate) / 60_000) + 1;
        let count = 1;
        for (let now = 0; now < wait; count += 1) {
            const served = Math.floor((now * rate) / 60_000);
            now += nextPoll(forecast(ticket, { served, waiting: ticket, rate, slow: false }), 1, 0.5);
        }
        return count;
    };
    console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(polls)));
"#;

#[test]
#[ignore = "needs Node.js: cargo xtask test aws_model"]
fn a_visitor_polls_as_often_as_the_page_does() {
    let waits = [0.0, 0.5, 1.0, 3.0, 10.0, 37.0, 150.0, 700.0];
    let rates = [1, 60, 300, 1000, 42_000, 270_000];
    let cases: Vec<_> = waits.iter().flat_map(|minutes| rates.map(|rate| (*minutes, rate))).collect();
    let asked: Vec<_> =
        cases.iter().map(|(minutes, rate)| json!({ "minutes": minutes, "rate": rate })).collect();
    let printed = with_line_js(SCRIPT, &json!(asked).to_string()).unwrap();
    let counted: Vec<u32> = serde_json::from_str(&printed).unwrap();
    let modelled: Vec<_> = cases
        .iter()
        .map(|&(minutes, rate)| Visit::waiting(minutes, &ModelledRoom::new(Rate::new(rate).unwrap())).polls)
        .collect();
    assert_eq!(modelled, counted, "{cases:?}");
}
