//! A rehearsal and a simulation of the same crowd agree.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use simulation::{Arrivals, ReleaseWindow, Scenario, SimulatedEvent, Simulation};
use waitroom::Rate;

use crate::support::{Local, even_on_a_busy_machine, text};

const VISITORS: u64 = 1500;
/// A multiple of 300, so that twice an even share of a sixtieth of a minute is whole batches. Otherwise a room with a shortened
/// minute may release a batch more than a rehearsal expects, which knows only real seconds.
const RATE: u32 = 300;
/// A shortened minute: 60 visitors a second. Pages think of real minutes, so they learn of their turn later.
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
    let broken = report["checks"].as_array().unwrap().iter().filter(|check| check["is_kept"] != true);
    assert_eq!(report["passed"], true, "{:?}\n{}", broken.collect::<Vec<_>>(), report["releases"]["windows"]);
    report
}

/// The room is on for so long before the first visitor comes, so that its windows begin when those of the real one did.
fn simulate(on_before: Duration) -> SimulatedEvent {
    let arrivals = Arrivals::new("5s".parse().unwrap(), Some(VISITORS)).unwrap();
    let usual = Scenario::new(arrivals, Rate::new(RATE).unwrap(), None);
    Simulation::run(&Scenario { minute: MINUTE, on_before, ..usual }, |_| true)
}

/// A window of the real room or of the simulated one.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Since the first visitor could come.
    start: Duration,
    length: Duration,
    planned: u64,
    released: u64,
}

impl Window {
    /// Whether it released exactly its plan, as the other one did, and both plans are the same. A busy machine begins a minute
    /// some milliseconds late, and the next window is as much shorter: then the plan is too, by as many as enter in that time.
    fn agrees_with(&self, other: &Self) -> bool {
        let (late, minute) = (self.length.abs_diff(other.length).as_micros(), MINUTE.as_micros());
        let fewer = (u128::from(RATE) * late).div_ceil(minute);
        (self.planned, other.planned) == (self.released, other.released)
            && late * 50 <= minute
            && u128::from(self.planned.abs_diff(other.planned)) <= fewer
    }
}

fn rehearsed_windows(report: &Value) -> Vec<Window> {
    let number = |value: &Value| value.as_u64().unwrap();
    let began = number(&report["began"]);
    let windows = report["releases"]["windows"].as_array().unwrap().iter();
    let window = |window: &Value| {
        let [start, end] = ["start", "end"].map(|instant| number(&window[instant]));
        Window {
            start: Duration::from_millis(start.saturating_sub(began)),
            length: Duration::from_millis(end - start),
            planned: number(&window["planned"]),
            released: number(&window["released"]),
        }
    };
    windows.map(window).collect()
}

fn simulated_windows(event: &SimulatedEvent) -> Vec<Window> {
    let window = |window: &ReleaseWindow| Window {
        start: Duration::from_secs_f64(window.from),
        length: Duration::from_secs_f64(window.to - window.from),
        planned: window.planned.into(),
        released: window.released.into(),
    };
    event.windows.iter().map(window).collect()
}

/// A full window has to release exactly its plan, and a slice of so short a minute ends 25 ms after it.
#[test]
#[ignore = "takes two minutes: cargo xtask test beekeeper"]
fn a_simulation_foresees_what_a_rehearsal_finds() {
    even_on_a_busy_machine(both_agree);
}

fn both_agree() {
    let report = rehearse();
    let real = rehearsed_windows(&report);
    // The second window began a whole number of minutes after the room.
    let minute = MINUTE.as_secs_f64();
    let event = simulate(Duration::from_secs_f64(minute - real[1].start.as_secs_f64() % minute));
    let simulated = simulated_windows(&event);
    println!("{real:?}\n{simulated:?}\n{:?}\n{}", event.waits, report["waits"]);

    assert!(real.len() >= 5 && real.len() == simulated.len(), "{real:?}\n{simulated:?}");
    // The first window may have begun before anybody came, and in the last the line runs empty.
    let full = 1..real.len() - 1;
    for (real, simulated) in real[full.clone()].iter().zip(&simulated[full]) {
        assert!(real.agrees_with(simulated), "{real:?} {simulated:?}");
    }
    // The report judges itself those before which enough visitors waited: in the second one they still come.
    let judged = &report["releases"]["windows"].as_array().unwrap()[2..real.len() - 1];
    assert!(judged.iter().all(|window| window["is_full"] == true), "{judged:?}");

    for (what, simulated) in [("median", event.waits.median), ("p95", event.waits.p95)] {
        let found = report["waits"]["called"][what].as_f64().unwrap();
        assert!((simulated / found - 1.0).abs() <= 0.05, "{what}: {simulated} simulated, {found} rehearsed");
    }
}
