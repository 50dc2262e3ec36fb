//! What browsers do in a room: the visits that the page's own tests play too, and random ones against the page's program.

use std::time::Duration;

use emulators::with_line_js;
use page::PollText;
use page::visitor::{AskedFor, Heard, PageMoment, PagePlace, PageShows, Step, Tab};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};
use waitroom::Timestamp;

const CASES: &str = include_str!("../../../../site/test/visitor-cases.json");
/// When visits begin, by the browser's clock. `opens`, `until` and `date` count from here.
const BEGUN: f64 = 1_800_000_000_000.0;

/// Plays visits from standard input with the program inside the page, and prints what the browser did after each step.
const SCRIPT: &str = r#"
    import { readFileSync } from "node:fs";
    import { pathToFileURL } from "node:url";
    const { play } = await import(new URL("test/visit.js", pathToFileURL(process.argv[1])));
    const done = [];
    for (const visit of JSON.parse(readFileSync(0))) done.push(await play(visit));
    console.log(JSON.stringify(done));
"#;

/// A browser that visits a room, as `site/test/visit.js` plays it.
struct Browser {
    keeps: bool,
    tab: Tab,
    /// The time of its last answer.
    clock: f64,
    next: Step,
    shows: Option<PageShows>,
}

/// What a browser did: what it asked for, after which time, and what it showed meanwhile.
#[derive(Debug, PartialEq)]
struct Done(AskedFor, f64, Option<PageShows>);

impl Browser {
    fn new(visit: &Value) -> Self {
        let keeps = visit["keeps"].as_bool().unwrap_or(true);
        Self { keeps, tab: Tab::default(), clock: BEGUN, next: Step::FIRST, shows: None }
    }

    fn takes(&mut self, step: &Value, answers: &Value) -> Done {
        self.clock = (self.clock + self.next.after).ceil() + step["takes"].as_f64().unwrap_or(100.0);
        let heard = match step["hears"].as_str() {
            Some(link) if link.starts_with('#') => {
                self.hears(Heard::Page(PagePlace::in_fragment(&link[1..])), step);
                Heard::Document
            }
            Some(link) if link.starts_with("redirect#") => {
                Heard::Page(PagePlace::in_fragment(&link["redirect#".len()..]))
            }
            Some("document") => Heard::Document,
            Some("nothing" | "busy" | "unreadable") => Heard::Refused,
            Some("silence") => {
                let is_edge = self.next.ask.what == AskedFor::Status;
                let patience = if is_edge { Tab::EDGE_PATIENCE } else { Tab::PATIENCE };
                self.clock += patience.as_secs_f64() * 1000.0;
                Heard::Refused
            }
            _ => self.answered(step, answers),
        };
        self.hears(heard, step);
        Done(self.next.ask.what, self.next.after, self.shows)
    }

    fn hears(&mut self, heard: Heard, step: &Value) {
        let moment = PageMoment {
            now: self.clock,
            keeps: self.keeps,
            is_hidden: step["hidden"].as_bool().unwrap_or_default(),
        };
        let random = step["random"].as_f64().unwrap_or(0.5);
        self.next = self.tab.hear(self.next.ask, heard, moment, &mut || random);
        self.shows = self.next.shows.or(self.shows);
    }

