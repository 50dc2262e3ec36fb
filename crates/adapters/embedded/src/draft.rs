//! One transaction, while changes are applied to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redb::{ReadableTable, WriteTransaction};
use waitroom::ports::Admitted;
use waitroom::{
    Admission, AdmittedBy, AuditEntry, AuditedChange, Author, Epoch, HelpCall, HelpCode, LineCounts,
    LineProgress, LineTotals, Place, Room, Stock, Timestamp, Token,
};

use crate::format::Format;
use crate::line::{self, LineEnd};
use crate::tables::{
    TableError, Tables, decode_admission, decode_call, encode_admission, encode_call, joined_at,
    record_slices, single, slice_key, unrecorded,
};

/// How precisely the time is kept at which visitors joined.
const PRECISION: Duration = Duration::from_secs(1);

/// The tables of one transaction, and what changes in memory after the commit.
pub(crate) struct Draft<'tx> {
    pub(crate) tables: Tables<'tx>,
    end: LineEnd,
    epoch: Epoch,
    next_ticket: Option<u64>,
    after: Committed,
}

/// What is kept of the line in memory: polls ask for it, and to count it in the file means to read all of it.
#[derive(Clone, Copy)]
pub(crate) struct LineInMemory {
    pub(crate) waiting: u64,
    /// The key for the next visitor that joins.
    pub(crate) next_in_line: u64,
    /// How many have joined in this epoch.
    pub(crate) joined: u64,
    pub(crate) progress: LineProgress,
    pub(crate) format: Format,
}

/// What changes in memory after a commit.
pub(crate) struct Committed {
    pub(crate) line: LineInMemory,
    pub(crate) begins_epoch: bool,
    pub(crate) room: Option<Arc<Room>>,
    /// How many were taken of these stocks, by their orders.
    pub(crate) taken: BTreeMap<u64, u32>,
}

impl<'tx> Draft<'tx> {
    pub(crate) fn new(transaction: &'tx WriteTransaction, epoch: Epoch, line: LineInMemory) -> Self {
        let after = Committed { line, begins_epoch: false, room: None, taken: BTreeMap::new() };
        let end = LineEnd::new(line.next_in_line);
        Self { tables: Tables::of(transaction), end, epoch, next_ticket: None, after }
    }

    /// Puts a visitor at the end of the line. Whoever comes behind a reset in the queue of changes has lost their place, as
    /// everybody has who waited.
    pub(crate) fn join(&mut self, visitor: &Place, at: Timestamp) -> Result<(), TableError> {
        if visitor.epoch != self.epoch {
            return Ok(());
        }
        if self.next_ticket.is_none() {
            // The first of this transaction. Those after it join within the same second.
            self.record_join_time(at)?;
        }
        self.end.push(visitor, self.tables.line()?)?;
        self.after.line.waiting += 1;
        self.after.line.joined += 1;
        // Stored, so that only higher numbers are leased after a crash.
        self.next_ticket = self.next_ticket.max(Some(visitor.ticket.get() + 1));
        Ok(())
    }

    /// Counts somebody who goes straight in as one who has joined and was released.
    pub(crate) fn count_straight(&mut self) -> Result<(), TableError> {
        self.after.line.joined += 1;
        self.tables.write(single::JOINED, &self.after.line.joined)?;
        let progress = self.progress()?;
        self.set_progress(LineProgress { released: progress.released + 1, ..progress })
    }

    /// Writes those who have joined so far. Before any change that is not a join, because it may look at the line.
    pub(crate) fn line_up(&mut self) -> Result<(), TableError> {
        if self.end.has_gathered() { self.end.write(self.tables.line()?) } else { Ok(()) }
    }

    /// Removes those with these keys from the line.
    pub(crate) fn leave(&mut self, keys: Vec<u64>) -> Result<(), TableError> {
        let left = line::remove(self.tables.line()?, keys)?;
        self.after.line.waiting = self.after.line.waiting.saturating_sub(left);
        Ok(())
    }

    /// The admission that somebody has already.
    fn admission(&mut self, token: Token) -> Result<Option<Admission>, TableError> {
        let record = self.tables.admission()?.get(token.as_bytes())?;
        record.map(|record| decode_admission(record.value())).transpose()
    }

