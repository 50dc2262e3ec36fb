//! The operator's changes, and what a deployment writes.
//!
//! The item `room` has the operator's settings for the functions. The sixteen items `status` have them for polls. All
//! are written in one transaction, so that polls and functions never disagree.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::purge_queue::PurgeQueueError;
use clock::SystemClock;
use futures_util::future;
use waitroom::ports::{Clock, Fault, LineLength, PortError, PortResult, RoomAdmin, StockCount};
use waitroom::{
    AuditEntry, AuditNote, AuditSubject, Author, Epoch, Room, Stock, Timestamp, ValveSchedule, with_causes,
};

use crate::AwsStore;
use crate::expressions::{self, Statement};
use crate::items::{Item, ProgressItem, encode_entry, item, number};
use crate::keys::Key;
use crate::retry::with_retries;
use crate::room_item::{
    absent_from_room, absent_from_status, encode_first_status, encode_room, encode_status,
};
use crate::table::{Write, Written};

/// How often a change is attempted while other writes change the room or publish its progress.
const ATTEMPTS: u32 = 8;

/// For up to a minute after the request, SQS may purge messages that arrive in the meantime.
const PURGE_TIME: Duration = Duration::from_mins(1);

/// How far behind the clocks of functions may be. Whom one admits right after a reset keeps the admission.
const CLOCKS_APART: Duration = Duration::from_secs(2);

/// After this time, a reset that has emptied the line before has also started its epoch, unless it was interrupted.
const RESET_TIME: Duration = PURGE_TIME.saturating_add(Duration::from_secs(10));

/// Completes "could not …", after the line was emptied.
const NEW_EPOCH: &str =
    "start a new epoch for the emptied line, so nobody who waited can enter until you run `reset` again";

/// A reset that took longer was asleep: its laptop was closed. Whoever has joined since would lose a place that nobody meant.
const LONGEST_RESET: Duration = Duration::from_mins(5);

/// Why a reset isn't carried out, or not to its end.
#[derive(Debug, thiserror::Error)]
enum ResetRefusal {
    #[error("this machine slept meanwhile; nothing was changed")]
    Slept,
    #[error(
        "this machine slept meanwhile, and the line was emptied {} minutes ago; whoever has joined since keeps their place until you reset again",
        .0.as_secs() / 60
    )]
    SleptAfter(Duration),
    #[error("somebody else has reset the room meanwhile; look at `beekeeper status` before you reset again")]
    AnotherEpoch,
}

/// What is written in the same transaction as a change of the room.
struct Others {
    status: fn(u8, &Room) -> Item,
    writes: Vec<(Key, Statement)>,
    /// How many waited before the line was emptied.
    waited: Option<u64>,
}

impl Others {
    fn none() -> Self {
        Self { status: encode_status, writes: Vec::new(), waited: None }
    }
}

/// Changes of one room that may have been written, although their answers were lost. Each is tried as of another instant: an order
/// whose write took ten seconds would be in force from ten seconds ago, when visitors were still let in by the one before.
#[derive(Default)]
struct Unanswered(Vec<(Room, Room, PortError)>);

impl Unanswered {
    const MOST: usize = 3;

    /// Ends with the change that was written, if the room that was `read` since says so. Goes on if it may be tried again.
    fn judge(&mut self, read: PortResult<(Room, u64)>) -> PortResult<ControlFlow<(Room, Room), (Room, u64)>> {
        let Some((before, _, error)) = self.0.last() else { return read.map(ControlFlow::Continue) };
        let Ok((room, entry)) = read else { return Err(error.clone()) };
        if let Some(written) = self.0.iter().position(|(_, after, _)| *after == room) {
            let (before, after, _) = self.0.swap_remove(written);
            return Ok(ControlFlow::Break((before, after)));
        }
        // Somebody else has changed it, before this change or after it.
        if before.version != room.version || self.0.len() == Self::MOST {
            return Err(error.clone());
        }
        Ok(ControlFlow::Continue((room, entry)))
    }
}

impl AwsStore {
    /// Creates every item that a room needs and that is missing. Returns the stored room: `first`, or the room that
    /// already existed.
    pub async fn create_room(&self, first: &Room) -> PortResult<Room> {
        let attempt = "put the room into the ledger";
        self.table.put(attempt, encode_room(first), expressions::if_absent()).await?;
        let room = self.read_room(attempt).await?;
        let tickets = item(Key::Tickets, [("last", number(0u64))]);
        let statuses = Key::STATUS.map(|digit| encode_first_status(digit, &room));
        let puts = statuses
            .chain([ProgressItem::default().encode(), tickets])
            .map(|item| self.table.put(attempt, item, expressions::if_absent()));
        for put in future::join_all(puts).await {
            put?;
        }
        Ok(room)
    }

