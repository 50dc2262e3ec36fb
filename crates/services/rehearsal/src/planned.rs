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
        let joined = (status.joined > 0)
            .then(|| format!("{} joined since the last reset", words::count(status.joined)));
        let consequence = costs.or(joined).map(|why| {
            format!("{why}, and it ends in a reset: whoever was admitted before has to wait again")
        });
        Self { told, consequence }
    }
}
