//! Releases one slice of a plan.
//!
//! [`Consumer::run`] claims the slice, then releases visitors as [`Pace`] allows: it receives a batch, writes an
//! admission for each visitor, and only then removes them from the line. If it is killed between two steps, a visitor
//! is either still in the line and is delivered again, or is admitted and still in the line. In the second case the
//! next consumer that receives them finds the admission, removes them and does not count them. So nobody is lost, and
//! nobody is counted twice.

mod report;
mod tally;
mod waits;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{self, Either};
pub use report::{SliceOutcome, SliceReport};
use tally::Tally;
use tracing::Instrument;
use tracing::field::Empty;
use waitroom::ports::{
    Admissions, Admitted, Claimant, Claimed, Clock, Delivery, Fault, LineFront, LineLength, MinuteLog,
    PortError, PortResult, Receipt, RoomReader, Slices, StatusBoard,
};
use waitroom::{
    Admission, AdmittedBy, LineCount, LinePosition, LineStatus, Pace, PaceStep, Place, Room, Slice,
    Timestamp, Valve, ValveChange,
};

/// What a consumer needs of a store.
pub trait ConsumerStore:
    RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard + MinuteLog
{
}

impl<S: RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard + MinuteLog> ConsumerStore
    for S
{
}

#[derive(Debug)]
pub struct Consumer<S, C> {
    store: S,
    clock: C,
}

/// A visitor's admission, after an attempt to write it.
#[derive(Clone, Copy, Debug)]
struct FoundAdmission {
    by: AdmittedBy,
    /// The last call wrote it.
    is_new: bool,
    /// An earlier call of this attempt may have written it.
    was_unsure: bool,
}

impl<S: ConsumerStore, C: Clock> Consumer<S, C> {
    /// The longest wait for visitors or for a batch's time. The room is read again after each wait, because a change of
    /// its settings must be in force within two seconds.
    const LONGEST_WAIT: Duration = Duration::from_secs(1);
    /// The pause after an empty answer, which does not mean that the line is empty.
    const EMPTY_PAUSE: Duration = Duration::from_millis(200);
    const FAILURE_PAUSE: Duration = Duration::from_secs(1);
    /// How long reading the room may take. Every change of the valve is announced longer before it holds. So a slice that
    /// read the room no longer ago than this knows every change that holds.
    const LONGEST_READ: Duration = Duration::from_millis(500);
    /// The pause before the room is read again, if it was read too early to know the slice's valve.
    const VALVE_PAUSE: Duration = Duration::from_millis(100);
    const ATTEMPTS: u32 = 3;
    const RETRY_PAUSE: Duration = Duration::from_millis(50);

    pub fn new(store: S, clock: C) -> Self {
        Self { store, clock }
    }

    /// Claims the slice, releases it until its time is over, and logs one line that says what it did.
    pub async fn run(&self, slice: Slice, claimant: Claimant) -> PortResult<SliceOutcome> {
        // The span has the highest level, so that no log filter removes it.
        let span = tracing::error_span!(
            "slice",
            room = Empty,
            epoch = Empty,
            window = slice.id.plan,
            slice = %slice.id
        );
        let run = async {
            let outcome = self.claim_and_release(slice, claimant).await;
            report::log(slice, &outcome);
            outcome
        };
        run.instrument(span).await
    }

