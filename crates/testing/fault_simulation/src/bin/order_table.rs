//! Prints the tables of docs/order.md: `order_table SEED`. `cargo xtask order` runs it.

#![allow(clippy::print_stdout, reason = "the tables are for a person")]

use std::time::Duration;

use fault_simulation::{Meanwhile, OrderReport, OrderRun, VisitorHabits};
use simulation::LineBehaviour;

fn main() {
    let seed = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for (visitors, rate) in [(30_000, 3000), (12_000, 600)] {
        let table = OrderTable { seed, visitors, rate };
        println!("{visitors} visitors join within two minutes; {rate} a minute are released; seed {seed}:\n");
        table.print_disorder();
        println!("\nThe same crowd, with the page of before November 2026 and with the page of now:\n");
        table.print_habits();
        println!();
    }
    println!(
        "Visitors who wait for nine to eleven minutes, and of the whole crowd how late pages learn; seed {seed}:\n"
    );
    print_ten_minutes(seed);
}

struct OrderTable {
    seed: u64,
    visitors: usize,
    rate: u32,
}

impl OrderTable {
    fn run(&self, line: LineBehaviour, meanwhile: Meanwhile, habits: VisitorHabits) -> OrderReport {
        let Self { seed, visitors, rate } = *self;
        let report = OrderRun { seed, visitors, rate, meanwhile, line, habits }.run();
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
                let [even, held] = [Meanwhile::Nothing, Meanwhile::Throttled]
                    .map(|meanwhile| self.run(line, meanwhile, VisitorHabits::NOW));
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

    fn print_habits(&self) {
        println!("| | polls before | now | learned after, s, before | now |");
        println!("| --- | --- | --- | --- | --- |");
        for (name, disorder, meanwhile) in [
            ("in order", 0, Meanwhile::Nothing),
            ("1000 places out of order", 1_000, Meanwhile::Nothing),
            ("10000 places out of order", 10_000, Meanwhile::Nothing),
            ("after three minutes the operator doubles the rate", 0, Meanwhile::Doubled),
            (
                "after three minutes the throttle holds it down to a tenth for two, and then raises it",
                0,
                Meanwhile::Throttled,
            ),
        ] {
            let line = LineBehaviour { disorder, ..LineBehaviour::default() };
            let [before, now] =
                [VisitorHabits::BEFORE, VisitorHabits::NOW].map(|habits| self.run(line, meanwhile, habits));
            println!(
                "| {name} | {} | {} | {} | {} |",
                before.polls,
                now.polls,
                before.learned_after.in_seconds(),
                now.learned_after.in_seconds()
            );
        }
    }
}

fn print_ten_minutes(seed: u64) {
    println!(
        "| released a minute | polls, in order | 1000 places out of order | learned after, s, in order | 1000 places out of order |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for rate in [100, 300, 600, 1000, 3000, 10_000] {
        // The last of them wait for eleven minutes.
        let table = OrderTable { seed, visitors: 13 * rate as usize, rate };
        let [even, mixed] = [0, 1_000].map(|disorder| {
            let line = LineBehaviour { disorder, ..LineBehaviour::default() };
            table.run(line, Meanwhile::Nothing, VisitorHabits::NOW)
        });
        println!(
            "| {rate} | {} | {} | {} | {} |",
            even.polls_in_ten_minutes,
            mixed.polls_in_ten_minutes,
            even.learned_after.in_seconds(),
            mixed.learned_after.in_seconds()
        );
    }
}
