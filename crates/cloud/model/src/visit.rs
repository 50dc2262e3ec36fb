//! What one visitor sends, from the link to the shop.

use page::line::{forecast, next_poll};
use waitroom::{LineStatus, Rate};

use crate::facts::facts;

/// How long each visitor waits in the estimates.
pub const WAIT_MINUTES: u32 = 10;

/// The door, the page, and when it is the visitor's turn the door again.
const DOOR_AND_PAGE: f64 = 2.0;
const TURN: f64 = 1.0;

/// The requests of one visitor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The first is sent when the page is open, and the last finds that it is the visitor's turn.
    pub polls: u32,
    further_files: u32,
}

impl Visit {
    /// A visitor who waits this long in a line that moves steadily, and whose page has this many files besides its document.
    pub fn waiting(minutes: f64, rate: Rate, further_files: u32) -> Self {
        Self { polls: polls(minutes, rate), further_files }
    }

    /// All requests to the room.
    pub fn requests(self) -> f64 {
        DOOR_AND_PAGE + f64::from(self.further_files) + f64::from(self.polls) + TURN
    }
}

/// The longest wait: the line keeps a visitor no longer.
pub(crate) fn longest_wait_minutes() -> f64 {
    facts().fixed.message_retention.value * 24.0 * 60.0
}

/// The requests from the link to the page: the door and the page's files.
pub(crate) fn requests_of_join(further_files: u32) -> f64 {
    DOOR_AND_PAGE + f64::from(further_files)
}

/// Walks through a wait as the page does. Every number in the line belongs to somebody who waits. Where producers dropped
/// numbers, the page forecasts later turns and polls less. As many join behind the visitor as leave the line.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in line, never negative"
)]
fn polls(minutes: f64, rate: Rate) -> u32 {
    let wait = minutes.clamp(0.0, longest_wait_minutes()) * page::line::MINUTE;
    let per_millisecond = f64::from(rate.get()) / page::line::MINUTE;
    let ticket = (wait * per_millisecond) as u64 + 1;
    let (mut now, mut polls) = (0.0, 1);
    while now < wait {
        let reached = (now * per_millisecond) as u64;
        let line =
            LineStatus { reached, overtaken: 0, disorder: 0, waiting: ticket, rate, slow: false, left: None };
        now += next_poll(&forecast(ticket, &line), 1.0, 0.5);
        polls += 1;
    }
    polls
}

/// The polls per second of a line that keeps this length and moves at this rate, without each visitor's first poll. At any
/// moment there is a visitor at every place of the line, so together they send what one sends on the way through all places.
pub(crate) fn polls_of_line(waiting: f64, rate: Rate) -> f64 {
    let per_minute = f64::from(rate.get());
    f64::from(polls(waiting / per_minute, rate) - 1) * per_minute / 60.0
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers, or the same computation")]
mod tests {
    use super::*;

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    #[test]
    fn a_visitor_who_waits_longer_polls_more_and_at_a_lower_pace() {
        let polls = |minutes| Visit::waiting(minutes, rate(1000), 0).polls;
        assert_eq!(polls(0.0), 1, "somebody who need not wait polls once");
        let mut before = (0.0, 1);
        for minutes in [1.0, 5.0, 10.0, 30.0, 120.0, 600.0] {
            let now = (minutes, polls(minutes));
            assert!(now.1 > before.1, "{before:?} {now:?}");
            before = now;
        }
        assert!(
            f64::from(polls(600.0)) < 600.0 / 3.0,
            "about every five minutes, except while few are ahead"
        );
    }

    #[test]
    fn a_visit_has_two_requests_before_its_polls_and_one_after_the_last() {
        let visit = Visit::waiting(10.0, rate(1000), 0);
        assert_eq!(visit.requests(), f64::from(visit.polls) + 3.0);
        assert_eq!(requests_of_join(0), 2.0);
        assert_eq!(requests_of_join(11), 13.0);
        assert_eq!(Visit::waiting(10.0, rate(1000), 2).requests(), visit.requests() + 2.0);
    }

    #[test]
    fn a_wait_beyond_fourteen_days_ends_there() {
        let longest = Visit::waiting(longest_wait_minutes(), rate(1), 0);
        assert_eq!(Visit::waiting(f64::MAX, rate(1), 0), longest);
    }
}
