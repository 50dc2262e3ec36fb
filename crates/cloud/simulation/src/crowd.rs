//! The visitors of a simulation: what each does, and when next.

use aws_model::Limit;
use page::line::{MINUTE, PageForecast, TURN_SHOWN, forecast, is_passed, retry_in};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::{Ticket, TicketBlock, Timestamp};

use crate::agenda::Agenda;
use crate::course::CountedCourse;
use crate::gate::{GateState, RoomGate};
use crate::room::RoomOnClock;
use crate::scenario::{AwsAccount, CrowdHabits, Scenario};

/// What a visitor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SimulatedStep {
    Door,
    Page,
    Poll,
    /// The door once more, for a pass.
    Turn,
    Nothing,
}

/// How a visit ended, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    StillWaiting,
    Entered,
    /// Their turn came, and they did not come.
    NeverEntered,
    GaveUp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedVisitor {
    /// In milliseconds since the beginning, like all instants here.
    pub(crate) arrived: u32,
    pub(crate) joined: Option<u32>,
    /// When the page learned that it is their turn.
    pub(crate) learned: Option<u32>,
    pub(crate) end: VisitEnd,
    step: SimulatedStep,
    refusals: u8,
    pub(crate) was_refused: bool,
    ticket: u32,
    /// When a poll was last answered, and in what time it was worth asking again.
    heard: Option<u32>,
    ask_in: f32,
    leaves_at: u32,
}

pub(crate) struct SimulatedCrowd {
    pub(crate) visitors: Vec<SimulatedVisitor>,
    pub(crate) agenda: Agenda,
    pub(crate) course: CountedCourse,
    habits: CrowdHabits,
    rng: StdRng,
    producers: Producers,
    gates: Option<DoorGates>,
    round_trip: u32,
}

/// The limits that refuse requests on AWS.
pub(crate) struct DoorGates {
    api: GateState,
    functions: GateState,
    /// The files of the page besides its document.
    further_files: u32,
}

/// The environments of the producer, each with its block of ticket numbers.
struct Producers {
    blocks: Vec<TicketBlock>,
    /// How many joins a second Lambda gives to one of them; `None` on one machine, which has one.
    joins_each: Option<f64>,
    /// How many joined in this second, and in the one before.
    joined: (u32, u32, u32),
}

impl SimulatedCrowd {
    /// From a request to its answer, in milliseconds.
    const ROUND_TRIP_ON_AWS: u32 = 100;
    const ROUND_TRIP: u32 = 10;
    /// A visitor who is refused so often in a row, for about an hour, is not followed any further. If the limits let nearly
    /// nobody through, the run would take days.
    const MOST_REFUSALS: u8 = 120;

    pub(crate) fn new(scenario: &Scenario) -> Self {
        let account = scenario.aws();
        let mut agenda = Agenda::new();
        let times = scenario.arrivals.times(scenario.seed);
        let mut visitors = Vec::with_capacity(times.len());
        for (number, arrived) in (0..).zip(times) {
            agenda.add(arrived, number);
            visitors.push(SimulatedVisitor {
                arrived,
                joined: None,
                learned: None,
                end: VisitEnd::StillWaiting,
                step: SimulatedStep::Door,
                refusals: 0,
                was_refused: false,
                ticket: 0,
                heard: None,
                ask_in: 0.0,
                leaves_at: u32::MAX,
            });
        }
        Self {
            visitors,
            agenda,
            course: CountedCourse::default(),
            habits: scenario.habits,
            rng: StdRng::seed_from_u64(scenario.seed ^ 0x00C0_FFEE),
            producers: Producers::new(account),
            gates: account.filter(|_| scenario.refuses).map(DoorGates::new),
            round_trip: if account.is_some() { Self::ROUND_TRIP_ON_AWS } else { Self::ROUND_TRIP },
        }
    }

    /// A visitor does what is next, `at` milliseconds since the beginning, which is `now` for the room.
    pub(crate) fn step(&mut self, room: &mut RoomOnClock, number: u32, at: u32, now: Timestamp) {
        let index = number as usize;
        let visitor = self.visitors[index];
        // Nobody leaves who knows that it is their turn.
        if at >= visitor.leaves_at && visitor.learned.is_none() {
            self.visitors[index].end = VisitEnd::GaveUp;
            return;
        }
        let is_visit = matches!(visitor.step, SimulatedStep::Door | SimulatedStep::Turn);
        if !self.is_let_through(at, is_visit) {
            self.be_refused(number, at);
            return;
        }
        self.visitors[index].refusals = 0;
        match visitor.step {
            SimulatedStep::Door => self.join(room, number, at, now),
            SimulatedStep::Page => {
                if let Some(gates) = &mut self.gates {
                    gates.load_further_files(at);
                }
                self.go_on(number, at, SimulatedStep::Poll);
            }
            SimulatedStep::Poll => self.poll(room, number, at, now),
            SimulatedStep::Turn => {
                self.course.at(at).turns += 1;
                self.visitors[index].end = VisitEnd::Entered;
                if let Some(shop) = &room.shop {
                    shop.enter();
                }
            }
            SimulatedStep::Nothing => {}
        }
    }

