//! Prints the tables of docs/order.md: `order_table SEED`. `cargo xtask order` runs it.

#![allow(clippy::print_stdout, reason = "the tables are for a person")]

use std::time::Duration;

use fault_simulation::{LineBehaviour, OrderRun};

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for (visitors, rate) in [(30_000, 3000), (12_000, 600)] {
        println!("{visitors} visitors join within two minutes; {rate} a minute are released; seed {seed}:\n");
        print_table(seed, visitors, rate);
        println!();
    }
}

fn print_table(seed: u64, visitors: usize, rate: u32) {
    println!(
        "| out of order by up to | count as of | places from their turn | s outside the range shown | polls \
         | told \"passed\" | … while throttled | entered later for it |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for count_lag in [0, 90].map(Duration::from_secs) {
        for disorder in [0, 100, 1_000, 10_000] {
            let line = LineBehaviour { disorder, count_lag, ..LineBehaviour::default() };
            let run = |throttled| OrderRun { seed, visitors, rate, throttled, line }.run();
            let (even, held) = (run(false), run(true));
            for report in [&even, &held] {
                let broken = (report.lost, report.twice, report.above_plan);
                assert_eq!(broken, (0, 0, false), "lost, twice, above plan");
            }
            println!(
                "| {disorder} places | {} s ago | {} | {} | {} | {} | {} | {} |",
                count_lag.as_secs(),
                even.displaced,
                even.forecast_off,
                even.polls,
                even.told_passed,
                held.told_passed,
                even.entered_late + held.entered_late
            );
        }
    }
}
