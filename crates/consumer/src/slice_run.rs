//! One consumer's run over one slice, turn by turn.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future;
use waitroom::ports::{
    Admissions, Clock, ConsumerRun, LineFront, PermitHolder, Permits, PortError, PortResult, RoomReader,
    Slices, Taken,
};
use waitroom::{DoorPermits, Pace, PaceStep, Room, Slice, Timestamp, ValveChange};

use crate::hand::{Hand, Held};
use crate::known_stock::KnownStock;
use crate::report::SliceReport;
use crate::store::ConsumerStore;
use crate::tally::Tally;

/// The longest wait for visitors or for a batch's time. The room is read again after each wait, because a change of
/// its settings must be in force within two seconds.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The pause after an empty answer, which does not mean that the line is empty.
const EMPTY_PAUSE: Duration = Duration::from_millis(200);
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// How long reading the room may take. Every change of the valve is announced longer before it holds. So a slice that
/// read the room no longer ago than this knows every change that holds.
const LONGEST_READ: Duration = Duration::from_millis(500);
/// The pause before the room is read again, if it was read too early to know the slice's valve.
const VALVE_PAUSE: Duration = Duration::from_millis(100);
/// For how long a slice looks for the last of the line, where newcomers go straight in.
const SEARCHED_FOR: Duration = Duration::from_secs(10);
/// How often a slice tries to say at its end what it did. Until it has, its whole quota counts as let in.
const LAST_REPORTS: u32 = 3;
/// How often the room is read for one batch.
const READS: u32 = 3;

/// A slice, from when it is taken to its end.
#[derive(Debug)]
pub(crate) struct SliceRun<'a, S, C> {
    pub(crate) store: &'a S,
    pub(crate) clock: &'a C,
    pub(crate) slice: Slice,
    pub(crate) tally: Tally,
    pub(crate) pace: Pace,
    pub(crate) hand: Hand,
    pub(crate) stock: KnownStock,
}

/// Whom a turn has to release, and when.
enum NextBatch {
    Release {
        batch: Vec<Held>,
        at: Timestamp,
    },
    /// Nobody yet.
    Nobody,
    /// The slice may release nobody any more.
    Over,
}

impl<'a, S: ConsumerStore, C: Clock> SliceRun<'a, S, C> {
    pub(crate) fn new(store: &'a S, clock: &'a C, slice: Slice) -> Self {
        let (tally, pace) = (Tally::new(slice), Pace::resumed(slice, 0));
        Self { store, clock, slice, tally, pace, hand: Hand::default(), stock: KnownStock::default() }
    }

    /// Releases the slice until it is over. `None` if another consumer has it.
    pub(crate) async fn run(mut self, consumer_run: ConsumerRun) -> PortResult<Option<SliceReport>> {
        if !self.take_slice(consumer_run).await? {
            return Ok(None);
        }
        while self.turn().await.is_continue() {}
        self.finish().await;
        Ok(Some(self.tally.report))
    }

    /// Takes the slice, and asks whether the ledger takes admissions: both at once, so that asking delays nobody.
    async fn take_slice(&mut self, consumer_run: ConsumerRun) -> PortResult<bool> {
        let asked = self.clock.now();
        let ledger = self.store.ledger();
        let (taken, answer) = future::join(self.take(consumer_run), ledger.takes_admissions()).await;
        let Taken::Here { released } = taken? else { return Ok(false) };
        if answer.is_ok() && self.clock.now().since(asked) <= LONGEST_READ {
            self.tally.ledger_takes = Some(true);
        }
        self.tally.resume(released);
        self.pace = Pace::resumed(self.slice, released);
        Ok(true)
    }

    /// Takes the slice. A repeated call gets the same answer, so it is safe to retry when the answer was lost.
    async fn take(&mut self, consumer_run: ConsumerRun) -> PortResult<Taken> {
        loop {
            match self.store.ledger().take(self.slice.id, consumer_run).await {
                Err(error) if self.clock.now() < self.slice.ends_at() => self.pause_after(&error).await,
                answered => return answered,
            }
        }
    }

