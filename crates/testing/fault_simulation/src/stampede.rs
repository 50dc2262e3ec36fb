//! A stampede: thousands open the link within seconds, at a gate that lets only so many requests a second through, as API
//! Gateway does. How soon is everybody in line, and how many requests does it take?
//!
//! Each visitor asks the door, loads the page and polls. A refused visitor tries again after the pause that the busy page or
//! the waiting page makes. Pages poll with [their own arithmetic](page::line). Only the gate refuses: the room behind it is as
//! fast as it needs to be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use page::line::{self, MINUTE, PageForecast};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simulation::{GateState, RoomGate};
use waitroom::{LineStatus, Rate};

use crate::Spread;

/// One run: a crowd, a gate, and what visitors do.
#[derive(Clone, Copy, Debug)]
pub struct Stampede {
    pub seed: u64,
    pub visitors: usize,
    /// They come evenly within this time.
    pub within: Duration,
    /// How many a minute are released from the line.
    pub rate: u32,
    pub gate: RoomGate,
    pub habits: VisitorHabits,
}

/// What a visitor's browser asks for, and when it asks again.
#[derive(Clone, Copy, Debug)]
pub struct VisitorHabits {
    /// How many files the page loads beside its document.
    pub files: usize,
    /// The pause after this many refusals in a row of the door or of the document, in milliseconds.
    pub busy_page: fn(i32, f64) -> f64,
    /// The time from an answered poll to the next.
    pub next_poll: fn(&PageForecast, f64) -> f64,
    /// The pause after this many refused polls in a row, given the usual pause between polls (0 before the first answer).
    pub retry_poll: fn(i32, f64, f64) -> f64,
}

impl VisitorHabits {
    pub const NOW: Self = Self {
        files: 0,
        busy_page: |refusals, random| line::retry_in(refusals, 0.0, random),
        next_poll: |forecast, random| line::next_poll(forecast, 1.0, random),
        retry_poll: |refusals, pause, random| line::retry_in(refusals, pause / 2.0, random),
    };

    /// Until November 2026: eleven files beside the document, and everybody who is refused comes again after exactly five seconds. A page whose
    /// poll is refused waits for half of its usual time, then twice as long.
    pub const BEFORE: Self = Self {
        files: 11,
        busy_page: |_, _| 5000.0,
        next_poll: |forecast, random| {
            line::next_poll(
                &PageForecast { ask_in: forecast.earliest / 4.0, within: f64::INFINITY, ..*forecast },
                1.0,
                random,
            )
        },
        retry_poll: |refusals, pause, random| {
            let first = (pause / 2.0).max(5000.0);
            (first * 2.0_f64.powi(refusals - 1)).min(pause.max(MINUTE)) * (0.9 + 0.2 * random)
        },
    };

