//! docs/simulate.md says how visitors come and what a percentile is, so that a reader can compute both again.

use simulation::{Arrivals, WaitSpread};

const PAGE: &str = include_str!("../../../../../docs/simulate.md");

/// The row of this shape: seconds, and the percentage that has come by then.
fn documented(shape: &str) -> Vec<(f64, f64)> {
    let lines: Vec<_> = PAGE.lines().collect();
    let row = lines.iter().position(|line| line.starts_with(&format!("| `{shape}` |"))).unwrap();
    let cells = |line: usize| lines[line].split('|').skip(2).map(str::trim).filter(|cell| !cell.is_empty());
    let seconds = |cell: &str| {
        let (number, unit) = cell.split_once(' ').unwrap();
        number.parse::<f64>().unwrap() * if unit == "min" { 60.0 } else { 1.0 }
    };
    let percent = |cell: &str| cell.strip_suffix('%').unwrap().parse::<f64>().unwrap();
    cells(row - 2).map(seconds).zip(cells(row).map(percent)).collect()
}

fn is_held(shape: &str, formula: impl Fn(f64) -> f64) {
    const VISITORS: u32 = 200_000;
    let times = Arrivals::new(shape.parse().unwrap(), Some(VISITORS.into())).unwrap().times(11);
    let documented = documented(shape);
    assert_eq!(documented.len(), 6);
    for (seconds, percent) in documented {
        let computed = 100.0 * formula(seconds);
        let came = times.partition_point(|at| f64::from(*at) < seconds * 1000.0);
        let drawn = 100.0 * f64::from(u32::try_from(came).unwrap()) / f64::from(VISITORS);
        assert!((computed - percent).abs() <= 0.051, "{shape} by {seconds} s: {computed}, not {percent}");
        // Half a percent is four standard deviations.
        assert!((drawn - percent).abs() < 0.5, "{shape} by {seconds} s: {drawn}, not {percent}");
    }
}

#[test]
fn visitors_come_by_the_formulas_of_the_page() {
    is_held("spike", |t| (1.0 - 2.0_f64.powf(-t / 10.0)) / (1.0 - 2.0_f64.powi(-6)));
    is_held("email", |t| {
        let t = t / 60.0;
        (1.0 - (1.0 + t / 5.0) * (-t / 5.0).exp()) / (1.0 - 7.0 * (-6.0_f64).exp())
    });
}

#[test]
fn a_percentile_is_the_one_that_the_page_names() {
    let said =
        "Of 1,500 waits, the 90th percentile is the 1,350th, the 95th the 1,425th and the 99th the 1,485th.";
    assert!(PAGE.replace('\n', " ").contains(said));
    let spread = WaitSpread::of((1..=1500).map(|wait| 1000 * wait).collect()).unwrap();
    let WaitSpread { median, p90, p95, p99, longest } = spread;
    let places = [median, p90, p95, p99, longest].map(|seconds| format!("{seconds}"));
    assert_eq!(places, ["750", "1350", "1425", "1485", "1500"]);
}