    /// The answer of a poll, shared or not: one of the file's, with changes. `null` leaves a field out.
    fn answered(&self, step: &Value, answers: &Value) -> Heard {
        let name = step["hears"][0].as_str().unwrap();
        let mut answer: Map<String, Value> = answers[name].as_object().cloned().unwrap_or_default();
        answer.extend(step["hears"][1].as_object().cloned().unwrap_or_default());
        answer.retain(|_, value| !value.is_null());
        for at in ["opens", "until"] {
            if let Some(value) = answer.get_mut(at) {
                *value = instant(BEGUN + value.as_f64().unwrap()).as_millis().into();
            }
        }
        let room_now = instant(step["date"].as_f64().map_or(self.clock, |date| BEGUN + date));
        if self.next.ask.what == AskedFor::Status && step["hears"][1].get("at").is_none() {
            let at = room_now - Duration::from_millis(step["age"].as_u64().unwrap_or_default());
            answer.insert("at".into(), at.as_millis().into());
        }
        let text: PollText = serde_json::from_value(answer.into()).unwrap();
        let polled = text.polled(room_now).unwrap();
        match self.next.ask.what {
            AskedFor::Status => Heard::Status { polled, age: text.age(room_now) },
            _ => Heard::Poll(polled),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of this century")]
fn instant(millis: f64) -> Timestamp {
    Timestamp::from_millis(millis as u64)
}

fn asked_for(name: &Value) -> AskedFor {
    match name.as_str().unwrap() {
        "door" => AskedFor::Door,
        "document" => AskedFor::Document,
        "poll" => AskedFor::Poll,
        "status" => AskedFor::Status,
        other => panic!("{other}"),
    }
}

fn shows(name: &Value) -> Option<PageShows> {
    Some(match name.as_str()? {
        "finding" => PageShows::Finding,
        "line" => PageShows::Line,
        "turn" => PageShows::Turn,
        "held" => PageShows::Held,
        "blocked" => PageShows::Blocked,
        "closed" => PageShows::Closed,
        "ended" => PageShows::Ended,
        other => panic!("{other}"),
    })
}

#[test]
fn every_visit_goes_as_in_the_page() {
    let cases: Value = serde_json::from_str(CASES).unwrap();
    let visits = cases["visits"].as_array().unwrap();
    assert!(visits.len() > 30);
    for visit in visits {
        let mut browser = Browser::new(visit);
        for step in visit["steps"].as_array().unwrap() {
            let Done(ask, after, shown) = browser.takes(step, &cases["answers"]);
            let Some(then) = step["then"].as_object() else { continue };
            let name = &visit["name"];
            assert_eq!(ask, asked_for(&then["ask"]), "{name}: {step}");
            assert!((after - then["after"].as_f64().unwrap()).abs() < 1.0, "{name}: {step} after {after}");
            let expected = then.get("shows").map(|name| shows(name).unwrap());
            assert!(expected.is_none() || expected == shown, "{name}: {step} {shown:?}");
        }
    }
}

/// What somebody hears who asked for this: often what a browser hears in a sale, and sometimes anything.
fn random_answer(rng: &mut StdRng, asked: AskedFor, clock: f64) -> Value {
    let link = |rng: &mut StdRng| {
        let epoch = if rng.random_bool(0.8) { "ab12" } else { "cd34" };
        if rng.random_bool(0.05) { "#".to_owned() } else { format!("#{epoch}-{}", 1 + number(rng)) }
    };
    match asked {
        _ if rng.random_bool(0.2) => ["nothing", "busy", "unreadable"][rng.random_range(0..3)].into(),
        AskedFor::Door if rng.random_bool(0.2) => format!("redirect{}", link(rng)).into(),
        AskedFor::Door => link(rng).into(),
        AskedFor::Document => "document".into(),
        AskedFor::Poll | AskedFor::Status if rng.random_bool(0.2) => {
            json!(["", { "allow": true, "origin": "https://shop.example/" }])
        }
        AskedFor::Poll | AskedFor::Status => {
            let is_opening = rng.random_bool(0.2);
            let opens = (clock - BEGUN).ceil() + f64::from(rng.random_range(-60_000..600_000));
            json!(["", {
                "allow": false,
                "epoch": if rng.random_bool(0.8) { "ab12" } else { "cd34" },
                "join": rng.random_bool(0.1),
                "served": number(rng),
                "passed": if rng.random_bool(0.5) { number(rng) } else { 0 },
                "disorder": number(rng),
                "waiting": number(rng),
                "rate": number(rng).clamp(1, 270_000),
                "slow": rng.random_bool(0.2),
                "late": rng.random_bool(0.1),
                "state": if is_opening { "paused" } else { ["on", "closed", "ended"][rng.random_range(0..3)] },
                "opens": if is_opening { json!(opens.max(0.0)) } else { Value::Null },
                "message": "",
                "edge": rng.random_bool(0.5),
                "stretch": if rng.random_bool(0.8) { json!(rng.random_range(1..12)) } else { Value::Null },
            }])
        }
    }
}

/// Numbers of every size.
fn number(rng: &mut StdRng) -> u64 {
    let digits = rng.random_range(0..7);
    rng.random_range(0..10_u64.pow(digits))
}

/// A visit of forty steps, and what a browser does in it.
fn random_visit(rng: &mut StdRng) -> (Value, Vec<Done>) {
    let mut visit = json!({ "keeps": rng.random_bool(0.9) });
    let mut browser = Browser::new(&visit);
    let (mut steps, mut done) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let at = browser.clock + browser.next.after;
        let step = json!({
            "hears": random_answer(rng, browser.next.ask.what, at),
            // Longer than the page's shortest time between two polls, which it keeps however often a button is pressed.
            "takes": rng.random_range(2_000..20_000),
            "random": f64::from(rng.random_range(0..1000)) / 1000.0,
            "hidden": rng.random_bool(0.2),
            "age": if rng.random_bool(0.5) { rng.random_range(0..150_000) } else { 0 },
        });
        done.push(browser.takes(&step, &Value::Null));
        steps.push(step);
    }
    visit["steps"] = steps.into();
    (visit, done)
}

#[test]
#[ignore = "needs Node.js: cargo xtask test page"]
fn the_page_does_the_same_in_random_visits() {
    let mut rng = StdRng::seed_from_u64(1);
    let (visits, expected): (Vec<_>, Vec<_>) = (0..300).map(|_| random_visit(&mut rng)).unzip();
    let printed = with_line_js(SCRIPT, &json!(visits).to_string()).unwrap();
    let played: Vec<Vec<Value>> = serde_json::from_str(&printed).unwrap();
    assert_eq!(played.len(), expected.len());
    for ((visit, expected), played) in visits.iter().zip(expected).zip(played) {
        for (index, (expected, page)) in expected.iter().zip(played).enumerate() {
            let Done(ask, after, shown) = expected;
            let after_in_page = page["after"].as_f64().unwrap();
            let is_same = *ask == asked_for(&page["ask"])
                && (after - after_in_page).abs() <= 1e-9 * after.abs()
                && *shown == shows(&page["shows"]);
            assert!(is_same, "{page} is not {expected:?} at step {index} of {visit:#}");
        }
    }
}