    /// Writes an admission, for a token that has none.
    fn write_admission(&mut self, token: Token, admission: &Admission) -> Result<(), TableError> {
        let token = token.as_bytes();
        self.tables.admission()?.insert(token, encode_admission(admission).as_slice())?;
        let delete_after = admission.expires.max(admission.at + Place::MAX_AGE);
        self.tables.expiry()?.insert((delete_after.as_millis(), *token), ())?;
        match admission.by {
            AdmittedBy::Slice(slice) => {
                let key = slice_key(slice);
                let found = self.tables.slice()?.get(key)?.map(|record| record.value());
                if let Some((consumer_run, recorded, admitted)) = found {
                    self.tables.slice()?.insert(key, (consumer_run, recorded, admitted + 1))?;
                }
            }
            AdmittedBy::Permit => self.count_straight()?,
            AdmittedBy::Door => {}
        }
        Ok(())
    }

    pub(crate) fn admit(&mut self, token: Token, admission: &Admission) -> Result<Admitted, TableError> {
        if let Some(before) = self.admission(token)? {
            return Ok(Admitted::Before(before));
        }
        self.write_admission(token, admission)?;
        Ok(Admitted::Now)
    }

    /// The same for each, as long as something is left for those who have none yet.
    pub(crate) fn admit_from(
        &mut self,
        stock: Stock,
        visitors: &[(Token, Admission)],
    ) -> Result<Vec<Option<Admitted>>, TableError> {
        let mut taken = self.tables.stock()?.get(stock.order)?.map_or(0, |taken| taken.value());
        let mut answers = Vec::with_capacity(visitors.len());
        for (token, admission) in visitors {
            answers.push(if taken < stock.size.get() {
                let admitted = self.admit(*token, admission)?;
                taken += u32::from(admitted == Admitted::Now);
                Some(admitted)
            } else {
                self.admission(*token)?.map(Admitted::Before)
            });
        }
        self.tables.stock()?.insert(stock.order, taken)?;
        self.after.taken.insert(stock.order, taken);
        Ok(answers)
    }

    /// The call for help with this code.
    pub(crate) fn call(&mut self, code: HelpCode) -> Result<Option<HelpCall>, TableError> {
        let record = self.tables.help()?.get(code.digits().as_str())?;
        record.map(|record| decode_call(code, record.value())).transpose()
    }

    /// Keeps the call, unless another visitor has its code.
    pub(crate) fn note_call(&mut self, call: &HelpCall) -> Result<bool, TableError> {
        let is_free = self.call(call.code)?.is_none_or(|before| before.gives_way_to(call));
        if is_free {
            self.tables.help()?.insert(call.code.digits().as_str(), encode_call(call).as_slice())?;
        }
        Ok(is_free)
    }

    /// Admits whoever asked for help, with an entry of the audit trail, and takes one of this stock.
    pub(crate) fn let_in(
        &mut self,
        call: &HelpCall,
        admission: &Admission,
        stock: Option<Stock>,
        who: Author,
    ) -> Result<Option<Admitted>, TableError> {
        let token = call.place.token;
        let answer = match stock {
            Some(stock) => self.admit_from(stock, &[(token, *admission)])?.pop().flatten(),
            None => Some(self.admit(token, admission)?),
        };
        if answer == Some(Admitted::Now) {
            self.tables.push_entry(|number| {
                AuditEntry::beside_room(number, admission.at, who, AuditedChange::let_in(call))
            })?;
        }
        Ok(answer)
    }

    /// Records when visitors join, at most once a second.
    fn record_join_time(&mut self, at: Timestamp) -> Result<(), TableError> {
        let (first, times) = (self.end.next(), self.tables.joined_at()?);
        let last = joined_at(times, first)?;
        if last.is_some_and(|last| (last..last + PRECISION).contains(&at)) {
            return Ok(());
        }
        // An empty line that is opened again begins with the lowest key, and older records may have higher keys.
        times.retain_in(first.., |_, _| false)?;
        times.insert(first, at.as_millis())?;
        Ok(())
    }

