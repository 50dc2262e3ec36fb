//! A crowd of which API Gateway refuses most requests: docs/stampede.md has the table.

use std::time::Duration;

use page::visitor::Step;
use simulation::{CrowdHabits, Scenario, SimulatedEvent, Simulation, WaitSpread};

use crate::scenarios::{account, on_aws};

const PAGE: &str = include_str!("../../../../../docs/stampede.md");

/// How long a page pauses before a step.
type Pause = fn(&Step) -> f64;

const OURS: Pause = |step| step.after;
/// Until November 2026: whoever is refused comes again after the same time.
const EQUAL: Pause = |step| if step.ask.refusals > 0 { 5_000.0 } else { step.after };

/// As `beekeeper simulate --rate 3k --limit api-requests=3000 --limit api-burst=1500` does it, for the first five minutes.
fn run(seed: u64, visitors: u64, within: &str, pause: Pause) -> SimulatedEvent {
    let mut scenario = on_aws(visitors, within, 3000);
    let limits = &mut account(&mut scenario).limits;
    (limits.api_requests, limits.api_burst) = (3000.0, 1500.0);
    let habits = CrowdHabits { pause, ..CrowdHabits::default() };
    let event = Simulation::run(&Scenario { seed, habits, ..scenario }, |progress| {
        progress.time < Duration::from_mins(5)
    });
    let joined: u64 = event.minutes.iter().map(|minute| minute.joined).sum();
    assert_eq!(joined, visitors, "somebody still stands outside");
    assert_eq!(event.minutes.last().map(|minute| minute.refused), Some(0), "somebody is still refused");
    event
}

#[test]
fn the_page_has_the_table_of_a_stampede() {
    for (within, shown) in [("10s", "10 s"), ("1s", "1 s")] {
        for (pause, name) in [(OURS, "at random, as our page does"), (EQUAL, "after exactly 5 s")] {
            let event = run(1, 30_000, within, pause);
            let WaitSpread { median, p95, longest, .. } = event.until_in_line;
            let refused = format!("{},{:03}", event.refused_requests / 1000, event.refused_requests % 1000);
            let row =
                format!("| {shown} | {name} | {median:.0} s | {p95:.0} s | {longest:.0} s | {refused} |");
            assert!(PAGE.lines().any(|line| line == row), "docs/stampede.md should have\n{row}");
        }
    }
}

#[test]
fn a_stampede_is_in_line_within_a_minute_and_sends_few_requests_too_many() {
    for seed in 1..=5 {
        let event = run(seed, 30_000, "10s", OURS);
        let until_in_line = event.until_in_line;
        assert!(until_in_line.p95 <= 60.0 && until_in_line.longest <= 180.0, "{until_in_line:?}");
        assert!(event.refused_requests < 3 * 30_000, "{}", event.refused_requests);
    }
}

#[test]
fn a_crowd_that_comes_in_the_same_second_does_not_come_again_in_the_same_second() {
    let [ours, equal] = [OURS, EQUAL].map(|pause| run(1, 30_000, "1s", pause));
    assert!(ours.until_in_line.p95 <= 60.0, "{:?}", ours.until_in_line);
    assert!(equal.until_in_line.p95 > 90.0, "the simulation shows what is wrong: {:?}", equal.until_in_line);
    let refused = [ours.refused_requests, equal.refused_requests];
    assert!(refused[0] * 4 < refused[1], "{refused:?}");
}

#[test]
fn without_a_crowd_nobody_is_refused() {
    let event = run(1, 100, "10s", OURS);
    assert_eq!((event.refused_requests, event.until_in_line.longest), (0, 0.0));
}