    /// Reads the room, and does the one thing that is due: a report, a wait, or a batch.
    async fn turn(&mut self) -> ControlFlow<()> {
        let asked = self.clock.now();
        let read = self.store.ledger().room().await;
        if self.clock.now() >= self.slice.ends_at() {
            return ControlFlow::Break(());
        }
        if self.stock.is_sold_out {
            return self.end_room().await;
        }
        let room = match read {
            Ok(room) => room,
            Err(error) => {
                self.pause_after(&error).await;
                return ControlFlow::Continue(());
            }
        };
        self.tally.name_in_log(&room);
        let now = self.clock.now();
        if self.keeps_up(now, &room).await || now.since(asked) > LONGEST_READ {
            // The room may have changed meanwhile.
            return ControlFlow::Continue(());
        }
        let Slice { window, valve_from, .. } = self.slice;
        if window.is_of_wrong_clock(valve_from, now, self.slice.minute()) {
            // Other plans take the place of this one.
            return ControlFlow::Break(());
        }
        let room = room.at(now);
        match room.valve_at(now) {
            ValveChange { from, .. } if from < self.slice.valve_from => {
                if self.is_withdrawn(&room).await {
                    // Where few consumers may run at once, it would stand in the way of those that release somebody.
                    return ControlFlow::Break(());
                }
                let until = self.slice.valve_from.min(now + LONGEST_WAIT).max(now + VALVE_PAUSE);
                self.clock.sleep_until(until).await;
                return ControlFlow::Continue(());
            }
            ValveChange { from, valve } if from == self.slice.valve_from && valve.rate().is_some() => {}
            // The next change of the valve holds, and other slices release under it.
            _ => return ControlFlow::Break(()),
        }
        if !room.releases() {
            // An order that is in force in a moment, and may be taken back until then. Or, if the clock was set back, one that was
            // in force already.
            self.clock.sleep_until(self.deadline(&room).min(now + LONGEST_WAIT)).await;
            return ControlFlow::Continue(());
        }
        if self.tally.ledger_takes != Some(true) {
            self.ask_ledger().await;
            return ControlFlow::Continue(());
        }
        match self.next_batch(now, &room).await {
            NextBatch::Over => return ControlFlow::Break(()),
            NextBatch::Nobody => {}
            NextBatch::Release { batch, at } => match self.room_if_open_at(at).await {
                Some(room) if self.has_permits_for(&batch, &room).await => self.release(batch, &room).await,
                _ => self.hand.put(batch),
            },
        }
        ControlFlow::Continue(())
    }

    /// Whether the change of the valve under which this slice releases was withdrawn. A room that was read before may not know it yet.
    async fn is_withdrawn(&self, room: &Room) -> bool {
        let from = self.slice.valve_from;
        if room.valves.knows(from) {
            return false;
        }
        self.store.ledger().room_now().await.is_ok_and(|room| !room.valves.knows(from))
    }

    /// Does what is due beside releasing visitors. Returns whether that took time.
    async fn keeps_up(&mut self, now: Timestamp, room: &Room) -> bool {
        if self.tally.report_is_due(now) {
            self.report_in_time(room).await;
            return true;
        }
        self.drop_other_epochs(room).await;
        let Some(receipts) = self.hand.take_due_receipts(now) else { return false };
        match self.store.line().keep(receipts).await {
            Ok(()) => self.hand.hidden_since(now),
            Err(error) => self.tally.failed(&error),
        }
        true
    }

    async fn ask_ledger(&mut self) {
        let answer = self.store.ledger().takes_admissions().await;
        self.tally.ledger_takes = Some(answer.is_ok());
        if let Err(error) = answer {
            self.pause_after(&error).await;
        }
    }

    /// Whom the slice has in its hand, or else who is next in the line. Waits if nobody may be released yet.
    async fn next_batch(&mut self, now: Timestamp, room: &Room) -> NextBatch {
        let step = self.pace.next(now, self.deadline(room));
        let (most, at) = match step {
            PaceStep::Release { most, at } => {
                (self.permits(room).map_or(most, |of| most.min(of.portion())), at)
            }
            PaceStep::Wait(_) | PaceStep::Over => (0, now),
        };
        let mut batch = self.hand.take(now, most, |token| self.tally.is_charged(token));
        if batch.is_empty() {
            match step {
                PaceStep::Over if !self.hand.any(|token| self.tally.is_charged(token)) => {
                    return NextBatch::Over;
                }
                PaceStep::Over => {
                    self.clock.sleep_until((now + FAILURE_PAUSE).min(self.slice.ends_at())).await;
                }
                PaceStep::Wait(until) => self.clock.sleep_until(until.min(now + LONGEST_WAIT)).await,
                // Newcomers go straight in: whoever joined before that has left the line.
                PaceStep::Release { .. }
                    if self.slice.needs_permits && self.tally.has_found_nobody_for(SEARCHED_FOR, now) =>
                {
                    return NextBatch::Over;
                }
                PaceStep::Release { .. } => batch = self.receive(most, now, room).await,
            }
        }
        if batch.is_empty() { NextBatch::Nobody } else { NextBatch::Release { batch, at } }
    }

    /// The permits that whoever this slice releases needs, if they need any.
    fn permits(&self, room: &Room) -> Option<DoorPermits> {
        let permits = || DoorPermits::of(room, self.clock.now(), self.slice.minute());
        self.slice.needs_permits.then(permits).flatten()
    }

