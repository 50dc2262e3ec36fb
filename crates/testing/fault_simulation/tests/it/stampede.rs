//! A crowd at a gate that refuses most of its requests.

use std::time::Duration;

use fault_simulation::{Stampede, StampedeReport, VisitorHabits};
use simulation::RoomGate;

/// The gate lets three thousand requests a second through. Like API Gateway's, its burst is half of that.
const GATE: RoomGate = RoomGate { per_second: 3000, burst: 1500 };

fn run(seed: u64, within: Duration, habits: VisitorHabits) -> StampedeReport {
    Stampede { seed, visitors: 30_000, within, rate: 3000, gate: GATE, habits }.run()
}

#[test]
fn a_stampede_is_in_line_within_a_minute_and_sends_few_requests_too_many() {
    for seed in 1..=5 {
        let report = run(seed, Duration::from_secs(10), VisitorHabits::NOW);
        assert!(report.in_line.most <= 60_000 && report.in_line.largest <= 180_000, "{report:?}");
        assert!(report.requests < 3 * 3 * 30_000, "{report:?}");
        assert!(report.answered.largest <= 180_000, "{report:?}");
    }
}

/// The same crowd as it was before, to see that the simulation shows what is wrong.
#[test]
fn with_many_files_and_equal_pauses_a_stampede_feeds_itself() {
    let report = run(1, Duration::from_secs(10), VisitorHabits::BEFORE);
    assert!(report.in_line.most > 120_000, "{report:?}");
    assert!(report.requests > 5 * 14 * 30_000, "{report:?}");
}

#[test]
fn a_crowd_that_comes_in_the_same_second_does_not_come_again_in_the_same_second() {
    let within = Duration::from_secs(1);
    let equal = VisitorHabits { files: 0, ..VisitorHabits::BEFORE };
    let [random, equal] = [VisitorHabits::NOW, equal].map(|habits| run(1, within, habits));
    assert!(random.in_line.most <= 60_000, "{random:?}");
    assert!(random.requests * 2 < equal.requests, "{random:?}, {equal:?}");
}

#[test]
fn without_a_crowd_nobody_is_refused() {
    let report = Stampede {
        seed: 1,
        visitors: 100,
        within: Duration::from_secs(10),
        rate: 3000,
        gate: GATE,
        habits: VisitorHabits::NOW,
    }
    .run();
    assert_eq!((report.refused, report.in_line.largest), (0, 0), "{report:?}");
    assert!((300..600).contains(&report.requests), "{report:?}");
}