    async fn claim_and_release(&self, slice: Slice, claimant: Claimant) -> PortResult<SliceOutcome> {
        let mut tally = Tally::new(slice);
        let Claimed::Granted { released } = self.claim(slice, claimant, &mut tally).await? else {
            return Ok(SliceOutcome::Taken);
        };
        tally.resume(released);
        let mut pace = Pace::resumed(slice, released);
        loop {
            let asked = self.clock.now();
            let room = match self.store.room().await {
                _ if self.clock.now() >= slice.ends_at() => break,
                Ok(room) => room,
                Err(error) => {
                    self.pause_after(&error, slice, &mut tally).await;
                    continue;
                }
            };
            tally.name_in_log(&room);
            let now = self.clock.now();
            if tally.report_is_due(now) {
                self.report_in_time(&mut tally, &room).await;
                // The room may have changed while the report was written.
                continue;
            }
            self.drop_other_epochs(&mut tally, &room).await;
            if now.since(asked) > Self::LONGEST_READ {
                continue;
            }
            match room.valve_at(now) {
                ValveChange { from, .. } if from < slice.valve_from => {
                    let until = slice.valve_from.min(now + Self::LONGEST_WAIT).max(now + Self::VALVE_PAUSE);
                    self.clock.sleep_until(until).await;
                    continue;
                }
                ValveChange { from, valve: Valve::Open(_) } if from == slice.valve_from => {}
                // The next change of the valve holds, and other slices release under it.
                _ => break,
            }
            let closes = room.valves.after(slice.valve_from).map(|change| change.from);
            let (most, at) = match pace.next(now, closes) {
                PaceStep::Over => break,
                PaceStep::Wait(until) => {
                    self.clock.sleep_until(until.min(now + Self::LONGEST_WAIT)).await;
                    continue;
                }
                PaceStep::Release { most, at } => (most, at),
            };
            // Visitors received after the slice's end could not be admitted, and would be invisible to other
            // consumers for a while.
            let patience = Self::LONGEST_WAIT.min(deadline(slice, &room).since(now));
            match self.store.receive(most, patience).await {
                Ok(batch) if batch.is_empty() => {
                    tally.found_nobody(now, self.clock.now());
                    if tally.finds_nobody(self.clock.now()) {
                        pace.forfeit();
                    }
                    self.clock.sleep_until((now + Self::EMPTY_PAUSE).min(slice.ends_at())).await;
                }
                Ok(batch) => {
                    tally.found_somebody();
                    match self.room_if_open_at(at, slice).await {
                        Some(room) => self.release(batch, &room, &mut pace, &mut tally, slice).await,
                        None => {
                            tally.report.left_in_line += u32::try_from(batch.len()).unwrap_or(u32::MAX);
                        }
                    }
                }
                Err(error) => self.pause_after(&error, slice, &mut tally).await,
            }
        }
        if let Ok(room) = self.store.room().await {
            self.report(&mut tally, &room).await;
        }
        Ok(SliceOutcome::Done(tally.report))
    }

    /// Claims the slice. A repeated claim gets the same answer, so it is safe to retry when the answer was lost.
    async fn claim(&self, slice: Slice, claimant: Claimant, tally: &mut Tally) -> PortResult<Claimed> {
        loop {
            match self.store.claim(slice.id, claimant).await {
                Err(error) if self.clock.now() < slice.ends_at() => {
                    self.pause_after(&error, slice, tally).await;
                }
                answered => return answered,
            }
        }
    }

    /// Waits until `at`, and returns the room if this slice may release visitors then. `None` if its time is over, if the
    /// valve has changed since the visitors were received, or if that cannot be read in time. Then the line delivers them
    /// again.
    async fn room_if_open_at(&self, at: Timestamp, slice: Slice) -> Option<Arc<Room>> {
        for _ in 0..Self::ATTEMPTS {
            // Read before the wait, so that reading does not delay the batch.
            let asked = self.clock.now();
            let read = self.store.room().await;
            self.clock.sleep_until(at).await;
            let now = self.clock.now();
            if let Ok(room) = read
                && now.since(asked) <= Self::LONGEST_READ
            {
                let is_open = room.valve_at(now).from == slice.valve_from && now < slice.ends_at();
                return is_open.then_some(room);
            }
        }
        None
    }

