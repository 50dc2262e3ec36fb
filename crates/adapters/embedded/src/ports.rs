//! The ports. Reads use the memory or the last commit. Every change is one closure over the tables, and is durable
//! when its future resolves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redb::{ReadTransaction, ReadableTable};
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, AuditTrail, ConsumerRun, Delivery, EntryCount, Fault, GuardReports,
    HelpCalls, HelpDesk, LineBack, LineFront, LineLength, LineStatusReader, NewcomerCount, PermitHolder,
    Permits, PlanRecord, Plans, PortError, PortResult, QuietSwitch, Receipt, Rescheduling, RoomAdmin,
    RoomReader, SliceProgress, Slices, StatusBoard, StockCount, Store, Taken, ThrottleMemory, ThrottleStore,
    TicketCounter, TurnoutCount,
};
use waitroom::{
    Admission, AdmittedBy, AuditEntry, AuditNote, AuditSubject, Author, BATCH, CountedSlot, DoorPermits,
    Epoch, HelpCall, HelpCode, IssuedTickets, KeptReport, LineProgress, LineReach, LineStatus, Place, Plan,
    Rate, Room, SliceAdmissions, SliceId, Stock, Timestamp, Token, Turnout, Window, WindowAdmissions,
};

use crate::deliveries::Deliveries;
use crate::draft::Draft;
use crate::line;
use crate::tables::{
    AUDIT, CAME, HELP, JOINED_AT, LINE, PLAN, SINGLE, SLICE, SliceRecord, TableError, decode_admission,
    decode_call, decode_waiting, from_json, joined_at, open_if_any, read_single, single, slice_key, to_json,
};
use crate::{EmbeddedStore, read_from};

/// The line and the ledger lie in one file, so one handle is both.
impl Store for EmbeddedStore {
    type Line = Self;
    type Ledger = Self;

    fn line(&self) -> &Self {
        self
    }

    fn ledger(&self) -> &Self {
        self
    }
}

impl RoomReader for EmbeddedStore {
    async fn room(&self) -> PortResult<Arc<Room>> {
        Ok(self.shared.room())
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        Ok(self.shared.room())
    }
}

impl QuietSwitch for EmbeddedStore {
    async fn set_quiet(&self, quiet: bool) -> PortResult<()> {
        if !self.shared.room().heeds_quiet(quiet) {
            return Ok(());
        }
        let mark = move |room: &mut Room| room.set_quiet(quiet);
        self.change_room("mark the room as quiet or awake", None, mark).await.map(drop)
    }
}

impl Rescheduling for EmbeddedStore {
    async fn reschedule(&self) -> PortResult<()> {
        self.change_room("put in force what was ordered", None, |_| ()).await.map(drop)
    }
}

impl RoomAdmin for EmbeddedStore {
    async fn change(
        &self,
        attempt: &'static str,
        note: AuditNote,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        self.change_room(attempt, Some(note), change).await
    }

    async fn start_epoch(&self, epoch: Epoch, who: Author) -> PortResult<u64> {
        let shared = self.shared.clone();
        self.change("start a new epoch", move |draft| {
            let now = (shared.now)();
            let before = draft.room().unwrap_or_else(|| shared.room()).at(now);
            let after = Arc::new(before.changed(now, shared.lead_time, |room| room.start_epoch(epoch, now)));
            draft.close_count(&before, now, shared.entered.load(Ordering::Relaxed))?;
            draft.tables.add_entry(&AuditNote::new(who, AuditSubject::Reset), now, &before, &after)?;
            draft.begin_epoch(&after)
        })
        .await
    }
}

impl AuditTrail for EmbeddedStore {
    async fn entries(&self, most: u16) -> PortResult<Vec<AuditEntry>> {
        self.read("read the audit trail", |transaction| {
            let Some(table) = open_if_any(transaction, AUDIT)? else { return Ok(Vec::new()) };
            let mut entries = Vec::new();
            for entry in table.iter()?.rev().take(most.into()) {
                entries.push(from_json(entry?.1.value(), "audit")?);
            }
            entries.reverse();
            Ok(entries)
        })
    }
}

