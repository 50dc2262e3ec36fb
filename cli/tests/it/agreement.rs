//! A rehearsal and a simulation of the same crowd agree.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use simulation::{Arrivals, RoomHost, Scenario, SimulatedEvent, Simulation};
use waitroom::Rate;

use crate::support::{Local, text};

const VISITORS: u64 = 1200;
const RATE: u32 = 240;
/// A shortened minute: 48 visitors a second. Pages think of real minutes, so they learn of their turn later.
const MINUTE: Duration = Duration::from_secs(5);

fn rehearse() -> Value {
    let room = Local::start(&["--rate", &RATE.to_string(), "--minute", "5s"]);
    let output = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
        .args(["rehearse", "--local", "--json", "--arrivals", "5s", "--seed", "1", "--data"])
        .arg(room.directory.path())
        .args(["--visitors", &VISITORS.to_string()])
        .output()
        .unwrap();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(report["passed"], true, "{report}");
    report
}

/// The room is on for so long before the first visitor comes, so that its windows begin when those of the real one did.
fn simulate(on_before: Duration) -> SimulatedEvent {
    let arrivals = Arrivals::new("5s".parse().unwrap(), Some(VISITORS)).unwrap();
    let usual = Scenario::new(arrivals, Rate::new(RATE).unwrap(), RoomHost::Machine);
    Simulation::run(&Scenario { minute: MINUTE, on_before, ..usual }, |_| true)
}

/// When each window began after the first visitor could come, in seconds, and how many it planned and released.
fn rehearsed_windows(report: &Value) -> Vec<(f64, u64, u64)> {
    let number = |value: &Value| value.as_u64().unwrap();
    let began = number(&report["began"]);
    let windows = report["releases"]["windows"].as_array().unwrap().iter();
    let since = |at: u64| Duration::from_millis(at.saturating_sub(began)).as_secs_f64();
    windows
        .map(|window| {
            (since(number(&window["start"])), number(&window["planned"]), number(&window["released"]))
        })
        .collect()
}

#[test]
#[ignore = "takes two minutes: cargo xtask test beekeeper"]
fn a_simulation_foresees_what_a_rehearsal_finds() {
    let report = rehearse();
    let rehearsed = rehearsed_windows(&report);
    // The second window began a whole number of minutes after the room.
    let minute = MINUTE.as_secs_f64();
    let event = simulate(Duration::from_secs_f64(minute - rehearsed[1].0 % minute));
    println!("{rehearsed:?}\n{:?}\n{:?}\n{}", event.windows, event.waits, report["waits"]);

    let real: Vec<_> = rehearsed.iter().map(|(_, planned, released)| (*planned, *released)).collect();
    let simulated: Vec<_> =
        event.windows.iter().map(|window| (u64::from(window.planned), u64::from(window.released))).collect();
    assert!(real.len() >= 5 && real.len() == simulated.len(), "{real:?}\n{simulated:?}");
    for windows in [&real, &simulated] {
        // The first window may have begun before anybody came, and in the last the line runs empty.
        let full = &windows[1..windows.len() - 1];
        let is_exact = |(planned, released): &(u64, u64)| {
            // A busy machine begins a minute a little late, and makes the one before as much longer.
            released == planned && planned.abs_diff(RATE.into()) <= u64::from(RATE) / 50
        };
        assert!(full.iter().all(is_exact), "{real:?}\n{simulated:?}");
    }

    for (what, simulated) in [("median", event.waits.median), ("p95", event.waits.p95)] {
        let found = report["waits"]["called"][what].as_f64().unwrap();
        assert!((simulated / found - 1.0).abs() <= 0.05, "{what}: {simulated} simulated, {found} rehearsed");
    }
}
