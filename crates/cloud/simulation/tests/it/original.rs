//! The figures that the first Beekeeper was published with come out of the simulation when it is given that system's parameters.
//!
//! Its authors looked at each limit alone: one file of the page for each visitor, 160 ms of a function for each visit to the
//! door, a function for each thousand visitors that are released a minute, a poll every 20 seconds, and no second visit to the
//! door. docs/crowd.md says what ours allows instead, and why.

use std::time::Duration;

use aws_model::{FunctionTimes, Limit};
use simulation::{CrowdHabits, RoomHost, Scenario, SimulatedEvent, Simulation};

use crate::scenarios::on_aws;

/// A crowd of the first system, while API Gateway lets everything through.
fn first_system(visitors: u64, shape: &str, rate: u32) -> Scenario {
    let mut scenario = on_aws(visitors, shape, rate);
    let RoomHost::Aws(account) = &mut scenario.host else { unreachable!("it is on AWS") };
    account.room.times = FunctionTimes { visit_seconds: 0.16, consumers_per_slice: 1.0 };
    account.limits.api_requests = 1e6;
    account.limits.api_burst = 1e6;
    let habits = CrowdHabits { fetch_passes: false, next_poll: |_, _| 20_000.0, ..CrowdHabits::default() };
    Scenario { habits, ..scenario }
}

/// How much of a limit was used in its busiest second.
fn used(event: &SimulatedEvent, limit: Limit) -> f64 {
    event.limits.iter().find(|known| known.limit == limit).map_or(0.0, |known| known.used)
}

/// Whether two numbers differ by at most this part.
fn is_about(found: f64, expected: f64, part: f64) -> bool {
    (found / expected - 1.0).abs() <= part
}

#[test]
fn s3_takes_5500_visitors_a_second_and_the_functions_6250() {
    let scenario = first_system(27_500, "5s", 60);
    let event = Simulation::run(&scenario, |progress| progress.time < Duration::from_secs(30));
    let reads = event.limits.iter().find(|known| known.limit == Limit::PageReads).unwrap();
    // 5,500 a second on average, and a few more in the busiest second.
    assert!(is_about(reads.used, 5_500.0, 0.05) && is_about(reads.share, 1.0, 0.05), "{reads:?}");
    // One consumer, trigger, setup and a second trigger run too.
    let door = used(&event, Limit::Concurrency) - 4.0;
    let visitors_until_none_is_free = 1_000.0 / (door / reads.used);
    assert!(is_about(visitors_until_none_is_free, 6_250.0, 0.01), "{visitors_until_none_is_free}");
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
