//! One transaction, while changes are applied to it.

use std::sync::Arc;
use std::time::Duration;

use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};
use waitroom::{AuditEntry, AuditNote, Epoch, LineCounts, LineProgress, LineTotals, Place, Room, Timestamp};

use crate::tables::{
    TableError, Tables, encode_waiting, joined_at, record_slices, single, to_json, unrecorded,
};

/// How precisely the time is kept at which visitors joined.
const PRECISION: Duration = Duration::from_secs(1);

/// The tables of one transaction, and what changes in memory after the commit.
pub(crate) struct Draft<'tx> {
    pub(crate) tables: Tables<'tx>,
    epoch: Epoch,
    next_ticket: Option<u64>,
    after: Committed,
}

/// What changes in memory after a commit.
pub(crate) struct Committed {
    pub(crate) waiting: u64,
    /// The key for the next visitor that joins.
    pub(crate) next_in_line: u64,
    pub(crate) joined: u64,
    pub(crate) begins_epoch: bool,
    pub(crate) room: Option<Arc<Room>>,
    pub(crate) progress: Option<LineProgress>,
}

impl<'tx> Draft<'tx> {
    /// `joined` is how many have joined before in this epoch.
    pub(crate) fn new(
        transaction: &'tx WriteTransaction,
        epoch: Epoch,
        next_in_line: u64,
        joined: u64,
    ) -> Result<Self, TableError> {
        let (waiting, begins_epoch, room, progress) = (0, false, None, None);
        let after = Committed { waiting, next_in_line, joined, begins_epoch, room, progress };
        Ok(Self { tables: Tables::open(transaction)?, epoch, next_ticket: None, after })
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
        self.tables.line.insert(self.after.next_in_line, encode_waiting(visitor).as_slice())?;
        self.after.next_in_line += 1;
        self.after.joined += 1;
        // Stored, so that only higher numbers are leased after a crash.
        self.next_ticket = self.next_ticket.max(Some(visitor.ticket.get() + 1));
        Ok(())
    }

    /// Records when visitors join, at most once a second.
    fn record_join_time(&mut self, at: Timestamp) -> Result<(), TableError> {
        let first = self.after.next_in_line;
        let last = joined_at(&self.tables.joined_at, first)?;
        if last.is_some_and(|last| (last..last + PRECISION).contains(&at)) {
            return Ok(());
        }
        // An empty line that is opened again begins with the lowest key, and older records may have higher keys.
        self.tables.joined_at.retain_in(first.., |_, _| false)?;
        self.tables.joined_at.insert(first, at.as_millis())?;
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

    /// Writes the entry of the audit trail for this change of the room.
    pub(crate) fn add_entry(
        &mut self,
        note: &AuditNote,
        at: Timestamp,
        before: &Room,
        after: &Room,
    ) -> Result<(), TableError> {
        let Some(entry) = note.entry(self.next_entry()?, at, before, after) else { return Ok(()) };
        self.push_entry(|_| entry)
    }

    /// Writes an entry of the audit trail, and removes the oldest entries. It gets the entry's number.
    pub(crate) fn push_entry(&mut self, entry: impl FnOnce(u64) -> AuditEntry) -> Result<(), TableError> {
        let entry = entry(self.next_entry()?);
        self.tables.audit.insert(entry.number, to_json(&entry)?.as_slice())?;
        self.tables.forget_old_entries()
    }

    fn next_entry(&self) -> Result<u64, TableError> {
        Ok(self.tables.audit.last()?.map_or(1, |(last, _)| last.value() + 1))
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
            joined: self.after.joined,
            released: progress.released.saturating_add(unrecorded(&self.tables.slice)?),
            entered: Some(if self.after.begins_epoch { 0 } else { entered }),
            waiting: self.tables.line.len()?,
        };
        let stored = self.tables.read(single::NEXT_TICKET)?.unwrap_or(1);
        self.tables.close(LineTotals::of(before, at, counts), self.next_ticket.unwrap_or(1).max(stored))
    }

    /// The line's progress, with what this transaction has changed of it.
    pub(crate) fn progress(&self) -> Result<LineProgress, TableError> {
        Ok(self.tables.read(single::PROGRESS)?.unwrap_or_default())
    }

    /// Whether this plan is of the room's epoch. What slices of an older one have reached says nothing of its line.
    pub(crate) fn is_of_epoch(&self, plan: u64) -> Result<bool, TableError> {
        let last_before: Option<u64> = self.tables.read(single::LAST_PLAN_BEFORE_EPOCH)?;
        Ok(last_before.is_none_or(|last| last < plan))
    }

    pub(crate) fn set_progress(&mut self, progress: LineProgress) -> Result<(), TableError> {
        self.tables.write(single::PROGRESS, &progress)?;
        self.after.progress = Some(progress);
        Ok(())
    }

    /// Empties the line and stores `room`, which has a new epoch. Returns how many visitors were in the line.
    pub(crate) fn begin_epoch(&mut self, room: &Arc<Room>) -> Result<u64, TableError> {
        let waiting = self.tables.line.len()?;
        self.tables.line.retain(|_, _| false)?;
        // Running slices go on in a new epoch. Whom they have admitted so far belongs to the old one.
        record_slices(&mut self.tables.slice)?;
        // Tickets that slices of the old epoch have reached must not count in the new one.
        let last_plan = self.tables.plan.last()?.map_or(0, |(number, _)| number.value());
        self.tables.write(single::LAST_PLAN_BEFORE_EPOCH, &last_plan)?;
        self.tables.write(single::NEXT_TICKET, &1)?;
        self.tables.write(single::JOINED, &0)?;
        (self.next_ticket, self.after.joined) = (None, 0);
        self.after.begins_epoch = true;
        self.set_progress(LineProgress::default())?;
        self.set_room(room)?;
        Ok(waiting)
    }

    pub(crate) fn finish(mut self) -> Result<Committed, TableError> {
        if let Some(next) = self.next_ticket {
            if self.tables.read::<u64>(single::NEXT_TICKET)?.is_none_or(|stored| stored < next) {
                self.tables.write(single::NEXT_TICKET, &next)?;
            }
            self.tables.write(single::JOINED, &self.after.joined)?;
        }
        Ok(Committed { waiting: self.tables.line.len()?, ..self.after })
    }
}
