//! The tables of docs/order.md: which rows they have, and what a row says of its runs. A test holds the page to them.

use std::thread;
use std::time::Duration;

use memory::LineBehaviour;

use crate::{Meanwhile, SequenceReport, SequenceRun};

/// In a rush, SQS's count may be more than a minute old.
const COUNT_LAG: Duration = Duration::from_secs(90);
const THIRD: f64 = 1.0 / 3.0;
const UNUSED: [(f64, &str); 2] = [(0.0, "none"), (THIRD, "a third")];

/// One table.
#[derive(Debug)]
pub struct OrderTable {
    /// As Markdown, in one line.
    pub head: String,
    pub rows: Vec<OrderRow>,
}

/// One row: what is simulated, and what of it is told.
#[derive(Debug)]
pub struct OrderRow {
    /// The cells that say what is simulated, as Markdown. They begin the row.
    pub label: String,
    runs: Vec<SequenceRun>,
    cells: fn(&[SeededRuns]) -> Vec<String>,
}

impl OrderTable {
    /// All of them, in the order of the page.
    pub fn all() -> [Self; 3] {
        [Self::of_disorder(), Self::of_changes(), Self::of_ten_minutes()]
    }

    /// The line below the head.
    pub fn rule(&self) -> String {
        format!("|{}", " --- |".repeat(self.head.matches(" | ").count() + 1))
    }

    fn of_disorder() -> Self {
        let mut rows = Vec::new();
        for (rate, visitors) in [(60, 3000), (300, 6000), (600, 12_000), (3000, 30_000)] {
            for disorder in [0, 100, 1000, 10_000].into_iter().filter(|disorder| *disorder < visitors) {
                for (unused, name) in UNUSED {
                    rows.push(OrderRow {
                        label: markdown(&format!("{rate} | {visitors} | {disorder} places | {name}")),
                        runs: vec![run(visitors, rate, disorder, unused, Meanwhile::Nothing)],
                        cells: cells_of_disorder,
                    });
                }
            }
        }
        let head = markdown(
            "released a minute | visitors | out of order by up to | unused numbers | places from their turn, 99 % \
             | in the range, % | more than a minute off, % | range, min wide | polls, 99 % | learned after, s, 99 % \
             | told \"passed\"",
        );
        Self { head, rows }
    }

    fn of_changes() -> Self {
        let mut rows = Vec::new();
        for (rate, visitors, meanwhile, change) in [
            (3000, 30_000, Meanwhile::Lowered, "300"),
            (600, 6000, Meanwhile::Lowered, "60"),
            (3000, 30_000, Meanwhile::Doubled, "6000"),
            (600, 12_000, Meanwhile::Doubled, "1200"),
            (3000, 30_000, Meanwhile::Throttled, "throttled to 300 for two, then raised"),
            (600, 12_000, Meanwhile::Throttled, "throttled to 60 for two, then raised"),
        ] {
            for disorder in [0, 1000, 10_000].into_iter().filter(|disorder| *disorder < visitors) {
                // Between the largest and the smallest in line, the numbers are farther apart if some are unused: a fall is
                // where "passed" was told to people in line.
                let told = if meanwhile == Meanwhile::Lowered { &UNUSED[..] } else { &UNUSED[..1] };
                for (unused, name) in told {
                    rows.push(OrderRow {
                        label: markdown(&format!(
                            "{rate}, {change} | {visitors} | {disorder} places | {name}"
                        )),
                        runs: vec![run(visitors, rate, disorder, *unused, meanwhile)],
                        cells: if meanwhile == Meanwhile::Throttled {
                            cells_of_throttle
                        } else {
                            cells_of_change
                        },
                    });
                }
            }
        }
        let head = markdown(
            "released a minute, and after three minutes | visitors | out of order by up to | unused numbers \
             | asked again after, s, half | 99 % | promised too early until then, min, 99 % | in the range afterwards, % \
             | learned after, s, 99 % | told \"passed\" | entered later for it",
        );
        Self { head, rows }
    }

    fn of_ten_minutes() -> Self {
        let rows = [100, 300, 600, 1000, 3000].into_iter().map(|rate| OrderRow {
            label: markdown(&rate.to_string()),
            // The last of them wait for eleven minutes.
            runs: [0, 1000]
                .map(|disorder| run(13 * u64::from(rate), rate, disorder, 0.0, Meanwhile::Nothing))
                .into(),
            cells: cells_of_ten_minutes,
        });
        let head = markdown(
            "released a minute | polls, in order, 99 % | the most | 1000 places out of order, 99 % | the most \
             | learned after, s, in order, 99 % | 1000 places out of order, 99 %",
        );
        Self { head, rows: rows.collect() }
    }
}

