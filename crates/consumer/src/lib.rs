//! Releases one slice of a plan.
//!
//! [`Consumer::run`] claims the slice, then releases visitors as [`Pace`] allows: it receives a batch, writes an
//! admission for each visitor, and only then removes them from the line. If it is killed between two steps, a visitor
//! is either still in the line and is delivered again, or is admitted and still in the line. In the second case the
//! next consumer that receives them finds the admission, removes them and does not count them. So nobody is lost, and
//! nobody is counted twice.
//!
//! A consumer receives nobody before the ledger has said that it takes admissions. If the ledger refuses somebody all the
//! same, they stay in the consumer's [`Hand`], and it tries again until the slice is over. So a ledger that takes no
//! admissions for a while costs each visitor one receipt at most, however long that lasts.

mod hand;
mod report;
mod tally;
mod waits;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{self, Either};
use hand::{Hand, Held};
pub use report::{SliceOutcome, SliceReport};
use tally::Tally;
use tracing::Instrument;
use tracing::field::Empty;
use waitroom::ports::{
    Admissions, Admitted, Claimant, Claimed, Clock, Fault, LineFront, LineLength, MinuteLog, PortError,
    PortResult, RoomReader, Slices, StatusBoard,
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
        let asked = self.clock.now();
        // Both at once, so that asking delays nobody.
        let claim = self.claim(slice, claimant, &mut tally);
        let (claimed, answer) = future::join(claim, self.store.takes_admissions()).await;
        let Claimed::Granted { released } = claimed? else { return Ok(SliceOutcome::Taken) };
        if answer.is_ok() && self.clock.now().since(asked) <= Self::LONGEST_READ {
            tally.ledger_takes = Some(true);
        }
        tally.resume(released);
        let mut pace = Pace::resumed(slice, released);
        let mut hand = Hand::default();
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
            self.drop_other_epochs(&mut hand, &mut tally, &room).await;
            if let Some(receipts) = hand.take_due_receipts(now) {
                match self.store.keep(receipts).await {
                    Ok(()) => hand.hidden_since(now),
                    Err(error) => tally.failed(&error),
                }
                continue;
            }
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
            if tally.ledger_takes != Some(true) {
                let answer = self.store.takes_admissions().await;
                tally.ledger_takes = Some(answer.is_ok());
                if let Err(error) = answer {
                    self.pause_after(&error, slice, &mut tally).await;
                }
                continue;
            }
            let closes = room.valves.after(slice.valve_from).map(|change| change.from);
            let step = pace.next(now, closes);
            let (most, at) = match step {
                PaceStep::Release { most, at } => (most, at),
                PaceStep::Wait(_) | PaceStep::Over => (0, now),
            };
            let mut batch = hand.take(now, most, |token| tally.is_charged(token));
            if batch.is_empty() {
                match step {
                    PaceStep::Over if !hand.any(|token| tally.is_charged(token)) => break,
                    PaceStep::Over => {
                        self.clock.sleep_until((now + Self::FAILURE_PAUSE).min(slice.ends_at())).await;
                        continue;
                    }
                    PaceStep::Wait(until) => {
                        self.clock.sleep_until(until.min(now + Self::LONGEST_WAIT)).await;
                        continue;
                    }
                    PaceStep::Release { .. } => {}
                }
                batch = self.receive(slice, most, now, &room, &mut pace, &mut tally).await;
            }
            if batch.is_empty() {
                continue;
            }
            match self.room_if_open_at(at, slice).await {
                Some(room) => self.release(batch, &room, &mut pace, &mut tally, &mut hand, slice).await,
                None => hand.put(batch),
            }
        }
        self.hand_back(hand, &mut tally).await;
        tally.is_over = true;
        if let Ok(room) = self.store.room().await {
            self.report(&mut tally, &room).await;
        }
        Ok(SliceOutcome::Done(tally.report))
    }

    /// Receives visitors. Nobody, after a pause, if the line delivers nobody.
    async fn receive(
        &self,
        slice: Slice,
        most: u32,
        now: Timestamp,
        room: &Room,
        pace: &mut Pace,
        tally: &mut Tally,
    ) -> Vec<Held> {
        // Visitors who are received after the slice's end could not be admitted.
        let patience = Self::LONGEST_WAIT.min(deadline(slice, room).since(now));
        match self.store.receive(most, patience).await {
            Ok(batch) if batch.is_empty() => {
                tally.found_nobody(now, self.clock.now());
                if tally.finds_nobody(self.clock.now()) {
                    pace.forfeit();
                }
                self.clock.sleep_until((now + Self::EMPTY_PAUSE).min(slice.ends_at())).await;
                Vec::new()
            }
            Ok(batch) => {
                tally.found_somebody();
                Hand::received(batch, now)
            }
            Err(error) => {
                self.pause_after(&error, slice, tally).await;
                Vec::new()
            }
        }
    }

    /// Gives back whom the slice could not release, so that the next one receives them first.
    async fn hand_back(&self, hand: Hand, tally: &mut Tally) {
        tally.report.refused = tally.ledger_takes == Some(false);
        let receipts = hand.into_receipts();
        if receipts.is_empty() {
            return;
        }
        tally.report.left_in_line = u32::try_from(receipts.len()).unwrap_or(u32::MAX);
        if let Err(error) = self.store.hand_back(receipts).await {
            tally.failed(&error);
        }
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
    async fn drop_other_epochs(&self, hand: &mut Hand, tally: &mut Tally, room: &Room) {
        let dropped = hand.sort_set_aside(self.clock.now() - 2 * Self::LONGEST_WAIT, room.epoch);
        if dropped.is_empty() {
            return;
        }
        tally.report.dropped += u32::try_from(dropped.len()).unwrap_or(u32::MAX);
        if let Err(error) = self.store.remove(dropped).await {
            tally.failed(&error);
        }
    }

    /// Releases one batch. Whom the ledger does not take goes back into the hand.
    async fn release(
        &self,
        batch: Vec<Held>,
        room: &Room,
        pace: &mut Pace,
        tally: &mut Tally,
        hand: &mut Hand,
        slice: Slice,
    ) {
        let visitors = self.sort(batch, room, tally, hand).await;
        let released_at = self.clock.now();
        let writes = visitors.iter().map(|(visitor, ..)| self.admit(visitor, room, slice));
        let written = future::join_all(writes).await;

        let mut finished = Vec::with_capacity(written.len());
        let mut failed = None;
        let mut answered = 0;
        let mut wrote = false;
        let mut charged = 0;
        let mut left = Vec::with_capacity(written.len());
        for ((visitor, held), result) in visitors.into_iter().zip(written) {
            wrote |= matches!(&result, Ok(found) if found.is_new);
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
                        tally.waits.see(held.first().and_then(|held| held.delivery.joined), released_at);
                    }
                    left.push(visitor.ticket);
                    finished.extend(held.into_iter().map(|held| held.delivery.receipt));
                }
                // Admissions written by another slice are not counted.
                Ok(_) => {
                    tally.report.dropped += 1;
                    left.push(visitor.ticket);
                    finished.extend(held.into_iter().map(|held| held.delivery.receipt));
                }
                Err(error) => {
                    // The visitor may be admitted, so they use up quota. They are counted when the ledger confirms
                    // the admission.
                    if error.fault == Fault::Unsure {
                        charged += tally.charge(visitor.token);
                    }
                    hand.put(held);
                    failed = Some(error);
                }
            }
        }
        tally.leave(left);
        if charged > 0 || wrote {
            pace.record_released(charged, released_at);
        }
        if !finished.is_empty()
            && let Err(error) = self.store.remove(finished).await
        {
            // The line delivers them again; they are found admitted and are removed then.
            tally.failed(&error);
        }
        if let Some(error) = failed {
            tally.failed(&error);
            // If it took nobody, it is asked whether it takes anybody, before others are received.
            if answered == 0 {
                tally.ledger_takes = Some(false);
                hand.refused(self.clock.now());
            }
        }
    }

    /// Returns the room's visitors of a batch, with all deliveries of each. Sets those of other epochs aside, and buries
    /// what is no visitor.
    async fn sort(
        &self,
        batch: Vec<Held>,
        room: &Room,
        tally: &mut Tally,
        hand: &mut Hand,
    ) -> Vec<(Place, Vec<Held>)> {
        let mut visitors: Vec<(Place, Vec<Held>)> = Vec::with_capacity(batch.len());
        for held in batch {
            match &held.delivery.visitor {
                Ok(visitor) if visitor.epoch == room.epoch => {
                    match visitors.iter_mut().find(|(known, _)| known.token == visitor.token) {
                        Some((_, deliveries)) => deliveries.push(held),
                        None => visitors.push((*visitor, vec![held])),
                    }
                }
                Ok(visitor) => hand.set_aside(self.clock.now(), visitor.epoch, held),
                Err(body) => match self.store.bury(held.delivery.receipt, body.clone()).await {
                    Ok(()) => tally.report.dead_letters += 1,
                    Err(error) => tally.failed(&error),
                },
            }
        }
        visitors
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
            tally.begin_at(position);
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
        tally.is_news = tally.published != Some(status);
        if tally.is_news {
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