    /// Whether these visitors may be released now. If they need permits and there are none, they are tried again after a pause.
    async fn has_permits_for(&mut self, batch: &[Held], room: &Room) -> bool {
        let Some(of) = self.permits(room) else { return !self.slice.needs_permits };
        let uncharged = batch.iter().filter_map(Held::token).filter(|token| !self.tally.is_charged(*token));
        let count = u32::try_from(uncharged.count()).unwrap_or(u32::MAX);
        if count == 0 {
            return true;
        }
        match self.store.ledger().take_permits(of, count, PermitHolder::Slice).await {
            Ok(true) => true,
            Ok(false) => {
                let until = self.clock.now() + EMPTY_PAUSE;
                self.clock.sleep_until(until.min(self.slice.ends_at())).await;
                false
            }
            Err(error) => {
                self.pause_after(&error).await;
                false
            }
        }
    }

    /// Receives visitors. Nobody, after a pause, if the line delivers nobody.
    async fn receive(&mut self, most: u32, now: Timestamp, room: &Room) -> Vec<Held> {
        // Visitors who are received after the slice's end could not be admitted.
        let patience = LONGEST_WAIT.min(self.deadline(room).since(now));
        let most = match self.what_is_left(most, room).await {
            Ok(0) => return Vec::new(),
            Ok(most) => most,
            Err(error) => {
                self.pause_after(&error).await;
                return Vec::new();
            }
        };
        match self.store.line().receive(most, patience).await {
            Ok(batch) if batch.is_empty() => {
                self.tally.found_nobody(now, self.clock.now());
                if self.tally.finds_nobody(self.clock.now()) {
                    self.pace.forfeit();
                }
                self.clock.sleep_until((now + EMPTY_PAUSE).min(self.slice.ends_at())).await;
                Vec::new()
            }
            Ok(batch) => {
                self.tally.found_somebody();
                Hand::received(batch, now)
            }
            Err(error) => {
                self.pause_after(&error).await;
                Vec::new()
            }
        }
    }

    /// Waits until `at`, and returns the room if this slice may release visitors then. `None` if its time is over, if the
    /// valve has changed since the visitors were received, or if that cannot be read in time. Then the line delivers them
    /// again.
    async fn room_if_open_at(&self, at: Timestamp) -> Option<Arc<Room>> {
        for _ in 0..READS {
            // Read before the wait, so that reading does not delay the batch.
            let asked = self.clock.now();
            let read = self.store.ledger().room().await;
            self.clock.sleep_until(at).await;
            let now = self.clock.now();
            if let Ok(room) = read
                && now.since(asked) <= LONGEST_READ
            {
                let room = room.at(now);
                let is_open = room.valve_at(now).from == self.slice.valve_from && room.releases();
                return (is_open && now < self.slice.ends_at()).then_some(room);
            }
        }
        None
    }

    /// Removes visitors of another epoch from the line, once it is certain that the room is not in that epoch. A visitor
    /// who joins just after a `reset` may be received by a consumer that has not read the new epoch yet.
    async fn drop_other_epochs(&mut self, room: &Room) {
        let dropped = self.hand.sort_set_aside(self.clock.now() - 2 * LONGEST_WAIT, room.epoch);
        if dropped.is_empty() {
            return;
        }
        self.tally.report.dropped += u32::try_from(dropped.len()).unwrap_or(u32::MAX);
        if let Err(error) = self.store.line().remove(dropped).await {
            self.tally.failed(&error);
        }
    }

    /// Gives back whom the slice could not release, so that the next one receives them first, and reports for the last time.
    async fn finish(&mut self) {
        self.tally.report.refused = self.tally.ledger_takes == Some(false);
        let receipts = std::mem::take(&mut self.hand).into_receipts();
        self.tally.report.left_in_line = u32::try_from(receipts.len()).unwrap_or(u32::MAX);
        if !receipts.is_empty()
            && let Err(error) = self.store.line().hand_back(receipts).await
        {
            self.tally.failed(&error);
        }
        self.tally.is_over = true;
        for _ in 0..LAST_REPORTS {
            let failures = self.tally.report.failures;
            match self.store.ledger().room().await {
                Ok(room) => self.report(&room).await,
                Err(error) => self.tally.failed(&error),
            }
            if self.tally.report.failures == failures {
                break;
            }
            self.clock.sleep_until(self.clock.now() + VALVE_PAUSE).await;
        }
    }

    /// Counts a failure and pauses, so that retries do not become a storm.
    pub(crate) async fn pause_after(&mut self, error: &PortError) {
        self.tally.failed(error);
        let until = self.clock.now() + FAILURE_PAUSE;
        self.clock.sleep_until(until.min(self.slice.ends_at())).await;
    }

    /// Until when this slice may release visitors, as far as `room` knows.
    pub(crate) fn deadline(&self, room: &Room) -> Timestamp {
        room.valves.cut(self.slice.valve_from, self.slice.ends_at())
    }
}