    fn is_let_through(&mut self, at: u32, is_visit: bool) -> bool {
        let Some(gates) = &mut self.gates else { return true };
        if !gates.api.lets_through(micros(at)) {
            return false;
        }
        if is_visit && !gates.functions.lets_through(micros(at)) {
            self.course.at(at).refused_visits += 1;
            return false;
        }
        true
    }

    /// The room refuses a request, and the page pauses.
    fn be_refused(&mut self, number: u32, at: u32) {
        self.course.at(at).refused += 1;
        let visitor = &mut self.visitors[number as usize];
        visitor.refusals += 1;
        visitor.was_refused = true;
        if visitor.refusals == Self::MOST_REFUSALS {
            return;
        }
        let visitor = *visitor;
        let usual = if visitor.step == SimulatedStep::Poll { self.usual_wait(&visitor, at) } else { 0.0 };
        let pause = retry_in(visitor.refusals.into(), usual, self.rng.random());
        self.agenda.add(at.saturating_add(self.round_trip + millis(pause)), number);
    }

    /// The time between two polls if the room answered now, as the page computes it when it did not. 0 before the first answer.
    fn usual_wait(&self, visitor: &SimulatedVisitor, at: u32) -> f64 {
        let Some(heard) = visitor.heard else { return 0.0 };
        let then = PageForecast { ahead: 0.0, earliest: 0.0, latest: 0.0, ask_in: visitor.ask_in.into() };
        (self.habits.next_poll)(&then.later((at - heard).into()), 0.5)
    }

    fn join(&mut self, room: &mut RoomOnClock, number: u32, at: u32, now: Timestamp) {
        let Some(ticket) = self.producers.ticket(room, at, now, &mut self.rng) else { return };
        self.course.at(at).joins += 1;
        let visitor = &mut self.visitors[number as usize];
        visitor.joined.get_or_insert(at);
        visitor.ticket = u32::try_from(ticket.get()).unwrap_or(u32::MAX);
        room.join(number, ticket);
        self.go_on(number, at, SimulatedStep::Page);
    }

    fn poll(&mut self, room: &RoomOnClock, number: u32, at: u32, now: Timestamp) {
        self.course.at(at).polls += 1;
        let is_first = self.visitors[number as usize].heard.is_none();
        if room.ledger.admitted_at(number).is_some_and(|admitted| admitted <= now) {
            let comes = self.habits.never_enter == 0.0 || !self.rng.random_bool(self.habits.never_enter);
            let visitor = &mut self.visitors[number as usize];
            visitor.learned = Some(at);
            if comes && self.habits.fetch_passes {
                self.go_on(number, at.saturating_add(millis(TURN_SHOWN)), SimulatedStep::Turn);
            } else if comes {
                visitor.end = VisitEnd::Entered;
                visitor.step = SimulatedStep::Nothing;
            } else {
                visitor.end = VisitEnd::NeverEntered;
                visitor.step = SimulatedStep::Nothing;
            }
            return;
        }
        let ticket = self.visitors[number as usize].ticket.into();
        let status = room.status();
        if is_passed(ticket, &status) {
            // The page goes to the door, which gives the visitor a new ticket.
            self.go_on(number, at, SimulatedStep::Door);
            return;
        }
        let forecast = forecast(ticket, &status);
        let pause = (self.habits.next_poll)(&forecast, self.rng.random());
        if is_first && self.habits.give_up > 0.0 && self.rng.random_bool(self.habits.give_up) {
            // Before their turn, as the page first foresees it.
            let stays = self.rng.random::<f64>() * (forecast.latest - MINUTE);
            self.visitors[number as usize].leaves_at = at.saturating_add(millis(stays));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a pause needs no more digits")]
        let ask_in = forecast.ask_in as f32;
        let visitor = &mut self.visitors[number as usize];
        (visitor.heard, visitor.ask_in) = (Some(at), ask_in);
        self.agenda.add(at.saturating_add(self.round_trip + millis(pause)), number);
    }

    fn go_on(&mut self, number: u32, at: u32, step: SimulatedStep) {
        self.visitors[number as usize].step = step;
        self.agenda.add(at.saturating_add(self.round_trip), number);
    }
}

impl DoorGates {
    pub(crate) const fn refuses_beyond(limit: Limit) -> bool {
        matches!(limit, Limit::ApiRequests | Limit::RoomRequests | Limit::Concurrency)
    }

