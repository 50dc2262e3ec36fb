//! The visitors of a simulation: what each does, and when next.

use aws_model::Limit;
use page::line::{MINUTE, PageForecast, TURN_SHOWN, forecast, is_passed, poll_around_opening, retry_in};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::{Ticket, TicketBlock, Timestamp};

use crate::agenda::{Agenda, SimulatedStep, StepKind};
use crate::course::{CountedCourse, MaybeAt};
use crate::gate::{GateState, RoomGate};
use crate::room::RoomOnClock;
use crate::scenario::{AwsAccount, CrowdHabits, Scenario};

/// How a visit ended, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    StillWaiting,
    Entered,
    /// Their turn came, and they did not come.
    NeverEntered,
    GaveUp,
}

/// One of up to ten million, so in few bytes. What they do next is in the agenda.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedVisitor {
    /// In milliseconds since the beginning, like all instants here.
    pub(crate) arrived: u32,
    pub(crate) joined: MaybeAt,
    /// When the page learned that it is their turn.
    pub(crate) learned: MaybeAt,
    ticket: u32,
    /// When a poll was last answered, and in what time it was worth asking again.
    heard: MaybeAt,
    ask_in: f32,
    /// In which time everybody asks, in tenths of a second.
    within: u16,
    leaves_at: MaybeAt,
    pub(crate) end: VisitEnd,
    pub(crate) was_refused: bool,
}

pub(crate) struct SimulatedCrowd {
    /// In the order in which they come.
    pub(crate) visitors: Vec<SimulatedVisitor>,
    /// How many have come.
    came: u32,
    agenda: Agenda,
    pub(crate) course: CountedCourse,
    habits: CrowdHabits,
    rng: StdRng,
    producers: Producers,
    gates: Option<DoorGates>,
    round_trip: u32,
}

const _: () = assert!(size_of::<SimulatedVisitor>() <= 32, "ten million of them are 320 MB");

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

const _: () = assert!(SimulatedCrowd::MOST_REFUSALS <= SimulatedStep::MOST_REFUSALS);

impl SimulatedCrowd {
    /// From a request to its answer, in milliseconds.
    const ROUND_TRIP_ON_AWS: u32 = 100;
    const ROUND_TRIP: u32 = 10;
    /// A visitor who is refused so often in a row, for about an hour, is not followed any further. If the limits let nearly
    /// nobody through, the run would take days.
    const MOST_REFUSALS: u8 = 120;

    pub(crate) fn new(scenario: &Scenario) -> Self {
        let account = scenario.aws();
        let visitor = |arrived| SimulatedVisitor {
            arrived,
            joined: MaybeAt::NEVER,
            learned: MaybeAt::NEVER,
            ticket: 0,
            heard: MaybeAt::NEVER,
            ask_in: 0.0,
            within: u16::MAX,
            leaves_at: MaybeAt::NEVER,
            end: VisitEnd::StillWaiting,
            was_refused: false,
        };
        Self {
            visitors: scenario.arrivals.times(scenario.seed).into_iter().map(visitor).collect(),
            came: 0,
            agenda: Agenda::new(),
            course: CountedCourse::default(),
            habits: scenario.habits,
            rng: StdRng::seed_from_u64(scenario.seed ^ 0x00C0_FFEE),
            producers: Producers::new(account),
            gates: account.filter(|_| scenario.refuses).map(|account| DoorGates::new(account, scenario)),
            round_trip: if account.is_some() { Self::ROUND_TRIP_ON_AWS } else { Self::ROUND_TRIP },
        }
    }

    /// Takes the next step, if it is at `until` or before: that of the visitor who comes next, or of one who has come.
    pub(crate) fn next(&mut self, until: u32) -> Option<SimulatedStep> {
        let comes = self.visitors.get(self.came as usize).map(|visitor| visitor.arrived);
        let comes = comes.map(|at| SimulatedStep::new(at, self.came, 0, StepKind::Door));
        let next = self.agenda.next_at(comes.map_or(until, |step| until.min(step.at())));
        match (comes.filter(|step| step.at() <= until), next) {
            (Some(comes), next) if next.is_none_or(|next| comes < next) => {
                self.came += 1;
                Some(comes)
            }
            (_, next) => next.inspect(|next| self.agenda.take(*next)),
        }
    }

