//! The figures that the first Beekeeper was published with come out of the simulation when it is given that system's parameters.
//!
//! Its authors looked at each limit alone: one file of the page for each visitor, 160 ms of a function for each visit to the
//! door, a function for each thousand visitors that are released a minute, a poll every 20 seconds, and no second visit to the
//! door. docs/compare.md says what ours allows instead, and why.

use std::time::Duration;

use aws_model::{FunctionTimes, Limit};
use page::visitor::{PageShows, Step};
use simulation::{CrowdHabits, Scenario, Simulation};

use crate::scenarios::{account, on_aws, used};

/// A crowd of the first system, while API Gateway lets everything through.
fn first_system(visitors: u64, shape: &str, rate: u32) -> Scenario {
    let mut scenario = on_aws(visitors, shape, rate);
    let account = account(&mut scenario);
    account.room.times = FunctionTimes { visit_seconds: 0.16, consumers_per_slice: 1.0 };
    account.limits.api_requests = 1e6;
    account.limits.api_burst = 1e6;
    let pause = |step: &Step| if step.shows == Some(PageShows::Line) { 20_000.0 } else { step.after };
    let habits = CrowdHabits { fetch_passes: false, pause, ..CrowdHabits::default() };
    Scenario { habits, ..scenario }
}

/// Whether two numbers differ by at most this part.
fn is_about(found: f64, expected: f64, part: f64) -> bool {
    (found / expected - 1.0).abs() <= part
}

#[test]
fn s3_takes_5500_visitors_a_second() {
    let broken = |visitors_a_second: u64| {
        let scenario = first_system(5 * visitors_a_second, "5s", 60);
        Simulation::run(&scenario, |progress| progress.time < Duration::from_secs(30)).first_to_break
    };
    // The busiest second has some more visitors than the others.
    assert_eq!([5_250, 5_750].map(broken), [None, Some(Limit::PageReads)]);
}

#[test]
fn the_functions_take_6250_visitors_a_second() {
    // 7,000 a second come, so nearly all the time no function is free.
    let scenario = first_system(420_000, "1m", 60);
    let event = Simulation::run(&scenario, |progress| progress.time < Duration::from_secs(70));
    assert!(event.refused_requests > 10_000, "{}", event.refused_requests);
    // After a pause, the functions take the visitors of a second at once.
    let joined = u32::try_from(event.minutes[0].joined).unwrap();
    let joins_a_second = f64::from(joined) / 61.0;
    // A consumer, two triggers and setup run too, so it is a little less.
    assert!(is_about(joins_a_second, 6_225.0, 0.001), "{joins_a_second}");
    assert!(is_about(joins_a_second, 6_250.0, 0.01), "{joins_a_second}");
}

#[test]
fn a_thousand_functions_take_in_and_release_270_000_a_minute() {
    let functions = |rate: u32| {
        // For a few seconds, because every second is like the others.
        let event = Simulation::run(&first_system(u64::from(rate) / 12, "5s", rate), |_| true);
        let joins = event.limits.iter().find(|known| known.limit == Limit::PageReads).unwrap().used;
        // The busiest second has some more visitors than the others.
        used(&event, Limit::Concurrency) - 0.16 * (joins - f64::from(rate) / 60.0)
    };
    let needed = functions(270_000);
    assert!((980.0..=1_000.0).contains(&needed), "{needed}");
}

#[test]
fn two_hundred_thousand_who_poll_every_20_seconds_fill_api_gateway() {
    // Nearly nobody is released, so all of them stand.
    let scenario = first_system(200_000, "40s", 1);
    let event = Simulation::run(&scenario, |progress| progress.time < Duration::from_secs(110));
    let standing = event.minutes.iter().find(|minute| minute.joined == 0).unwrap();
    assert!(is_about(standing.requests_per_second.into(), 10_000.0, 0.05), "{standing:?}");
}