    /// The room, if an earlier change in this transaction wrote it.
    pub(crate) fn room(&self) -> Option<Arc<Room>> {
        self.after.room.clone()
    }

    pub(crate) fn set_room(&mut self, room: &Arc<Room>) -> Result<(), TableError> {
        self.tables.write(single::ROOM, &**room)?;
        self.epoch = room.epoch;
        self.after.room = Some(room.clone());
        Ok(())
    }

    /// Writes the closing record of whom `before` has counted. `entered` is counted only in memory.
    pub(crate) fn close_count(
        &mut self,
        before: &Room,
        at: Timestamp,
        entered: u64,
    ) -> Result<(), TableError> {
        let progress = self.progress()?;
        let counts = LineCounts {
            joined: self.after.line.joined,
            released: progress.released.saturating_add(unrecorded(self.tables.slice()?)?),
            entered: Some(if self.after.begins_epoch { 0 } else { entered }),
            waiting: self.after.line.waiting,
        };
        let stored = self.tables.read(single::NEXT_TICKET)?.unwrap_or(1);
        self.tables.close(LineTotals::of(before, at, counts), self.next_ticket.unwrap_or(1).max(stored))
    }

    /// The line's progress, with what this transaction has changed of it.
    pub(crate) fn progress(&mut self) -> Result<LineProgress, TableError> {
        Ok(self.tables.read(single::PROGRESS)?.unwrap_or_default())
    }

    /// Whether this plan is of the room's epoch. What slices of an older one have reached says nothing of its line.
    pub(crate) fn is_of_epoch(&mut self, plan: u64) -> Result<bool, TableError> {
        let last_before: Option<u64> = self.tables.read(single::LAST_PLAN_BEFORE_EPOCH)?;
        Ok(last_before.is_none_or(|last| last < plan))
    }

    pub(crate) fn set_progress(&mut self, progress: LineProgress) -> Result<(), TableError> {
        self.tables.write(single::PROGRESS, &progress)?;
        self.after.line.progress = progress;
        Ok(())
    }

    /// Records what slices have released. Returns how many they hadn't recorded. No slice may run.
    pub(crate) fn record_slices(&mut self) -> Result<u64, TableError> {
        let more = unrecorded(self.tables.slice()?)?;
        record_slices(self.tables.slice()?)?;
        Ok(more)
    }

    /// Empties the line and stores `room`, which has a new epoch. Returns how many visitors were in the line.
    pub(crate) fn begin_epoch(&mut self, room: &Arc<Room>) -> Result<u64, TableError> {
        let waiting = self.after.line.waiting;
        self.tables.line()?.retain(|_, _| false)?;
        // Running slices go on in a new epoch. Whom they have admitted so far belongs to the old one.
        record_slices(self.tables.slice()?)?;
        // Tickets that slices of the old epoch have reached must not count in the new one.
        let last_plan = self.tables.plan()?.last()?.map_or(0, |(number, _)| number.value());
        self.tables.write(single::LAST_PLAN_BEFORE_EPOCH, &last_plan)?;
        self.tables.write(single::NEXT_TICKET, &1)?;
        self.tables.write(single::JOINED, &0)?;
        self.next_ticket = None;
        (self.after.line.waiting, self.after.line.joined) = (0, 0);
        self.after.begins_epoch = true;
        self.set_progress(LineProgress::default())?;
        self.set_room(room)?;
        Ok(waiting)
    }

    pub(crate) fn finish(mut self) -> Result<Committed, TableError> {
        if let Some(next) = self.next_ticket {
            self.line_up()?;
            if self.tables.read::<u64>(single::NEXT_TICKET)?.is_none_or(|stored| stored < next) {
                self.tables.write(single::NEXT_TICKET, &next)?;
            }
            self.tables.write(single::JOINED, &self.after.line.joined)?;
            if self.after.line.format != Format::CURRENT {
                // From here on, a program of before must not read it.
                self.tables.write(single::FORMAT, &Format::CURRENT)?;
                self.after.line.format = Format::CURRENT;
            }
        }
        self.after.line.next_in_line = self.end.next();
        Ok(self.after)
    }
}