    /// Changes the room without an entry in the audit trail, and returns it before and after.
    ///
    /// The closure may be retried after a concurrent change, so it must be idempotent: it sets values, as in "paused".
    pub async fn change_room(
        &self,
        attempt: &'static str,
        change: impl Fn(&mut Room) + Send,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        self.alter(attempt, None, change, Others::none()).await
    }

    /// Ends the room, because this stock is sold. Whoever may do this may also write the status.
    pub(crate) async fn sell_out(&self, stock: Stock) -> PortResult<()> {
        let end = |room: &mut Room| _ = room.sell_out(stock);
        let note = Some(AuditNote::sold_out());
        self.alter("end the room, which is sold out", note, end, Others::none()).await.map(drop)
    }

    /// Empties the line and starts a new epoch. Visitors who waited are newcomers then, and tickets start at 1. Returns
    /// approximately how many lost their places.
    ///
    /// This takes a minute, and the room stays in the old epoch until then. Otherwise the purge could remove visitors
    /// of the new epoch.
    pub async fn reset(&self, epoch: Epoch, who: Author, clock: &impl Clock) -> PortResult<u64> {
        let before = self.read_room("reset the room").await?.epoch;
        let waiting = self.line.waiting().await?;
        self.purge(before, clock).await?;
        let emptied = clock.now();
        clock.sleep_until(emptied + PURGE_TIME).await;
        let since = clock.now().since(emptied);
        if since > LONGEST_RESET {
            return Err(PortError::broken(NEW_EPOCH)(ResetRefusal::SleptAfter(since)));
        }
        if self.read_room(NEW_EPOCH).await?.epoch != before {
            return Err(PortError::broken(NEW_EPOCH)(ResetRefusal::AnotherEpoch));
        }
        let set_epoch = |room: &mut Room| room.start_epoch(epoch, self.now() - CLOCKS_APART);
        let others = Others {
            status: encode_first_status,
            writes: vec![
                (Key::Progress, expressions::reset_progress()),
                (Key::Tickets, expressions::reset_tickets()),
                (Key::Permits, expressions::reset_permits()),
            ],
            waited: Some(waiting),
        };
        let note = Some(AuditNote::new(who, AuditSubject::Reset));
        self.alter(NEW_EPOCH, note, set_epoch, others).await.map_err(|error| match error.fault {
            Fault::Unsure => {
                let cause = error.source().map(with_causes).unwrap_or_default();
                let cause =
                    format!("{cause}; if it hasn't, nobody who waited can enter until you reset again");
                PortError::new(NEW_EPOCH, Fault::Unsure, cause)
            }
            Fault::Busy | Fault::Broken => error,
        })?;
        Ok(waiting)
    }

    /// SQS refuses to purge a queue twice within a minute. Another reset may have done so just now. It's left to start its epoch: a
    /// second purge would remove those who join then.
    async fn purge(&self, epoch: Epoch, clock: &impl Clock) -> PortResult<()> {
        const ATTEMPT: &str = "empty the line";
        let refuse = |why| Err(PortError::broken(ATTEMPT)(why));
        let purge = self.line.queues.client.purge_queue().queue_url(&self.line.queues.url);
        let mut waits = 2;
        let begun = clock.now();
        loop {
            match with_retries(|| purge.clone().send()).await {
                Err(failure) if waits > 0 && is_purged(&failure.error) => waits -= 1,
                purged => {
                    return purged.map(drop).map_err(|failure| failure.into_port_error(ATTEMPT));
                }
            }
            clock.sleep_until(clock.now() + RESET_TIME).await;
            if clock.now().since(begun) > LONGEST_RESET {
                return refuse(ResetRefusal::Slept);
            }
            if self.read_room(ATTEMPT).await?.epoch != epoch {
                return refuse(ResetRefusal::AnotherEpoch);
            }
        }
    }

