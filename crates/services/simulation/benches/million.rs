//! How long a crowd of a million is simulated, and in how much memory: `cargo bench -p simulation`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use std::time::Instant;

use aws_model::{AccountLimits, ModelledRoom};
use simulation::{ArrivalShape, Arrivals, AwsAccount, Scenario, Simulation};
use waitroom::Rate;

fn main() {
    for (name, shape) in [("after an e-mail", ArrivalShape::Email), ("in a spike", ArrivalShape::Spike)] {
        let rate = Rate::new(3000).unwrap();
        let arrivals = Arrivals::new(shape, Some(1_000_000)).unwrap();
        let limits = AccountLimits::default_in("us-east-1");
        let account = AwsAccount { limits, room: ModelledRoom::new(rate) };
        let scenario = Scenario::new(arrivals, rate, Some(account));
        let begun = Instant::now();
        let event = Simulation::run(&scenario, |_| true);
        let took = begun.elapsed().as_secs_f64();
        assert_eq!(event.visitors.entered, 1_000_000);
        println!(
            "simulate a million {name}, 3000 a minute  {took:.1}s, {} million requests, at most {} MB so far",
            event.requests / 1_000_000,
            peak_kilobytes() / 1000
        );
    }
}

/// The most memory that this process has had, as Linux knows it; 0 elsewhere.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
