use std::time::Duration;

use page::line::{PageForecast, forecast, next_poll};
use serde::Deserialize;
use waitroom::{Epoch, LineStatus, Rate, RehearsalMark, Timestamp};

/// What the visitors read of an answer of `/polling`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PolledLine {
    pub(super) allow: bool,
    pub(super) rehearsal: Option<RehearsalMark>,
    pub(super) until: Option<Timestamp>,
    pub(super) epoch: Option<Epoch>,
    pub(super) served: Option<u64>,
    #[serde(default)]
    pub(super) passed: u64,
    #[serde(default)]
    pub(super) disorder: u64,
    pub(super) rate: Option<Rate>,
    #[serde(default)]
    pub(super) waiting: u64,
    #[serde(default)]
    pub(super) slow: bool,
    pub(super) stretch: Option<f64>,
    #[serde(default)]
    pub(super) join: bool,
}

impl PolledLine {
    /// The time until the page of this ticket polls next, in milliseconds.
    pub(super) fn next_poll(&self, ticket: u64, random: f64) -> f64 {
        next_poll(&self.forecast(ticket), self.stretch.unwrap_or(1.0), random)
    }

    /// The time between two polls if the room answered now, so long after this answer, as the page computes it when the room
    /// did not.
    pub(super) fn usual_wait(&self, ticket: u64, elapsed: Duration) -> f64 {
        let expected = self.forecast(ticket).later(elapsed.as_secs_f64() * 1000.0);
        next_poll(&expected, self.stretch.unwrap_or(1.0), 0.5)
    }

    fn forecast(&self, ticket: u64) -> PageForecast {
        let unknown = PageForecast { ahead: 0.0, earliest: 0.0, latest: 0.0, ask_in: 0.0, within: 0.0 };
        self.line().map_or(unknown, |line| forecast(ticket, &line))
    }

    pub(super) fn line(&self) -> Option<LineStatus> {
        let (served, rate) = (self.served?, self.rate?);
        Some(LineStatus {
            served,
            passed: self.passed,
            disorder: self.disorder,
            waiting: self.waiting,
            rate,
            slow: self.slow,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_wait_of_a_page_that_gets_no_answer_becomes_shorter() {
        // 200 are ahead, so it is to poll again after half of 200 s.
        let answer = json!({ "allow": false, "served": 0, "waiting": 1000, "rate": 60 });
        let polled: PolledLine = serde_json::from_value(answer).unwrap();
        let usual = |seconds| format!("{:.0}", polled.usual_wait(201, Duration::from_secs(seconds)));
        assert_eq!([0, 100, 160, 893].map(usual), ["100000", "50000", "20000", "5556"]);
    }
}
