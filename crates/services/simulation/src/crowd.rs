//! The visitors of a simulation: what each does, and when next.

use page::line::{MINUTE, forecast};
use page::visitor::{AskedFor, Heard, PageMoment, PagePlace, Step, Tab};
use page::{Polled, ToldWaiting};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::Timestamp;

use crate::agenda::{Agenda, SimulatedStep};
use crate::course::{CountedCourse, MaybeAt, whole};
use crate::door::{DoorGates, DoorRefusal, Producers};
use crate::room::RoomOnClock;
use crate::scenario::{CrowdHabits, Scenario};
use crate::visitor::{SimulatedVisitor, VisitStage};

/// [`Tab`] decides what each visitor's browser asks for, and when. Here it is asked for, and heard.
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
    /// What the edge says to everybody, and since when.
    edge: Option<(u32, Polled)>,
    round_trip: u32,
}

const _: () = assert!(SimulatedCrowd::MOST_REFUSALS <= SimulatedStep::MOST_REFUSALS);

impl SimulatedCrowd {
    /// From a request to its answer, in milliseconds.
    const ROUND_TRIP_ON_AWS: u32 = 100;
    const ROUND_TRIP: u32 = 10;
    /// An edge keeps an answer for so many milliseconds. All of its locations count as one here.
    const KEPT_FOR: u32 = 1000;
    /// A visitor who is refused so often in a row, for about an hour, is not followed any further. If the limits let nearly
    /// nobody through, the run would take days.
    const MOST_REFUSALS: u8 = 120;

    pub(crate) fn new(scenario: &Scenario) -> Self {
        let account = scenario.aws.as_ref();
        Self {
            visitors: scenario.arrivals.times(scenario.seed).into_iter().map(SimulatedVisitor::new).collect(),
            came: 0,
            agenda: Agenda::new(),
            course: CountedCourse::default(),
            habits: scenario.habits,
            rng: StdRng::seed_from_u64(scenario.seed ^ 0x00C0_FFEE),
            producers: Producers::new(account),
            gates: account.filter(|_| scenario.refuses).map(|account| DoorGates::new(account, scenario)),
            edge: None,
            round_trip: if account.is_some() { Self::ROUND_TRIP_ON_AWS } else { Self::ROUND_TRIP },
        }
    }

    /// Takes the next step, if it is at `until` or before: that of the visitor who comes next, or of one who has come.
    pub(crate) fn next(&mut self, until: u32) -> Option<SimulatedStep> {
        let comes = self.visitors.get(self.came as usize).map(|visitor| visitor.arrived);
        let comes = comes.map(|at| SimulatedStep::new(at, self.came, Step::FIRST.ask));
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
        for step in self.agenda.all().filter(|step| step.ask().refusals > 0) {
            self.visitors[step.visitor() as usize].was_refused = true;
        }
    }

    /// A visitor does what is next, which is `now` for the room. Returns whether the room was woken.
    pub(crate) fn step(&mut self, room: &mut RoomOnClock, step: SimulatedStep, now: Timestamp) -> bool {
        let (at, number, ask) = (step.at(), step.visitor(), step.ask());
        if self.habits.give_up > 0.0 {
            let visitor = &mut self.visitors[number as usize];
            if visitor.leaves_by(at) {
                visitor.was_refused |= ask.refusals > 0;
                visitor.stage = VisitStage::GaveUp;
                return false;
            }
        }
        if !self.is_let_through(at, ask.what) {
            self.be_refused(room, step);
            return false;
        }
        if ask.refusals > 0 {
            self.visitors[number as usize].was_refused = true;
        }
        room.clock.advance_to(now);
        match ask.what {
            AskedFor::Door => return self.ask_door(room, step, now),
            AskedFor::Document => {
                if let Some(gates) = &mut self.gates {
                    gates.load_further_files(at);
                }
                self.hear(room, step, Heard::Document);
            }
            AskedFor::Poll => self.poll(room, step, now),
            AskedFor::Status => self.ask_edge(room, step, now),
        }
        false
    }