    /// How many requests a visitor sends at least, until the first answer to a poll.
    pub fn fewest_requests(&self) -> usize {
        3 + self.files
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct StampedeReport {
    /// How many milliseconds after their arrival visitors were in line.
    pub in_line: Spread,
    /// How many milliseconds after their arrival their page had its first answer.
    pub answered: Spread,
    /// How many requests were sent until everybody had their first answer.
    pub requests: u64,
    /// How many of those were refused.
    pub refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisitorStep {
    Door,
    Document,
    Files,
    Poll,
}

#[derive(Clone, Copy, Debug)]
struct StampedingVisitor {
    arrived: Instant,
    step: VisitorStep,
    refusals: i32,
    /// Files that the browser does not have yet.
    missing: usize,
    ticket: Option<u64>,
    answered: bool,
    /// From the last answered poll to the next, in milliseconds.
    pause: f64,
}

/// Microseconds since the beginning, so that instants can be ordered.
type Instant = u64;

struct StampedeState {
    rng: StdRng,
    gate: GateState,
    visitors: Vec<StampedingVisitor>,
    /// When each visitor sends the next request, the first on top.
    agenda: BinaryHeap<Reverse<(Instant, usize)>>,
    joined: u64,
    in_line: Vec<u64>,
    answered: Vec<u64>,
}

impl Stampede {
    /// From a request to its answer.
    const ROUND_TRIP: f64 = 100.0;
    /// After this time, a page whose files did not load goes to the door again.
    const OLD_PAGE_GOES: f64 = 20_000.0;

    pub fn run(&self) -> StampedeReport {
        let mut state = StampedeState::new(self);
        while state.answered.len() < self.visitors {
            let Some(Reverse((now, visitor))) = state.agenda.pop() else { break };
            if let Some(pause) = self.ask(&mut state, visitor, now) {
                state.agenda.push(Reverse((now + micros(Self::ROUND_TRIP + pause), visitor)));
            }
        }
        StampedeReport {
            in_line: Spread::of(state.in_line),
            answered: Spread::of(state.answered),
            requests: state.gate.requests(),
            refused: state.gate.refused(),
        }
    }

    /// One visitor sends what is next. Returns the pause from the answer to the next request, or `None` if the visitor enters.
    fn ask(&self, state: &mut StampedeState, index: usize, now: Instant) -> Option<f64> {
        let visitor = &mut state.visitors[index];
        if visitor.step == VisitorStep::Files {
            visitor.missing = (0..visitor.missing).filter(|_| !state.gate.lets_through(now)).count();
            let is_loaded = visitor.missing == 0;
            visitor.step = if is_loaded { VisitorStep::Poll } else { VisitorStep::Door };
            return Some(if is_loaded { 0.0 } else { Self::OLD_PAGE_GOES });
        }
        let random = state.rng.random();
        if !state.gate.lets_through(now) {
            visitor.refusals += 1;
            return Some(match visitor.step {
                VisitorStep::Poll => (self.habits.retry_poll)(visitor.refusals, visitor.pause, random),
                _ => (self.habits.busy_page)(visitor.refusals, random),
            });
        }
        visitor.refusals = 0;
        let since_arrival = (now - visitor.arrived) / 1000;
        match visitor.step {
            VisitorStep::Door => {
                visitor.step = VisitorStep::Document;
                if visitor.ticket.is_none() {
                    state.joined += 1;
                    visitor.ticket = Some(state.joined);
                    state.in_line.push(since_arrival);
                }
                Some(0.0)
            }
            VisitorStep::Document => {
                visitor.step = if visitor.missing > 0 { VisitorStep::Files } else { VisitorStep::Poll };
                Some(0.0)
            }
            VisitorStep::Files | VisitorStep::Poll => {
                if !visitor.answered {
                    visitor.answered = true;
                    state.answered.push(since_arrival);
                }
                let line = self.line(state.joined, now);
                let ticket = visitor.ticket?;
                if ticket <= line.served {
                    return None;
                }
                visitor.pause = (self.habits.next_poll)(&line::forecast(ticket, &line), random);
                Some(visitor.pause)
            }
        }
    }

    /// What a poll says: the line moves evenly.
    fn line(&self, joined: u64, now: Instant) -> LineStatus {
        let served = (now * u64::from(self.rate) / 60_000_000).min(joined);
        let rate = Rate::new(self.rate).expect("a rate");
        LineStatus { served, passed: 0, disorder: 0, waiting: joined - served, rate, slow: false }
    }
}

impl StampedeState {
    fn new(stampede: &Stampede) -> Self {
        let mut rng = StdRng::seed_from_u64(stampede.seed);
        let within = micros(stampede.within.as_secs_f64() * 1000.0);
        let visitor = |arrived| StampedingVisitor {
            arrived,
            step: VisitorStep::Door,
            refusals: 0,
            missing: stampede.habits.files,
            ticket: None,
            answered: false,
            pause: 0.0,
        };
        let visitors: Vec<_> = (0..stampede.visitors).map(|_| visitor(rng.random_range(0..within))).collect();
        let agenda =
            visitors.iter().enumerate().map(|(index, visitor)| Reverse((visitor.arrived, index))).collect();
        Self {
            rng,
            gate: GateState::new(stampede.gate),
            visitors,
            agenda,
            joined: 0,
            in_line: Vec::new(),
            answered: Vec::new(),
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pauses are positive and at most an hour"
)]
fn micros(millis: f64) -> u64 {
    (millis * 1000.0) as u64
}