impl TicketCounter for EmbeddedStore {
    /// Only in memory. Each join stores the ticket that it used, so after a crash the count continues after the last
    /// one.
    async fn lease(&self, count: u32) -> PortResult<u64> {
        self.shared.leased_at.store((self.shared.now)().as_millis(), Ordering::Relaxed);
        Ok(self.shared.next_ticket.fetch_add(count.into(), Ordering::Relaxed))
    }
}

impl LineBack for EmbeddedStore {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.queue.join(&self.shared, visitor).await
    }
}

impl LineFront for EmbeddedStore {
    async fn receive(&self, most: u32, _patience: Duration) -> PortResult<Vec<Delivery>> {
        let most = most.min(BATCH) as usize;
        // Locked from reading to marking, so that no two receivers get the same visitor.
        let mut deliveries = self.shared.deliveries.lock();
        let now = (self.shared.now)();
        self.read("receive visitors from the line", |transaction| {
            receive(transaction, &mut deliveries, most, now)
        })
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.hide_until((self.shared.now)() + Delivery::HIDDEN_FOR, &receipts);
        Ok(())
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.hide_until(Timestamp::default(), &receipts);
        Ok(())
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        let keys: Vec<u64> = keys(&receipts).collect();
        let removed = keys.clone();
        self.change("remove visitors from the line", move |draft| draft.leave(keys)).await?;
        let mut deliveries = self.shared.deliveries.lock();
        for key in removed {
            deliveries.forget(key);
        }
        Ok(())
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        let Ok(key) = receipt.0.parse() else { return Ok(()) };
        self.change("move a message to the dead letters", move |draft| {
            draft.leave(vec![key])?;
            let dead_letters = draft.tables.dead_letter()?;
            let next = dead_letters.last()?.map_or(0, |(last, _)| last.value() + 1);
            dead_letters.insert(next, body.as_str())?;
            Ok(())
        })
        .await?;
        self.shared.deliveries.lock().forget(key);
        Ok(())
    }
}

/// The keys in the line.
fn keys(receipts: &[Receipt]) -> impl Iterator<Item = u64> {
    receipts.iter().filter_map(|receipt| receipt.0.parse().ok())
}

impl EmbeddedStore {
    fn hide_until(&self, until: Timestamp, receipts: &[Receipt]) {
        let mut deliveries = self.shared.deliveries.lock();
        keys(receipts).for_each(|key| deliveries.hide_until(key, until));
    }
}

fn receive(
    transaction: &ReadTransaction,
    deliveries: &mut Deliveries,
    most: usize,
    now: Timestamp,
) -> Result<Vec<Delivery>, TableError> {
    let line = transaction.open_table(LINE)?;
    let times = open_if_any(transaction, JOINED_AT)?;
    let mut received = Vec::new();
    for key in deliveries.returned(most, now) {
        match line::entries_from(&line, key, 1)?.pop().filter(|(found, _)| *found == key) {
            Some(entry) => received.push(entry),
            None => deliveries.forget(key),
        }
    }
    let left = most - received.len();
    received.extend(line::entries_from(&line, deliveries.cursor(), left)?);
    let delivery = |(key, entry): &(u64, Vec<u8>)| -> Result<Delivery, TableError> {
        let visitor = decode_waiting(entry).ok_or_else(|| entry.escape_ascii().to_string());
        let joined = times.as_ref().map(|times| joined_at(times, *key)).transpose()?.flatten();
        Ok(Delivery { receipt: Receipt(key.to_string()), visitor, joined })
    };
    let delivered = received.iter().map(delivery).collect::<Result<_, _>>()?;
    for (key, _) in &received {
        deliveries.deliver(*key, now);
    }
    Ok(delivered)
}

