//! The room as functions read and mark it, the count of entries, admissions, the throttle's memory, and the audit trail.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use waitroom::ports::{
    Admissions, Admitted, AuditTrail, EntryCount, Fault, PortError, PortResult, QuietSwitch, Rescheduling,
    RoomReader, ThrottleMemory, ThrottleStore,
};
use waitroom::{Admission, AuditEntry, AuditNote, Rate, Room, Token};

use crate::AwsStore;
use crate::expressions;
use crate::items::{
    Item, decode_admission, decode_entry, decode_memory, encode_admission, encode_memory, text,
};
use crate::keys::Key;
use crate::room_item::{decode_last_entry, decode_room};
use crate::table::Written;

impl AwsStore {
    /// Reads the room from the table, not from the cache.
    pub(crate) async fn read_room(&self, attempt: &'static str) -> PortResult<Room> {
        self.read_room_and_trail(attempt).await.map(|(room, _)| room)
    }

    /// The room as it is now, and the number of the last entry of its audit trail.
    pub(crate) async fn read_room_and_trail(&self, attempt: &'static str) -> PortResult<(Room, u64)> {
        let decode = |item: &Item| Ok((decode_room(item)?, decode_last_entry(item)?));
        let (room, last_entry) = self.table.read_existing(attempt, Key::Room, decode).await?;
        Ok((Arc::unwrap_or_clone(Arc::new(room).at(self.now())), last_entry))
    }
}

impl RoomReader for AwsStore {
    async fn room(&self) -> PortResult<Arc<Room>> {
        // The cached room may have opened since.
        Ok(self.room.get(self.read_room("read the room")).await?.at(self.now()))
    }

    async fn room_now(&self) -> PortResult<Arc<Room>> {
        self.room.refresh(self.read_room("read the room")).await
    }
}

impl QuietSwitch for AwsStore {
    async fn set_quiet(&self, quiet: bool) -> PortResult<()> {
        let attempt = "mark the room as quiet or awake";
        // Polls have to know it if that turns the room off. Only the trigger marks rooms as quiet, and it may write the status.
        if quiet && self.read_room(attempt).await?.turns_off_when_quiet() {
            return self.change_room(attempt, |room| room.set_quiet(true)).await.map(drop);
        }
        let mark = |room: &mut Room| {
            // Somebody may just have ordered that. Then the next run turns it off, as above.
            if !quiet || !room.turns_off_when_quiet() {
                room.set_quiet(quiet);
            }
        };
        self.alter_for_functions(attempt, None, mark).await
    }
}

impl Rescheduling for AwsStore {
    async fn reschedule(&self) -> PortResult<()> {
        self.alter_for_functions("put in force what was ordered", None, |_| ()).await
    }
}

impl EntryCount for AwsStore {
    /// In memory, until the producer writes it as a metric.
    fn count_entry(&self) {
        self.entries.fetch_add(1, Ordering::Relaxed);
    }

    /// Many producers run at once, and only `CloudWatch` adds up what they count.
    fn entered(&self) -> Option<u64> {
        None
    }
}

impl Admissions for AwsStore {
    async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
        let decode = |item: &Item| decode_admission(token, item);
        self.table.read("read an admission", Key::Admission(token), decode).await
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        let attempt = "write an admission";
        let item = encode_admission(token, &admission);
        let before = match self.table.put(attempt, item, expressions::if_absent()).await? {
            Written::Done(_) => return Ok(Admitted::Now),
            Written::Refused(before) => {
                let deleted = || PortError::new(attempt, Fault::Busy, "the admission was deleted meanwhile");
                let before = self.table.refused_by(attempt, Key::Admission(token), before).await?;
                before.ok_or_else(deleted)?
            }
        };
        decode_admission(token, &before).map(Admitted::Before).map_err(PortError::broken(attempt))
    }

    /// A refused condition is an answer that only a table gives that would have written.
    async fn takes_admissions(&self) -> PortResult<()> {
        let nobody =
            Item::from([("id".to_owned(), text(&Key::Admission(Token::from_bytes([0; Token::BYTES])).id()))]);
        self.table.put("write an admission", nobody, expressions::never()).await.map(drop)
    }
}

impl ThrottleStore for AwsStore {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        let memory = self.table.read("read the throttle's memory", Key::Throttle, decode_memory).await;
        memory.map(Option::unwrap_or_default)
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        let attempt = "write the throttle's memory";
        let item = encode_memory(&memory).map_err(PortError::broken(attempt))?;
        let when = expressions::if_has_version(memory.version.saturating_sub(1));
        match self.table.put(attempt, item.clone(), when).await? {
            Written::Done(_) => Ok(true),
            // Written before, if the answer to that was lost. Another run found something else: at least when it measured.
            Written::Refused(found) => {
                Ok(self.table.refused_by(attempt, Key::Throttle, found).await? == Some(item))
            }
        }
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        let note = Some(AuditNote::throttle());
        self.alter_for_functions("hold the rate down", note, |room| room.throttled = rate).await
    }
}

impl AuditTrail for AwsStore {
    async fn entries(&self, most: u16) -> PortResult<Vec<AuditEntry>> {
        let attempt = "read the audit trail";
        let (_, last) = self.read_room_and_trail(attempt).await?;
        let first = last.saturating_sub(most.min(AuditEntry::KEPT).into()) + 1;
        let items = self.table.get_all(attempt, (first..=last).map(Key::Audit)).await?;
        let mut entries = Vec::new();
        for number in first..=last {
            let item = items.get(&Key::Audit(number).id());
            let entry = item
                .map(|item| decode_entry(number, item))
                .transpose()
                .map_err(PortError::broken(attempt))?;
            // An entry that was written meanwhile may already be in the place of the oldest one.
            entries.extend(entry.filter(|entry| entry.number == number));
        }
        Ok(entries)
    }
}
