//! How far from first come, first served a room is whose line is not in order, and what its visitors are told meanwhile.
//!
//! A crowd joins within two minutes. Each visitor has a page that polls, shows a range and goes to the door, as the real
//! page does, with [its arithmetic](page::line).

use std::collections::HashMap;
use std::time::Duration;

use page::line::{self, MINUTE, ShownRange};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simulation::LineBehaviour;
use waitroom::ports::Clock;
use waitroom::throttle_rules::Verdict;
use waitroom::{LineStatus, Place, Rate, Timestamp, Token};

use crate::{InjectedFault, Spread, VisitorHabits, World};

/// One run: a crowd, a rate and a line.
#[derive(Clone, Copy, Debug)]
pub struct OrderRun {
    pub seed: u64,
    pub visitors: usize,
    pub rate: u32,
    pub meanwhile: Meanwhile,
    pub line: LineBehaviour,
    pub habits: VisitorHabits,
}

/// What happens to the rate while the crowd waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    Nothing,
    /// The throttle holds it down to a tenth for two minutes, and then raises it as it does.
    Throttled,
    /// The operator doubles it.
    Doubled,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct OrderReport {
    /// How many places from their turn visitors entered.
    pub displaced: Spread,
    /// How many seconds the entry was outside of the range that the page showed, over all polls.
    pub forecast_off: Spread,
    /// How many times each page polled, until the poll that told it.
    pub polls: Spread,
    /// The same, of those who waited for nine to eleven minutes.
    pub polls_in_ten_minutes: Spread,
    /// How many milliseconds after their admission visitors were told.
    pub learned_after: Spread,
    /// How many were told that the line has passed them, although they were in it.
    pub told_passed: usize,
    /// How many of those entered later than the line first delivered them.
    pub entered_late: usize,
    pub lost: usize,
    pub twice: usize,
    /// Whether more were released than planned, or than the rate allows.
    pub above_plan: bool,
}

/// A visitor with the page open.
struct SimVisitor {
    place: Place,
    first_ticket: u64,
    joined: Timestamp,
    next_poll: Timestamp,
    shown: Option<ShownRange>,
    ranges: Vec<ShownRange>,
    polls: u64,
    asked_door: Option<Timestamp>,
    entered: Option<Timestamp>,
    learned: Option<Timestamp>,
}

/// The crowd, and how much of the world's observations it has read.
struct SimCrowd {
    rng: StdRng,
    visitors: Vec<SimVisitor>,
    by_token: HashMap<Token, usize>,
    redirected: usize,
    confirmed: usize,
}

impl OrderRun {
    const TICK: Duration = Duration::from_millis(500);
    const RUSH: Duration = Duration::from_mins(2);

    pub fn run(&self) -> OrderReport {
        let mut world = World::new(self.seed, self.rate).with_line(self.line);
        world.set_faults(|_| (InjectedFault::None, Duration::from_millis(8)));
        let mut crowd = SimCrowd::new(self.seed);
        let start = world.clock.now();
        let mut joined = 0;
        // Twice the time that it should take, and the time until a receive returns the last.
        let longest = Duration::from_secs(self.visitors as u64 * 120 / u64::from(self.rate) + 600);
        let mut rates = self.rates(Duration::ZERO);
        while world.clock.now() < start + longest {
            let elapsed = world.clock.now().since(start);
            let due = share(self.visitors, elapsed, Self::RUSH);
            world.join(due - joined);
            joined = due;
            if rates != self.rates(elapsed) {
                rates = self.rates(elapsed);
                world.change_room(move |room| (room.settings.rate, room.throttled) = rates);
            }
            world.run(Self::TICK);
            crowd.read(&world);
            crowd.poll(&mut world, &self.habits);
            if joined == self.visitors && crowd.everybody_learned(joined) {
                break;
            }
        }
        world.drain(10);
        crowd.read(&world);
        crowd.report(&mut world)
    }

    /// The rate that the operator wants after this time, and the one that the throttle allows.
    fn rates(&self, elapsed: Duration) -> (Rate, Option<Rate>) {
        let rate = |per_minute| Rate::new(per_minute).expect("within bounds");
        let (wanted, minutes) = (rate(self.rate), elapsed.as_secs() / 60);
        match self.meanwhile {
            Meanwhile::Doubled if minutes >= 3 => (rate(2 * self.rate), None),
            Meanwhile::Throttled if minutes >= 3 => {
                let raise = |held, _minute| Verdict::Well.next_rate(held, wanted);
                let held = (5..=minutes).fold(rate(self.rate / 10), raise);
                (wanted, Some(held).filter(|held| *held < wanted))
            }
            _ => (wanted, None),
        }
    }
}

/// How many have come after this time, if all come evenly.
fn share(all: usize, elapsed: Duration, within: Duration) -> usize {
    let all_by_then = all as u128 * elapsed.as_millis() / within.as_millis();
    usize::try_from(all_by_then).unwrap_or(all).min(all)
}

impl SimCrowd {
    fn new(seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(!seed);
        Self { rng, visitors: Vec::new(), by_token: HashMap::new(), redirected: 0, confirmed: 0 }
    }

