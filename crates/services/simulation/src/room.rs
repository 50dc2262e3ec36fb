//! The room on the virtual clock: the real trigger, consumers and throttle, over a ledger in memory.

use std::sync::Arc;
use std::time::Duration;

use consumer::Consumer;
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::task::LocalSpawnExt;
use memory::{AdmissionTable, MemoryLedger, MemoryLine};
use page::{Polled, ToldWaiting};
use parking_lot::Mutex;
use throttle::Throttle;
use trigger::{Trigger, TriggerCause};
use waitroom::ports::{
    Admissions, Clock, ConsumerRun, Dispatch, GuardReports, LineBack, PermitHolder, Permits, PortResult,
    QuietSwitch, TicketCounter, TurnoutCount,
};
use waitroom::{
    Admission, AdmittedBy, DoorPermits, Epoch, Lifetimes, Place, Rate, Room, Settings, Slice, Ticket,
    Timestamp, ValveSchedule,
};

use crate::SimClock;
use crate::admissions::NumberedAdmissions;
use crate::guard::SimulatedGuard;
use crate::orders::SimulatedOrder;
use crate::scenario::Scenario;
use crate::shop::LoadedShop;

pub(crate) struct RoomOnClock {
    pub(crate) clock: SimClock,
    pub(crate) ledger: MemoryLedger<NumberedAdmissions>,
    pub(crate) line: MemoryLine,
    pub(crate) shop: Option<LoadedShop>,
    /// In a room with a limit.
    pub(crate) guard: Option<SimulatedGuard>,
    pub(crate) epoch: Epoch,
    pool: LocalPool,
    sent: WantedSlices,
    minute: Duration,
    next_minute: Timestamp,
    /// The orders that the operator has not given yet, the next one last.
    orders: Vec<(Timestamp, SimulatedOrder)>,
    /// How many consumers have run.
    consumers: u128,
    /// The rate in force, whenever it changed.
    pub(crate) rates: Vec<(Timestamp, Rate)>,
    /// On AWS, polls read copies of what was published.
    reads_copies: bool,
    has_edge: bool,
}

/// Slices for which the trigger wants a consumer.
#[derive(Clone, Debug, Default)]
struct WantedSlices(Arc<Mutex<Vec<Slice>>>);

impl Dispatch for WantedSlices {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        self.0.lock().push(slice);
        Ok(())
    }
}

impl RoomOnClock {
    /// A room that is turned on at `begin`.
    pub(crate) fn new(scenario: &Scenario, begin: Timestamp) -> Self {
        let is_on_aws = scenario.aws.is_some();
        let clock = SimClock::at(begin);
        let now = clock.clone();
        let line = MemoryLine::new(move || now.now(), scenario.seed, scenario.line);
        let room = room(scenario);
        let epoch = room.epoch;
        let lead_time = if is_on_aws {
            ValveSchedule::LEAD_TIME_OF_FUNCTIONS
        } else {
            ValveSchedule::LEAD_TIME_IN_ONE_PROCESS
        };
        let visitors = scenario.arrivals.visitors();
        let shop = scenario.shop.map(|load| LoadedShop::new(clock.clone(), load, scenario.seed));
        let guard = scenario.visits.map(|visits| SimulatedGuard::new(visits, scenario.seed, begin));
        let zero = begin + scenario.on_before;
        let rates = vec![(begin, room.rate())];
        let admissions = NumberedAdmissions::new(visitors, begin, room.settings.lifetimes.admission);
        let ledger = MemoryLedger::with_admissions(line.clone(), room, lead_time, admissions);
        if let Some(after) = scenario.opens_after {
            ledger.change_room(|room| room.open_at(zero + after));
        }
        let mut orders: Vec<_> =
            scenario.orders.iter().map(|order| (zero + order.after, order.order)).collect();
        // Those of the same instant in the order in which they were written.
        orders.sort_by_key(|(at, _)| *at);
        orders.reverse();
        Self {
            ledger,
            clock,
            line,
            shop,
            guard,
            epoch,
            pool: LocalPool::new(),
            sent: WantedSlices::default(),
            minute: scenario.minute,
            next_minute: begin,
            orders,
            consumers: 0,
            rates,
            reads_copies: is_on_aws,
            has_edge: scenario.has_edge(),
        }
    }

