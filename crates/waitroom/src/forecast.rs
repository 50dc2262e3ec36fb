//! When will it be my turn, and when should I ask again?

use std::time::Duration;

use crate::{LineStatus, Ticket};

/// An honest guess at a visitor's way through the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The most people who can still be ahead.
    pub ahead: u64,
    /// They enter no sooner than this, if the rate stays as it is …
    pub earliest: Duration,
    /// … and no later than this.
    pub latest: Duration,
}

impl Forecast {
    const SOONEST_POLL: Duration = Duration::from_secs(5);
    const LATEST_POLL: Duration = Duration::from_mins(5);
    const WINDOW: Duration = Duration::from_mins(1);

    pub fn new(ticket: Ticket, line: &LineStatus) -> Self {
        let numbers_ahead = ticket.get().saturating_sub(line.served.saturating_add(1));
        let ahead = numbers_ahead.min(line.waiting.saturating_sub(1));
        // Up to a third of the numbers were never handed out (see `Leases`), so the line may be shorter
        // than the numbers say; how many wait is only counted roughly.
        let fewest = ahead - ahead / 3;
        let takes = |people: u64| {
            let millis = u128::from(people) * 60_000 / u128::from(line.rate.get());
            Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
        };
        // A window may have just begun or be about to: up to one more passes before somebody leaves.
        Self { ahead, earliest: takes(fewest), latest: takes(ahead).saturating_add(Self::WINDOW) }
    }

    /// How long to wait before the next poll: a quarter of the forecast, from 5 s to 5 min.
    ///
    /// `jitter` is a random number from 0 to 1: it spreads polls by a tenth either way, so that people who
    /// came together do not ask together.
    pub fn next_poll(&self, jitter: f64) -> Duration {
        let quarter = (self.earliest / 4).clamp(Self::SOONEST_POLL, Self::LATEST_POLL);
        quarter.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0)).clamp(Self::SOONEST_POLL, Self::LATEST_POLL)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rate;

    fn line(served: u64, waiting: u64, rate: u32) -> LineStatus {
        LineStatus { served, waiting, rate: Rate::new(rate).unwrap(), slow: false }
    }

    fn forecast(ticket: u64, line: LineStatus) -> Forecast {
        Forecast::new(Ticket::new(ticket).unwrap(), &line)
    }

    #[test]
    fn place_and_time_follow_from_ticket_and_rate() {
        let seconds = Duration::from_secs;
        let middle = forecast(7101, line(4100, 9120, 300));
        assert_eq!(middle, Forecast { ahead: 3000, earliest: seconds(400), latest: seconds(660) });
        let next = forecast(4101, line(4100, 9120, 300));
        assert_eq!((next.ahead, next.earliest), (0, Duration::ZERO));
        assert_eq!(forecast(4000, line(4100, 9120, 300)).ahead, 0, "already passed");
        assert_eq!(forecast(9000, line(4100, 100, 300)).ahead, 99, "never more than wait");
    }

    /// The page computes the same in JavaScript, and is held to the same vectors.
    #[test]
    fn the_page_forecasts_the_same() {
        let vectors: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../site/test/forecasts.json")).unwrap();
        for vector in vectors {
            let number = |value: &serde_json::Value| value.as_u64().unwrap();
            let given = &vector["line"];
            let rate = u32::try_from(number(&given["rate"])).unwrap();
            let found = forecast(
                number(&vector["ticket"]),
                line(number(&given["served"]), number(&given["waiting"]), rate),
            );
            let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap();
            assert_eq!(
                (found.ahead, millis(found.earliest), millis(found.latest), millis(found.next_poll(0.5))),
                (
                    number(&vector["ahead"]),
                    number(&vector["earliest"]),
                    number(&vector["latest"]),
                    number(&vector["nextPollMiddle"])
                ),
                "{vector}"
            );
        }
    }

    #[test]
    fn a_million_in_line_fit_into_ten_thousand_polls_a_second() {
        let (people, rate) = (1_000_000, 3000);
        let most_a_second = (0..=people / 50_000)
            .map(|stage| {
                let served = stage * 50_000;
                let line = line(served, people - served, rate);
                (served + 1..=people)
                    .map(|ticket| 1.0 / forecast(ticket, line).next_poll(0.5).as_secs_f64())
                    .sum::<f64>()
            })
            .fold(0.0, f64::max);
        assert!(most_a_second < 10_000.0, "{most_a_second}");
    }

    proptest! {
        #[test]
        fn any_numbers_make_a_range_and_a_bounded_poll(
            ticket in 1..=Ticket::MAX, served: u64, waiting: u64, rate in 1..=270_000u32, jitter: f64,
        ) {
            let forecast = forecast(ticket, line(served, waiting, rate));
            prop_assert!(forecast.earliest <= forecast.latest);
            let poll = forecast.next_poll(if jitter.is_nan() { 0.5 } else { jitter });
            prop_assert!((Duration::from_secs(5)..=Duration::from_mins(5)).contains(&poll));
        }
    }
}
