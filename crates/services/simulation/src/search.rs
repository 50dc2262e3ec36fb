//! The inverse questions: which rate, and which limits?

use std::time::Duration;

use aws_model::{AccountLimits, Limit};
use serde::Serialize;
use waitroom::Rate;

use crate::outcome::LimitUse;
use crate::scenario::{AwsAccount, Scenario};
use crate::simulate::{Simulation, SimulationProgress};

/// What is found before the scenario is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationSearch {
    /// The lowest rate at which the last visitor is released within this time.
    Rate { within: Duration },
    /// The limits that this crowd breaks, and what it needs of them.
    Quota,
}

/// What an account needs of a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuotaToRaise {
    pub limit: Limit,
    pub name: &'static str,
    pub available: f64,
    /// What this crowd uses, rounded up. `None` if nothing raises it.
    pub needed: Option<f64>,
    /// What to do.
    pub advice: String,
}

/// The lowest rate at which the last visitor is released within this many seconds; `None` if there is none, or if `watch`
/// ended the search.
pub fn rate_for(
    scenario: &Scenario,
    within: f64,
    mut watch: impl FnMut(SimulationProgress) -> bool,
) -> Option<Rate> {
    // Otherwise everybody who comes is released at the rate.
    let may_release_fewer = !scenario.orders.is_empty() || scenario.oversubscribe.is_some();
    let last_arrival = scenario.arrivals.times(scenario.seed).last().copied().unwrap_or(0);
    if !may_release_fewer && f64::from(last_arrival) / 1000.0 > within {
        return None;
    }
    let mut goes_on = true;
    let mut fits = |rate: u32| {
        let rate = Rate::new(rate).ok()?;
        let event = Simulation::run(&scenario.at_rate(rate), |progress| {
            goes_on &= watch(progress);
            // A run that takes longer than it may need not go on.
            goes_on && progress.time.as_secs_f64() <= within
        });
        goes_on.then(|| event.drained_after.is_some_and(|drained| drained <= within))
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    let least = (f64::from(scenario.arrivals.visitors()) * 60.0 / within).ceil() as u32;
    let least = least.clamp(Rate::MIN.get(), Rate::MAX.get());
    // A line is faster than its rate by a batch of each slice at most: ten visitors for each thousand a minute, once.
    let mut too_low = if may_release_fewer { 0 } else { least.saturating_sub(least / 100 + 12) };
    let mut enough = least;
    while !fits(enough)? {
        if enough == Rate::MAX.get() {
            return None;
        }
        too_low = enough;
        enough = (enough + enough / 8 + 1).min(Rate::MAX.get());
    }
    // To three digits.
    while enough - too_low > 1 + enough / 1000 {
        let middle = too_low + (enough - too_low) / 2;
        if fits(middle)? {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Rate::new(enough).ok()
}

/// What has to be raised so that no limit is exceeded. `None` if `watch` ended the search.
///
/// Refused visitors come again, so a limit that is too low hides how much is needed, of it and of the others. Here nobody is
/// refused, so one run says it, and takes no longer if the limits are far too low.
pub fn quotas_to_raise(
    scenario: &Scenario,
    mut watch: impl FnMut(SimulationProgress) -> bool,
) -> Option<Vec<QuotaToRaise>> {
    let mut goes_on = true;
    let event = Simulation::run(&Scenario { refuses: false, ..scenario.clone() }, |progress| {
        goes_on = watch(progress);
        goes_on
    });
    let broken = event.limits.iter().filter(|limit| limit.broke_after.is_some());
    goes_on.then(|| broken.map(|broken| QuotaToRaise::of(broken, scenario)).collect())
}

impl QuotaToRaise {
    fn of(broken: &LimitUse, scenario: &Scenario) -> Self {
        let LimitUse { limit, name, used, available, .. } = *broken;
        let reserved = if limit == Limit::Concurrency { more_reserved(scenario, used.ceil()) } else { 0.0 };
        let needed = can_be_raised(limit).then(|| (used + reserved).ceil());
        Self { limit, name, available, needed, advice: limit.advice() }
    }
}

/// How many more functions consumers take in an account that allows so many, because there the room has a reservation.
fn more_reserved(scenario: &Scenario, concurrency: f64) -> f64 {
    let Some(AwsAccount { limits, room }) = &scenario.aws else { return 0.0 };
    let raised = AwsAccount::new(AccountLimits { concurrency, ..limits.clone() }, room.clone());
    raised.room.consumers_at(room.rate) - room.consumers_at(room.rate)
}

fn can_be_raised(limit: Limit) -> bool {
    match limit {
        Limit::ApiRequests
        | Limit::RoomRequests
        | Limit::EdgeRequests
        | Limit::Concurrency
        | Limit::TableReads
        | Limit::TableWrites
        | Limit::WarmReads
        | Limit::WarmWrites => true,
        Limit::NewEnvironments
        | Limit::TicketCounter
        | Limit::RoomItem
        | Limit::StatusCopies
        | Limit::PageReads
        | Limit::InFlight
        | Limit::Retention
        | Limit::LargestRate => false,
    }
}
