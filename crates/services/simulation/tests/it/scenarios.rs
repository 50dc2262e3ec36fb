use aws_model::{AccountLimits, Limit, ModelledRoom};
use simulation::{Arrivals, AwsAccount, Scenario, SimulatedEvent};
use waitroom::Rate;

pub(crate) fn on_one_machine(visitors: u64, shape: &str, rate: u32) -> Scenario {
    scenario(visitors, shape, rate, None)
}

pub(crate) fn on_aws(visitors: u64, shape: &str, rate: u32) -> Scenario {
    let room = ModelledRoom::new(Rate::new(rate).unwrap());
    let limits = AccountLimits::default_in("us-east-1");
    scenario(visitors, shape, rate, Some(AwsAccount { limits, room }))
}

fn scenario(visitors: u64, shape: &str, rate: u32, account: Option<AwsAccount>) -> Scenario {
    let arrivals = Arrivals::new(shape.parse().unwrap(), Some(visitors)).unwrap();
    Scenario::new(arrivals, Rate::new(rate).unwrap(), account)
}

/// The account of a scenario on AWS.
pub(crate) fn account(scenario: &mut Scenario) -> &mut AwsAccount {
    scenario.aws.as_mut().unwrap()
}

/// How much of a limit was used in its busiest second.
pub(crate) fn used(event: &SimulatedEvent, limit: Limit) -> f64 {
    event.limits.iter().find(|known| known.limit == limit).map_or(0.0, |known| known.used)
}
