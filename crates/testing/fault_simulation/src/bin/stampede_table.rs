//! Prints the table of docs/crowd.md: `stampede_table SEED`. `cargo xtask stampede` runs it.

#![allow(clippy::print_stdout, reason = "the table is for a person")]
#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::time::Duration;

use fault_simulation::{Stampede, VisitorHabits};
use simulation::RoomGate;

/// Like API Gateway's, the burst is half of what the gate lets through in a second.
const GATE: RoomGate = RoomGate { per_second: 3000, burst: 1500 };
const VISITORS: usize = 30_000;

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let RoomGate { per_second, burst } = GATE;
    println!(
        "{VISITORS} visitors; {per_second} requests a second pass, {burst} at once after a pause; seed {seed}:\n"
    );
    println!(
        "| they come within | each sends, and pauses when refused | s until in line | s until the first answer \
         | requests | … of the fewest possible | … of three a visitor |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let one_document = VisitorHabits { files: 0, ..VisitorHabits::BEFORE };
    for within in [10, 1].map(Duration::from_secs) {
        for (name, habits) in [
            ("before: fourteen requests, 5 s", VisitorHabits::BEFORE),
            ("three requests, 5 s", one_document),
            ("now: three requests, at random up to a minute", VisitorHabits::NOW),
        ] {
            let report = Stampede { seed, visitors: VISITORS, within, rate: 3000, gate: GATE, habits }.run();
            let per_visitor = report.requests as f64 / VISITORS as f64;
            println!(
                "| {} s | {name} | {} | {} | {} | {:.1} times | {:.1} times |",
                within.as_secs(),
                report.in_line.in_seconds(),
                report.answered.in_seconds(),
                report.requests,
                per_visitor / habits.fewest_requests() as f64,
                per_visitor / VisitorHabits::NOW.fewest_requests() as f64,
            );
        }
    }
}