    fn ask_edge(&mut self, room: &RoomOnClock, step: SimulatedStep, now: Timestamp) {
        let at = step.at();
        self.course.at(at).shared += 1;
        let kept = self.edge.filter(|(since, _)| at - since < Self::KEPT_FOR);
        let (since, polled) = kept.unwrap_or_else(|| (at, room.told(now)));
        self.edge = Some((since, polled));
        self.hear(room, step, Heard::Status { polled, age: f64::from(at - since) });
    }

    fn is_let_through(&mut self, at: u32, what: AskedFor) -> bool {
        let Some(gates) = &mut self.gates else { return true };
        let refusal = gates.let_through(at, what).err();
        if refusal == Some(DoorRefusal::NoFunction) {
            self.course.at(at).refused_visits += 1;
        }
        refusal.is_none()
    }

    fn be_refused(&mut self, room: &RoomOnClock, step: SimulatedStep) {
        let ask = step.ask();
        self.course.at(step.at()).refused += 1;
        if ask.refusals + 1 == Self::MOST_REFUSALS {
            self.visitors[step.visitor() as usize].was_refused = true;
        } else if ask.what == AskedFor::Poll {
            self.hear(room, step, Heard::Refused);
        } else {
            // Outside it makes no difference who is refused, so nobody is looked up.
            let moment = PageMoment::watched(step.at().into());
            let next = Tab::default().hear(ask, Heard::Refused, moment, &mut || self.rng.random());
            self.go_on(step, next);
        }
    }

    /// The door lets in whom the room has admitted, and puts everybody else in line: they have no place, or were overtaken. Returns
    /// whether the room was woken.
    fn ask_door(&mut self, room: &mut RoomOnClock, step: SimulatedStep, now: Timestamp) -> bool {
        let (at, number) = (step.at(), step.visitor());
        let visitor = &mut self.visitors[number as usize];
        let is_new = visitor.joined.get().is_none();
        if !is_new && room.has_admitted(number, now) {
            visitor.learn(at);
            visitor.stage = VisitStage::Entered;
            self.course.at(at).turns += 1;
            room.let_in(number);
            return false;
        }
        if room.turns_away(!is_new) {
            visitor.stage = VisitStage::TooLate;
            return false;
        }
        let permit = room.let_straight_in(number, now);
        if permit == Some(true) {
            let visitor = &mut self.visitors[number as usize];
            visitor.joined = MaybeAt::at(at);
            visitor.learn(at);
            visitor.stage = VisitStage::Entered;
            self.course.at(at).straight += 1;
            room.let_in(number);
            return false;
        }
        let visitor = &mut self.visitors[number as usize];
        let Some(ticket) = self.producers.ticket(room, at, now, &mut self.rng) else { return false };
        self.course.at(at).joins += 1;
        if is_new {
            visitor.joined = MaybeAt::at(at);
        }
        let was_woken = room.join(number, ticket, permit.is_some());
        self.hear(room, step, Heard::Page(Some(PagePlace { epoch: room.epoch, ticket: ticket.get() })));
        was_woken
    }

    fn poll(&mut self, room: &RoomOnClock, step: SimulatedStep, now: Timestamp) {
        let (at, number) = (step.at(), step.visitor());
        self.course.at(at).polls += 1;
        let polled = room.polled(number, now);
        if matches!(polled, Polled::TurnedAway { .. }) {
            // Their page would ask on every five minutes, in case the room goes on after all.
            self.visitors[number as usize].stage = VisitStage::TooLate;
            return;
        }
        if matches!(polled, Polled::Enter) {
            let comes = self.habits.never_enter == 0.0 || !self.rng.random_bool(self.habits.never_enter);
            let visitor = &mut self.visitors[number as usize];
            visitor.learn(at);
            if !comes || !self.habits.fetch_passes {
                visitor.stage = if comes { VisitStage::Entered } else { VisitStage::NeverEntered };
                return;
            }
        }
        self.hear(room, step, Heard::Poll(polled));
        let visitor = &mut self.visitors[number as usize];
        if let (VisitStage::Coming, Polled::Wait(ToldWaiting { line, opens_in, .. })) =
            (visitor.stage, polled)
        {
            let mut leaves = MaybeAt::NEVER;
            if self.habits.give_up > 0.0 && self.rng.random_bool(self.habits.give_up) {
                // Before their turn, as the page first foresees it.
                let ticket = visitor.tab(room.epoch).place.map_or(0, |place| place.ticket);
                let stays = self.rng.random::<f64>() * (opens_in + forecast(ticket, &line).latest - MINUTE);
                leaves = MaybeAt::at(at.saturating_add(whole(stays)));
            }
            visitor.wait(leaves);
        }
    }

