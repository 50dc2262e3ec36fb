//! The inverse questions: which rate, and which limits?

use aws_model::{AccountLimit, Limit};
use serde::Serialize;
use waitroom::Rate;

use crate::scenario::{AwsAccount, RoomHost, Scenario};
use crate::simulate::{Simulation, SimulationProgress};

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
    let mut goes_on = true;
    let mut fits = |rate: u32| {
        let rate = Rate::new(rate).ok()?;
        let event = Simulation::run(&with_rate(scenario, rate), |progress| {
            goes_on &= watch(progress);
            // A run that takes longer than it may need not go on.
            goes_on && progress.time.as_secs_f64() <= within + 120.0
        });
        goes_on.then(|| event.drained_after.is_some_and(|drained| drained <= within))
    };
    // Nobody can be released faster than this, so the search begins here.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    let least = (f64::from(scenario.arrivals.visitors()) * 60.0 / within).ceil() as u32;
    let (mut too_low, mut enough) = (0, least.clamp(Rate::MIN.get(), Rate::MAX.get()));
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

/// What has to be raised so that no limit is exceeded. Refused visitors come again, so every limit is judged with those before it
/// raised. `None` if `watch` ended the search.
pub fn quotas_to_raise(
    scenario: &Scenario,
    mut watch: impl FnMut(SimulationProgress) -> bool,
) -> Option<Vec<QuotaToRaise>> {
    const ROUNDS: usize = 8;
    let mut scenario = scenario.clone();
    let mut all: Vec<QuotaToRaise> = Vec::new();
    for _ in 0..ROUNDS {
        let mut goes_on = true;
        let event = Simulation::run(&scenario, |progress| {
            goes_on &= watch(progress);
            goes_on
        });
        if !goes_on {
            return None;
        }
        let RoomHost::Aws(account) = &mut scenario.host else { return Some(all) };
        let mut is_raised = false;
        for broken in event.limits.iter().filter(|limit| limit.broke_after.is_some()) {
            let needed = account.raise(broken.limit, broken.used.ceil());
            is_raised |= needed.is_some();
            match all.iter_mut().find(|known| known.limit == broken.limit) {
                Some(known) => known.needed = needed,
                None => all.push(QuotaToRaise {
                    limit: broken.limit,
                    name: broken.name,
                    available: broken.available,
                    needed,
                    advice: broken.limit.advice(),
                }),
            }
        }
        if !is_raised {
            break;
        }
    }
    Some(all)
}

fn with_rate(scenario: &Scenario, rate: Rate) -> Scenario {
    let mut scenario = Scenario { rate, ..scenario.clone() };
    if let RoomHost::Aws(account) = &mut scenario.host {
        account.room.rate = rate;
    }
    scenario
}

impl AwsAccount {
    /// Raises a limit, if anything raises it.
    fn raise(&mut self, limit: Limit, to: f64) -> Option<f64> {
        let account = match limit {
            Limit::ApiRequests => AccountLimit::ApiRequests,
            Limit::Concurrency => AccountLimit::Concurrency,
            Limit::TableReads => AccountLimit::TableReads,
            Limit::TableWrites => AccountLimit::TableWrites,
            Limit::RoomRequests => {
                self.room.requests_per_second = Some(to);
                return Some(to);
            }
            Limit::WarmReads => {
                self.room.warm_reads = to;
                return Some(to);
            }
            Limit::WarmWrites => {
                self.room.warm_writes = to;
                return Some(to);
            }
            _ => return None,
        };
        self.limits.set(account, to);
        if account == AccountLimit::ApiRequests {
            // AWS raises both together.
            self.limits.set(AccountLimit::ApiBurst, self.limits.api_burst.max(to / 2.0));
        }
        Some(to)
    }
}
