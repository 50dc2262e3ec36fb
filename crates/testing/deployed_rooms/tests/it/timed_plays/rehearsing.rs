//! An operator rehearses an event in a deployed room, with the permissions that the docs list. A simulation foresees it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use aws_model::{AccountLimits, ModelledRoom};
use deployed_rooms::Operator;
use emulators::{LocalEmu, Options};
use serde_json::{Value, json};
use simulation::{Arrivals, AwsAccount, Scenario, SimulatedEvent, Simulation};
use waitroom::Rate;

/// Three windows release at least, also if the first one is up to two minutes long because the rate was just changed. So one
/// begins and ends while people wait.
const VISITORS: u64 = 42;
const RATE: u32 = 12;
/// In milliseconds.
const MINUTE: u64 = 60_000;

/// The room is on for so long before the first visitor comes, so that its windows begin when those of the real one did.
fn simulate(on_before: Duration) -> SimulatedEvent {
    let arrivals = Arrivals::new("5s".parse().unwrap(), Some(VISITORS)).unwrap();
    let rate = Rate::new(RATE).unwrap();
    let limits = AccountLimits::default_in("us-east-1");
    let account = AwsAccount { limits, room: ModelledRoom::new(rate) };
    let usual = Scenario::new(arrivals, rate, Some(account));
    Simulation::run(&Scenario { on_before, ..usual }, |_| true)
}

/// How many each window planned and released. Before the first nobody was released, and in the last the line ran empty.
#[derive(Debug, PartialEq)]
struct Windows(Vec<(u64, u64)>);

impl Windows {
    fn rehearsed(report: &Value) -> Self {
        let number = |value: &Value| value.as_u64().unwrap();
        let windows = report["releases"]["windows"].as_array().unwrap().iter();
        Self(windows.map(|window| (number(&window["planned"]), number(&window["released"]))).collect())
    }

    fn simulated(event: &SimulatedEvent) -> Self {
        let windows = event.windows.iter();
        Self(windows.map(|window| (window.planned.into(), window.released.into())).collect())
    }

    /// Those that began and ended while people waited. The first one may have begun before anybody came.
    fn full(&self) -> &[(u64, u64)] {
        &self.0[1..self.0.len() - 1]
    }
}

/// From the beginning of a window until the first visitor could come, at most a minute.
fn on_before(report: &Value) -> Duration {
    let began = report["began"].as_u64().unwrap();
    let last = report["releases"]["windows"].as_array().unwrap().last().unwrap();
    Duration::from_millis(MINUTE - last["start"].as_u64().unwrap().checked_sub(began).unwrap() % MINUTE)
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn visitors_rehearse_in_a_deployed_room() {
    let aws: &'static LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let operator = Operator::new(aws, "operator").unwrap();
    operator.profile("sale", "Sale").unwrap();
    operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    let lowered = operator.run(&["set-rate", "sale", &RATE.to_string(), "--yes"]).unwrap();
    assert!(lowered.status.success(), "{lowered:?}");

    let unasked = operator.run(&["rehearse", "sale", "--visitors", "20"]).unwrap();
    let asks = String::from_utf8_lossy(&unasked.stderr).into_owned();
    assert_eq!(unasked.status.code(), Some(6), "{asks}");
    assert!(asks.contains("this costs about $0.0"), "{asks}");

    // A busy machine may miss a window, or have a join that was refused leave somebody in the line.
    let passes = (0..2).any(|_| catch_unwind(AssertUnwindSafe(|| both_agree(&operator))).is_ok());
    assert!(passes, "they do not agree twice, as told above");

    let status = operator.done(&["status", "sale", "--json"]).unwrap();
    assert_eq!((&status["room"]["rehearsal"], &status["line"]["waiting"]), (&Value::Null, &json!(0)));
    operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
}

fn both_agree(operator: &Operator) {
    let visitors = VISITORS.to_string();
    let crowd = ["--visitors", &visitors, "--arrivals", "5s", "--seed", "1", "--at-most", "10m"];
    let rehearse = [&["rehearse", "sale", "--yes", "--json"][..], &crowd].concat();
    let output = operator.run(&rehearse).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert!(output.status.success(), "{said}{report}");
    assert_eq!((&report["ends"]["entered"], &report["order"]["allowed"]), (&json!(VISITORS), &Value::Null));

    println!("began {}, {}", report["began"], report["releases"]["windows"]);
    let event = simulate(on_before(&report));
    let (rehearsed, simulated) = (Windows::rehearsed(&report), Windows::simulated(&event));
    println!("rehearsed {rehearsed:?}, {}\nsimulated {simulated:?}, {:?}", report["waits"], event.waits);
    assert_eq!(event.visitors.entered, VISITORS);
    for windows in [&rehearsed, &simulated] {
        let is_all_released = |(planned, released): &(u64, u64)| planned == released;
        assert!(!windows.full().is_empty() && windows.full().iter().all(is_all_released), "{windows:?}");
    }
    assert!(rehearsed.0.len().abs_diff(simulated.0.len()) <= 1, "{rehearsed:?} {simulated:?}");
    // The first window may release one batch more or fewer, so one of them may need another window for its last visitors.
    let mut pairs = rehearsed.full().iter().zip(simulated.full());
    assert!(pairs.all(|(real, foreseen)| real == foreseen), "{rehearsed:?} {simulated:?}");
}
