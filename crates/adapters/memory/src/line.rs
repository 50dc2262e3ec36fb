//! A line that behaves like a standard queue of SQS. No emulator does.
//!
//! - Visitors lie on several hosts. Each host keeps its own in order. A receive asks a few hosts, and some are slower than
//!   others for a while. So visitors are delivered out of order, up to [`LineBehaviour::disorder`] places from their turn.
//! - The count is the one of a while ago. In a rush it is far too low.
//! - Some ticket numbers were reserved, and nobody got them.
//! - Some messages are delivered again after they were removed.
//! - Who was received three times and not removed goes to the back.
//! - While too many messages are in flight, a receive returns nobody.
//!
//! Like SQS, the line is outside of a simulated process: a kill or a power cut changes nothing in it. The counter of tickets is
//! here too, because on AWS it outlives a process as well.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::RngExt;
use waitroom::ports::{Delivery, LineBack, LineFront, LineLength, PortResult, Receipt, TicketCounter};
use waitroom::{BATCH, IssuedTickets, Place, Timestamp};

use crate::hosts::LineMessage;
use crate::line_state::{InFlight, LineState};
use crate::{LineBehaviour, Now};

/// A handle to the line. Clones share it.
#[derive(Clone)]
pub struct MemoryLine {
    now: Now,
    state: Arc<Mutex<LineState>>,
}

impl MemoryLine {
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        seed: u64,
        behaviour: LineBehaviour,
    ) -> Self {
        Self { now: Arc::new(now), state: Arc::new(Mutex::new(LineState::new(seed, behaviour))) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// How many messages there really are.
    pub fn len(&self) -> u64 {
        self.state.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loses everybody who waits.
    pub fn lose_all(&self) {
        self.state.lock().lose_all();
    }

    /// Begins an epoch: nobody waits, and numbers start at 1. Returns how many there were.
    pub(crate) fn begin_epoch(&self) -> u64 {
        self.state.lock().begin_epoch()
    }

    /// Counts somebody who went straight in as one who has joined.
    pub(crate) fn count_straight(&self) {
        self.state.lock().joined += 1;
    }

    /// How many have joined in this epoch.
    pub(crate) fn joined_so_far(&self) -> u64 {
        self.state.lock().joined
    }

    /// Puts a message into the line that is no visitor, as somebody else may who can write to the queue.
    pub fn put_stray(&self, body: &str) {
        let mut state = self.state.lock();
        let joined = self.now();
        let rank = state.take_rank();
        let message = LineMessage { visitor: Err(body.to_owned()), joined, receipts: 0 };
        state.hosts[0].put_back(rank.into(), message);
    }

    /// The messages that were no visitors, oldest first.
    pub fn dead_letters(&self) -> Vec<String> {
        self.state.lock().dead_letters.clone()
    }

    /// When, and whom, a third receipt has put behind all others.
    pub fn moved_back(&self) -> Vec<(Timestamp, Place)> {
        self.state.lock().moved_back.clone()
    }
}

impl TicketCounter for MemoryLine {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        let mut state = self.state.lock();
        let first = state.last_ticket() + 1;
        state.leased += u64::from(count);
        state.leased_at = self.now();
        Ok(first)
    }
}

impl LineBack for MemoryLine {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let now = self.now();
        let host = state.rng.random_range(0..state.hosts.len());
        let rank = state.take_rank();
        state.hosts[host].push(rank, visitor);
        state.join_times.note(rank, now);
        state.joined += 1;
        state.note_count(now);
        Ok(())
    }
}

impl LineFront for MemoryLine {
    async fn receive(&self, most: u32, _patience: Duration) -> PortResult<Vec<Delivery>> {
        Ok(self.state.lock().receive(most.min(BATCH) as usize, self.now()))
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.state.lock().hide_until(self.now() + Delivery::HIDDEN_FOR, &receipts);
        Ok(())
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.state.lock().hide_until(self.now(), &receipts);
        Ok(())
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        for receipt in receipts {
            let Some(InFlight { host, rank, message, .. }) = state.take_from_flight(&receipt) else {
                continue;
            };
            if state.behaviour.duplicates > 0.0 && state.rng.random_bool(state.behaviour.duplicates) {
                state.hosts[host].put_back(rank, message);
            }
        }
        state.note_count(self.now());
        Ok(())
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        let mut state = self.state.lock();
        if state.take_from_flight(&receipt).is_some() {
            state.dead_letters.push(body);
        }
        state.note_count(self.now());
        Ok(())
    }
}

impl LineLength for MemoryLine {
    async fn waiting(&self) -> PortResult<u64> {
        let mut state = self.state.lock();
        let now = self.now();
        state.note_count(now);
        Ok(state.known_count(now))
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        let state = self.state.lock();
        Ok(IssuedTickets { last: state.last_ticket(), at: state.leased_at })
    }

    /// A queue that counts late counts nobody who joins.
    async fn joined(&self) -> PortResult<Option<u64>> {
        let state = self.state.lock();
        Ok(state.behaviour.count_lag.is_zero().then_some(state.joined))
    }
}

impl fmt::Debug for MemoryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLine").field("len", &self.len()).finish_non_exhaustive()
    }
}
