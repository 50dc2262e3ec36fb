//! One transaction, while changes are applied to it.

use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};
use waitroom::{AuditEntry, AuditNote, LineProgress, Room, Timestamp};

use crate::tables::{TableError, Tables, single, to_json};

/// The tables of one transaction, and what changes in memory after the commit.
pub(crate) struct Draft<'tx> {
    pub(crate) tables: Tables<'tx>,
    /// The key for the next visitor that joins.
    pub(crate) next_in_line: u64,
    next_ticket: Option<u64>,
    begins_epoch: bool,
    room: Option<Arc<Room>>,
    progress: Option<LineProgress>,
}

/// What changes in memory after a commit.
pub(crate) struct Committed {
    pub(crate) waiting: u64,
    pub(crate) next_in_line: u64,
    pub(crate) begins_epoch: bool,
    pub(crate) room: Option<Arc<Room>>,
    pub(crate) progress: Option<LineProgress>,
}

impl<'tx> Draft<'tx> {
    pub(crate) fn new(transaction: &'tx WriteTransaction, next_in_line: u64) -> Result<Self, TableError> {
        let tables = Tables::open(transaction)?;
        Ok(Self { tables, next_in_line, next_ticket: None, begins_epoch: false, room: None, progress: None })
    }

    /// Stores that this ticket was used, so that only higher numbers are leased after a crash.
    pub(crate) fn ticket_used(&mut self, ticket: u64) {
        self.next_ticket = self.next_ticket.max(Some(ticket + 1));
    }

    /// The room, if an earlier change in this transaction wrote it.
    pub(crate) fn room(&self) -> Option<Arc<Room>> {
        self.room.clone()
    }

    pub(crate) fn set_room(&mut self, room: &Arc<Room>) -> Result<(), TableError> {
        self.tables.write(single::ROOM, &**room)?;
        self.room = Some(room.clone());
        Ok(())
    }

    /// Writes the entry of the audit trail for this change, and removes the oldest entries.
    pub(crate) fn add_entry(
        &mut self,
        note: &AuditNote,
        at: Timestamp,
        before: &Room,
        after: &Room,
    ) -> Result<(), TableError> {
        let number = self.tables.audit.last()?.map_or(1, |(last, _)| last.value() + 1);
        let Some(entry) = note.entry(number, at, before, after) else { return Ok(()) };
        self.tables.audit.insert(number, to_json(&entry)?.as_slice())?;
        while self.tables.audit.len()? > AuditEntry::KEPT.into() {
            self.tables.audit.pop_first()?;
        }
        Ok(())
    }

    pub(crate) fn set_progress(&mut self, progress: LineProgress) -> Result<(), TableError> {
        self.tables.write(single::PROGRESS, &progress)?;
        self.progress = Some(progress);
        Ok(())
    }

    /// Empties the line and stores `room`, which has a new epoch. Returns how many visitors were in the line.
    pub(crate) fn begin_epoch(&mut self, room: &Arc<Room>) -> Result<u64, TableError> {
        let waiting = self.tables.line.len()?;
        self.tables.line.retain(|_, _| false)?;
        // Slices of the old epoch may still record. Their records must not count in the new one.
        let last_plan = self.tables.plan.last()?.map_or(0, |(number, _)| number.value());
        self.tables.write(single::LAST_PLAN_BEFORE_EPOCH, &last_plan)?;
        self.tables.write(single::NEXT_TICKET, &1)?;
        self.next_ticket = None;
        self.begins_epoch = true;
        self.set_progress(LineProgress::default())?;
        self.set_room(room)?;
        Ok(waiting)
    }

    pub(crate) fn finish(mut self) -> Result<Committed, TableError> {
        if let Some(next) = self.next_ticket
            && self.tables.read::<u64>(single::NEXT_TICKET)?.is_none_or(|stored| stored < next)
        {
            self.tables.write(single::NEXT_TICKET, &next)?;
        }
        Ok(Committed {
            waiting: self.tables.line.len()?,
            next_in_line: self.next_in_line,
            begins_epoch: self.begins_epoch,
            room: self.room,
            progress: self.progress,
        })
    }
}
