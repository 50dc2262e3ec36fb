//! Works off one slice of a plan.
//!
//! [`Consumer::run`] claims the slice, then lets people leave as [`Pace`] allows: receive a batch, write each
//! as admitted, and only then take them out of the line. Killed between any two steps it leaves people either
//! in the line, where they are delivered again, or admitted and still in the line, where whoever receives
//! them next finds the admission and counts nobody. So nobody is lost, and nobody is counted twice.

mod tally;

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{self, Either};
use tally::Tally;
use waitroom::ports::{
    Admissions, Admitted, Claimant, Clock, Delivery, Fault, LineFront, LineLength, PortError, PortResult,
    Receipt, RoomReader, Slices, StatusBoard,
};
use waitroom::{Admission, AdmittedBy, LineStatus, Pace, PaceStep, Place, Room, Slice, Timestamp, Valve};

/// What a consumer needs of a store.
pub trait ConsumerStore: RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard {}

impl<S: RoomReader + LineFront + LineLength + Admissions + Slices + StatusBoard> ConsumerStore for S {}

#[derive(Debug)]
pub struct Consumer<S, C> {
    store: S,
    clock: C,
}

/// How a run ended, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceOutcome {
    /// Another run has this slice.
    Taken,
    Done(SliceReport),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceReport {
    /// Admitted by this slice, confirmed by the ledger.
    pub released: u32,
    /// Received, but admitted before by somebody else or of another epoch: dropped.
    pub dropped: u32,
    /// Received, but not a visitor at all: with the dead letters now.
    pub buried: u32,
    /// Could not be written as admitted: still in the line.
    pub left_in_line: u32,
    /// Calls that failed and were got over.
    pub troubles: u32,
}

impl<S: ConsumerStore, C: Clock> Consumer<S, C> {
    /// How long to wait for somebody to come. Settings are read again in between, and must be within two
    /// seconds of a change.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// An empty answer is not an empty line; this keeps asking from becoming spinning.
    const ASK_AGAIN: Duration = Duration::from_millis(200);
    const AFTER_TROUBLE: Duration = Duration::from_secs(1);
    const ATTEMPTS: u32 = 3;

    pub fn new(store: S, clock: C) -> Self {
        Self { store, clock }
    }

    pub async fn run(&self, slice: Slice, claimant: Claimant) -> PortResult<SliceOutcome> {
        let mut tally = Tally::new(slice.id);
        if !self.claim(slice, claimant, &mut tally).await? {
            return Ok(SliceOutcome::Taken);
        }
        let mut pace = Pace::new(slice);
        loop {
            let room = match self.store.room().await {
                Ok(room) => room,
                Err(_) if self.clock.now() >= slice.ends_at() => break,
                Err(error) => {
                    self.rest(slice, &mut tally, &error).await;
                    continue;
                }
            };
            let now = self.clock.now();
            if tally.is_due(now) {
                self.tell_soon(&mut tally, &room).await;
                // The room may be another by now.
                continue;
            }
            self.drop_strangers(&mut tally, &room).await;
            let (most, at) = match pace.next(now, room.valve()) {
                PaceStep::Over => break,
                PaceStep::Wait(until) => {
                    self.clock.sleep_until(until.min(now + Self::PATIENCE)).await;
                    continue;
                }
                PaceStep::Release { most, at } => (most, at),
            };
            // Whoever came after the slice's end would be out of sight for nothing.
            let patience = Self::PATIENCE.min(slice.ends_at().since(now));
            match self.store.receive(most, patience).await {
                Ok(batch) if batch.is_empty() => {
                    self.clock.sleep_until((now + Self::ASK_AGAIN).min(slice.ends_at())).await;
                }
                Ok(batch) => {
                    self.clock.sleep_until(at).await;
                    if self.is_too_late(now, slice).await {
                        tally.report.left_in_line += u32::try_from(batch.len()).unwrap_or(u32::MAX);
                        continue;
                    }
                    self.release(batch, &room, &mut pace, &mut tally, slice).await;
                }
                Err(error) => self.rest(slice, &mut tally, &error).await,
            }
        }
        if let Ok(room) = self.store.room().await {
            self.tell(&mut tally, &room).await;
        }
        Ok(SliceOutcome::Done(tally.report))
    }

    /// Claims the slice. Asking again is answered the same, so a lost answer does not lose the slice.
    async fn claim(&self, slice: Slice, claimant: Claimant, tally: &mut Tally) -> PortResult<bool> {
        loop {
            match self.store.claim(slice.id, claimant).await {
                Err(error) if self.clock.now() < slice.ends_at() => self.rest(slice, tally, &error).await,
                answered => return answered,
            }
        }
    }

    /// Whether the line took so long to answer that it is no longer certain that these people may leave.
    /// Those who may not come again.
    async fn is_too_late(&self, asked: Timestamp, slice: Slice) -> bool {
        let now = self.clock.now();
        if now < (asked + 2 * Self::PATIENCE).min(slice.ends_at()) {
            return false;
        }
        let open = self.store.room().await.is_ok_and(|room| matches!(room.valve(), Valve::Open(_)));
        !open || self.clock.now() >= slice.ends_at()
    }

    /// Takes those out of the line who are of another epoch, once that is certain: somebody who joined a
    /// moment after a `reset` may be received by a consumer that has not heard of it.
    async fn drop_strangers(&self, tally: &mut Tally, room: &Room) {
        let strangers = tally.strangers_until(self.clock.now() - 2 * Self::PATIENCE);
        let (strangers, ours): (Vec<_>, Vec<_>) =
            strangers.into_iter().partition(|(epoch, _)| *epoch != room.epoch);
        tally.report.left_in_line += u32::try_from(ours.len()).unwrap_or(u32::MAX);
        if strangers.is_empty() {
            return;
        }
        tally.report.dropped += u32::try_from(strangers.len()).unwrap_or(u32::MAX);
        if let Err(error) =
            self.store.remove(strangers.into_iter().map(|(_, receipt)| receipt).collect()).await
        {
            tally.trouble(&error);
        }
    }

