use aws_model::{AccountLimits, Limit, ModelledRoom};
use simulation::{Arrivals, AwsAccount, RoomHost, Scenario, SimulatedEvent};
use waitroom::Rate;

pub(crate) fn on_one_machine(visitors: u64, shape: &str, rate: u32) -> Scenario {
    scenario(visitors, shape, rate, RoomHost::Machine)
}

pub(crate) fn on_aws(visitors: u64, shape: &str, rate: u32) -> Scenario {
    let room = ModelledRoom::new(Rate::new(rate).unwrap());
    let limits = AccountLimits::default_in("us-east-1");
    scenario(visitors, shape, rate, RoomHost::Aws(Box::new(AwsAccount { limits, room })))
}

fn scenario(visitors: u64, shape: &str, rate: u32, host: RoomHost) -> Scenario {
    let arrivals = Arrivals::new(shape.parse().unwrap(), Some(visitors)).unwrap();
    Scenario::new(arrivals, Rate::new(rate).unwrap(), host)
}

/// The account of a scenario on AWS.
pub(crate) fn account(scenario: &mut Scenario) -> &mut AwsAccount {
    let RoomHost::Aws(account) = &mut scenario.host else { unreachable!("it is on AWS") };
    account
}

/// How much of a limit was used in its busiest second.
pub(crate) fn used(event: &SimulatedEvent, limit: Limit) -> f64 {
    event.limits.iter().find(|known| known.limit == limit).map_or(0.0, |known| known.used)
}