    /// Removes visitors of another epoch from the line, once it is certain that the room is not in that epoch. A visitor
    /// who joins just after a `reset` may be received by a consumer that has not read the new epoch yet.
    async fn drop_other_epochs(&self, tally: &mut Tally, room: &Room) {
        let due = tally.take_set_aside(self.clock.now() - 2 * Self::LONGEST_WAIT);
        let (dropped, ours): (Vec<_>, Vec<_>) = due.into_iter().partition(|(epoch, _)| *epoch != room.epoch);
        tally.report.left_in_line += u32::try_from(ours.len()).unwrap_or(u32::MAX);
        if dropped.is_empty() {
            return;
        }
        tally.report.dropped += u32::try_from(dropped.len()).unwrap_or(u32::MAX);
        let receipts = dropped.into_iter().map(|(_, receipt)| receipt).collect();
        if let Err(error) = self.store.remove(receipts).await {
            tally.failed(&error);
        }
    }

    /// Releases one batch.
    async fn release(
        &self,
        batch: Vec<Delivery>,
        room: &Room,
        pace: &mut Pace,
        tally: &mut Tally,
        slice: Slice,
    ) {
        let mut finished = Vec::with_capacity(batch.len());
        let mut visitors: Vec<(Place, Option<Timestamp>, Vec<Receipt>)> = Vec::with_capacity(batch.len());
        for Delivery { receipt, visitor, joined } in batch {
            match visitor {
                Ok(visitor) if visitor.epoch == room.epoch => {
                    match visitors.iter_mut().find(|(known, ..)| known.token == visitor.token) {
                        Some((.., receipts)) => receipts.push(receipt),
                        None => visitors.push((visitor, joined, vec![receipt])),
                    }
                }
                Ok(visitor) => tally.set_aside(self.clock.now(), visitor.epoch, receipt),
                Err(body) => match self.store.bury(receipt, body).await {
                    Ok(()) => tally.report.dead_letters += 1,
                    Err(error) => tally.failed(&error),
                },
            }
        }

        let released_at = self.clock.now();
        let writes = visitors.iter().map(|(visitor, ..)| self.admit(visitor, room, slice));
        let written = future::join_all(writes).await;

        let mut failed = None;
        let mut answered = 0;
        let mut charged = 0;
        let mut left = Vec::with_capacity(written.len());
        for ((visitor, joined, receipts), result) in visitors.into_iter().zip(written) {
            answered += u32::from(result.is_ok());
            if !matches!(&result, Ok(found) if found.by != AdmittedBy::Slice(slice.id)) {
                tally.delivered(visitor.ticket);
            }
            match result {
                Ok(found) if found.by == AdmittedBy::Slice(slice.id) => {
                    // An earlier consumer of this slice may have died, and its admissions are counted already. So an
                    // admission that may be the earlier consumer's is not counted again.
                    let may_be_predecessors = tally.is_resumed() && !found.is_new;
                    if !may_be_predecessors || found.was_unsure {
                        charged += tally.charge(visitor.token);
                    }
                    if !may_be_predecessors {
                        tally.count(visitor.token);
                        tally.waits.see(joined, released_at);
                    }
                    left.push(visitor.ticket);
                    finished.extend(receipts);
                }
                // Admissions written by another slice are not counted.
                Ok(_) => {
                    tally.report.dropped += 1;
                    left.push(visitor.ticket);
                    finished.extend(receipts);
                }
                Err(error) => {
                    // The visitor may be admitted, so they use up quota. They are counted when the line delivers
                    // them again and the ledger confirms the admission.
                    if error.fault == Fault::Unsure {
                        charged += tally.charge(visitor.token);
                    }
                    tally.report.left_in_line += 1;
                    failed = Some(error);
                }
            }
        }
        tally.leave(left);
        if charged > 0 {
            pace.record_released(charged, released_at);
        }
        if !finished.is_empty()
            && let Err(error) = self.store.remove(finished).await
        {
            // The line delivers them again; they are found admitted and are removed then.
            tally.failed(&error);
        }
        match failed {
            // The ledger does not work: receiving more would only make more visitors invisible for a while.
            Some(error) if answered == 0 => self.pause_after(&error, slice, tally).await,
            Some(error) => tally.failed(&error),
            None => {}
        }
    }

