//! How far from first come, first served a room is whose line is not in order, and what its visitors are told meanwhile.
//!
//! A crowd joins within two minutes. Each visitor has a [`Tab`], which says when their page polls and goes to the door, and a
//! range, which it shows meanwhile.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use memory::LineBehaviour;
use page::line::{self, MINUTE, PageForecast, ShownRange};
use page::visitor::{Ask, AskedFor, Heard, PageMoment, PagePlace, Step, Tab};
use page::{Polled, ToldWaiting};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::Clock;
use waitroom::throttle_rules::Verdict;
use waitroom::{LineStatus, Place, Rate, Timestamp, Token};

use crate::{InjectedFault, Spread, World};

/// One run: a crowd, a rate and a line.
#[derive(Clone, Copy, Debug)]
pub struct SequenceRun {
    pub seed: u64,
    pub visitors: usize,
    pub rate: u32,
    pub meanwhile: Meanwhile,
    pub line: LineBehaviour,
}

/// The time from an answered poll to the next, in milliseconds, by what the poll has told and by chance.
pub type PollPace = fn(&PageForecast, f64) -> f64;

/// What happens to the rate while the crowd waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    Nothing,
    /// The throttle holds it down to a tenth for two minutes, and then raises it as it does.
    Throttled,
    /// The operator doubles it.
    Doubled,
    /// The operator lowers it to a tenth.
    Lowered,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct SequenceReport {
    /// How many places from their turn visitors entered.
    pub displaced: Spread,
    /// How many seconds the entry was outside of the range that the page showed, over all polls. Without those before the
    /// operator changed the rate, because nobody could foresee that.
    pub forecast_off: Spread,
    /// How many percent of these ranges contained the entry.
    pub in_range: f64,
    /// How many percent were more than a minute off.
    pub minute_off: f64,
    /// How many seconds wide these ranges were.
    pub width: Spread,
    /// How many times each page polled, until the poll that told it.
    pub polls: Spread,
    /// The same, of those who waited for nine to eleven minutes.
    pub polls_in_ten_minutes: Spread,
    /// How often their pages asked how the line stands, which an edge answers.
    pub shared_in_ten_minutes: Spread,
    /// How many milliseconds after their admission visitors were told.
    pub learned_after: Spread,
    /// How many milliseconds after the operator changed the rate the pages of those who waited asked again.
    pub heard_after: Spread,
    /// By how many seconds the range that they showed until then ended too early.
    pub too_early: Spread,
    /// How many were told that the line has overtaken them, although they were in it.
    pub told_overtaken: usize,
    /// How many of those entered later than the line first delivered them.
    pub entered_late: usize,
    pub lost: usize,
    pub twice: usize,
    /// Whether more were released than planned, or than the rate allows.
    pub above_plan: bool,
}

/// A visitor, and what their browser does next.
#[derive(Debug)]
struct SimVisitor {
    place: Place,
    first_ticket: u64,
    joined: Timestamp,
    tab: Tab,
    ask: Ask,
    asks_at: Timestamp,
    shown: Option<ShownRange>,
    /// What was shown, and when.
    ranges: Vec<(Timestamp, ShownRange)>,
    polls: u64,
    /// How often they asked the edge.
    shared: u64,
    entered: Option<Timestamp>,
    learned: Option<Timestamp>,
}

/// An edge, which says how the line stood so long ago.
#[derive(Debug)]
struct SimEdge {
    age: Duration,
    copies: VecDeque<(Timestamp, LineStatus)>,
}

/// What a poll is answered with.
#[derive(Clone, Copy, Debug)]
struct SimAnswers {
    line: LineStatus,
    /// What an edge says, and how old that is.
    shared: Option<(LineStatus, Duration)>,
}

/// The crowd, and how much of the world's observations it has read.
#[derive(Debug)]
pub struct SimCrowd {
    rng: StdRng,
    edge: Option<SimEdge>,
    visitors: Vec<SimVisitor>,
    by_token: HashMap<Token, usize>,
    redirected: usize,
    confirmed: usize,
}

impl SequenceRun {
    const TICK: Duration = Duration::from_millis(500);
    const RUSH: Duration = Duration::from_mins(2);
    const CHANGED_AFTER: Duration = Duration::from_mins(3);