    /// Lets one batch leave.
    async fn release(
        &self,
        batch: Vec<Delivery>,
        room: &Room,
        pace: &mut Pace,
        tally: &mut Tally,
        slice: Slice,
    ) {
        let mut finished = Vec::with_capacity(batch.len());
        let mut visitors: Vec<(Place, Vec<Receipt>)> = Vec::with_capacity(batch.len());
        for Delivery { receipt, visitor } in batch {
            match visitor {
                Ok(visitor) if visitor.epoch == room.epoch => {
                    match visitors.iter_mut().find(|(known, _)| known.token == visitor.token) {
                        Some((_, receipts)) => receipts.push(receipt),
                        None => visitors.push((visitor, vec![receipt])),
                    }
                }
                Ok(visitor) => tally.stranger(self.clock.now(), visitor.epoch, receipt),
                Err(body) => match self.store.bury(receipt, body).await {
                    Ok(()) => tally.report.buried += 1,
                    Err(error) => tally.trouble(&error),
                },
            }
        }

        let leaving_at = self.clock.now();
        let writes = visitors.iter().map(|(visitor, _)| self.admit(visitor, room, slice));
        let written = future::join_all(writes).await;

        let mut failed = None;
        let mut answered = 0;
        let mut left = 0;
        let mut lowest = None;
        for ((visitor, receipts), result) in visitors.into_iter().zip(written) {
            answered += u32::from(result.is_ok());
            match result {
                Ok(by) if by == AdmittedBy::Slice(slice.id) => {
                    left += tally.charge(visitor.token);
                    tally.count(visitor.token);
                    lowest = Some(lowest.map_or(visitor.ticket, |lowest| visitor.ticket.min(lowest)));
                    finished.extend(receipts);
                }
                Ok(_) => {
                    tally.report.dropped += 1;
                    finished.extend(receipts);
                }
                Err(error) => {
                    // Perhaps they are admitted, so they use up the quota; they are counted when the line
                    // delivers them again and the ledger confirms it.
                    if error.fault == Fault::Unsure {
                        left += tally.charge(visitor.token);
                    }
                    tally.report.left_in_line += 1;
                    failed = Some(error);
                }
            }
        }
        if let Some(lowest) = lowest {
            tally.served = tally.served.max(lowest.get());
        }
        if left > 0 {
            pace.record_released(left, leaving_at);
        }
        if !finished.is_empty()
            && let Err(error) = self.store.remove(finished).await
        {
            // They come again, are found admitted, and are removed then.
            tally.trouble(&error);
        }
        match failed {
            // The ledger is in trouble: more of the line would only be drawn out of sight for nothing.
            Some(error) if answered == 0 => self.rest(slice, tally, &error).await,
            Some(error) => tally.trouble(&error),
            None => {}
        }
    }

    /// Writes one visitor as admitted and says by whom they are.
    async fn admit(&self, visitor: &Place, room: &Room, slice: Slice) -> PortResult<AdmittedBy> {
        let by = AdmittedBy::Slice(slice.id);
        let mut unsure = false;
        let mut attempt = 1;
        loop {
            let at = self.clock.now();
            let expires = at + room.settings.lifetimes.claim;
            let admission = Admission { ticket: visitor.ticket, by, at, expires };
            match self.store.admit(visitor.token, admission).await {
                Ok(Admitted::Now) => return Ok(by),
                Ok(Admitted::Before(admission)) => return Ok(admission.by),
                Err(mut error) => {
                    unsure |= error.fault == Fault::Unsure;
                    if attempt == Self::ATTEMPTS || error.fault == Fault::Broken {
                        if unsure {
                            error.fault = Fault::Unsure;
                        }
                        return Err(error);
                    }
                }
            }
            self.clock.sleep_until(at + Duration::from_millis(50) * attempt).await;
            attempt += 1;
        }
    }

    /// Tells how far the slice has come, unless that takes so long that people would wait for it.
    async fn tell_soon(&self, tally: &mut Tally, room: &Room) {
        let in_time = {
            let told = pin!(self.tell(tally, room));
            let enough = pin!(self.clock.sleep_until(self.clock.now() + Self::PATIENCE));
            matches!(future::select(told, enough).await, Either::Left(_))
        };
        if !in_time {
            tally.report.troubles += 1;
        }
        tally.told(self.clock.now());
    }

    /// Records and publishes how far the slice has come.
    async fn tell(&self, tally: &mut Tally, room: &Room) {
        let told = async {
            self.store.record(tally.slice, tally.report.released, tally.served).await?;
            if tally.slice.index == 0 {
                let served = self.store.served().await?;
                let waiting = self.store.waiting().await?;
                let status = LineStatus::of(room, served, waiting);
                // A room in which nothing happens costs nothing to speak of.
                if tally.published != Some(status) {
                    self.store.publish(status).await?;
                    tally.published = Some(status);
                }
            }
            PortResult::Ok(())
        };
        if let Err(error) = told.await {
            tally.trouble(&error);
        }
    }

    /// After trouble: a short rest instead of a storm.
    async fn rest(&self, slice: Slice, tally: &mut Tally, error: &PortError) {
        tally.trouble(error);
        let until = self.clock.now() + Self::AFTER_TROUBLE;
        self.clock.sleep_until(until.min(slice.ends_at())).await;
    }
}