    /// Admits one visitor, and returns their admission as the ledger has it now. Does not retry once the slice's time is
    /// over.
    async fn admit(&self, visitor: &Place, room: &Room, slice: Slice) -> PortResult<FoundAdmission> {
        let by = AdmittedBy::Slice(slice.id);
        let mut unsure = false;
        let mut attempt = 1;
        loop {
            let at = self.clock.now();
            let expires = at + room.settings.lifetimes.admission;
            let admission = Admission { ticket: visitor.ticket, by, at, expires };
            match self.store.admit(visitor.token, admission).await {
                Ok(Admitted::Now) => return Ok(FoundAdmission { by, is_new: true, was_unsure: unsure }),
                Ok(Admitted::Before(Admission { by, .. })) => {
                    return Ok(FoundAdmission { by, is_new: false, was_unsure: unsure });
                }
                Err(mut error) => {
                    unsure |= error.fault == Fault::Unsure;
                    if attempt == Self::ATTEMPTS
                        || error.fault == Fault::Broken
                        || self.clock.now() + Self::RETRY_PAUSE * attempt >= deadline(slice, room)
                    {
                        if unsure {
                            error.fault = Fault::Unsure;
                        }
                        return Err(error);
                    }
                }
            }
            self.clock.sleep_until(self.clock.now() + Self::RETRY_PAUSE * attempt).await;
            attempt += 1;
        }
    }

    /// Reports progress, but gives up after a second, because visitors wait meanwhile.
    async fn report_in_time(&self, tally: &mut Tally, room: &Room) {
        let in_time = {
            let report = pin!(self.report(tally, room));
            let timeout = pin!(self.clock.sleep_until(self.clock.now() + Self::LONGEST_WAIT));
            matches!(future::select(report, timeout).await, Either::Left(_))
        };
        if !in_time {
            tally.report.failures += 1;
        }
        tally.reported(self.clock.now());
    }

    /// Records how many the slice has released. The plan's first slice also publishes the line's status.
    async fn report(&self, tally: &mut Tally, room: &Room) {
        let written = async {
            self.store.record(tally.slice, tally.progress()).await?;
            if let Some((at, wait)) = tally.waits.take_due() {
                self.store.note_wait(at, wait).await?;
            }
            if tally.served.is_some() && tally.slice.index > 0 {
                return Ok(());
            }
            let position = self.store.position().await?;
            tally.begin_at(position.served);
            if tally.slice.index == 0 {
                self.publish(tally, room, position).await?;
            }
            PortResult::Ok(())
        };
        if let Err(error) = written.await {
            tally.failed(&error);
        }
    }

    async fn publish(&self, tally: &mut Tally, room: &Room, position: LinePosition) -> PortResult<()> {
        let now = self.clock.now();
        let count = LineCount {
            counted: self.store.waiting().await?,
            issued: self.store.issued().await?,
            found_empty: tally.finds_nobody(now),
        };
        let waiting = count.waiting(position.served, now);
        let status = LineStatus::of(room, position, waiting);
        // An unchanged status is not written again: an idle room must cost next to nothing.
        if tally.published != Some(status) {
            self.store.publish(status).await?;
            tally.published = Some(status);
        }
        Ok(())
    }

    /// Counts a failure and pauses, so that retries do not become a storm.
    async fn pause_after(&self, error: &PortError, slice: Slice, tally: &mut Tally) {
        tally.failed(error);
        let until = self.clock.now() + Self::FAILURE_PAUSE;
        self.clock.sleep_until(until.min(slice.ends_at())).await;
    }
}

/// Until when this slice may release visitors, as far as `room` knows.
fn deadline(slice: Slice, room: &Room) -> Timestamp {
    let closes = room.valves.after(slice.valve_from).map(|change| change.from);
    closes.map_or(slice.ends_at(), |closes| closes.min(slice.ends_at()))
}