impl LineLength for EmbeddedStore {
    async fn waiting(&self) -> PortResult<u64> {
        Ok(self.shared.line().waiting)
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        let at = Timestamp::from_millis(self.shared.leased_at.load(Ordering::Relaxed));
        Ok(IssuedTickets { last: self.shared.next_ticket.load(Ordering::Relaxed) - 1, at })
    }

    async fn joined(&self) -> PortResult<Option<u64>> {
        Ok(Some(self.shared.line().joined))
    }
}

impl EntryCount for EmbeddedStore {
    fn count_entry(&self) {
        self.shared.entered.fetch_add(1, Ordering::Relaxed);
    }

    /// After a crash, those of the last minute are missing.
    fn entered(&self) -> Option<u64> {
        Some(self.shared.entered.load(Ordering::Relaxed))
    }
}

impl TurnoutCount for EmbeddedStore {
    async fn note_came(&self, visitor: Token, slice: SliceId) -> PortResult<bool> {
        self.change("note that a visitor came", move |draft| {
            if draft.tables.arrival()?.insert(visitor.as_bytes(), ())?.is_some() {
                return Ok(false);
            }
            let came = draft.tables.came()?.get(slice.plan)?.map_or(0, |came| came.value());
            draft.tables.came()?.insert(slice.plan, came + 1)?;
            Ok(true)
        })
        .await
    }

    async fn turnout(&self, ended: Window) -> PortResult<Turnout> {
        self.read("count who came", |transaction| {
            let (plans, slices) = (transaction.open_table(PLAN)?, transaction.open_table(SLICE)?);
            let came = open_if_any(transaction, CAME)?;
            let mut turnout = Turnout::default();
            for plan in newest_of_epoch(transaction, &plans)? {
                let plan = plan?;
                // Of all: a clock that was behind has given a high number to an old window.
                if (ended.start..ended.end).contains(&plan.window.end) {
                    turnout.released += recorded(&slices, plan.number)?;
                    let came = came.as_ref().map(|came| came.get(plan.number)).transpose()?.flatten();
                    turnout.came += came.map_or(0, |came| came.value());
                }
            }
            Ok(turnout)
        })
    }

    async fn keep_turnout(&self, turnout: Option<Turnout>) -> PortResult<()> {
        if !self.shared.room().heeds_turnout(turnout) {
            return Ok(());
        }
        let keep = move |room: &mut Room| room.turnout = turnout;
        self.change_room("keep how many came", None, keep).await.map(drop)
    }
}

impl GuardReports for EmbeddedStore {
    async fn keep_report(&self, report: KeptReport) -> PortResult<()> {
        self.change("keep a guard's report", move |draft| {
            let mut reports = draft.tables.read(single::GUARD_REPORTS)?.unwrap_or_default();
            report.clone().keep_among(&mut reports);
            draft.tables.write(single::GUARD_REPORTS, &reports)
        })
        .await
    }
}

impl ActiveVisitors for EmbeddedStore {
    async fn reports(&self) -> PortResult<Vec<KeptReport>> {
        self.read("read what guards report", |transaction| {
            Ok(read_single(&transaction.open_table(SINGLE)?, single::GUARD_REPORTS)?.unwrap_or_default())
        })
    }

    async fn window_admissions(&self, since: Timestamp) -> PortResult<Vec<WindowAdmissions>> {
        let (room, now) = (self.shared.room(), (self.shared.now)());
        // Before the counts: whatever a slice that is over has admitted is among them.
        let over = self.shared.over.lock().clone();
        self.read("count whom the latest windows let in", |transaction| {
            let (plans, slices) = (transaction.open_table(PLAN)?, transaction.open_table(SLICE)?);
            let mut counts = Vec::new();
            for plan in newest_of_epoch(transaction, &plans)? {
                let plan = plan?;
                // The others are read too: a clock that was behind has given a high number to an old window.
                if plan.window.end < since {
                    continue;
                }
                let known = admitted(&slices, &plan, over.of(plan.number), now)?;
                let of_slice =
                    |slice: SliceId| known.get(&slice.index).copied().unwrap_or(SliceAdmissions::Untaken);
                counts.push(WindowAdmissions::of(&plan, &room, now, of_slice));
            }
            Ok(counts)
        })
    }

