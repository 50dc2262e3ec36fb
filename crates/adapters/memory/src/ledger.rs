use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::ports::{
    AuditTrail, PlanRecord, PortResult, QuietSwitch, Rescheduling, RoomAdmin, RoomReader, Store,
    ThrottleMemory, ThrottleStore,
};
use waitroom::{
    Admission, AuditEntry, AuditNote, AuditSubject, Author, Epoch, HelpCall, HelpCode, KeptReport,
    LineCounts, LineStatus, LineTotals, Rate, Room, Stock, Timestamp, Token, UsedTime,
};

use crate::history::MinuteBook;
use crate::keys::KeysInMemory;
use crate::plans::PlanBook;
use crate::{AdmissionTable, MemoryLine};

/// A handle to a ledger in memory. Clones share it.
///
/// It knows its line, because a reset empties both.
pub struct MemoryLedger<A = HashMap<Token, Admission>> {
    pub(crate) line: MemoryLine,
    /// From when on a change of the valve is in force.
    lead_time: Duration,
    pub(crate) state: Arc<Mutex<LedgerState<A>>>,
}

pub(crate) struct LedgerState<A> {
    pub(crate) room: Arc<Room>,
    valve_changed: bool,
    audit: VecDeque<AuditEntry>,
    throttle: ThrottleMemory,
    pub(crate) admissions: A,
    pub(crate) plans: PlanBook,
    /// Who came for their pass, in a room that oversubscribes.
    pub(crate) arrivals: HashSet<Token>,
    pub(crate) history: MinuteBook,
    pub(crate) keys: KeysInMemory,
    pub(crate) published: Option<LineStatus>,
    /// Who asked for help.
    pub(crate) calls: BTreeMap<HelpCode, HelpCall>,
    /// What the shop's guards reported last.
    pub(crate) reports: Vec<KeptReport>,
    /// How many were taken of each stock, by its order.
    pub(crate) taken: BTreeMap<u64, u32>,
    /// How many came for their pass in this epoch.
    pub(crate) entered: u64,
    /// Up to when the time of the doors' permits is used up.
    pub(crate) used: UsedTime,
    /// How many newcomers came while the room observed, by when their slots begin.
    pub(crate) newcomers: BTreeMap<Timestamp, u64>,
}

impl MemoryLedger {
    /// The ledger of this room, by the clock of its line.
    pub fn new(line: MemoryLine, room: Room, lead_time: Duration) -> Self {
        Self::with_admissions(line, room, lead_time, HashMap::new())
    }
}

impl<A: AdmissionTable> MemoryLedger<A> {
    /// The same, with its admissions in this table.
    pub fn with_admissions(line: MemoryLine, room: Room, lead_time: Duration, admissions: A) -> Self {
        let state = LedgerState {
            room: Arc::new(room),
            valve_changed: false,
            audit: VecDeque::new(),
            throttle: ThrottleMemory::default(),
            admissions,
            plans: PlanBook::default(),
            arrivals: HashSet::new(),
            history: MinuteBook::default(),
            keys: KeysInMemory::default(),
            published: None,
            calls: BTreeMap::new(),
            reports: Vec::new(),
            taken: BTreeMap::new(),
            entered: 0,
            used: UsedTime::default(),
            newcomers: BTreeMap::new(),
        };
        Self { line, lead_time, state: Arc::new(Mutex::new(state)) }
    }

    /// The room as it is kept. An opening whose time has come is not applied.
    pub fn kept_room(&self) -> Arc<Room> {
        self.state.lock().room.clone()
    }

    /// Changes the room without an entry in the audit trail, and increases its version.
    pub fn change_room(&self, change: impl FnOnce(&mut Room)) {
        self.alter_room(None, change);
    }

    /// Whether the valve has changed since this was last asked. Then the trigger has to run.
    pub fn take_valve_changed(&self) -> bool {
        std::mem::take(&mut self.state.lock().valve_changed)
    }

    /// The status of the line as it is now, which a store on one machine answers polls with.
    pub fn status(&self) -> LineStatus {
        self.status_of(&self.kept_room().at(self.line.now()))
    }

    pub(crate) fn status_of(&self, room: &Room) -> LineStatus {
        let state = self.state.lock();
        let left = room.stock.map(|stock| state.left(stock));
        LineStatus::of(room, state.plans.progress().reach(), self.line.len(), left)
    }

    /// The status that was published last, which polls read on AWS.
    pub fn published(&self) -> Option<LineStatus> {
        self.state.lock().published
    }

    /// All plans so far, oldest first.
    pub fn plans(&self) -> Vec<PlanRecord> {
        self.state.lock().plans.records().copied().collect()
    }

    /// How many the slices have recorded as released in this epoch.
    pub fn released(&self) -> u64 {
        self.state.lock().plans.progress().released
    }