impl OrderRow {
    /// The whole row, from so many seeds. Fails if a run loses somebody, or releases more than it may.
    pub fn measured(&self, seeds: u64) -> String {
        let runs: Vec<_> = self.runs.iter().map(|run| SeededRuns::of(seeds, *run)).collect();
        format!("{} {} |", self.label, (self.cells)(&runs).join(" | "))
    }
}

fn markdown(cells: &str) -> String {
    format!("| {cells} |")
}

fn run(visitors: u64, rate: u32, disorder: u64, unused: f64, meanwhile: Meanwhile) -> SequenceRun {
    let line = LineBehaviour { disorder, unused, count_lag: COUNT_LAG, ..LineBehaviour::default() };
    let visitors = usize::try_from(visitors).unwrap_or(usize::MAX);
    SequenceRun { seed: 0, visitors, rate, meanwhile, line }
}

fn cells_of_disorder(runs: &[SeededRuns]) -> Vec<String> {
    let [runs] = runs else { return Vec::new() };
    vec![
        runs.whole(|report| report.displaced.most),
        runs.show(|report| report.in_range, 0),
        runs.show(|report| report.minute_off, 0),
        runs.minutes(|report| report.width.half),
        runs.whole(|report| report.polls.most),
        runs.seconds(|report| report.learned_after.most),
        runs.whole(|report| report.told_overtaken as u64),
    ]
}

fn cells_of_change(runs: &[SeededRuns]) -> Vec<String> {
    let [told] = runs else { return Vec::new() };
    let mut cells = vec![
        told.seconds(|report| report.heard_after.half),
        told.seconds(|report| report.heard_after.most),
        told.minutes(|report| report.too_early.most),
    ];
    cells.extend(cells_afterwards(told));
    cells
}

/// The throttle changes the rate several times.
fn cells_of_throttle(runs: &[SeededRuns]) -> Vec<String> {
    let [told] = runs else { return Vec::new() };
    let mut cells = vec!["–".to_owned(); 3];
    cells.extend(cells_afterwards(told));
    cells
}

fn cells_afterwards(runs: &SeededRuns) -> [String; 4] {
    [
        runs.show(|report| report.in_range, 0),
        runs.seconds(|report| report.learned_after.most),
        runs.whole(|report| report.told_overtaken as u64),
        runs.whole(|report| report.entered_late as u64),
    ]
}

fn cells_of_ten_minutes(runs: &[SeededRuns]) -> Vec<String> {
    let [even, mixed] = runs else { return Vec::new() };
    vec![
        even.whole(|report| report.polls_in_ten_minutes.most),
        even.whole(|report| report.polls_in_ten_minutes.largest),
        mixed.whole(|report| report.polls_in_ten_minutes.most),
        mixed.whole(|report| report.polls_in_ten_minutes.largest),
        even.seconds(|report| report.learned_after.most),
        mixed.seconds(|report| report.learned_after.most),
    ]
}

/// The same run with several seeds.
struct SeededRuns(Vec<SequenceReport>);

impl SeededRuns {
    fn of(seeds: u64, run: SequenceRun) -> Self {
        let reports = thread::scope(|scope| {
            let start = |seed| scope.spawn(move || SequenceRun { seed, ..run }.run());
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
    fn show(&self, of: impl Fn(&SequenceReport) -> f64, decimals: usize) -> String {
        let mut values: Vec<_> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let shown = |value: f64| format!("{value:.decimals$}");
        let [least, middle, most] = [0, values.len() / 2, values.len() - 1].map(|index| shown(values[index]));
        if least == most { middle } else { format!("{middle} ({least}–{most})") }
    }

    fn whole(&self, of: impl Fn(&SequenceReport) -> u64) -> String {
        self.show(|report| number(of(report)), 0)
    }

    fn seconds(&self, of: impl Fn(&SequenceReport) -> u64) -> String {
        self.show(|report| number(of(report)) / 1000.0, 0)
    }

    fn minutes(&self, of: impl Fn(&SequenceReport) -> u64) -> String {
        self.show(|report| number(of(report)) / 60.0, 1)
    }
}

#[allow(clippy::cast_precision_loss, reason = "the numbers are small")]
fn number(value: u64) -> f64 {
    value as f64
}
