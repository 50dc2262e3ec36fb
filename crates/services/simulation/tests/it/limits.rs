//! Every limit that the model names refuses simulated visitors, or is named as one that does not.

use aws_model::{AccountLimit, Limit};
use simulation::{Scenario, SimulatedEvent, Simulation};

use crate::scenarios::{account, on_aws};

/// What a limit does in a simulation.
enum Deed {
    /// Visitors are refused beyond it, and come again.
    Refuses,
    /// Its use is compared with it, and nobody is refused.
    IsCompared,
    /// It is none of a second: the simulation keeps to it in another way.
    BoundsTheScenario,
}

/// Without a wildcard, so that a new limit has to be put somewhere.
fn deed(limit: Limit) -> Deed {
    match limit {
        Limit::ApiRequests | Limit::RoomRequests | Limit::Concurrency => Deed::Refuses,
        Limit::EdgeRequests
        | Limit::NewEnvironments
        | Limit::TicketCounter
        | Limit::RoomItem
        | Limit::StatusCopies
        | Limit::WarmReads
        | Limit::WarmWrites
        | Limit::TableReads
        | Limit::TableWrites
        | Limit::PageReads
        | Limit::InFlight => Deed::IsCompared,
        // Whoever waits for fourteen days still waits when the simulation ends, and no rate is larger than the largest.
        Limit::Retention | Limit::LargestRate => Deed::BoundsTheScenario,
    }
}

/// A crowd in a room whose limit is far too low, if an account or a room can have a lower one.
fn with_low(limit: Limit) -> Option<Scenario> {
    let mut scenario = on_aws(2000, "spike", 600);
    let account = account(&mut scenario);
    match limit {
        Limit::ApiRequests => account.limits.set(AccountLimit::ApiRequests, 20.0),
        Limit::Concurrency => account.limits.set(AccountLimit::Concurrency, 8.0),
        Limit::TableReads => account.limits.set(AccountLimit::TableReads, 1.0),
        Limit::TableWrites => account.limits.set(AccountLimit::TableWrites, 1.0),
        Limit::WarmReads => account.room.warm_reads = 1.0,
        Limit::WarmWrites => account.room.warm_writes = 1.0,
        Limit::RoomRequests => account.room.requests_per_second = Some(20.0),
        _ => return None,
    }
    if limit == Limit::ApiRequests {
        account.limits.set(AccountLimit::ApiBurst, 20.0);
    }
    if limit == Limit::RoomRequests {
        account.room.request_burst = Some(20.0);
    }
    Some(scenario)
}

fn run(scenario: &Scenario) -> SimulatedEvent {
    Simulation::run(scenario, |_| true)
}

#[test]
fn every_limit_acts_or_is_named_as_one_that_does_not() {
    let mut usual = on_aws(2000, "spike", 600);
    account(&mut usual).room.requests_per_second = Some(1e6);
    let mut behind_edge = usual.clone();
    account(&mut behind_edge).room.edge = config::EdgeSetting::Yes;
    let (usual, behind_edge) = (run(&usual), run(&behind_edge));
    assert_eq!((usual.refused_requests, usual.first_to_break), (0, None));
    for limit in Limit::ALL {
        let known = usual.limits.iter().chain(&behind_edge.limits).find(|used| used.limit == limit);
        let low = with_low(limit).map(|scenario| run(&scenario));
        let broke = |event: &SimulatedEvent| {
            let used = event.limits.iter().find(|used| used.limit == limit).unwrap();
            used.broke_after.is_some()
        };
        match deed(limit) {
            Deed::Refuses => {
                let low = low.unwrap();
                assert!(known.unwrap().refuses && broke(&low), "{limit:?}");
                assert!(low.refused_requests > 1000 && low.visitors.refused > 500, "{limit:?}");
                assert!(low.until_in_line.longest > 5.0 + usual.until_in_line.longest, "{limit:?}");
            }
            Deed::IsCompared => {
                assert!(!known.unwrap().refuses, "{limit:?}");
                let Some(low) = low else { continue };
                assert!(broke(&low) && low.refused_requests == 0, "{limit:?}");
                assert_eq!((low.from_link, low.visitors), (usual.from_link, usual.visitors), "{limit:?}");
            }
            Deed::BoundsTheScenario => assert!(known.is_none() && low.is_none(), "{limit:?}"),
        }
    }
}