    /// A visitor's page hears an answer, and goes on.
    fn hear(&mut self, room: &RoomOnClock, step: SimulatedStep, heard: Heard) {
        let visitor = &mut self.visitors[step.visitor() as usize];
        let moment = PageMoment::watched(step.at().into());
        let mut tab = visitor.tab(room.epoch);
        let next = tab.hear(step.ask(), heard, moment, &mut || self.rng.random());
        visitor.keep(&tab);
        self.go_on(step, next);
    }

    fn go_on(&mut self, step: SimulatedStep, next: Step) {
        let pause = whole((self.habits.pause)(&next));
        let again = step.at().saturating_add(pause).saturating_add(self.round_trip);
        self.agenda.add(SimulatedStep::new(again, step.visitor(), next.ask));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use waitroom::ports::{Admissions, Clock, StatusBoard};
    use waitroom::{Admission, AdmittedBy, Rate, SliceId, Ticket};

    use super::*;
    use crate::admissions::NumberedAdmissions;
    use crate::{ArrivalShape, Arrivals};

    /// A crowd of one visitor.
    fn crowd() -> (SimulatedCrowd, Scenario) {
        let arrivals = Arrivals::new(ArrivalShape::Spike, Some(1)).unwrap();
        let scenario = Scenario::new(arrivals, Rate::new(60).unwrap(), None);
        (SimulatedCrowd::new(&scenario), scenario)
    }

    /// Plays a crowd of one visitor for ten minutes, in a room whose line has overtaken whoever joins.
    fn overtaken(mut before_each: impl FnMut(&mut RoomOnClock, &SimulatedCrowd)) -> SimulatedCrowd {
        let zero = Timestamp::from_millis(1_800_000_000_000);
        let (mut crowd, scenario) = crowd();
        let mut room = RoomOnClock::new(&scenario, zero);
        room.ledger.overtake(1, 1_000_000).now_or_never().unwrap().unwrap();
        while let Some(step) = crowd.next(600_000) {
            before_each(&mut room, &crowd);
            crowd.step(&mut room, step, zero + Duration::from_millis(step.at().into()));
        }
        crowd
    }

    #[test]
    fn who_is_overtaken_again_and_again_asks_the_door_every_two_minutes_at_most() {
        let crowd = overtaken(|_, _| {});
        let joins = crowd.course.total(|second| second.joins);
        let polls = crowd.course.total(|second| second.polls);
        assert!((5..=6).contains(&joins) && polls > 50, "{joins} joins and {polls} polls");
    }

    #[test]
    fn whom_the_room_admits_on_their_way_to_the_door_enters_there_instead_of_joining_again() {
        let crowd = overtaken(|room, crowd| {
            let polls = crowd.course.total(|second| second.polls);
            let (token, at) = (NumberedAdmissions::token(0), room.clock.now());
            let (ticket, by) = (Ticket::new(1).unwrap(), AdmittedBy::Slice(SliceId { plan: 1, index: 0 }));
            let admission = Admission { ticket, by, at, expires: at + Duration::from_hours(1) };
            if polls == 1 {
                room.ledger.admit(token, admission).now_or_never().unwrap().unwrap();
            }
        });
        let joins = crowd.course.total(|second| second.joins);
        let visitor = &crowd.visitors[0];
        assert_eq!((joins, visitor.stage, visitor.learned().is_some()), (1, VisitStage::Entered, true));
    }
}
