//! Rust and JavaScript get the same values, and must compute the same.

use emulators::with_line_js;
use page::line::{
    PageForecast, ShownRange, forecast, is_far, is_overtaken, narrow, next_poll, poll_around_opening,
    retry_in,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use waitroom::{LineStatus, Rate};

/// Reads the cases from standard input, and prints what `site/line.js` makes of each.
const SCRIPT: &str = r#"
    import { readFileSync } from "node:fs";
    import { pathToFileURL } from "node:url";
    const { forecast, isFar, isPassed, narrow, nextPoll, pollAroundOpening, retryIn } = await import(pathToFileURL(process.argv[1]));
    const answers = JSON.parse(readFileSync(0)).map(({ ticket, line, stretch, random, failures, usual, shown, now, opensIn }) => {
        const expected = forecast(ticket, line);
        const { ahead, earliest, latest, askIn, within } = expected;
        const { from, to } = narrow(shown ?? undefined, expected, now);
        const pauses = [nextPoll(expected, stretch, random), retryIn(failures, usual, random)];
        pauses.push(pollAroundOpening(opensIn, expected, stretch, random));
        return [ahead, earliest, latest, askIn, within, ...pauses, from, to, ...[isPassed(ticket, line), isFar(ticket, line, usual)].map(Number)];
    });
    console.log(JSON.stringify(answers));
"#;

/// Numbers of every size: most differences between two tickets are small, and some are not.
fn number(rng: &mut StdRng) -> u64 {
    let digits = rng.random_range(0..7);
    rng.random_range(0..10_u64.pow(digits))
}

fn random_case(rng: &mut StdRng) -> Value {
    let (reached, now) = (number(rng), 1_700_000_000_000 + number(rng));
    let to = now + number(rng);
    let shown = rng.random_bool(0.8).then(|| json!({ "from": to - number(rng).min(to), "to": to }));
    let line = json!({
        "served": reached,
        "passed": number(rng),
        "disorder": number(rng),
        "waiting": number(rng),
        "rate": number(rng).clamp(1, 270_000),
        "slow": rng.random_bool(0.5),
    });
    json!({
        "ticket": reached + number(rng) - number(rng).min(reached) + 1,
        "line": line,
        "stretch": rng.random_range(1..12),
        "random": f64::from(rng.random_range(0..1000)) / 1000.0,
        "failures": rng.random_range(1..12),
        "usual": number(rng),
        "shown": shown,
        "now": now,
        "opensIn": number(rng),
    })
}

/// The same in Rust.
fn computed(case: &Value) -> [f64; 12] {
    let line: LineStatus = serde_json::from_value(case["line"].clone()).unwrap();
    assert!(line.rate <= Rate::MAX);
    let (ticket, value) = (case["ticket"].as_u64().unwrap(), |name: &str| case[name].as_f64().unwrap());
    let expected = forecast(ticket, &line);
    let shown = &case["shown"];
    let shown = shown["to"].as_f64().map(|to| ShownRange { from: shown["from"].as_f64().unwrap(), to });
    let range = narrow(shown, &expected, value("now"));
    let poll = next_poll(&expected, value("stretch"), value("random"));
    let failures = case["failures"].as_i64().unwrap().try_into().unwrap();
    let retry = retry_in(failures, value("usual"), value("random"));
    let opening = poll_around_opening(value("opensIn"), &expected, value("stretch"), value("random"));
    let is = |holds: bool| f64::from(u8::from(holds));
    let overtaken = is(is_overtaken(ticket, &line));
    let far = is(is_far(ticket, &line, value("usual")));
    let PageForecast { ahead, earliest, latest, ask_in, within } = expected;
    [ahead, earliest, latest, ask_in, within, poll, retry, opening, range.from, range.to, overtaken, far]
}

#[test]
#[ignore = "needs Node.js: cargo xtask test page"]
fn rust_computes_what_the_page_computes() {
    let mut rng = StdRng::seed_from_u64(1);
    let cases: Vec<_> = (0..5000).map(|_| random_case(&mut rng)).collect();
    let printed = with_line_js(SCRIPT, &json!(cases).to_string()).unwrap();
    let answers: Vec<[f64; 12]> = serde_json::from_str(&printed).unwrap();
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(answers) {
        let computed = computed(case);
        let is_same = |(one, other): (&f64, f64)| (one - other).abs() <= 1e-12 * other.abs();
        assert!(computed.iter().zip(answer).all(is_same), "{case}: {computed:?} is not {answer:?}");
    }
}