    /// Who got a place since the last call, and who was admitted.
    fn read(&mut self, world: &World) {
        let now = world.clock.now();
        let observations = world.observations.lock();
        for place in &observations.redirected[self.redirected..] {
            if let Some(&known) = self.by_token.get(&place.token) {
                // Joined again. The page starts anew with the new place.
                let visitor = &mut self.visitors[known];
                (visitor.place, visitor.shown) = (*place, None);
                continue;
            }
            self.by_token.insert(place.token, self.visitors.len());
            self.visitors.push(SimVisitor {
                place: *place,
                first_ticket: place.ticket.get(),
                joined: now,
                next_poll: now,
                shown: None,
                ranges: Vec::new(),
                polls: 0,
                asked_door: None,
                entered: None,
                learned: None,
            });
        }
        self.redirected = observations.redirected.len();
        for (token, at) in &observations.confirmed[self.confirmed..] {
            if let Some(&known) = self.by_token.get(token) {
                self.visitors[known].entered.get_or_insert(*at);
            }
        }
        self.confirmed = observations.confirmed.len();
    }

    fn poll(&mut self, world: &mut World, habits: &VisitorHabits) {
        let (now, line) = (world.clock.now(), world.status());
        for visitor in &mut self.visitors {
            if visitor.next_poll <= now && visitor.asks(now, &line, habits, self.rng.random()) {
                world.visit(Some(visitor.place));
            }
        }
    }

    fn everybody_learned(&self, joined: usize) -> bool {
        self.visitors.len() >= joined && self.visitors.iter().all(|visitor| visitor.learned.is_some())
    }

    fn report(&self, world: &mut World) -> OrderReport {
        let outcome = world.outcome();
        let mut by_entry: Vec<_> = self.visitors.iter().collect();
        by_entry.sort_by_key(|visitor| (visitor.entered, visitor.first_ticket));
        let mut tickets: Vec<_> = by_entry.iter().map(|visitor| visitor.first_ticket).collect();
        tickets.sort_unstable();
        let displaced = by_entry.iter().enumerate().map(|(entered, visitor)| {
            let turn = tickets.partition_point(|ticket| *ticket < visitor.first_ticket);
            entered.abs_diff(turn) as u64
        });
        let off = self.visitors.iter().flat_map(|visitor| {
            visitor.ranges.iter().map(|range| seconds_outside(range, visitor.entered.unwrap_or_default()))
        });
        let learned_after = self.visitors.iter().filter_map(|visitor| {
            let after = visitor.learned?.since(visitor.entered?);
            Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
        });
        let ten_minutes = self.visitors.iter().filter(|visitor| {
            let waited = visitor.entered.map(|entered| entered.since(visitor.joined));
            waited.is_some_and(|waited| (Duration::from_mins(9)..=Duration::from_mins(11)).contains(&waited))
        });
        let observations = world.observations.lock();
        let passed: Vec<_> = self.visitors.iter().filter(|visitor| visitor.asked_door.is_some()).collect();
        let late = passed.iter().filter(|visitor| {
            let delivered = observations.delivered.get(&(visitor.place.token, visitor.first_ticket));
            // A batch that was received is released within a second or two.
            visitor
                .entered
                .zip(delivered)
                .is_some_and(|(entered, delivered)| entered > *delivered + Duration::from_secs(5))
        });
        OrderReport {
            displaced: Spread::of(displaced.collect()),
            forecast_off: Spread::of(off.collect()),
            polls: Spread::of(self.visitors.iter().map(|visitor| visitor.polls).collect()),
            polls_in_ten_minutes: Spread::of(ten_minutes.map(|visitor| visitor.polls).collect()),
            learned_after: Spread::of(learned_after.collect()),
            told_passed: passed.len(),
            entered_late: late.count(),
            lost: outcome.lost.len(),
            twice: outcome.twice.len(),
            above_plan: !outcome.above_quota().is_empty() || outcome.above_rate().is_some(),
        }
    }
}

impl SimVisitor {
    /// One poll. Returns whether the page goes to the door, because it is their turn or because the line has passed them.
    fn asks(&mut self, now: Timestamp, line: &LineStatus, habits: &VisitorHabits, random: f64) -> bool {
        self.polls += 1;
        if self.entered.is_some() {
            self.learned = Some(now);
            self.next_poll = Timestamp::from_millis(u64::MAX);
            return false;
        }
        let ticket = self.place.ticket.get();
        let forecast = line::forecast(ticket, line);
        let range = line::narrow(self.shown, &forecast, millis(now));
        self.shown = Some(range);
        self.ranges.push(range);
        self.next_poll = now + wait((habits.next_poll)(&forecast, random));
        let may_ask = self.asked_door.is_none_or(|at| now.since(at) > wait(2.0 * MINUTE));
        let goes = line::is_passed(ticket, line) && may_ask;
        if goes {
            self.asked_door = Some(now);
        }
        goes
    }
}

/// How many seconds this instant is outside of the range.
fn seconds_outside(range: &ShownRange, entered: Timestamp) -> u64 {
    let entered = millis(entered);
    wait((range.from - entered).max(entered - range.to).max(0.0)).as_secs()
}

#[allow(clippy::cast_precision_loss, reason = "instants of this century are exact")]
fn millis(at: Timestamp) -> f64 {
    at.as_millis() as f64
}

fn wait(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1000.0)
}