    async fn keep_while_full(&self, lately: Option<Rate>) -> PortResult<()> {
        if !self.shared.room().heeds_full(lately) {
            return Ok(());
        }
        let keep = move |room: &mut Room| room.while_full = lately;
        self.change_room("keep how many the full shop lets in", None, keep).await.map(drop)
    }
}

/// The plans of this epoch, the newest first.
fn newest_of_epoch(
    transaction: &ReadTransaction,
    plans: &impl ReadableTable<u64, &'static [u8]>,
) -> Result<impl Iterator<Item = Result<Plan, TableError>>, TableError> {
    let last_before: Option<u64> =
        read_single(&transaction.open_table(SINGLE)?, single::LAST_PLAN_BEFORE_EPOCH)?;
    let entries = plans.range(last_before.map_or(0, |last| last + 1)..)?.rev();
    Ok(entries.map(|entry| from_json(entry?.1.value(), "plan")))
}

/// What the slices of a plan that were taken have admitted, once their consumers have said that they are over, or none can run any more.
fn admitted(
    slices: &impl ReadableTable<(u64, u16), SliceRecord>,
    plan: &Plan,
    over: Option<&HashSet<u16>>,
    now: Timestamp,
) -> Result<HashMap<u16, SliceAdmissions>, TableError> {
    let is_long_over = plan.window.end + WindowAdmissions::SAID_WITHIN <= now;
    let mut known = HashMap::new();
    for slice in slices.range((plan.number, 0)..=(plan.number, u16::MAX))? {
        let (key, record) = slice?;
        let (_, index) = key.value();
        let is_over = is_long_over || over.is_some_and(|over| over.contains(&index));
        let admitted = SliceAdmissions::AtMost(record.value().2.into());
        known.insert(index, if is_over { admitted } else { SliceAdmissions::Unsaid });
    }
    Ok(known)
}

/// How many the slices of a plan have recorded as released.
fn recorded(slices: &impl ReadableTable<(u64, u16), SliceRecord>, plan: u64) -> Result<u64, TableError> {
    let mut released = 0;
    for slice in slices.range((plan, 0)..=(plan, u16::MAX))? {
        released += u64::from(slice?.1.value().1);
    }
    Ok(released)
}

impl Admissions for EmbeddedStore {
    async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
        read_from("read an admission", self.shared.database.admissions(), |admissions| {
            admissions.get(token.as_bytes())?.map(|record| decode_admission(record.value())).transpose()
        })
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        const ATTEMPT: &str = "write an admission";
        let admit = move |draft: &mut Draft<'_>| draft.admit(token, &admission);
        match admission.by {
            AdmittedBy::Slice(_) => self.admit_by_slice(ATTEMPT, None, admit).await,
            AdmittedBy::Door | AdmittedBy::Permit => self.change(ATTEMPT, admit).await,
        }
    }

    async fn takes_admissions(&self) -> PortResult<()> {
        self.change("write an admission", |_| Ok(())).await
    }
}

impl EmbeddedStore {
    /// Admits for a slice that takes from this stock, or from none. Not if another stock is in force when it's written: the slice may have
    /// read the room while the disk still synced the order, and ends once it reads it again.
    async fn admit_by_slice<T: Send + 'static>(
        &self,
        attempt: &'static str,
        stock: Option<Stock>,
        admit: impl FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send + 'static,
    ) -> PortResult<T> {
        let shared = self.shared.clone();
        let admitted = self.change(attempt, move |draft| {
            let room = draft.room().unwrap_or_else(|| shared.room());
            match room.valve_at((shared.now)()).valve.stock() {
                Some(in_force) if stock != Some(in_force) => Ok(None),
                _ => admit(draft).map(Some),
            }
        });
        admitted.await?.ok_or_else(|| PortError::new(attempt, Fault::Busy, "another stock is in force"))
    }
}

