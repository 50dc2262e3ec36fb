use std::time::Duration;

use config::RoomConfig;
use control::Status;
use document::words::{self, time};
use simulation::Arrivals;
use url::Url;

use crate::expected::ExpectedVisits;

/// What a rehearsal will be like, for whoever orders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRehearsal {
    pub told: Vec<String>,
    /// What to ask about before, as part of a sentence. None if it costs nothing and takes nothing from anybody.
    pub consequence: Option<String>,
}

impl PlannedRehearsal {
    /// More would say less about the room than about this machine, which sends them all.
    pub const MOST_VISITORS: u32 = 100_000;

    /// Of a room at this URL with this status. `config` is that of a room on AWS.
    pub fn of(
        arrivals: &Arrivals,
        seed: u64,
        at_most: Duration,
        enters_shop: bool,
        url: &Url,
        status: &Status,
        config: Option<&RoomConfig>,
    ) -> Self {
        let (rate, visitors) = (status.room.rate(), arrivals.visitors().into());
        let expected = ExpectedVisits::of(&arrivals.times(seed), rate);
        let mut told = vec![format!(
            "{} to {url}, {}; at {rate} a minute this takes about {}",
            words::things_do(visitors, "visitor", "come"),
            arrivals.shape().told(visitors),
            time(expected.takes.as_secs())
        )];
        if expected.takes > at_most {
            told.push(format!(
                "It ends after {} at the latest, when some of them still wait: give it more with --at-most, or raise the rate.",
                time(at_most.as_secs())
            ));
        }
        if let Some(limit) = &status.room.settings.active {
            told.push(format!(
                "Its limit of {} isn't tried: it holds up no visitor of a rehearsal.",
                words::things(limit.visitors.into(), "active visitor")
            ));
        }
        let costs = config.map(|config| {
            let (costs, wait) = expected.costs(config, visitors);
            format!("this costs about ${costs:.2} (computed from list prices, for an average wait of {wait:.0} min)")
        });
        let losing = match status.joined {
            0 => None,
            1 => {
                Some("The visitor who joined since the last reset loses their place and admission".to_owned())
            }
            joined => Some(format!(
                "The {} visitors who joined since the last reset lose their places and admissions",
                words::count(joined)
            )),
        };
        // Their sessions are the guard's, and a reset of the room ends none.
        let staying = status.room.settings.active.filter(|_| enters_shop).map(|limit| {
            format!(
                "Those who enter the shop count as active visitors for about {} afterwards, so your customers may find it full",
                time(limit.idle.as_secs())
            )
        });
        let emptying = "the rehearsal empties the line when it ends".to_owned();
        let takes: Vec<_> = losing.into_iter().chain(staying).collect();
        let consequence = (costs.is_some() || !takes.is_empty()).then(|| {
            let emptying = costs.into_iter().chain([emptying]).collect::<Vec<_>>().join("; ");
            [vec![emptying], takes].concat().join(". ")
        });
        Self { told, consequence }
    }
}

#[cfg(test)]
mod tests {
    use simulation::ArrivalShape;
    use waitroom::ActiveLimit;

    use super::*;
    use crate::fixture::room_with_windows;

    #[test]
    fn who_loses_by_a_rehearsal_is_said_before_it() {
        let arrivals = Arrivals::new(ArrivalShape::Spike, Some(900)).unwrap();
        let url = "http://localhost:8080".parse().unwrap();
        let asked_of = |status: &Status, enters_shop| {
            let at_most = Duration::from_mins(30);
            PlannedRehearsal::of(&arrivals, 1, at_most, enters_shop, &url, status, None).consequence
        };
        let asked = |joined| asked_of(&Status { joined, ..room_with_windows(&[]) }, true);
        assert_eq!(asked(0), None);
        assert_eq!(
            asked(1200).unwrap(),
            "the rehearsal empties the line when it ends. The 1,200 visitors who joined since the last reset lose their places and \
             admissions"
        );
        assert!(
            asked(1)
                .unwrap()
                .ends_with(". The visitor who joined since the last reset loses their place and admission")
        );
        let mut limited = Status { joined: 0, ..room_with_windows(&[]) };
        let (idle, session) = (ActiveLimit::DEFAULT_IDLE, ActiveLimit::DEFAULT_SESSION);
        limited.room.settings.active = Some(ActiveLimit { visitors: 300, idle, session });
        assert_eq!(asked_of(&limited, false), None);
        assert_eq!(
            asked_of(&limited, true).unwrap(),
            "the rehearsal empties the line when it ends. Those who enter the shop count as active visitors for about 20 min \
             afterwards, so your customers may find it full"
        );
    }
}
