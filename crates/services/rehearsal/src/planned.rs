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
    /// Of a room at this URL with this status. `config` is that of a room on AWS.
    pub fn of(
        arrivals: &Arrivals,
        seed: u64,
        at_most: Duration,
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
        let emptying = "the rehearsal empties the line when it ends";
        let consequence = match (costs, losing) {
            (None, None) => None,
            (Some(costs), None) => Some(format!("{costs}; {emptying}")),
            (Some(costs), Some(losing)) => Some(format!("{costs}; {emptying}. {losing}")),
            (None, Some(losing)) => Some(format!("{emptying}. {losing}")),
        };
        Self { told, consequence }
    }
}

#[cfg(test)]
mod tests {
    use simulation::ArrivalShape;

    use super::*;
    use crate::fixture::room_with_windows;

    #[test]
    fn who_loses_by_a_rehearsal_is_said_before_it() {
        let arrivals = Arrivals::new(ArrivalShape::Spike, Some(900)).unwrap();
        let url = "http://localhost:8080".parse().unwrap();
        let asked = |joined| {
            let mut status = room_with_windows(&[]);
            status.joined = joined;
            PlannedRehearsal::of(&arrivals, 1, Duration::from_mins(30), &url, &status, None).consequence
        };
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
    }
}
