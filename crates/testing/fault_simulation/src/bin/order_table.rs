//! Prints the tables of docs/order.md: `order_table SEEDS`. `cargo xtask order` runs it.

#![allow(clippy::print_stdout, reason = "the tables are for a person")]

use std::thread;
use std::time::Duration;

use fault_simulation::{Meanwhile, OrderReport, OrderRun};
use memory::LineBehaviour;

/// In a rush, SQS's count may be more than a minute old.
const COUNT_LAG: Duration = Duration::from_secs(90);
const THIRD: f64 = 1.0 / 3.0;

fn main() {
    let seeds = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(5);
    println!("Seeds 1 to {seeds}.\n");
    print_disorder(seeds);
    println!();
    print_changes(seeds);
    println!();
    print_ten_minutes(seeds);
}

/// The same run with several seeds.
struct SeededRuns(Vec<OrderReport>);

impl SeededRuns {
    fn of(seeds: u64, run: OrderRun) -> Self {
        let reports = thread::scope(|scope| {
            let start = |seed| scope.spawn(move || OrderRun { seed, ..run }.run());
            let running: Vec<_> = (1..=seeds).map(start).collect();
            running.into_iter().flat_map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        assert_eq!(reports.len() as u64, seeds, "a run failed");
        for report in &reports {
            let broken = (report.lost, report.twice, report.above_plan);
            assert_eq!(broken, (0, 0, false), "lost, twice, above plan: {run:?}");
        }
        Self(reports)
    }

    /// The middle of the seeds, and in brackets the least and the most, if they differ.
    fn show(&self, of: impl Fn(&OrderReport) -> f64, decimals: usize) -> String {
        let mut values: Vec<_> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let shown = |value: f64| format!("{value:.decimals$}");
        let [least, middle, most] = [0, values.len() / 2, values.len() - 1].map(|index| shown(values[index]));
        if least == most { middle } else { format!("{middle} ({least}–{most})") }
    }

    fn whole(&self, of: impl Fn(&OrderReport) -> u64) -> String {
        self.show(|report| number(of(report)), 0)
    }

    fn seconds(&self, of: impl Fn(&OrderReport) -> u64) -> String {
        self.show(|report| number(of(report)) / 1000.0, 0)
    }

    fn minutes(&self, of: impl Fn(&OrderReport) -> u64) -> String {
        self.show(|report| number(of(report)) / 60.0, 1)
    }
}

#[allow(clippy::cast_precision_loss, reason = "the numbers are small")]
fn number(value: u64) -> f64 {
    value as f64
}

fn run(visitors: usize, rate: u32, disorder: u64, unused: f64, meanwhile: Meanwhile) -> OrderRun {
    let line = LineBehaviour { disorder, unused, count_lag: COUNT_LAG, ..LineBehaviour::default() };
    OrderRun { seed: 0, visitors, rate, meanwhile, line }
}

fn print_disorder(seeds: u64) {
    println!(
        "| released a minute | visitors | out of order by up to | unused numbers | places from their turn, 99 % \
         | in the range, % | more than a minute off, % | range, min wide | polls, 99 % | learned after, s, 99 % \
         | told \"passed\" |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (rate, visitors) in [(60, 3000), (300, 6000), (600, 12_000), (3000, 30_000)] {
        // A tenth of it is the largest disorder that says something.
        for disorder in [0, 100, 1000, 10_000].into_iter().filter(|disorder| *disorder < visitors) {
            for (unused, name) in [(0.0, "none"), (THIRD, "a third")] {
                let crowd = usize::try_from(visitors).unwrap_or(usize::MAX);
                let runs = SeededRuns::of(seeds, run(crowd, rate, disorder, unused, Meanwhile::Nothing));
                println!(
                    "| {rate} | {visitors} | {disorder} places | {name} | {} | {} | {} | {} | {} | {} | {} |",
                    runs.whole(|report| report.displaced.most),
                    runs.show(|report| report.in_range, 0),
                    runs.show(|report| report.minute_off, 0),
                    runs.minutes(|report| report.width.half),
                    runs.whole(|report| report.polls.most),
                    runs.seconds(|report| report.learned_after.most),
                    runs.whole(|report| report.told_passed as u64),
                );
            }
        }
    }
}

fn print_changes(seeds: u64) {
    println!(
        "| released a minute, and after three minutes | visitors | out of order by up to | asked again after, s, half | 99 % \
         | promised too early until then, min, 99 % | in the range afterwards, % | learned after, s, 99 % \
         | told \"passed\" | entered later for it |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (rate, visitors, meanwhile, change) in [
        (3000, 30_000, Meanwhile::Lowered, "300"),
        (600, 6000, Meanwhile::Lowered, "60"),
        (3000, 30_000, Meanwhile::Doubled, "6000"),
        (600, 12_000, Meanwhile::Doubled, "1200"),
        (3000, 30_000, Meanwhile::Throttled, "throttled to 300 for two, then raised"),
        (600, 12_000, Meanwhile::Throttled, "throttled to 60 for two, then raised"),
    ] {
        for disorder in [0, 1000, 10_000].into_iter().filter(|disorder| *disorder < visitors) {
            let crowd = usize::try_from(visitors).unwrap_or(usize::MAX);
            let runs = SeededRuns::of(seeds, run(crowd, rate, disorder, 0.0, meanwhile));
            // The throttle changes the rate several times.
            let heard = if meanwhile == Meanwhile::Throttled {
                "– | – | –".to_owned()
            } else {
                let half = runs.seconds(|report| report.heard_after.half);
                let most = runs.seconds(|report| report.heard_after.most);
                format!("{half} | {most} | {}", runs.minutes(|report| report.too_early.most))
            };
            println!(
                "| {rate}, {change} | {visitors} | {disorder} places | {heard} | {} | {} | {} | {} |",
                runs.show(|report| report.in_range, 0),
                runs.seconds(|report| report.learned_after.most),
                runs.whole(|report| report.told_passed as u64),
                runs.whole(|report| report.entered_late as u64),
            );
        }
    }
}

fn print_ten_minutes(seeds: u64) {
    println!(
        "| released a minute | polls, in order, 99 % | the most | 1000 places out of order, 99 % | the most \
         | learned after, s, in order, 99 % | 1000 places out of order, 99 % |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for rate in [100, 300, 600, 1000, 3000] {
        // The last of them wait for eleven minutes.
        let crowd = 13 * rate as usize;
        let [even, mixed] = [0, 1_000]
            .map(|disorder| SeededRuns::of(seeds, run(crowd, rate, disorder, 0.0, Meanwhile::Nothing)));
        println!(
            "| {rate} | {} | {} | {} | {} | {} | {} |",
            even.whole(|report| report.polls_in_ten_minutes.most),
            even.whole(|report| report.polls_in_ten_minutes.largest),
            mixed.whole(|report| report.polls_in_ten_minutes.most),
            mixed.whole(|report| report.polls_in_ten_minutes.largest),
            even.seconds(|report| report.learned_after.most),
            mixed.seconds(|report| report.learned_after.most),
        );
    }
}