impl Permits for EmbeddedStore {
    /// Only in memory. A process that has just begun counts as one that has used up all its time.
    async fn take_permits(&self, of: DoorPermits, count: u32, _by: PermitHolder) -> PortResult<bool> {
        let mut used = self.shared.used.lock();
        let now = (self.shared.now)();
        Ok(of.take_from(&mut used, count, now))
    }
}

impl NewcomerCount for EmbeddedStore {
    /// Only in memory. After a crash, those of the last minute are missing.
    async fn count_newcomers(&self, slot: Timestamp, count: u32) -> PortResult<()> {
        *self.shared.newcomers.lock().entry(slot).or_default() += u64::from(count);
        Ok(())
    }

    async fn newcomers(&self) -> PortResult<Vec<CountedSlot>> {
        let slots = &self.shared.newcomers.lock();
        Ok(slots.iter().map(|(from, newcomers)| CountedSlot { from: *from, newcomers: *newcomers }).collect())
    }

    async fn forget_newcomers(&self, before: Timestamp) -> PortResult<()> {
        self.shared.newcomers.lock().retain(|slot, _| *slot >= before);
        Ok(())
    }
}

impl StockCount for EmbeddedStore {
    async fn admit_from(
        &self,
        stock: Stock,
        visitors: Vec<(Token, Admission)>,
    ) -> PortResult<Vec<Option<Admitted>>> {
        let admit = move |draft: &mut Draft<'_>| draft.admit_from(stock, &visitors);
        self.admit_by_slice("write admissions from the stock", Some(stock), admit).await
    }

    async fn left(&self, stock: Stock) -> PortResult<u32> {
        Ok(self.shared.left(stock))
    }

    async fn end_if_sold_out(&self) -> PortResult<()> {
        let Some(stock) = self.shared.room().stock.filter(|stock| self.shared.left(*stock) == 0) else {
            return Ok(());
        };
        let end = move |room: &mut Room| _ = room.sell_out(stock);
        self.change_room("end the room, which is sold out", Some(AuditNote::sold_out()), end).await.map(drop)
    }
}

impl HelpCalls for EmbeddedStore {
    async fn note_call(&self, call: HelpCall) -> PortResult<bool> {
        self.change("keep a call for help", move |draft| draft.note_call(&call)).await
    }

    async fn call(&self, code: HelpCode) -> PortResult<Option<HelpCall>> {
        self.read("look up a help code", |transaction| {
            let Some(calls) = open_if_any(transaction, HELP)? else { return Ok(None) };
            let record = calls.get(code.digits().as_str())?;
            record.map(|record| decode_call(code, record.value())).transpose()
        })
    }
}

impl HelpDesk for EmbeddedStore {
    async fn let_in(
        &self,
        call: HelpCall,
        admission: Admission,
        who: Author,
    ) -> PortResult<Option<Admitted>> {
        let shared = self.shared.clone();
        self.change("let a visitor in by hand", move |draft| {
            let stock = draft.room().unwrap_or_else(|| shared.room()).stock;
            draft.let_in(&call, &admission, stock, who)
        })
        .await
    }
}

impl Plans for EmbeddedStore {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        self.read("read the latest plans", |transaction| {
            let (plans, slices) = (transaction.open_table(PLAN)?, transaction.open_table(SLICE)?);
            let mut recent = Vec::new();
            for entry in plans.iter()?.rev().take(2) {
                let (number, plan) = entry?;
                let plan: Plan = from_json(plan.value(), "plan")?;
                let released = recorded(&slices, number.value())?;
                let lowest = self.shared.lowest_tickets.lock().of(plan.number).copied().flatten();
                recent.push(PlanRecord { plan, released, lowest });
            }
            Ok(recent)
        })
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        self.change("write a plan", move |draft| {
            if draft.tables.plan()?.get(plan.number)?.is_some() {
                return Ok(false);
            }
            draft.tables.plan()?.insert(plan.number, to_json(&plan)?.as_slice())?;
            Ok(true)
        })
        .await
    }
}

