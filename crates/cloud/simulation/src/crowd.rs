//! The visitors of a simulation: what each does, and when next.

use page::line::{MINUTE, forecast, is_passed, retry_in};
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
    ticket: u32,
    /// From the last answered poll to the next, in milliseconds.
    pause: f32,
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
struct DoorGates {
    api: GateState,
    functions: GateState,
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
                ticket: 0,
                pause: 0.0,
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
            gates: account.map(DoorGates::new),
            round_trip: if account.is_some() { Self::ROUND_TRIP_ON_AWS } else { Self::ROUND_TRIP },
        }
    }

    /// A visitor does what is next, `at` milliseconds since the beginning, which is `now` for the room.
    pub(crate) fn step(&mut self, room: &mut RoomOnClock, number: u32, at: u32, now: Timestamp) {
        let index = number as usize;
        let visitor = self.visitors[index];
        if at >= visitor.leaves_at {
            self.visitors[index].end = VisitEnd::GaveUp;
            return;
        }
        let is_visit = matches!(visitor.step, SimulatedStep::Door | SimulatedStep::Turn);
        if !self.is_let_through(at, is_visit) {
            self.course.at(at).refused += 1;
            let visitor = &mut self.visitors[index];
            visitor.refusals = visitor.refusals.saturating_add(1);
            let usual = if visitor.step == SimulatedStep::Poll { f64::from(visitor.pause) } else { 0.0 };
            let pause = retry_in(visitor.refusals.into(), usual, self.rng.random());
            self.agenda.add(at.saturating_add(self.round_trip + millis(pause)), number);
            return;
        }
        self.visitors[index].refusals = 0;
        match visitor.step {
            SimulatedStep::Door => self.join(room, number, at, now),
            SimulatedStep::Page => self.go_on(number, at, SimulatedStep::Poll),
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
        let micros = u64::from(at) * 1000;
        if !gates.api.lets_through(micros) {
            return false;
        }
        let is_served = !is_visit || gates.functions.lets_through(micros);
        self.course.refused_by_functions += u64::from(!is_served);
        is_served
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
        let is_first = self.visitors[number as usize].pause == 0.0;
        if room.ledger.admitted_at(number).is_some_and(|admitted| admitted <= now) {
            let comes = self.habits.never_enter == 0.0 || !self.rng.random_bool(self.habits.never_enter);
            let visitor = &mut self.visitors[number as usize];
            visitor.learned = Some(at);
            if comes && self.habits.fetch_passes {
                self.go_on(number, at, SimulatedStep::Turn);
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
        let visitor = &mut self.visitors[number as usize];
        #[expect(clippy::cast_possible_truncation, reason = "a pause needs no more digits")]
        let kept = pause as f32;
        visitor.pause = kept;
        self.agenda.add(at.saturating_add(self.round_trip + millis(pause)), number);
    }

    fn go_on(&mut self, number: u32, at: u32, step: SimulatedStep) {
        self.visitors[number as usize].step = step;
        self.agenda.add(at.saturating_add(self.round_trip), number);
    }
}

impl DoorGates {
    fn new(account: &AwsAccount) -> Self {
        let AwsAccount { limits, room } = account;
        let least = |own: Option<f64>, limit: f64| whole(own.map_or(limit, |own| own.min(limit)));
        let api = RoomGate {
            per_second: least(room.requests_per_second, limits.api_requests),
            burst: least(room.request_burst, limits.api_burst),
        };
        let visits = whole(aws_model::visits_per_second(limits, room));
        let functions = RoomGate { per_second: visits, burst: visits };
        Self { api: GateState::new(api), functions: GateState::new(functions) }
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

/// A pause of the page.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and at most an hour")]
fn millis(pause: f64) -> u32 {
    pause as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of requests a second")]
fn whole(number: f64) -> u32 {
    number as u32
}