    async fn alter(
        &self,
        attempt: &'static str,
        note: Option<AuditNote>,
        change: impl Fn(&mut Room) + Send,
        others: Others,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        let (mut busy, mut unanswered) = (None, Unanswered::default());
        for _ in 0..ATTEMPTS {
            let read = self.read_room_and_trail(attempt).await;
            let (before, last_entry) = match unanswered.judge(read)? {
                ControlFlow::Continue(read) => read,
                ControlFlow::Break((before, after)) => return Ok((Arc::new(before), Arc::new(after))),
            };
            let now = self.now();
            let after = before.changed(now, ValveSchedule::LEAD_TIME_OF_FUNCTIONS, &change);
            let mut writes: Vec<_> =
                others.writes.iter().map(|(key, update)| Write::Update(*key, update.clone())).collect();
            if after.counts_apart(&before) {
                writes.push(self.close_count(attempt, &before, after.version, others.waited).await?);
            }
            writes.extend(write_with_entry(attempt, note.as_ref(), last_entry, now, (&before, &after))?);
            // Pages of a stock that begins, or goes on, know at once how many are left.
            let left = if after.stock == before.stock { None } else { self.left_in(&after).await? };
            writes.extend(Key::STATUS.map(|digit| {
                let (mut item, absent) = ((others.status)(digit, &after), absent_from_status(&after));
                item.extend(left.map(|left| ("left".to_owned(), number(left))));
                Write::Update(Key::Status(digit), expressions::set(&item, &absent, None))
            }));
            let written = self.table.write_together_until_unsure(attempt, writes).await;
            if may_be_done(&written) {
                self.start_trigger_after(&before, &after).await;
            }
            match written {
                Ok(true) => return Ok((Arc::new(before), Arc::new(after))),
                // Another change came first. Read the room again and repeat the change.
                Ok(false) => {}
                Err(error) => match error.fault {
                    Fault::Busy => busy = Some(error),
                    Fault::Unsure => unanswered.0.push((before, after, error)),
                    Fault::Broken => return Err(unanswered.0.pop().map_or(error, |(.., unsure)| unsure)),
                },
            }
        }
        let conflict = "other writes keep changing the room, or items are missing from the ledger; retry, or deploy again with a changed setting";
        let unsure = unanswered.0.pop().map(|(.., error)| error);
        Err(unsure.or(busy).unwrap_or_else(|| PortError::new(attempt, Fault::Busy, conflict)))
    }

    /// Changes the room for the throttle, the door or the trigger. They may not write the status; whoever publishes it
    /// next writes the rate in force.
    pub(crate) async fn alter_for_functions(
        &self,
        attempt: &'static str,
        note: Option<AuditNote>,
        change: impl Fn(&mut Room) + Send,
    ) -> PortResult<()> {
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let (before, last_entry) = self.read_room_and_trail(attempt).await?;
            let now = self.now();
            let after = before.changed(now, ValveSchedule::LEAD_TIME_OF_FUNCTIONS, &change);
            if after.is_unchanged(&before) {
                // What was refused had been written, and the answer was lost.
                if let Some((first, written)) = refused.filter(|(_, written)| *written == before) {
                    self.start_trigger_after(&first, &written).await;
                }
                return Ok(());
            }
            let mut writes = write_with_entry(attempt, note.as_ref(), last_entry, now, (&before, &after))?;
            let written = if writes.len() > 1 {
                self.table.write_together(attempt, writes).await
            } else {
                // Most changes have no entry, and a transaction costs twice as much.
                let Some(Write::Update(key, update)) = writes.pop() else { break };
                let updated = self.table.update(attempt, key, update).await;
                updated.map(|written| matches!(written, Written::Done(_)))
            };
            if may_be_done(&written) {
                self.start_trigger_after(&before, &after).await;
            }
            if written? {
                return Ok(());
            }
            refused = Some((before, after));
        }
        Err(PortError::new(attempt, Fault::Busy, "other writes keep changing the room"))
    }

    /// Starts the trigger if this change of the room changed the valve. If that fails, the schedule starts it within a minute.
    async fn start_trigger_after(&self, before: &Room, after: &Room) {
        let Some(trigger) = self.trigger.as_ref().filter(|_| before.valves != after.valves) else { return };
        if let Err(error) = trigger.start_trigger().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "could not start the trigger; its next scheduled run plans the change, which is written"
            );
        }
    }
}

impl RoomAdmin for AwsStore {
    async fn change(
        &self,
        attempt: &'static str,
        note: AuditNote,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        self.alter(attempt, Some(note), change, Others::none()).await
    }

    async fn start_epoch(&self, epoch: Epoch, who: Author) -> PortResult<u64> {
        self.reset(epoch, who, &SystemClock).await
    }
}

