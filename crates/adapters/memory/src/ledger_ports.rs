//! The ports of the ledger, apart from those of the room itself, its audit trail and the throttle's memory, which are in `ledger.rs`.

use std::time::Duration;

use pass::{KeyRecord, KeyRefusal, SecretKeys};
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, ConsumerRun, EntryCount, GuardReports, HelpCalls, HelpDesk,
    KeyAdmin, KeyBoard, Keys, LineStatusReader, MinuteLog, NewcomerCount, PermitHolder, Permits, PlanRecord,
    Plans, PortResult, RoomReader, SliceProgress, Slices, StatusBoard, StockCount, Taken, TurnoutCount,
};
use waitroom::{
    Admission, AdmittedBy, AuditEntry, AuditNote, AuditedChange, Author, CountedSlot, DoorPermits, HelpCall,
    HelpCode, KeptReport, KeyOrder, LineProgress, LineReach, LineStatus, LineTotals, MinuteRecord, Plan,
    Rate, Room, SliceId, Stock, Timestamp, Token, Turnout, Window, WindowAdmissions,
};

use crate::ledger::LedgerState;
use crate::{AdmissionTable, MemoryLedger};

impl<A: AdmissionTable> LedgerState<A> {
    /// Takes one of the stock. False if nothing is left.
    fn take(&mut self, stock: Stock) -> bool {
        let is_left = self.left(stock) > 0;
        *self.taken.entry(stock.order).or_default() += u32::from(is_left);
        is_left
    }

    /// Writes an admission for a token that has none.
    fn admit(&mut self, token: Token, admission: Admission) {
        self.admissions.put(token, admission);
        match admission.by {
            AdmittedBy::Slice(slice) => self.plans.admit(slice),
            AdmittedBy::Permit => self.plans.admit_straight(),
            AdmittedBy::Door => {}
        }
    }
}

impl<A: AdmissionTable> Admissions for MemoryLedger<A> {
    async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
        Ok(self.read_admissions(|admissions| admissions.get(token)))
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        let mut state = self.state.lock();
        if let Some(before) = state.admissions.get(token) {
            return Ok(Admitted::Before(before));
        }
        if admission.by == AdmittedBy::Permit {
            self.line.count_straight();
        }
        state.admit(token, admission);
        Ok(Admitted::Now)
    }

    async fn takes_admissions(&self) -> PortResult<()> {
        Ok(())
    }
}

impl<A: AdmissionTable> Permits for MemoryLedger<A> {
    async fn take_permits(&self, of: DoorPermits, count: u32, _by: PermitHolder) -> PortResult<bool> {
        let mut state = self.state.lock();
        let now = self.line.now();
        Ok(of.take_from(&mut state.used, count, now))
    }
}

impl<A: AdmissionTable> NewcomerCount for MemoryLedger<A> {
    async fn count_newcomers(&self, slot: Timestamp, count: u32) -> PortResult<()> {
        *self.state.lock().newcomers.entry(slot).or_default() += u64::from(count);
        Ok(())
    }

    async fn newcomers(&self) -> PortResult<Vec<CountedSlot>> {
        let slots = &self.state.lock().newcomers;
        Ok(slots.iter().map(|(from, newcomers)| CountedSlot { from: *from, newcomers: *newcomers }).collect())
    }

    async fn forget_newcomers(&self, before: Timestamp) -> PortResult<()> {
        self.state.lock().newcomers.retain(|slot, _| *slot >= before);
        Ok(())
    }
}

impl<A: AdmissionTable> StockCount for MemoryLedger<A> {
    async fn admit_from(
        &self,
        stock: Stock,
        visitors: Vec<(Token, Admission)>,
    ) -> PortResult<Vec<Option<Admitted>>> {
        let mut state = self.state.lock();
        let admit = |(token, admission)| {
            if let Some(before) = state.admissions.get(token) {
                return Some(Admitted::Before(before));
            }
            state.take(stock).then(|| {
                state.admit(token, admission);
                Admitted::Now
            })
        };
        Ok(visitors.into_iter().map(admit).collect())
    }

    async fn left(&self, stock: Stock) -> PortResult<u32> {
        Ok(self.state.lock().left(stock))
    }

    async fn end_if_sold_out(&self) -> PortResult<()> {
        let Some(stock) = self.room_now().await?.stock else { return Ok(()) };
        if self.left(stock).await? == 0 {
            self.alter_room(Some(&AuditNote::sold_out()), |room| _ = room.sell_out(stock));
        }
        Ok(())
    }
}

impl<A: AdmissionTable> HelpCalls for MemoryLedger<A> {
    async fn note_call(&self, call: HelpCall) -> PortResult<bool> {
        let calls = &mut self.state.lock().calls;
        let is_free = calls.get(&call.code).is_none_or(|before| before.gives_way_to(&call));
        if is_free {
            calls.insert(call.code, call);
        }
        Ok(is_free)
    }

    async fn call(&self, code: HelpCode) -> PortResult<Option<HelpCall>> {
        Ok(self.state.lock().calls.get(&code).copied())
    }
}

impl<A: AdmissionTable> HelpDesk for MemoryLedger<A> {
    async fn let_in(
        &self,
        call: HelpCall,
        admission: Admission,
        who: Author,
    ) -> PortResult<Option<Admitted>> {
        let mut state = self.state.lock();
        let stock = state.room.clone().at(self.line.now()).stock;
        if let Some(before) = state.admissions.get(call.place.token) {
            return Ok(Some(Admitted::Before(before)));
        }
        if stock.is_some_and(|stock| !state.take(stock)) {
            return Ok(None);
        }
        state.admit(call.place.token, admission);
        state.add_entry(|number| {
            Some(AuditEntry::beside_room(number, admission.at, who, AuditedChange::let_in(&call)))
        });
        Ok(Some(Admitted::Now))
    }
}