impl Slices for EmbeddedStore {
    /// The file's lock proves that no earlier process still runs. So a slice that an earlier process took is given
    /// to the next consumer that takes it.
    async fn take(&self, slice: SliceId, by: ConsumerRun) -> PortResult<Taken> {
        let shared = self.shared.clone();
        self.change("take a slice", move |draft| {
            let key = slice_key(slice);
            let mut consumer_runs = shared.consumer_runs.lock();
            consumer_runs.note(slice.plan, |runs| _ = runs.insert(by));
            let found = draft.tables.slice()?.get(key)?.map(|record| record.value());
            let (consumer_run, recorded, admitted) = found.unwrap_or((by.0, 0, 0));
            let runs_here = |runs: &HashSet<_>| runs.contains(&ConsumerRun(consumer_run));
            if consumer_run != by.0 && consumer_runs.of(slice.plan).is_some_and(runs_here) {
                return Ok(Taken::Elsewhere);
            }
            draft.tables.slice()?.insert(key, (by.0, recorded, admitted))?;
            Ok(Taken::Here { released: admitted })
        })
        .await
    }

    async fn record(&self, slice: SliceId, progress: SliceProgress) -> PortResult<()> {
        let SliceProgress { released, reached, lowest, disorder, at_most } = progress;
        let record = self.change("record a slice's progress", move |draft| {
            let key = slice_key(slice);
            let Some((by, before, admitted)) = draft.tables.slice()?.get(key)?.map(|record| record.value())
            else {
                return Ok(false);
            };
            let mut progress = draft.progress()?;
            draft.tables.slice()?.insert(key, (by, released.max(before), admitted))?;
            progress.released += u64::from(released.saturating_sub(before));
            if draft.is_of_epoch(slice.plan)? {
                progress.reached = progress.reached.max(reached);
                progress.disorder = disorder.unwrap_or(progress.disorder);
            }
            draft.set_progress(progress)?;
            Ok(true)
        });
        let is_taken = record.await?;
        if at_most.is_some() && is_taken {
            self.shared.over.lock().note(slice.plan, |over| _ = over.insert(slice.index));
        }
        if let Some(lowest) = lowest.filter(|_| is_taken) {
            let add =
                |known: &mut Option<u64>| *known = Some(known.map_or(lowest, |known| known.min(lowest)));
            self.shared.lowest_tickets.lock().note(slice.plan, add);
        }
        Ok(())
    }
}

impl StatusBoard for EmbeddedStore {
    async fn reach(&self) -> PortResult<LineReach> {
        Ok(self.shared.line().progress.reach())
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        Ok(self.shared.line().progress)
    }

    async fn overtake(&self, plan: u64, overtaken: u64) -> PortResult<()> {
        self.change("record who was overtaken", move |draft| {
            if draft.is_of_epoch(plan)? {
                let mut progress = draft.progress()?;
                progress.overtaken = progress.overtaken.max(overtaken);
                draft.set_progress(progress)?;
            }
            Ok(())
        })
        .await
    }

    /// Nothing to do: polls read the status from memory, so it is always up to date.
    async fn publish(&self, _: LineStatus) -> PortResult<()> {
        Ok(())
    }
}

impl LineStatusReader for EmbeddedStore {
    /// A few atomic loads.
    async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
        Ok(self.status_of(room))
    }
}

impl ThrottleStore for EmbeddedStore {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        self.read("read the throttle's memory", |transaction| {
            Ok(read_single(&transaction.open_table(SINGLE)?, single::THROTTLE)?.unwrap_or_default())
        })
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        self.change("write the throttle's memory", move |draft| {
            let stored: ThrottleMemory = draft.tables.read(single::THROTTLE)?.unwrap_or_default();
            if stored.version + 1 != memory.version {
                return Ok(false);
            }
            draft.tables.write(single::THROTTLE, &memory)?;
            Ok(true)
        })
        .await
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        let hold = move |room: &mut Room| room.throttled = rate;
        self.change_room("hold the rate down", Some(AuditNote::throttle()), hold).await.map(drop)
    }
}
