//! Prints the tables of docs/order.md: `order_table SEED`. `cargo xtask order` runs it.

#![allow(clippy::print_stdout, reason = "the tables are for a person")]

use std::time::Duration;

use fault_simulation::{LineBehaviour, Meanwhile, OrderReport, OrderRun};

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for (visitors, rate) in [(30_000, 3000), (12_000, 600)] {
        let table = OrderTable { seed, visitors, rate };
        println!("{visitors} visitors join within two minutes; {rate} a minute are released; seed {seed}:\n");
        table.print_disorder();
        println!("\nThe same crowd, in order, while the rate changes:\n");
        table.print_changes();
        println!();
    }
}

struct OrderTable {
    seed: u64,
    visitors: usize,
    rate: u32,
}

impl OrderTable {
    fn run(&self, line: LineBehaviour, meanwhile: Meanwhile) -> OrderReport {
        let Self { seed, visitors, rate } = *self;
        let report = OrderRun { seed, visitors, rate, meanwhile, line }.run();
        let broken = (report.lost, report.twice, report.above_plan);
        assert_eq!(broken, (0, 0, false), "lost, twice, above plan");
        report
    }

    fn print_disorder(&self) {
        println!(
            "| out of order by up to | count as of | places from their turn | s outside the range shown | polls \
             | learned after, s | told \"passed\" | … while throttled | entered later for it |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for count_lag in [0, 90].map(Duration::from_secs) {
            for disorder in [0, 100, 1_000, 10_000] {
                let line = LineBehaviour { disorder, count_lag, ..LineBehaviour::default() };
                let (even, held) = (self.run(line, Meanwhile::Nothing), self.run(line, Meanwhile::Throttled));
                println!(
                    "| {disorder} places | {} s ago | {} | {} | {} | {} | {} | {} | {} |",
                    count_lag.as_secs(),
                    even.displaced,
                    even.forecast_off,
                    even.polls,
                    even.learned_after.in_seconds(),
                    even.told_passed,
                    held.told_passed,
                    even.entered_late + held.entered_late
                );
            }
        }
    }

    fn print_changes(&self) {
        println!("| after three minutes | polls | learned after, s |");
        println!("| --- | --- | --- |");
        for (name, meanwhile) in [
            ("nothing", Meanwhile::Nothing),
            ("the operator doubles the rate", Meanwhile::Doubled),
            (
                "the throttle holds it down to a tenth for two minutes, and then raises it",
                Meanwhile::Throttled,
            ),
        ] {
            let report = self.run(LineBehaviour::default(), meanwhile);
            println!("| {name} | {} | {} |", report.polls, report.learned_after.in_seconds());
        }
    }
}