/// Whether it was written, as far as anybody knows.
fn may_be_done(written: &PortResult<bool>) -> bool {
    written.as_ref().map_or_else(|error| error.fault == Fault::Unsure, |written| *written)
}

/// Writes the room, and the entry of the audit trail if there is one.
fn write_with_entry(
    attempt: &'static str,
    note: Option<&AuditNote>,
    last_entry: u64,
    now: Timestamp,
    (before, after): (&Room, &Room),
) -> PortResult<Vec<Write>> {
    let next = last_entry.saturating_add(1);
    let entry = note.and_then(|note| note.entry(next, now, before, after));
    writes(attempt, (before, after), entry.as_ref())
}

fn writes(
    attempt: &'static str,
    (before, after): (&Room, &Room),
    entry: Option<&AuditEntry>,
) -> PortResult<Vec<Write>> {
    let mut writes =
        vec![Write::Update(Key::Room, write_room(before, after, entry.map(|entry| entry.number)))];
    if let Some(entry) = entry {
        let item = encode_entry(entry).map_err(PortError::broken(attempt))?;
        writes.push(Write::Update(Key::Audit(entry.number), expressions::replace(&item)));
    }
    Ok(writes)
}

/// Writes an entry about something beside the room, of which only the version changes.
pub(crate) fn writes_beside_room(
    attempt: &'static str,
    room: &Room,
    entry: &AuditEntry,
) -> PortResult<Vec<Write>> {
    let after = Room { version: room.version.saturating_add(1), ..room.clone() };
    writes(attempt, (room, &after), Some(entry))
}

/// SQS says `AWS.SimpleQueueService.PurgeQueueInProgress` in one of its protocols, and without what is before the name in others.
fn is_purged(error: &SdkError<PurgeQueueError>) -> bool {
    error.code().is_some_and(|code| code.ends_with("PurgeQueueInProgress"))
}

/// Writes the room, unless somebody else has changed it. `last_entry` is the number of a new entry of the audit trail.
pub(crate) fn write_room(before: &Room, after: &Room, last_entry: Option<u64>) -> Statement {
    let mut item = encode_room(after);
    item.extend(last_entry.map(|last| ("last_entry".to_owned(), number(last))));
    expressions::set(&item, &absent_from_room(after), Some(before.version))
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, fixture};

    use super::*;

    fn room() -> Room {
        fixture::room(300)
    }

    fn update(before: &Room, after: &Room) -> String {
        write_room(before, after, None).update
    }

    #[test]
    fn a_change_writes_the_whole_room_and_removes_what_it_does_not_have() {
        let held = Room { throttled: Some(Rate::MIN), ..room() };
        let ahead = "#opens, #closes, #ends, #then_off, #stock, #extra, #notice, #link";
        assert!(update(&held, &room()).ends_with(&format!(
            "REMOVE #health, #mode, #oversubscribe, #edge, #active_visitors, #idle_seconds, #session_seconds, #epoch_began, {ahead}, #throttled, #turnout, #while_full, #report_key, #highest_rate, #valves, #rehearsal"
        )));
        let update = update(&room(), &held);
        assert!(
            update.contains("#throttled = :throttled")
                && update.ends_with(&format!(
                    "REMOVE #health, #mode, #oversubscribe, #edge, #active_visitors, #idle_seconds, #session_seconds, #epoch_began, {ahead}, #turnout, #while_full, #report_key, #highest_rate, #valves, #rehearsal"
                )),
            "{update}"
        );
    }

    #[test]
    fn a_change_is_written_with_its_entry() {
        let slower = Room { throttled: Some(Rate::MIN), ..room() };
        let written = |note: Option<&AuditNote>, after: &Room| -> Vec<String> {
            let writes = write_with_entry("test", note, 500, Timestamp::default(), (&room(), after)).unwrap();
            let shown = writes.into_iter().map(|write| match write {
                Write::Update(key, statement) => format!("{key}: {}", statement.update),
                Write::Put(..) => panic!("operators and the throttle may only update"),
            });
            shown.collect()
        };
        let [room_item, entry] = &*written(Some(&AuditNote::throttle()), &slower) else {
            panic!("two writes")
        };
        assert!(room_item.contains("#last_entry = :last_entry"), "{room_item}");
        assert_eq!(entry, "audit/1: SET #entry = :entry, #format = :format");
        for (note, after) in [(None, &slower), (Some(&AuditNote::throttle()), &room())] {
            let only = written(note, after);
            assert!(only.len() == 1 && !only[0].contains("last_entry"), "{only:?}");
        }
    }
}