impl<A: AdmissionTable> EntryCount for MemoryLedger<A> {
    fn count_entry(&self) {
        self.state.lock().entered += 1;
    }

    fn entered(&self) -> Option<u64> {
        Some(self.state.lock().entered)
    }
}

impl<A: AdmissionTable> TurnoutCount for MemoryLedger<A> {
    async fn note_came(&self, visitor: Token, slice: SliceId) -> PortResult<bool> {
        let mut state = self.state.lock();
        let is_first = state.arrivals.insert(visitor);
        if is_first {
            state.plans.note_came(slice);
        }
        Ok(is_first)
    }

    async fn turnout(&self, ended: Window) -> PortResult<Turnout> {
        Ok(self.state.lock().plans.turnout(ended))
    }

    async fn keep_turnout(&self, turnout: Option<Turnout>) -> PortResult<()> {
        if self.room().await?.heeds_turnout(turnout) {
            self.change_room(|room| room.turnout = turnout);
        }
        Ok(())
    }
}

impl<A: AdmissionTable> GuardReports for MemoryLedger<A> {
    async fn keep_report(&self, report: KeptReport) -> PortResult<()> {
        report.keep_among(&mut self.state.lock().reports);
        Ok(())
    }
}

impl<A: AdmissionTable> ActiveVisitors for MemoryLedger<A> {
    async fn reports(&self) -> PortResult<Vec<KeptReport>> {
        Ok(self.state.lock().reports.clone())
    }

    async fn window_admissions(&self, since: Timestamp) -> PortResult<Vec<WindowAdmissions>> {
        let (room, now) = (self.room().await?, self.line.now());
        Ok(self.state.lock().plans.window_admissions(&room, since, now))
    }

    async fn keep_while_full(&self, lately: Option<Rate>) -> PortResult<()> {
        if self.room().await?.heeds_full(lately) {
            self.change_room(|room| room.while_full = lately);
        }
        Ok(())
    }
}

impl<A: AdmissionTable> Plans for MemoryLedger<A> {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        Ok(self.state.lock().plans.records().rev().take(2).copied().collect())
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        Ok(self.state.lock().plans.write(plan))
    }
}

impl<A: AdmissionTable> Slices for MemoryLedger<A> {
    async fn take(&self, slice: SliceId, consumer_run: ConsumerRun) -> PortResult<Taken> {
        Ok(self.state.lock().plans.take(slice, consumer_run))
    }

    async fn record(&self, slice: SliceId, progress: SliceProgress) -> PortResult<()> {
        self.state.lock().plans.record(slice, progress);
        Ok(())
    }
}

impl<A: AdmissionTable> StatusBoard for MemoryLedger<A> {
    async fn reach(&self) -> PortResult<LineReach> {
        Ok(self.state.lock().plans.progress().reach())
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        Ok(self.state.lock().plans.progress())
    }

    async fn overtake(&self, plan: u64, overtaken: u64) -> PortResult<()> {
        self.state.lock().plans.overtake(plan, overtaken);
        Ok(())
    }

    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        self.state.lock().published = Some(status);
        Ok(())
    }
}

impl<A: AdmissionTable> LineStatusReader for MemoryLedger<A> {
    async fn line_status(&self, room: &Room) -> PortResult<LineStatus> {
        Ok(self.status_of(room))
    }
}

impl<A: AdmissionTable> MinuteLog for MemoryLedger<A> {
    async fn note(&self, totals: LineTotals) -> PortResult<()> {
        self.state.lock().history.note(totals);
        Ok(())
    }

    async fn note_wait(&self, at: Timestamp, wait: Duration) -> PortResult<()> {
        self.state.lock().history.note_wait(at, wait);
        Ok(())
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        let longest = self.state.lock().history.longest_wait(MinuteRecord::number(since));
        Ok(longest.map(Duration::from_secs))
    }

    async fn minutes(&self, since: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        Ok(self.state.lock().history.since(MinuteRecord::number(since)))
    }
}

impl<A: AdmissionTable> KeyBoard for MemoryLedger<A> {
    async fn key_record(&self) -> PortResult<KeyRecord> {
        Ok(self.state.lock().keys.record.clone())
    }
}

impl<A: AdmissionTable> Keys for MemoryLedger<A> {
    async fn publish_keys(&self, mut record: KeyRecord) -> PortResult<bool> {
        let keys = &mut self.state.lock().keys;
        if keys.record.version != record.version {
            return Ok(false);
        }
        record.version += 1;
        keys.secret.retain(|number, _| record.needs(*number));
        keys.record = record;
        Ok(true)
    }

    async fn secret_keys(&self, number: u64) -> PortResult<Option<SecretKeys>> {
        Ok(self.state.lock().keys.secret.get(&number).cloned())
    }

    async fn create_secret_keys(&self, number: u64, first: SecretKeys) -> PortResult<SecretKeys> {
        Ok(self.state.lock().keys.secret.entry(number).or_insert(first).clone())
    }
}

impl<A: AdmissionTable> KeyAdmin for MemoryLedger<A> {
    async fn order_keys(&self, order: KeyOrder, who: Author) -> PortResult<Result<KeyRecord, KeyRefusal>> {
        let now = self.line.now();
        let mut state = self.state.lock();
        let mut record = state.keys.record.clone();
        Ok(order.carry_out(&mut record, now).map(|change| {
            record.version += 1;
            state.keys.record = record.clone();
            state.add_entry(|number| Some(AuditEntry::beside_room(number, now, who, change)));
            record
        }))
    }
}