    /// Whether nobody does anything any more.
    pub(crate) fn is_over(&self) -> bool {
        self.came as usize == self.visitors.len() && self.agenda.is_empty()
    }

    /// Notes who was refused and is still to come again, when the simulation ends.
    pub(crate) fn note_refused(&mut self) {
        for step in self.agenda.all().filter(|step| step.refusals() > 0) {
            self.visitors[step.visitor() as usize].was_refused = true;
        }
    }

    /// A visitor does what is next, which is `now` for the room. Returns whether the room was woken.
    pub(crate) fn step(&mut self, room: &mut RoomOnClock, step: SimulatedStep, now: Timestamp) -> bool {
        let (at, number, kind) = (step.at(), step.visitor(), step.kind());
        if self.habits.give_up > 0.0 {
            let visitor = &mut self.visitors[number as usize];
            // Nobody leaves who knows that it is their turn.
            if visitor.leaves_at.get().is_some_and(|leaves| at >= leaves) && visitor.learned.get().is_none() {
                visitor.was_refused |= step.refusals() > 0;
                visitor.end = VisitEnd::GaveUp;
                return false;
            }
        }
        if !self.is_let_through(at, matches!(kind, StepKind::Door | StepKind::Turn)) {
            self.be_refused(step);
            return false;
        }
        if step.refusals() > 0 {
            self.visitors[number as usize].was_refused = true;
        }
        room.clock.advance_to(now);
        match kind {
            StepKind::Door => return self.join(room, number, at, now),
            StepKind::Page => {
                if let Some(gates) = &mut self.gates {
                    gates.load_further_files(at);
                }
                self.go_on(number, at, StepKind::Poll);
            }
            StepKind::Poll => self.poll(room, number, at, now),
            StepKind::Turn => {
                self.course.at(at).turns += 1;
                self.visitors[number as usize].end = VisitEnd::Entered;
                if let Some(shop) = &room.shop {
                    shop.enter();
                }
            }
        }
        false
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
    fn be_refused(&mut self, step: SimulatedStep) {
        let (at, number, refusals) = (step.at(), step.visitor(), step.refusals() + 1);
        self.course.at(at).refused += 1;
        if refusals == Self::MOST_REFUSALS {
            self.visitors[number as usize].was_refused = true;
            return;
        }
        let usual = match step.kind() {
            StepKind::Poll => self.usual_wait(&self.visitors[number as usize], at),
            _ => 0.0,
        };
        let pause = retry_in(refusals.into(), usual, self.rng.random());
        let again = at.saturating_add(self.round_trip + millis(pause));
        self.agenda.add(SimulatedStep::new(again, number, refusals, step.kind()));
    }

    /// The time between two polls if the room answered now, as the page computes it when it did not. 0 before the first answer.
    fn usual_wait(&self, visitor: &SimulatedVisitor, at: u32) -> f64 {
        let Some(heard) = visitor.heard.get() else { return 0.0 };
        let (ask_in, within) = (visitor.ask_in.into(), 100.0 * f64::from(visitor.within));
        let then = PageForecast { ahead: 0.0, earliest: 0.0, latest: 0.0, ask_in, within };
        (self.habits.next_poll)(&then.later((at - heard).into()), 0.5)
    }

    fn join(&mut self, room: &mut RoomOnClock, number: u32, at: u32, now: Timestamp) -> bool {
        let Some(ticket) = self.producers.ticket(room, at, now, &mut self.rng) else { return false };
        self.course.at(at).joins += 1;
        let visitor = &mut self.visitors[number as usize];
        if visitor.joined.get().is_none() {
            visitor.joined = MaybeAt::at(at);
        }
        visitor.ticket = u32::try_from(ticket.get()).unwrap_or(u32::MAX);
        let was_woken = room.join(number, ticket);
        self.go_on(number, at, StepKind::Page);
        was_woken
    }

    fn poll(&mut self, room: &RoomOnClock, number: u32, at: u32, now: Timestamp) {
        self.course.at(at).polls += 1;
        let is_first = self.visitors[number as usize].heard.get().is_none();
        if room.admitted_at(number).is_some_and(|admitted| admitted <= now) {
            let comes = self.habits.never_enter == 0.0 || !self.rng.random_bool(self.habits.never_enter);
            let visitor = &mut self.visitors[number as usize];
            visitor.learned = MaybeAt::at(at);
            if comes && self.habits.fetch_passes {
                self.go_on(number, at.saturating_add(millis(TURN_SHOWN)), StepKind::Turn);
            } else {
                visitor.end = if comes { VisitEnd::Entered } else { VisitEnd::NeverEntered };
            }
            return;
        }
        let ticket = self.visitors[number as usize].ticket.into();
        let status = room.status();
        if is_passed(ticket, &status) {
            // The page goes to the door, which gives the visitor a new ticket.
            self.go_on(number, at, StepKind::Door);
            return;
        }
        let forecast = forecast(ticket, &status);
        let opens_in = room.opens_in(now).map_or(0.0, |left| left.as_secs_f64() * 1000.0);
        let random = self.rng.random();
        let pause = if opens_in > 0.0 {
            poll_around_opening(opens_in, &forecast, 1.0, random)
        } else {
            (self.habits.next_poll)(&forecast, random)
        };
        if is_first && self.habits.give_up > 0.0 && self.rng.random_bool(self.habits.give_up) {
            // Before their turn, as the page first foresees it.
            let stays = self.rng.random::<f64>() * (opens_in + forecast.latest - MINUTE);
            self.visitors[number as usize].leaves_at = MaybeAt::at(at.saturating_add(millis(stays)));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a pause needs no more digits")]
        let ask_in = (forecast.ask_in + opens_in) as f32;
        // Before an opening, pages ask for news as rarely as those without a place.
        let within = if opens_in > 0.0 { u32::MAX } else { millis(forecast.within) / 100 };
        let visitor = &mut self.visitors[number as usize];
        (visitor.heard, visitor.ask_in) = (MaybeAt::at(at), ask_in);
        visitor.within = u16::try_from(within).unwrap_or(u16::MAX);
        self.go_on(number, at.saturating_add(millis(pause)), StepKind::Poll);
    }

    fn go_on(&mut self, number: u32, at: u32, kind: StepKind) {
        self.agenda.add(SimulatedStep::new(at.saturating_add(self.round_trip), number, 0, kind));
    }
}

impl DoorGates {
    pub(crate) const fn refuses_beyond(limit: Limit) -> bool {
        matches!(limit, Limit::ApiRequests | Limit::RoomRequests | Limit::Concurrency)
    }

    fn new(account: &AwsAccount, scenario: &Scenario) -> Self {
        let AwsAccount { limits, room } = account;
        let least = |own: Option<f64>, limit: f64| whole(own.map_or(limit, |own| own.min(limit)));
        let api = RoomGate {
            per_second: least(room.requests_per_second, limits.api_requests),
            burst: least(room.request_burst, limits.api_burst),
        };
        let visits = whole(aws_model::visits_per_second(limits, room, scenario.highest_rate()));
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
            crowd.habits.give_up = 1.0;
            let mut room = RoomOnClock::new(&scenario, zero);
            let visitor = &mut crowd.visitors[0];
            (visitor.learned, visitor.leaves_at) = (learned, MaybeAt::at(9_000));
            let step = SimulatedStep::new(9_500, 0, 0, StepKind::Turn);
            crowd.step(&mut room, step, zero + Duration::from_millis(9_500));
            crowd.visitors[0].end
        };
        assert_eq!([end(MaybeAt::at(8_000)), end(MaybeAt::NEVER)], [VisitEnd::Entered, VisitEnd::GaveUp]);
    }

    #[test]
    fn a_refused_poll_is_sent_again_after_the_pause_that_the_page_makes() {
        let (mut crowd, _) = crowd();
        let mut usual = |heard: Option<u32>, at| {
            let visitor = &mut crowd.visitors[0];
            (visitor.heard, visitor.ask_in) = (heard.map_or(MaybeAt::NEVER, MaybeAt::at), 100_000.0);
            millis(crowd.usual_wait(&crowd.visitors[0], at))
        };
        assert_eq!(usual(None, 7_000), 0, "before the first answer");
        // It was to ask again in 100 s. When so much time has passed, half of that is usual, and later less.
        assert_eq!([107_000, 167_000, 900_000].map(|at| usual(Some(7_000), at)), [50_000, 20_000, 5_555]);
    }
}
