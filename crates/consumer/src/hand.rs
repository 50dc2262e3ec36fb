//! The visitors whom a consumer has received and not released yet.
//!
//! The line may put whom it has delivered three times in vain behind everybody else. So a visitor whom the ledger does not
//! take isn't left to be received again, but stays in the consumer's hand, hidden from other consumers.

use std::time::Duration;

use waitroom::ports::{Delivery, Receipt};
use waitroom::{Epoch, Timestamp, Token};

#[derive(Debug, Default)]
pub(crate) struct Hand {
    visitors: Vec<Held>,
    /// When they are tried again.
    next_try: Timestamp,
    /// The earliest time to ask the line again to hide them.
    next_keep: Timestamp,
    /// Deliveries from another epoch than the room had when they were received.
    other_epochs: Vec<(Timestamp, Epoch, Held)>,
}

/// A delivery, and since when the line hides it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) delivery: Delivery,
    hidden_since: Timestamp,
}

impl Hand {
    const TRY_EVERY: Duration = Duration::from_secs(1);
    /// Several times before the line delivers them again, because a call that gets no answer takes seconds.
    const KEEP_EVERY: Duration = Duration::from_secs(5);

    /// What was asked for at `asked`.
    pub(crate) fn received(batch: Vec<Delivery>, asked: Timestamp) -> Vec<Held> {
        batch.into_iter().map(|delivery| Held { delivery, hidden_since: asked }).collect()
    }

    pub(crate) fn put(&mut self, held: impl IntoIterator<Item = Held>) {
        self.visitors.extend(held);
    }

    /// The ledger took none of them. Others go first for a moment, in case that it refuses only these.
    pub(crate) fn refused(&mut self, now: Timestamp) {
        self.next_try = now + Self::TRY_EVERY;
    }

    /// Takes whom the slice may try now: up to `most`, and whoever has used up quota before.
    pub(crate) fn take(
        &mut self,
        now: Timestamp,
        most: u32,
        is_charged: impl Fn(Token) -> bool,
    ) -> Vec<Held> {
        if now < self.next_try {
            return Vec::new();
        }
        let mut left = most;
        let is_taken = |held: &mut Held| {
            let is_free = held.token().is_some_and(&is_charged);
            let is_taken = is_free || left > 0;
            left -= u32::from(is_taken && !is_free);
            is_taken
        };
        self.visitors.extract_if(.., is_taken).collect()
    }

    pub(crate) fn any(&self, is: impl Fn(Token) -> bool) -> bool {
        self.visitors.iter().filter_map(Held::token).any(is)
    }

    /// Whom the line has to hide for longer, if it is time to ask it.
    pub(crate) fn take_due_receipts(&mut self, now: Timestamp) -> Option<Vec<Receipt>> {
        let is_due = |held: &Held| now >= held.hidden_since + Self::KEEP_EVERY;
        if now < self.next_keep || !self.visitors.iter().any(is_due) {
            return None;
        }
        self.next_keep = now + Self::TRY_EVERY;
        Some(self.visitors.iter().map(|held| held.delivery.receipt.clone()).collect())
    }

    /// The line hides them all since then.
    pub(crate) fn hidden_since(&mut self, at: Timestamp) {
        self.visitors.iter_mut().for_each(|held| held.hidden_since = at);
    }

    /// Keeps a delivery from another epoch until it is certain that the room is not in that epoch.
    pub(crate) fn set_aside(&mut self, at: Timestamp, epoch: Epoch, held: Held) {
        self.other_epochs.push((at, epoch, held));
    }

    /// Takes up those of `epoch` who were set aside until then, and returns the receipts of the others.
    pub(crate) fn sort_set_aside(&mut self, until: Timestamp, epoch: Epoch) -> Vec<Receipt> {
        let mut others = Vec::new();
        for (_, of, held) in self.other_epochs.extract_if(.., |(at, ..)| *at <= until) {
            if of == epoch {
                self.visitors.push(held);
            } else {
                others.push(held.delivery.receipt);
            }
        }
        others
    }

    /// Empties the hand.
    pub(crate) fn into_receipts(self) -> Vec<Receipt> {
        let aside = self.other_epochs.into_iter().map(|(.., held)| held);
        self.visitors.into_iter().chain(aside).map(|held| held.delivery.receipt).collect()
    }
}

impl Held {
    pub(crate) fn token(&self) -> Option<Token> {
        self.delivery.visitor.as_ref().ok().map(|visitor| visitor.token)
    }
}