    pub fn read_admissions<T>(&self, read: impl FnOnce(&A) -> T) -> T {
        read(&self.state.lock().admissions)
    }

    pub(crate) fn alter_room(
        &self,
        note: Option<&AuditNote>,
        change: impl FnOnce(&mut Room),
    ) -> (Arc<Room>, Arc<Room>) {
        let now = self.line.now();
        let mut state = self.state.lock();
        let before = state.room.clone().at(now);
        let after = Arc::new(before.changed(now, self.lead_time, change));
        if after.counts_apart(&before) {
            state.close_count(&self.line, &before, now);
        }
        state.valve_changed |= after.changes_valve_from(&before).is_some();
        state.room = after.clone();
        if let Some(note) = note {
            state.add_entry(|number| note.entry(number, now, &before, &after));
        }
        (before, after)
    }
}

impl<A> LedgerState<A> {
    /// Writes an entry of the audit trail, which gets this number, and removes the oldest.
    pub(crate) fn add_entry(&mut self, entry: impl FnOnce(u64) -> Option<AuditEntry>) {
        let number = self.audit.back().map_or(1, |last| last.number + 1);
        self.audit.extend(entry(number));
        if self.audit.len() > AuditEntry::KEPT.into() {
            self.audit.pop_front();
        }
    }

    pub(crate) fn left(&self, stock: Stock) -> u32 {
        stock.size.get() - self.taken.get(&stock.order).copied().unwrap_or_default()
    }

    /// Writes the closing record of whom the room has counted so far.
    fn close_count(&mut self, line: &MemoryLine, before: &Room, now: Timestamp) {
        let counts = LineCounts {
            joined: line.joined_so_far(),
            released: self.plans.released(),
            entered: Some(self.entered),
            waiting: line.len(),
        };
        self.history.close(LineTotals::of(before, now, counts));
    }
}

impl<A: AdmissionTable> Store for MemoryLedger<A> {
    type Line = MemoryLine;
    type Ledger = Self;

    fn line(&self) -> &MemoryLine {
        &self.line
    }

    fn ledger(&self) -> &Self {
        self
    }
}

impl<A: AdmissionTable> RoomReader for MemoryLedger<A> {
    async fn room(&self) -> PortResult<Arc<Room>> {
        Ok(self.kept_room().at(self.line.now()))
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        self.room().await
    }
}

impl<A: AdmissionTable> QuietSwitch for MemoryLedger<A> {
    async fn set_quiet(&self, quiet: bool) -> PortResult<()> {
        if self.room().await?.heeds_quiet(quiet) {
            self.change_room(|room| room.set_quiet(quiet));
        }
        Ok(())
    }
}

impl<A: AdmissionTable> Rescheduling for MemoryLedger<A> {
    async fn reschedule(&self) -> PortResult<()> {
        if self.room().await?.is_of_clock_ahead(self.line.now()) {
            self.change_room(|_| ());
        }
        Ok(())
    }
}

impl<A: AdmissionTable> RoomAdmin for MemoryLedger<A> {
    async fn change(
        &self,
        _: &'static str,
        note: AuditNote,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        Ok(self.alter_room(Some(&note), change))
    }

    async fn start_epoch(&self, epoch: Epoch, who: Author) -> PortResult<u64> {
        let now = self.line.now();
        let mut state = self.state.lock();
        let before = state.room.clone().at(now);
        let after = before.changed(now, self.lead_time, |room| room.start_epoch(epoch, now));
        state.close_count(&self.line, &before, now);
        state.valve_changed |= after.changes_valve_from(&before).is_some();
        state
            .add_entry(|number| AuditNote::new(who, AuditSubject::Reset).entry(number, now, &before, &after));
        state.room = Arc::new(after);
        state.plans.begin_epoch();
        (state.published, state.entered) = (None, 0);
        Ok(self.line.begin_epoch())
    }
}

impl<A: AdmissionTable> AuditTrail for MemoryLedger<A> {
    async fn entries(&self, most: u16) -> PortResult<Vec<AuditEntry>> {
        let audit = &self.state.lock().audit;
        Ok(audit.iter().skip(audit.len().saturating_sub(most.into())).cloned().collect())
    }
}

impl<A: AdmissionTable> ThrottleStore for MemoryLedger<A> {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        Ok(self.state.lock().throttle.clone())
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        let stored = &mut self.state.lock().throttle;
        let is_next = stored.version + 1 == memory.version;
        if is_next {
            *stored = memory;
        }
        Ok(is_next)
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        self.alter_room(Some(&AuditNote::throttle()), |room| room.throttled = rate);
        Ok(())
    }
}

impl<A> Clone for MemoryLedger<A> {
    fn clone(&self) -> Self {
        Self { line: self.line.clone(), lead_time: self.lead_time, state: self.state.clone() }
    }
}

impl<A> fmt::Debug for MemoryLedger<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLedger").field("line", &self.line).finish_non_exhaustive()
    }
}
