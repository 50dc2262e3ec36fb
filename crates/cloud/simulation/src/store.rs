//! The ledger of a simulated room, in memory. It implements the ports that trigger, consumer and throttle need.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use memory::MemoryLine;
use parking_lot::Mutex;
use waitroom::ports::{
    Admissions, Admitted, Claimant, Claimed, Clock, Delivery, EntryCount, LineBack, LineFront, LineLength,
    MinuteLog, PlanRecord, Plans, PortResult, QuietSwitch, Receipt, RoomReader, SliceProgress, Slices,
    StatusBoard, ThrottleMemory, ThrottleStore, TicketCounter,
};
use waitroom::{
    Admission, AdmittedBy, IssuedTickets, LinePosition, LineProgress, LineStatus, LineTotals, MinuteRecord,
    Place, Plan, Rate, Room, SliceId, Timestamp, Token,
};

use crate::SimClock;
use crate::course::{MaybeAt, millis_between};

/// A handle to the ledger. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedLedger {
    clock: SimClock,
    line: MemoryLine,
    /// From when on a change of the valve is in force.
    lead_time: Duration,
    state: Arc<Mutex<LedgerState>>,
}

#[derive(Debug)]
struct LedgerState {
    room: Arc<Room>,
    valve_changed: bool,
    /// When the room was turned on.
    begin: Timestamp,
    /// When each visitor was admitted, by their number.
    admitted: Vec<AdmissionInMemory>,
    plans: Vec<PlanInMemory>,
    slices: HashMap<SliceId, SliceProgress>,
    progress: LineProgress,
    throttle: ThrottleMemory,
    published: Option<LineStatus>,
    /// The rate in force, whenever it changed.
    rates: Vec<(Timestamp, Rate)>,
}

/// Of each of up to ten million visitors, so in few bytes.
#[derive(Clone, Copy, Debug)]
struct AdmissionInMemory {
    /// Since the room was turned on.
    at: MaybeAt,
    plan: u32,
}

/// A plan, and how many it has admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanInMemory {
    pub(crate) plan: Plan,
    pub(crate) admitted: u32,
    released: u64,
    lowest: Option<u64>,
}

impl SimulatedLedger {
    pub(crate) fn new(
        clock: SimClock,
        line: MemoryLine,
        room: Room,
        lead_time: Duration,
        visitors: u32,
    ) -> Self {
        let rates = vec![(clock.now(), room.rate())];
        let state = LedgerState {
            room: Arc::new(room),
            valve_changed: false,
            begin: clock.now(),
            admitted: vec![AdmissionInMemory { at: MaybeAt::NEVER, plan: 0 }; visitors as usize],
            plans: Vec::new(),
            slices: HashMap::new(),
            progress: LineProgress::default(),
            throttle: ThrottleMemory::default(),
            published: None,
            rates,
        };
        Self { clock, line, lead_time, state: Arc::new(Mutex::new(state)) }
    }

    /// The token of the visitor with this number.
    pub(crate) fn token(visitor: u32) -> Token {
        let mut bytes = [0; Token::BYTES];
        bytes[..4].copy_from_slice(&visitor.to_le_bytes());
        Token::from_bytes(bytes)
    }

    fn visitor(token: Token) -> usize {
        let [one, two, three, four, ..] = *token.as_bytes();
        u32::from_le_bytes([one, two, three, four]) as usize
    }

    /// When this visitor was admitted.
    pub(crate) fn admitted_at(&self, visitor: u32) -> Option<Timestamp> {
        let state = self.state.lock();
        let at = state.admitted[visitor as usize].at.get()?;
        Some(state.begin + Duration::from_millis(at.into()))
    }

    /// Whether the valve has changed since this was last asked. Then the trigger has to run.
    pub(crate) fn take_valve_changed(&self) -> bool {
        std::mem::take(&mut self.state.lock().valve_changed)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.state.lock().room.quiet
    }

    /// When the room is to open by itself.
    pub(crate) fn opens(&self) -> Option<Timestamp> {
        self.state.lock().room.opens
    }

    pub(crate) fn plans(&self) -> Vec<PlanInMemory> {
        self.state.lock().plans.clone()
    }

    pub(crate) fn released(&self) -> u64 {
        self.state.lock().progress.released
    }

    /// The rate in force, whenever it changed.
    pub(crate) fn rates(&self) -> Vec<(Timestamp, Rate)> {
        self.state.lock().rates.clone()
    }

    /// What was published last, which polls read on AWS.
    pub(crate) fn published(&self) -> Option<LineStatus> {
        self.state.lock().published
    }

    /// What one machine answers polls with: the line as it is now.
    pub(crate) fn status_now(&self) -> LineStatus {
        let state = self.state.lock();
        LineStatus::of(&state.room, state.progress.position(), self.line.len())
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Room)) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let mut room = Room::clone(&state.room.clone().at(now));
        change(&mut room);
        room.version += 1;
        room.schedule_valve(&state.room, now, self.lead_time);
        state.valve_changed |= room.changes_valve_from(&state.room).is_some();
        if room.rate() != state.room.rate() {
            state.rates.push((now, room.rate()));
        }
        state.room = Arc::new(room);
    }
}

impl RoomReader for SimulatedLedger {
    async fn room(&self) -> PortResult<Arc<Room>> {
        Ok(self.state.lock().room.clone().at(self.clock.now()))
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        self.room().await
    }
}

