use std::time::Duration;

use config::{Architecture, RoomConfig};
use waitroom::Rate;

/// What to expect if the visitors are released one after the other at the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedVisits {
    average_wait: Duration,
    /// From the first visitor until the last one has entered.
    pub(crate) takes: Duration,
}

impl ExpectedVisits {
    /// Until their page knows that it is their turn, and they have entered.
    const UNTIL_ENTERED: Duration = Duration::from_mins(1);

    /// `times` are when they come, in milliseconds.
    pub(crate) fn of(times: &[u32], rate: Rate) -> Self {
        let between = Duration::from_mins(1) / rate.get();
        let (mut next, mut waits) = (Duration::ZERO, Duration::ZERO);
        for at in times {
            let at = Duration::from_millis((*at).into());
            waits += next.saturating_sub(at);
            next = next.max(at) + between;
        }
        let visitors = u32::try_from(times.len()).unwrap_or(u32::MAX).max(1);
        Self { average_wait: waits / visitors, takes: next + Self::UNTIL_ENTERED }
    }

    /// What so many visitors of this room on AWS cost in dollars, and for how many minutes of waiting.
    pub(crate) fn costs(&self, config: &RoomConfig, visitors: u64) -> (f64, f64) {
        let architecture = config.architecture.unwrap_or(Architecture::Arm64);
        let modelled = aws_model::ModelledRoom::of(config, architecture, None);
        let wait_minutes = (self.average_wait.as_secs_f64() / 60.0).ceil().max(1.0);
        (aws_model::EventCosts::of(&modelled, visitors, wait_minutes).dollars, wait_minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_wait_only_if_more_come_than_are_released() {
        let expected = |times: &[u32]| ExpectedVisits::of(times, Rate::new(60).unwrap());
        let at_once = expected(&[0; 61]);
        assert_eq!(at_once.average_wait, Duration::from_secs(30));
        assert_eq!(at_once.takes, Duration::from_secs(61) + ExpectedVisits::UNTIL_ENTERED);
        let slowly = expected(&[0, 10_000, 20_000]);
        assert_eq!(slowly.average_wait, Duration::ZERO);
        assert_eq!(slowly.takes, Duration::from_secs(21) + ExpectedVisits::UNTIL_ENTERED);
    }
}