    /// When something happens next in the room itself.
    pub(crate) fn next(&self) -> Timestamp {
        let order = self.orders.last().map(|(at, _)| *at);
        let report = self.guard.as_ref().and_then(SimulatedGuard::reports);
        self.clock.next_wake().into_iter().chain(order).chain(report).fold(self.next_minute, Timestamp::min)
    }

    /// Lets the room do what is due at `now`.
    pub(crate) fn run(&mut self, now: Timestamp) {
        self.clock.advance_to(now);
        if now >= self.next_minute {
            self.next_minute = self.next_minute + self.minute;
            self.trigger(TriggerCause::Minute);
            self.measure_shop();
        }
        if let Some(report) = self.guard.as_mut().and_then(|guard| guard.report(now)) {
            drop(self.ledger.keep_report(report).now_or_never());
        }
        while let Some((_, order)) = self.orders.pop_if(|(at, _)| *at <= now) {
            self.ledger.change_room(|room| order.apply(room));
        }
        loop {
            self.pool.run_until_stalled();
            self.note_rate(now);
            let sent = std::mem::take(&mut *self.sent.0.lock());
            for slice in &sent {
                let consumer = Consumer::new(self.ledger.clone(), self.clock.clone());
                self.consumers += 1;
                let (slice, consumer_run) = (*slice, ConsumerRun(self.consumers));
                self.spawn(async move { drop(consumer.run(slice, consumer_run).await) });
            }
            let valve_changed = self.ledger.take_valve_changed();
            if valve_changed {
                self.trigger(TriggerCause::Change);
            }
            if sent.is_empty() && !valve_changed {
                return;
            }
        }
    }

    /// Lets a newcomer straight in, as the door does, if there is a permit. `None` if that there is none shows nothing.
    pub(crate) fn let_straight_in(&self, visitor: u32, now: Timestamp) -> Option<bool> {
        let of = DoorPermits::of(&self.ledger.kept_room().at(now), now, self.minute)?;
        let taken = self.ledger.take_permits(of, 1, PermitHolder::Door).now_or_never();
        if !matches!(taken, Some(Ok(true))) {
            return of.are_established(now).then_some(false);
        }
        let admission = self.ledger.kept_room().new_admission(Ticket::FIRST, AdmittedBy::Permit, now);
        drop(self.ledger.admit(NumberedAdmissions::token(visitor), admission).now_or_never());
        Some(true)
    }

    /// Puts a visitor in line with this number, as the door does. Returns whether that woke the room.
    pub(crate) fn join(&mut self, visitor: u32, ticket: Ticket, got_no_permit: bool) -> bool {
        let place = Place { epoch: self.epoch, token: NumberedAdmissions::token(visitor), ticket };
        // Nothing in memory is waited for.
        drop(self.line.join(place).now_or_never());
        let wakes = self.ledger.kept_room().is_woken_by_join(got_no_permit);
        if wakes {
            drop(self.ledger.set_quiet(false).now_or_never());
            self.run(self.clock.now());
        }
        wakes
    }

    /// Reserves ticket numbers and returns the first.
    pub(crate) fn lease(&self, count: u32) -> u64 {
        self.line.lease(count).now_or_never().and_then(Result::ok).unwrap_or_default()
    }

    /// When this visitor was admitted.
    pub(crate) fn admitted_at(&self, visitor: u32) -> Option<Timestamp> {
        let admission = |admissions: &NumberedAdmissions| admissions.get(NumberedAdmissions::token(visitor));
        self.ledger.read_admissions(admission).map(|admission| admission.at)
    }

    /// Lets in whom the room has admitted: the door counts that, and the shop has one visitor more.
    pub(crate) fn let_in(&mut self, visitor: u32) {
        let token = NumberedAdmissions::token(visitor);
        let admission = self.ledger.read_admissions(|admissions: &NumberedAdmissions| admissions.get(token));
        if let Some(Admission { by: AdmittedBy::Slice(slice), .. }) = admission {
            if self.ledger.kept_room().settings.oversubscribe.is_some() {
                drop(self.ledger.note_came(token, slice).now_or_never());
            }
            if let Some(guard) = &mut self.guard {
                guard.enter(slice.plan, self.clock.now());
            }
        }
        if let Some(shop) = &self.shop {
            shop.enter();
        }
    }