    fn new(account: &AwsAccount) -> Self {
        let AwsAccount { limits, room } = account;
        let least = |own: Option<f64>, limit: f64| whole(own.map_or(limit, |own| own.min(limit)));
        let api = RoomGate {
            per_second: least(room.requests_per_second, limits.api_requests),
            burst: least(room.request_burst, limits.api_burst),
        };
        let visits = whole(aws_model::visits_per_second(limits, room));
        let functions = RoomGate { per_second: visits, burst: visits };
        let further_files = room.further_files;
        Self { api: GateState::new(api), functions: GateState::new(functions), further_files }
    }

    /// They use up the limit, whether or not it lets them through: the page does not ask for them again.
    fn load_further_files(&mut self, at: u32) {
        for _ in 0..self.further_files {
            self.api.lets_through(micros(at));
        }
    }
}

impl Producers {
    fn new(account: Option<&AwsAccount>) -> Self {
        let joins_each = account.map(|account| 1.0 / aws_model::environments_per_visit(&account.room));
        Self { blocks: vec![TicketBlock::new()], joins_each, joined: (0, 0, 0) }
    }

    /// A number from the block of any environment.
    fn ticket(&mut self, room: &RoomOnClock, at: u32, now: Timestamp, rng: &mut StdRng) -> Option<Ticket> {
        let second = at / 1000;
        let (present, joined, before) = self.joined;
        self.joined = match second - present {
            0 => (second, joined + 1, before),
            1 => (second, 1, joined),
            _ => (second, 1, 0),
        };
        if let Some(joins_each) = self.joins_each {
            let needed = whole(f64::from(self.joined.1.max(self.joined.2)) / joins_each) as usize;
            self.blocks.resize_with(self.blocks.len().max(needed), TicketBlock::new);
        }
        let chosen = rng.random_range(0..self.blocks.len());
        let block = &mut self.blocks[chosen];
        if let Some(ticket) = block.take(now) {
            return Some(ticket);
        }
        let wanted = block.wanted(now);
        let first = room.lease(wanted);
        block.fill(first..first + u64::from(wanted), now);
        block.take(now)
    }
}

/// The instants of gates.
fn micros(at: u32) -> u64 {
    u64::from(at) * 1000
}

/// A pause of the page.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and at most an hour")]
fn millis(pause: f64) -> u32 {
    pause as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of requests a second")]
fn whole(number: f64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitroom::Rate;

    use super::*;
    use crate::{ArrivalShape, Arrivals, RoomHost};

    /// A crowd of one visitor.
    fn crowd() -> (SimulatedCrowd, Scenario) {
        let arrivals = Arrivals::new(ArrivalShape::Spike, Some(1)).unwrap();
        let scenario = Scenario::new(arrivals, Rate::new(60).unwrap(), RoomHost::Machine);
        (SimulatedCrowd::new(&scenario), scenario)
    }

    #[test]
    fn whoever_knows_that_it_is_their_turn_does_not_leave() {
        let zero = Timestamp::from_millis(1_800_000_000_000);
        let end = |learned| {
            let (mut crowd, scenario) = crowd();
            let mut room = RoomOnClock::new(&scenario, zero);
            let visitor = &mut crowd.visitors[0];
            (visitor.learned, visitor.step, visitor.leaves_at) = (learned, SimulatedStep::Turn, 9_000);
            crowd.step(&mut room, 0, 9_500, zero + Duration::from_millis(9_500));
            crowd.visitors[0].end
        };
        assert_eq!([end(Some(8_000)), end(None)], [VisitEnd::Entered, VisitEnd::GaveUp]);
    }

    #[test]
    fn a_refused_poll_is_sent_again_after_the_pause_that_the_page_makes() {
        let (mut crowd, _) = crowd();
        let mut usual = |heard, at| {
            let visitor = &mut crowd.visitors[0];
            (visitor.heard, visitor.ask_in) = (heard, 100_000.0);
            millis(crowd.usual_wait(&crowd.visitors[0], at))
        };
        assert_eq!(usual(None, 7_000), 0, "before the first answer");
        // It was to ask again in 100 s. When so much time has passed, half of that is usual, and later less.
        assert_eq!([107_000, 167_000, 900_000].map(|at| usual(Some(7_000), at)), [50_000, 20_000, 5_555]);
    }
}