    pub fn run(&self) -> SequenceReport {
        self.run_with(None, None)
    }

    /// The same, with pages that poll at another pace than ours.
    pub fn run_at_pace(&self, pace: PollPace) -> SequenceReport {
        self.run_with(Some(pace), None)
    }

    /// The same, with an edge in front of the room, which says to everybody how the line stood so long ago.
    pub fn run_behind_edge(&self, age: Duration) -> SequenceReport {
        self.run_with(None, Some(age))
    }

    fn run_with(&self, pace: Option<PollPace>, edge: Option<Duration>) -> SequenceReport {
        let mut world = World::new(self.seed, self.rate).with_line(self.line);
        world.set_faults(|_| (InjectedFault::None, Duration::from_millis(8)));
        let edge = edge.map(|age| SimEdge { age, copies: VecDeque::new() });
        let mut crowd = SimCrowd { edge, ..SimCrowd::new(self.seed) };
        let start = world.clock.now();
        let mut joined = 0;
        // Twice the time that it should take, and the time until a receive returns the last.
        let slowest = if self.meanwhile == Meanwhile::Lowered { self.rate / 10 } else { self.rate };
        let longest = Duration::from_secs(self.visitors as u64 * 120 / u64::from(slowest) + 600);
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
            crowd.ask(&mut world, pace);
            if joined == self.visitors && crowd.everybody_learned(joined) {
                break;
            }
        }
        world.drain(10);
        crowd.read(&world);
        let is_changed = matches!(self.meanwhile, Meanwhile::Doubled | Meanwhile::Lowered);
        crowd.report(&mut world, is_changed.then_some(start + Self::CHANGED_AFTER))
    }

    /// The rate that the operator wants after this time, and the one that the throttle allows.
    fn rates(&self, elapsed: Duration) -> (Rate, Option<Rate>) {
        let rate = |per_minute| Rate::new(per_minute).expect("within bounds");
        let (wanted, minutes) = (rate(self.rate), elapsed.as_secs() / 60);
        let is_changed = elapsed >= Self::CHANGED_AFTER;
        match self.meanwhile {
            Meanwhile::Doubled if is_changed => (rate(2 * self.rate), None),
            Meanwhile::Lowered if is_changed => (rate(self.rate / 10), None),
            Meanwhile::Throttled if is_changed => {
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
    pub fn new(seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(!seed);
        Self { rng, edge: None, visitors: Vec::new(), by_token: HashMap::new(), redirected: 0, confirmed: 0 }
    }

    /// Who got a place since the last call, and who was admitted.
    pub fn read(&mut self, world: &World) {
        let now = world.clock.now();
        let observations = world.observations.lock();
        for place in &observations.redirected[self.redirected..] {
            let index = *self.by_token.entry(place.token).or_insert(self.visitors.len());
            if index == self.visitors.len() {
                self.visitors.push(SimVisitor::new(*place, now));
            }
            self.visitors[index].open_page(*place, now);
        }
        self.redirected = observations.redirected.len();
        for (token, at) in &observations.confirmed[self.confirmed..] {
            if let Some(&known) = self.by_token.get(token) {
                self.visitors[known].entered.get_or_insert(*at);
            }
        }
        self.confirmed = observations.confirmed.len();
    }

    /// All whose time has come ask for what they ask for next.
    pub fn ask(&mut self, world: &mut World, pace: Option<PollPace>) {
        let (now, line) = (world.clock.now(), world.status());
        let shared = self.edge.as_mut().map(|edge| edge.says(now, line));
        let answers = SimAnswers { line, shared };
        for visitor in &mut self.visitors {
            if visitor.learned.is_some() || visitor.asks_at > now {
                continue;
            }
            let random = self.rng.random();
            if matches!(visitor.ask.what, AskedFor::Poll | AskedFor::Status) {
                visitor.poll(now, answers, pace, random);
                if visitor.ask.what == AskedFor::Door {
                    world.visit(Some(visitor.place));
                }
            } else if visitor.entered.is_some() {
                visitor.learned = Some(now);
            } else {
                // The door did not give them another place.
                visitor.open_page(visitor.place, now);
            }
        }
    }

    pub fn everybody_learned(&self, joined: usize) -> bool {
        self.visitors.len() >= joined && self.visitors.iter().all(|visitor| visitor.learned.is_some())
    }

    /// Each visitor's place, and how often they have polled.
    pub fn places_and_polls(&self) -> Vec<(Place, u64)> {
        self.visitors.iter().map(|visitor| (visitor.place, visitor.polls)).collect()
    }

    /// `changed`: when the operator changed the rate.
    pub fn report(&self, world: &mut World, changed: Option<Timestamp>) -> SequenceReport {
        let outcome = world.outcome();
        let mut by_entry: Vec<_> = self.visitors.iter().collect();
        by_entry.sort_by_key(|visitor| (visitor.entered, visitor.first_ticket));
        let mut tickets: Vec<_> = by_entry.iter().map(|visitor| visitor.first_ticket).collect();
        tickets.sort_unstable();
        let displaced = by_entry.iter().enumerate().map(|(entered, visitor)| {
            let turn = tickets.partition_point(|ticket| *ticket < visitor.first_ticket);
            entered.abs_diff(turn) as u64
        });
        let shown: Vec<_> = self.visitors.iter().flat_map(|visitor| visitor.shown_since(changed)).collect();
        let off = shown.iter().map(|(at, range, entered)| seconds_outside(*at, range, *entered));
        let percent =
            |is: fn(u64) -> bool| percent(off.clone().filter(|seconds| is(*seconds)).count(), shown.len());
        let width = shown.iter().map(|(_, range, _)| wait(range.to - range.from).as_secs());
        let surprised =
            changed.map(|changed| self.visitors.iter().filter_map(move |visitor| visitor.surprised(changed)));
        let (heard_after, too_early) = surprised.into_iter().flatten().unzip();
        let learned_after = self.visitors.iter().filter_map(|visitor| {
            let after = visitor.learned?.since(visitor.entered?);
            Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
        });
        let ten_minutes = self.visitors.iter().filter(|visitor| {
            let waited = visitor.entered.map(|entered| entered.since(visitor.joined));
            waited.is_some_and(|waited| (Duration::from_mins(9)..=Duration::from_mins(11)).contains(&waited))
        });
        let observations = world.observations.lock();
        let overtaken: Vec<_> =
            self.visitors.iter().filter(|visitor| visitor.tab.kept.asked_door.is_some()).collect();
        let late = overtaken.iter().filter(|visitor| {
            let delivered = observations.delivered.get(&(visitor.place.token, visitor.first_ticket));
            // A batch that was received is released within a second or two.
            visitor
                .entered
                .zip(delivered)
                .is_some_and(|(entered, delivered)| entered > *delivered + Duration::from_secs(5))
        });
        SequenceReport {
            displaced: Spread::of(displaced.collect()),
            in_range: percent(|seconds| seconds == 0),
            minute_off: percent(|seconds| seconds > 60),
            forecast_off: Spread::of(off.collect()),
            width: Spread::of(width.collect()),
            polls: Spread::of(self.visitors.iter().map(|visitor| visitor.polls).collect()),
            polls_in_ten_minutes: Spread::of(ten_minutes.clone().map(|visitor| visitor.polls).collect()),
            shared_in_ten_minutes: Spread::of(ten_minutes.map(|visitor| visitor.shared).collect()),
            learned_after: Spread::of(learned_after.collect()),
            heard_after: Spread::of(heard_after),
            too_early: Spread::of(too_early),
            told_overtaken: overtaken.len(),
            entered_late: late.count(),
            lost: outcome.lost.len(),
            twice: outcome.twice.len(),
            above_plan: !outcome.above_quota().is_empty() || outcome.above_rate().is_some(),
        }
    }
}

impl SimEdge {
    /// What it says, and how old that is.
    fn says(&mut self, now: Timestamp, line: LineStatus) -> (LineStatus, Duration) {
        self.copies.push_back((now, line));
        while self.copies.get(1).is_some_and(|(at, _)| *at + self.age <= now) {
            self.copies.pop_front();
        }
        self.copies.front().map_or((line, Duration::ZERO), |(at, line)| (*line, now.since(*at)))
    }
}

impl SimVisitor {
    fn new(place: Place, joined: Timestamp) -> Self {
        Self {
            place,
            first_ticket: place.ticket.get(),
            joined,
            tab: Tab::default(),
            ask: Step::FIRST.ask,
            asks_at: joined,
            shown: None,
            ranges: Vec::new(),
            polls: 0,
            shared: 0,
            entered: None,
            learned: None,
        }
    }

    /// The door has sent them to the page, which loads at once.
    fn open_page(&mut self, place: Place, now: Timestamp) {
        (self.place, self.shown) = (place, None);
        let place = PagePlace { epoch: place.epoch, ticket: place.ticket.get() };
        self.hear(Heard::Page(Some(place)), now, 0.0);
        self.hear(Heard::Document, now, 0.0);
    }

    fn poll(&mut self, now: Timestamp, answers: SimAnswers, pace: Option<PollPace>, random: f64) {
        let SimAnswers { line, shared } = answers;
        // No run resets the room or waits for an opening.
        let (opens_in, stretch, has_edge) = (0.0, 1.0, shared.is_some());
        let told = ToldWaiting { epoch: self.place.epoch, line, opens_in, stretch, has_edge };
        if let (AskedFor::Status, Some((line, age))) = (self.ask.what, shared) {
            self.shared += 1;
            let polled = Polled::Wait(ToldWaiting { line, ..told });
            self.hear(Heard::Status { polled, age: age.as_secs_f64() * 1000.0 }, now, random);
            return;
        }
        self.polls += 1;
        if self.entered.is_some() {
            self.learned = Some(now);
            return;
        }
        let forecast = line::forecast(self.place.ticket.get(), &line);
        let range = line::narrow(self.shown, &forecast, millis(now));
        self.shown = Some(range);
        self.ranges.push((now, range));
        let step = self.hear(Heard::Poll(Polled::Wait(told)), now, random);
        if let (Some(pace), AskedFor::Poll) = (pace, step.ask.what) {
            self.asks_at = now + wait(pace(&forecast, random));
        }
    }

    fn hear(&mut self, heard: Heard, now: Timestamp, random: f64) -> Step {
        let step = self.tab.hear(self.ask, heard, PageMoment::watched(millis(now)), &mut || random);
        (self.ask, self.asks_at) = (step.ask, now + wait(step.after));
        step
    }

    /// The ranges that the page showed since then: when, which, and the time of the entry.
    fn shown_since(
        &self,
        since: Option<Timestamp>,
    ) -> impl Iterator<Item = (Timestamp, ShownRange, Timestamp)> + '_ {
        let (since, entered) = (since.unwrap_or_default(), self.entered.unwrap_or_default());
        self.ranges.iter().filter(move |(at, _)| *at >= since).map(move |(at, range)| (*at, *range, entered))
    }

    /// How many milliseconds after the rate was changed the page asked again, and by how many seconds the range that it showed
    /// until then ended too early. `None` if the visitor did not wait by then.
    fn surprised(&self, changed: Timestamp) -> Option<(u64, u64)> {
        let entered = self.entered.filter(|entered| *entered > changed)?;
        let (_, promised) = self.ranges.iter().rfind(|(at, _)| *at < changed)?;
        let asked = self.ranges.iter().map(|(at, _)| *at).find(|at| *at >= changed).or(self.learned)?;
        let heard_after = u64::try_from(asked.since(changed).as_millis()).unwrap_or(u64::MAX);
        Some((heard_after, wait((millis(entered) - promised.to).max(0.0)).as_secs()))
    }
}

#[allow(clippy::cast_precision_loss, reason = "far fewer polls than a float can count")]
fn percent(of: usize, all: usize) -> f64 {
    100.0 * of as f64 / all.max(1) as f64
}

/// How many seconds the entry is outside of the range that the page shows at that time. It shows whole minutes: `when` in
/// `site/words.js` rounds the start, and rounds the end up.
fn seconds_outside(at: Timestamp, range: &ShownRange, entered: Timestamp) -> u64 {
    let left = |until: f64| (until - millis(at)) / MINUTE;
    let (least, most) = (left(range.from).round() - 0.5, left(range.to).ceil().max(1.0));
    let entered = left(millis(entered));
    wait(MINUTE * (least - entered).max(entered - most).max(0.0)).as_secs()
}

#[allow(clippy::cast_precision_loss, reason = "instants of this century are exact")]
fn millis(at: Timestamp) -> f64 {
    at.as_millis() as f64
}

fn wait(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1000.0)
}
