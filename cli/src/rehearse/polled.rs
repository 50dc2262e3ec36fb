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
        let unknown = PageForecast { ahead: 0.0, earliest: 0.0, latest: 0.0, ask_in: 0.0 };
        let expected = self.line().map_or(unknown, |line| forecast(ticket, &line));
        next_poll(&expected, self.stretch.unwrap_or(1.0), random)
    }

    pub(super) fn line(&self) -> Option<LineStatus> {
        let (served, rate) = (self.served?, self.rate?);
        Some(LineStatus { served, passed: self.passed, waiting: self.waiting, rate, slow: self.slow })
    }
}