    /// How many are in the shop at this instant, and whether it is full, in a room with a limit.
    pub(crate) fn in_shop(&mut self, at: Timestamp) -> Option<(u32, bool)> {
        let live = self.guard.as_mut()?.live(at);
        Some((live, self.ledger.kept_room().while_full.is_some()))
    }

    /// How many are in line.
    pub(crate) fn waiting(&self) -> u32 {
        u32::try_from(self.line.len()).unwrap_or(u32::MAX)
    }

    /// Whether the door turns away a visitor whom the room has not admitted.
    pub(crate) fn turns_away(&self, has_place: bool) -> bool {
        self.ledger.kept_room().turns_away(has_place)
    }

    /// Whether nobody is let in any more, whatever the operator still orders.
    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_empty() && self.ledger.kept_room().is_over()
    }

    /// Whether the door lets this visitor in.
    pub(crate) fn has_admitted(&self, visitor: u32, now: Timestamp) -> bool {
        self.admitted_at(visitor).is_some_and(|admitted| admitted <= now)
    }

    /// What a poll of this visitor says. An admission usually lasts for an hour, and whoever is refused for so long is not followed: so
    /// none is too old. Where it is shorter, the visitor enters all the same: nobody here comes back for another place.
    pub(crate) fn polled(&self, visitor: u32, now: Timestamp) -> Polled {
        if self.has_admitted(visitor, now) {
            return Polled::Enter;
        }
        self.told(now)
    }

    /// What everybody is told who waits, by a poll or by an edge.
    pub(crate) fn told(&self, now: Timestamp) -> Polled {
        if self.ledger.kept_room().is_over() {
            return Polled::TurnedAway { is_over: true, stretch: 1.0 };
        }
        let published = self.ledger.published().filter(|_| self.reads_copies);
        let line = published.unwrap_or_else(|| self.ledger.status());
        let opens = self.ledger.kept_room().opens.filter(|opens| *opens > now);
        let opens_in = opens.map_or(0.0, |opens| opens.since(now).as_secs_f64() * 1000.0);
        let (epoch, has_edge) = (self.epoch, self.has_edge);
        Polled::Wait(ToldWaiting { epoch, line, opens_in, stretch: 1.0, has_edge })
    }

    fn note_rate(&mut self, now: Timestamp) {
        let rate = self.ledger.kept_room().rate();
        if self.rates.last().is_none_or(|(_, last)| *last != rate) {
            self.rates.push((now, rate));
        }
    }

    fn trigger(&mut self, cause: TriggerCause) {
        let trigger = Trigger::new(self.ledger.clone(), self.clock.clone(), self.sent.clone(), self.minute);
        self.spawn(async move { drop(trigger.run(cause).await) });
    }

    fn measure_shop(&mut self) {
        let Some(shop) = self.shop.clone() else { return };
        let throttle = Throttle::new(self.ledger.clone(), self.clock.clone(), shop, self.minute);
        self.spawn(async move { drop(throttle.run().await) });
    }

    fn spawn(&self, work: impl Future<Output = ()> + 'static) {
        // It fails only after the pool is gone.
        drop(self.pool.spawner().spawn_local(work));
    }
}

#[expect(clippy::expect_used, reason = "texts of this program, and a test runs it")]
fn room(scenario: &Scenario) -> Room {
    let settings = Settings::new(
        "simulated".parse().expect("a room's name"),
        "Simulated".parse().expect("a title"),
        "https://shop.example/".parse().expect("a URL"),
        scenario.rate,
    );
    let admission = scenario.visits.map(|visits| visits.admission);
    let lifetimes = settings.lifetimes;
    let settings = Settings {
        mode: scenario.mode,
        oversubscribe: scenario.oversubscribe,
        active: scenario.visits.map(|visits| visits.limit),
        lifetimes: Lifetimes { admission: admission.unwrap_or(lifetimes.admission), ..lifetimes },
        ..settings
    };
    let url = "https://room.example/".parse().expect("a URL");
    Room::new(settings, url, "aaaa".parse().expect("an epoch"))
}
