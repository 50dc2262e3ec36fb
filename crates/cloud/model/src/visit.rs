//! What one visitor sends, from the link to the shop.

use page::visitor::{AskedFor, Heard, PageMoment, PagePlace, Step, Tab};
use page::{Polled, ToldWaiting};
use waitroom::{Epoch, LineStatus, Rate};

use crate::ModelledRoom;
use crate::facts::facts;

/// How long each visitor waits in the estimates.
pub const WAIT_MINUTES: u32 = 10;

/// How old an edge's answers are, in milliseconds: it keeps them for a second.
const EDGE_AGE: f64 = 1000.0;
/// How many places visitors are from their turn on AWS, as the room says. Nobody has measured a queue's.
const DISORDER: u64 = 100;

/// The door, the page, and when it is the visitor's turn the door again.
const DOOR_AND_PAGE: f64 = 2.0;
const TURN: f64 = 1.0;

/// The requests of one visitor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// How often their page asks for its own answer. The first is sent when the page is open, and the last finds that it is the
    /// visitor's turn.
    pub polls: u32,
    /// How often it asks what an edge says to everybody.
    pub shared_polls: u32,
    further_files: u32,
}

impl Visit {
    /// A visitor who waits this long in a line that moves steadily.
    pub fn waiting(minutes: f64, room: &ModelledRoom) -> Self {
        let VisitPolls { own, shared } = VisitPolls::of_visitor(minutes, room.rate, room.edge.answers());
        Self { polls: own, shared_polls: shared, further_files: room.further_files }
    }

    /// All requests to the room.
    pub fn requests(self) -> f64 {
        requests_of_join(self.further_files) + f64::from(self.polls + self.shared_polls) + TURN
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

/// How often a page polls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VisitPolls<N> {
    pub(crate) own: N,
    /// What an edge answers.
    pub(crate) shared: N,
}

impl VisitPolls<u32> {
    /// Walks through a wait as the page does. Every number in the line belongs to somebody who waits. Where producers dropped
    /// numbers, the page forecasts later turns and polls less. As many join behind the visitor as leave the line.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::expect_used,
        reason = "a place in line, never negative; and four letters"
    )]
    fn of_visitor(minutes: f64, rate: Rate, has_edge: bool) -> Self {
        let wait = minutes.clamp(0.0, longest_wait_minutes()) * page::line::MINUTE;
        let per_millisecond = f64::from(rate.get()) / page::line::MINUTE;
        let ticket = (wait * per_millisecond) as u64 + 1;
        // Only an edge's page asks how far out of order the line is.
        let disorder = if has_edge { DISORDER } else { 0 };
        let epoch: Epoch = "aaaa".parse().expect("an epoch");
        let told = |at: f64| {
            let reached = (at * per_millisecond) as u64;
            let line = LineStatus {
                reached,
                overtaken: 0,
                disorder,
                waiting: ticket,
                rate,
                slow: false,
                left: None,
            };
            Polled::Wait(ToldWaiting { epoch, line, opens_in: 0.0, stretch: 1.0, has_edge })
        };
        let (mut tab, mut now, mut step) = (Tab::default(), 0.0, Step::FIRST);
        let mut polls = Self { own: 0, shared: 0 };
        loop {
            now += step.after;
            let heard = match step.ask.what {
                AskedFor::Door => Heard::Page(Some(PagePlace { epoch, ticket })),
                AskedFor::Document => Heard::Document,
                AskedFor::Poll => {
                    polls.own += 1;
                    if now >= wait {
                        return polls;
                    }
                    Heard::Poll(told(now))
                }
                AskedFor::Status => {
                    polls.shared += 1;
                    Heard::Status { polled: told((now - EDGE_AGE).max(0.0)), age: EDGE_AGE }
                }
            };
            step = tab.hear(step.ask, heard, PageMoment::watched(now), &mut || 0.5);
        }
    }
}

impl VisitPolls<f64> {
    /// The polls per second of a line that keeps this length and moves at this rate, without each visitor's first poll. At any
    /// moment there is a visitor at every place of the line, so together they send what one sends on the way through all places.
    pub(crate) fn of_line(waiting: f64, rate: Rate, has_edge: bool) -> Self {
        let per_minute = f64::from(rate.get());
        let VisitPolls { own, shared } = VisitPolls::of_visitor(waiting / per_minute, rate, has_edge);
        let a_second = |polls: u32| f64::from(polls) * per_minute / 60.0;
        Self { own: a_second(own - 1), shared: a_second(shared) }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers, or the same computation")]
mod tests {
    use super::*;

    fn room(per_minute: u32) -> ModelledRoom {
        ModelledRoom::new(Rate::new(per_minute).unwrap())
    }

    #[test]
    fn a_visitor_who_waits_longer_polls_more_and_at_a_lower_pace() {
        let polls = |minutes| Visit::waiting(minutes, &room(1000)).polls;
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
        let visit = Visit::waiting(10.0, &room(1000));
        assert_eq!(visit.requests(), f64::from(visit.polls) + 3.0);
        assert_eq!(requests_of_join(0), 2.0);
        assert_eq!(requests_of_join(11), 13.0);
        let files = ModelledRoom { further_files: 2, ..room(1000) };
        assert_eq!(Visit::waiting(10.0, &files).requests(), visit.requests() + 2.0);
    }

    #[test]
    fn a_wait_beyond_fourteen_days_ends_there() {
        for room in [room(1), room(1).behind_edge()] {
            let longest = Visit::waiting(longest_wait_minutes(), &room);
            assert_eq!(Visit::waiting(f64::MAX, &room), longest);
        }
    }

    #[test]
    fn behind_an_edge_a_visitor_asks_as_often_and_seldom_for_themselves() {
        for per_minute in [300, 1000, 10_000] {
            for minutes in [1.0, 10.0, 30.0, 150.0] {
                let alone = Visit::waiting(minutes, &room(per_minute));
                let behind = Visit::waiting(minutes, &room(per_minute).behind_edge());
                let all = behind.polls + behind.shared_polls;
                assert!(alone.shared_polls == 0 && all.abs_diff(alone.polls) <= 3, "{alone:?} {behind:?}");
                let every_ten = minutes / 10.0;
                assert!(f64::from(behind.polls) <= every_ten + 6.0, "{minutes} min: {behind:?}");
            }
        }
    }
}
