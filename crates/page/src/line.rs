//! The arithmetic of `site/line.js` in Rust, function by function, with the same numbers: what a poll's numbers mean for one
//! visitor, and when their page polls next.
//!
//! Programs that foresee how often pages poll use it, simulated visitors, and those of a rehearsal. `tests/it/line.rs` runs both
//! over the same values and compares them. All times are in milliseconds.

use waitroom::LineStatus;

pub const MINUTE: f64 = 60_000.0;
/// How long the page shows that it is the visitor's turn, before it goes to the door: as in `site/visitor.js`.
pub const TURN_SHOWN: f64 = 1_500.0;
const MIN_POLL_INTERVAL: f64 = 5_000.0;
const MAX_POLL_INTERVAL: f64 = 5.0 * MINUTE;
const FIRST_RETRY: f64 = 10_000.0;
const NEWS_WITHIN: f64 = 2.0 * MINUTE;
const NEWS_PER_PERSON: f64 = 2.0;
const NEAR: f64 = 16_000.0;
const PUBLISHED_AFTER: f64 = 1_000.0;
const MAX_OVERDUE_INTERVAL: f64 = 50_000.0;
const ON_ITS_WAY: f64 = 3_000.0;

/// How many are ahead, when the visitor's turn comes, and after which time it is worth asking again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageForecast {
    pub ahead: f64,
    pub earliest: f64,
    pub latest: f64,
    pub ask_in: f64,
    pub within: f64,
}

impl PageForecast {
    /// Of a page that knows only when it is worth asking again.
    pub const fn without_place(ask_in: f64) -> Self {
        Self { ahead: 0.0, earliest: 0.0, latest: 0.0, ask_in, within: f64::INFINITY }
    }

    /// What is worth it so long after the answer, if there was none since: to ask sooner and sooner, because the turn comes
    /// nearer. `refused` in `site/visitor.js` computes so.
    #[must_use]
    pub fn later(self, elapsed: f64) -> Self {
        Self { ask_in: self.ask_in - elapsed / 2.0, ..self }
    }
}

/// The range that the page shows, as two instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownRange {
    pub from: f64,
    pub to: f64,
}

#[allow(clippy::cast_precision_loss, reason = "JavaScript computes with the same numbers")]
pub fn forecast(ticket: u64, line: &LineStatus) -> PageForecast {
    let (ticket, reached, waiting) = (ticket as f64, line.reached as f64, line.waiting as f64);
    let disorder = line.disorder as f64;
    let count = |numbers: f64| numbers.max(0.0).min((waiting - 1.0).max(0.0));
    let ahead = count(ticket - reached - 1.0);
    let fewest_ahead = (ahead - (ahead / 3.0).floor() - disorder).max(0.0);
    let most_ahead = count(ticket - reached - 1.0 + disorder);
    let takes = |people: f64| (people * MINUTE / f64::from(line.rate.get())).floor();
    let overdue = (4.0 * takes((reached - ticket).max(0.0))).min(MAX_OVERDUE_INTERVAL);
    PageForecast {
        ahead,
        earliest: takes(fewest_ahead),
        latest: takes(most_ahead) + MINUTE,
        ask_in: ask_again(takes(ahead), line.slow).max(overdue),
        within: (waiting * NEWS_PER_PERSON).clamp(NEWS_WITHIN, MAX_POLL_INTERVAL) / 1.1,
    }
}

/// The time until it is worth asking again, if the turn comes in `left`.
fn ask_again(left: f64, slow: bool) -> f64 {
    if slow {
        left / 6.0
    } else if left > NEAR {
        left / 2.0
    } else {
        left + PUBLISHED_AFTER
    }
}

/// The time until the next poll of a visitor who waits. `random` is from 0 to 1.
pub fn next_poll(forecast: &PageForecast, stretch: f64, random: f64) -> f64 {
    spread(
        forecast.ask_in.min(forecast.within).clamp(MIN_POLL_INTERVAL / 0.9, MAX_POLL_INTERVAL / 1.1),
        random,
    ) * stretch
}

/// The time until the next poll of a page that has no place in line.
pub(crate) fn idle_poll(stretch: f64, random: f64) -> f64 {
    next_poll(&PageForecast::without_place(f64::INFINITY), stretch, random)
}

/// The time until the next poll before an opening, which is `opens_in` away.
pub fn poll_around_opening(opens_in: f64, forecast: &PageForecast, stretch: f64, random: f64) -> f64 {
    let usual = idle_poll(stretch, random);
    if opens_in > usual { usual } else { opens_in + random * next_poll(forecast, stretch, 1.0) }
}

/// The time until the next poll after `failures` failed polls in a row, where `usual` is the time between answered ones, or
/// 0 before the first answer. The page that says "one moment" retries so too.
pub fn retry_in(failures: i32, usual: f64, random: f64) -> f64 {
    // More than so many times doubles nothing below.
    let doubled = f64::from(1_u32 << (failures - 1).clamp(0, 16));
    let within = (FIRST_RETRY * doubled).min(MINUTE);
    (random * within).max(spread((usual / 2.0 * doubled).min(usual), random))
}

/// The range to show next.
pub fn narrow(shown: Option<ShownRange>, forecast: &PageForecast, now: f64) -> ShownRange {
    let next = ShownRange { from: now + forecast.earliest, to: now + forecast.latest };
    let Some(shown) = shown else { return next };
    let tolerance = MINUTE.max(0.15 * (shown.to - now));
    if next.to > shown.to + tolerance || next.from > shown.to {
        return next;
    }
    ShownRange { from: next.from, to: shown.to.min(next.to) }
}

/// Whether this ticket's turn cannot have come when the line has moved on `after` so long.
#[allow(clippy::cast_precision_loss, reason = "JavaScript computes with the same numbers")]
pub fn is_far(ticket: u64, line: &LineStatus, after: f64) -> bool {
    let reached = line.reached as f64 + f64::from(line.rate.get()) * (after + ON_ITS_WAY) / MINUTE;
    ticket as f64 - reached - 1.0 > 2.0 * line.disorder as f64
}

/// Whether the line has overtaken this ticket.
pub fn is_overtaken(ticket: u64, line: &LineStatus) -> bool {
    ticket < line.overtaken
}

fn spread(millis: f64, random: f64) -> f64 {
    millis * (0.9 + 0.2 * random)
}