impl QuietSwitch for SimulatedLedger {
    async fn set_quiet(&self, quiet: bool) -> PortResult<()> {
        self.change(|room| room.quiet = quiet);
        Ok(())
    }
}

impl TicketCounter for SimulatedLedger {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        self.line.lease(count).await
    }
}

impl LineBack for SimulatedLedger {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.line.join(visitor).await
    }
}

impl LineFront for SimulatedLedger {
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        self.line.receive(most, patience).await
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.keep(receipts).await
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.hand_back(receipts).await
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.line.remove(receipts).await
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        self.line.bury(receipt, body).await
    }
}

impl LineLength for SimulatedLedger {
    async fn waiting(&self) -> PortResult<u64> {
        LineLength::waiting(&self.line).await
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        self.line.issued().await
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        Ok(None)
    }
}

/// The simulation counts them itself.
impl EntryCount for SimulatedLedger {
    fn count_entry(&self) {}

    fn entered(&self) -> Option<u64> {
        None
    }
}

impl Admissions for SimulatedLedger {
    async fn admission(&self, _: Token) -> PortResult<Option<Admission>> {
        // Neither the trigger nor a consumer reads admissions; visitors ask by their number.
        Ok(None)
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        let mut state = self.state.lock();
        let plan = match admission.by {
            AdmittedBy::Slice(slice) => slice.plan,
            AdmittedBy::Door => 0,
        };
        let begin = state.begin;
        let place = &mut state.admitted[Self::visitor(token)];
        if let Some(before) = place.at.get() {
            let by = AdmittedBy::Slice(SliceId { plan: place.plan.into(), index: u16::MAX });
            let at = begin + Duration::from_millis(before.into());
            return Ok(Admitted::Before(Admission { at, by, ..admission }));
        }
        let at = MaybeAt::at(millis_between(begin, admission.at));
        *place = AdmissionInMemory { at, plan: u32::try_from(plan).unwrap_or(u32::MAX) };
        if let Some(known) = state.plan_mut(plan) {
            known.admitted += 1;
        }
        Ok(Admitted::Now)
    }

    async fn takes_admissions(&self) -> PortResult<()> {
        Ok(())
    }
}

impl LedgerState {
    /// Plans are numbered from 1.
    fn plan_mut(&mut self, number: u64) -> Option<&mut PlanInMemory> {
        self.plans.iter_mut().rev().find(|known| known.plan.number == number)
    }
}

impl Plans for SimulatedLedger {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        let state = self.state.lock();
        let record = |known: &PlanInMemory| PlanRecord {
            plan: known.plan,
            released: known.released,
            lowest: known.lowest,
        };
        Ok(state.plans.iter().rev().take(2).map(record).collect())
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        let mut state = self.state.lock();
        if state.plan_mut(plan.number).is_some() {
            return Ok(false);
        }
        state.plans.push(PlanInMemory { plan, admitted: 0, released: 0, lowest: None });
        Ok(true)
    }
}

impl Slices for SimulatedLedger {
    /// Every run of the trigger starts a consumer for each slice. The first one gets it.
    async fn claim(&self, slice: SliceId, _: Claimant) -> PortResult<Claimed> {
        let mut state = self.state.lock();
        if state.slices.contains_key(&slice) {
            return Ok(Claimed::Taken);
        }
        state.slices.insert(slice, SliceProgress::default());
        Ok(Claimed::Granted { released: 0 })
    }

    async fn record(&self, slice: SliceId, progress: SliceProgress) -> PortResult<()> {
        let mut state = self.state.lock();
        let Some(before) = state.slices.insert(slice, progress) else { return Ok(()) };
        let grown = u64::from(progress.released.saturating_sub(before.released));
        state.progress.released += grown;
        state.progress.served = state.progress.served.max(progress.served);
        state.progress.disorder = progress.disorder.unwrap_or(state.progress.disorder);
        if let Some(known) = state.plan_mut(slice.plan) {
            known.released += grown;
            known.lowest = known.lowest.into_iter().chain(progress.lowest).min();
        }
        Ok(())
    }
}

impl StatusBoard for SimulatedLedger {
    async fn position(&self) -> PortResult<LinePosition> {
        Ok(self.state.lock().progress.position())
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        Ok(self.state.lock().progress)
    }

    async fn pass_by(&self, _plan: u64, passed: u64) -> PortResult<()> {
        let progress = &mut self.state.lock().progress;
        progress.passed = progress.passed.max(passed);
        Ok(())
    }

    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        self.state.lock().published = Some(status);
        Ok(())
    }
}

/// The simulation counts every second itself.
impl MinuteLog for SimulatedLedger {
    async fn note(&self, _: LineTotals) -> PortResult<()> {
        Ok(())
    }

    async fn note_wait(&self, _: Timestamp, _: Duration) -> PortResult<()> {
        Ok(())
    }

    async fn longest_wait(&self, _: Timestamp) -> PortResult<Option<Duration>> {
        Ok(None)
    }

    async fn minutes(&self, _: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        Ok(Vec::new())
    }
}

impl ThrottleStore for SimulatedLedger {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        Ok(self.state.lock().throttle.clone())
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        self.state.lock().throttle = memory;
        Ok(true)
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        self.change(|room| room.throttled = rate);
        Ok(())
    }
}
