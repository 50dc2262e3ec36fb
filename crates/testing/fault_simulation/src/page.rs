//! The page of a simulated visitor: the arithmetic of `site/line.js`, function by function, with the same numbers.
//!
//! `tests/it/page.rs` runs both over the same values and compares them.

use waitroom::LineStatus;

pub const MINUTE: f64 = 60_000.0;
const MIN_POLL_INTERVAL: f64 = 5_000.0;
const MAX_POLL_INTERVAL: f64 = 5.0 * MINUTE;

/// When a visitor's turn comes, in milliseconds from now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageForecast {
    pub ahead: f64,
    pub earliest: f64,
    pub latest: f64,
}

/// The range that the page shows, as two instants in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownRange {
    pub from: f64,
    pub to: f64,
}

#[allow(clippy::cast_precision_loss, reason = "JavaScript computes with the same numbers")]
pub fn forecast(ticket: u64, line: &LineStatus) -> PageForecast {
    let (ticket, served, waiting) = (ticket as f64, line.served as f64, line.waiting as f64);
    let ahead = (ticket - served - 1.0).max(0.0).min((waiting - 1.0).max(0.0));
    let fewest_ahead = ahead - (ahead / 3.0).floor();
    let takes = |people: f64| (people * MINUTE / f64::from(line.rate.get())).floor();
    PageForecast { ahead, earliest: takes(fewest_ahead), latest: takes(ahead) + MINUTE }
}

pub fn next_poll(earliest: f64, stretch: f64, random: f64) -> f64 {
    spread((earliest / 4.0).clamp(MIN_POLL_INTERVAL / 0.9, MAX_POLL_INTERVAL / 1.1), random) * stretch
}

pub fn narrow(shown: Option<ShownRange>, forecast: PageForecast, now: f64) -> ShownRange {
    let next = ShownRange { from: now + forecast.earliest, to: now + forecast.latest };
    let Some(shown) = shown else { return next };
    let tolerance = MINUTE.max(0.15 * (shown.to - now));
    if next.to > shown.to + tolerance || next.from > shown.to {
        return next;
    }
    let overlap = ShownRange { from: shown.from.max(next.from), to: shown.to.min(next.to) };
    if overlap.from <= overlap.to { overlap } else { next }
}

pub fn is_passed(ticket: u64, line: &LineStatus) -> bool {
    ticket < line.passed
}

fn spread(millis: f64, random: f64) -> f64 {
    millis * (0.9 + 0.2 * random)
}
