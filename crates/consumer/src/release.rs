//! The release of one batch: an admission for each visitor is written, and only then they leave the line.

use std::time::Duration;

use futures_util::{TryFutureExt, future};
use waitroom::ports::{Admissions, Admitted, Clock, Fault, LineFront, PortError, PortResult, Receipt};
use waitroom::{Admission, AdmittedBy, Place, Room, Ticket, Timestamp, Token};

use crate::hand::Held;
use crate::slice_run::SliceRun;
use crate::store::ConsumerStore;
use crate::tally::Tally;

/// How often an admission is written before the visitor goes back into the hand.
const ATTEMPTS: u32 = 3;
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A visitor's admission, after an attempt to write it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundAdmission {
    by: AdmittedBy,
    /// The last call wrote it.
    is_new: bool,
    /// An earlier call of this attempt may have written it.
    was_unsure: bool,
}

/// What follows from the ledger's answers to a batch.
#[derive(Debug, Default)]
struct Accounts {
    /// The deliveries of those who have nothing more to do in the line.
    finished: Vec<Receipt>,
    left: Vec<Ticket>,
    /// Those whom the ledger did not take.
    kept: Vec<Held>,
    /// How many used up quota.
    charged: u32,
    /// The ledger wrote an admission of this slice.
    wrote: bool,
    answered: bool,
    /// Nothing was left for somebody.
    sold_out: bool,
    failed: Option<PortError>,
}

impl Accounts {
    /// Accounts for one visitor, whose deliveries are `held`, and who was released at `at`.
    fn see(
        &mut self,
        (visitor, held): (Place, Vec<Held>),
        result: PortResult<FoundAdmission>,
        at: Timestamp,
        tally: &mut Tally,
    ) {
        self.answered |= result.is_ok();
        let found = match result {
            Ok(found) => found,
            Err(error) => {
                tally.delivered(visitor.ticket);
                // The visitor may be admitted, so they use up quota. They are counted when the ledger confirms the admission.
                if error.fault == Fault::Unsure {
                    self.charged += tally.charge(visitor.token);
                }
                self.kept.extend(held);
                self.failed = Some(error);
                return;
            }
        };
        self.wrote |= found.is_new;
        if found.by == AdmittedBy::Slice(tally.slice) {
            tally.delivered(visitor.ticket);
            // An earlier consumer of this slice may have died, and its admissions are counted already. So an admission that
            // may be the earlier consumer's is not counted again.
            let may_be_predecessors = tally.is_resumed() && !found.is_new;
            if !may_be_predecessors || found.was_unsure {
                self.charged += tally.charge(visitor.token);
            }
            if !may_be_predecessors {
                tally.count(visitor.token);
                tally.waits.see(held.first().and_then(|held| held.delivery.joined), at);
            }
        } else {
            // Admissions written by another slice are not counted.
            tally.report.dropped += 1;
        }
        self.left.push(visitor.ticket);
        self.finished.extend(held.into_iter().map(|held| held.delivery.receipt));
    }

    /// Nothing was left for this visitor, who keeps the place.
    fn turn_back(&mut self, (visitor, held): (Place, Vec<Held>), tally: &mut Tally) {
        tally.delivered(visitor.ticket);
        self.answered = true;
        self.sold_out = true;
        self.kept.extend(held);
    }
}

impl<S: ConsumerStore, C: Clock> SliceRun<'_, S, C> {
    /// Releases one batch. Whom the ledger does not take goes back into the hand.
    pub(crate) async fn release(&mut self, batch: Vec<Held>, room: &Room) {
        let visitors = self.sort(batch, room).await;
        let at = self.clock.now();
        let admitted = self.admit_all(&visitors, room).await;
        let mut accounts = Accounts::default();
        for (visitor, found) in visitors.into_iter().zip(admitted) {
            match found.transpose() {
                Some(found) => accounts.see(visitor, found, at, &mut self.tally),
                None => accounts.turn_back(visitor, &mut self.tally),
            }
        }
        self.settle(accounts, at).await;
    }

    /// What the ledger says to each of them. `None` if nothing is left of the stock that this slice takes from.
    async fn admit_all(
        &self,
        visitors: &[(Place, Vec<Held>)],
        room: &Room,
    ) -> Vec<PortResult<Option<FoundAdmission>>> {
        if let Some(stock) = self.stock_in(room) {
            return self.admit_from(stock, visitors, room).await;
        }
        let admit = |(visitor, _): &(Place, _)| self.admit(*visitor, room).map_ok(Some);
        future::join_all(visitors.iter().map(admit)).await
    }

    /// Takes those who are done out of the line, and the others back into the hand.
    async fn settle(&mut self, accounts: Accounts, at: Timestamp) {
        let Accounts { finished, left, kept, charged, wrote, answered, sold_out, failed } = accounts;
        self.stock.take(charged, self.slice);
        self.stock.is_sold_out |= sold_out;
        self.tally.leave(left);
        self.hand.put(kept);
        if charged > 0 || wrote {
            self.pace.record_released(charged, at);
        }
        if !finished.is_empty()
            && let Err(error) = self.store.line().remove(finished).await
        {
            // The line delivers them again; they are found admitted and are removed then.
            self.tally.failed(&error);
        }
        if let Some(error) = failed {
            self.tally.failed(&error);
            // If it took nobody, it is asked whether it takes anybody, before others are received.
            if !answered {
                self.tally.ledger_takes = Some(false);
                self.hand.refused(self.clock.now());
            }
        }
    }

    /// Returns the room's visitors of a batch, with all deliveries of each. Sets those of other epochs aside, and buries
    /// what is no visitor.
    async fn sort(&mut self, batch: Vec<Held>, room: &Room) -> Vec<(Place, Vec<Held>)> {
        let mut visitors: Vec<(Place, Vec<Held>)> = Vec::with_capacity(batch.len());
        for held in batch {
            match &held.delivery.visitor {
                Ok(visitor) if visitor.epoch == room.epoch => {
                    match visitors.iter_mut().find(|(known, _)| known.token == visitor.token) {
                        Some((_, deliveries)) => deliveries.push(held),
                        None => visitors.push((*visitor, vec![held])),
                    }
                }
                Ok(visitor) => self.hand.set_aside(self.clock.now(), visitor.epoch, held),
                Err(body) => match self.store.line().bury(held.delivery.receipt, body.clone()).await {
                    Ok(()) => self.tally.report.dead_letters += 1,
                    Err(error) => self.tally.failed(&error),
                },
            }
        }
        visitors
    }

    /// Admits one visitor, and returns their admission as the ledger has it now.
    async fn admit(&self, visitor: Place, room: &Room) -> PortResult<FoundAdmission> {
        let admit = || {
            let (token, admission) = self.admission(&visitor, room);
            self.store.ledger().admit(token, admission)
        };
        let (admitted, was_unsure) = self.until_known(room, admit).await?;
        Ok(self.found(admitted, was_unsure))
    }

    pub(crate) fn admission(&self, visitor: &Place, room: &Room) -> (Token, Admission) {
        let by = AdmittedBy::Slice(self.slice.id);
        (visitor.token, room.new_admission(visitor.ticket, by, self.clock.now()))
    }

    pub(crate) fn found(&self, admitted: Admitted, was_unsure: bool) -> FoundAdmission {
        match admitted {
            Admitted::Now => {
                FoundAdmission { by: AdmittedBy::Slice(self.slice.id), is_new: true, was_unsure }
            }
            Admitted::Before(Admission { by, .. }) => FoundAdmission { by, is_new: false, was_unsure },
        }
    }

    /// Makes a call until the ledger answers, and says whether an earlier one may have been carried out. Does not retry once
    /// the slice's time is over.
    pub(crate) async fn until_known<T, F: Future<Output = PortResult<T>>>(
        &self,
        room: &Room,
        call: impl Fn() -> F,
    ) -> PortResult<(T, bool)> {
        let mut unsure = false;
        let mut attempt = 1;
        loop {
            match call().await {
                Ok(answer) => return Ok((answer, unsure)),
                Err(mut error) => {
                    unsure |= error.fault == Fault::Unsure;
                    if attempt == ATTEMPTS
                        || error.fault == Fault::Broken
                        || self.clock.now() + RETRY_PAUSE * attempt >= self.deadline(room)
                    {
                        if unsure {
                            error.fault = Fault::Unsure;
                        }
                        return Err(error);
                    }
                }
            }
            self.clock.sleep_until(self.clock.now() + RETRY_PAUSE * attempt).await;
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use waitroom::ports::Delivery;
    use waitroom::{Epoch, SliceId, Token, fixture};

    use super::*;
    use crate::hand::Hand;

    const AT: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const SLICE: SliceId = SliceId { plan: 1, index: 0 };

    fn tally(released_before: u32) -> Tally {
        let mut tally = Tally::new(fixture::plan(1).slices(fixture::MINUTE).next().unwrap());
        tally.resume(released_before);
        tally
    }

    /// Accounts for one visitor with two deliveries.
    fn account(tally: &mut Tally, result: PortResult<FoundAdmission>) -> Accounts {
        let epoch: Epoch = "ab12".parse().unwrap();
        let visitor = Place { epoch, token: Token::from_bytes([7; 16]), ticket: Ticket::new(9).unwrap() };
        let delivery = |receipt: &str| Delivery {
            receipt: Receipt(receipt.into()),
            visitor: Ok(visitor),
            joined: Some(AT - Duration::from_secs(30)),
        };
        let held = Hand::received(vec![delivery("first"), delivery("again")], AT);
        let mut accounts = Accounts::default();
        accounts.see((visitor, held), result, AT, tally);
        accounts
    }

    fn found(by: AdmittedBy, is_new: bool, was_unsure: bool) -> FoundAdmission {
        FoundAdmission { by, is_new, was_unsure }
    }

    #[test]
    fn a_release_is_charged_and_counted_once() {
        let by = AdmittedBy::Slice(SLICE);
        for (case, released_before, found, expected) in [
            ("written now", 0, found(by, true, false), (1, 1, true)),
            ("written by an earlier call", 0, found(by, false, true), (1, 1, false)),
            ("perhaps by the consumer before, which died", 3, found(by, false, false), (0, 0, false)),
            ("perhaps by it, or by an earlier call", 3, found(by, false, true), (1, 0, false)),
            ("written now, after another died", 3, found(by, true, false), (1, 1, true)),
            (
                "by another slice",
                0,
                found(AdmittedBy::Slice(SliceId { plan: 1, index: 1 }), false, false),
                (0, 0, false),
            ),
            ("by the door", 0, found(AdmittedBy::Door, false, false), (0, 0, false)),
        ] {
            let mut tally = tally(released_before);
            let accounts = account(&mut tally, Ok(found));
            assert_eq!((accounts.charged, tally.report.released, accounts.wrote), expected, "{case}");
            assert_eq!(
                (accounts.finished.len(), accounts.left.len(), accounts.kept.len()),
                (2, 1, 0),
                "{case}"
            );
        }
    }

    #[test]
    fn whom_the_ledger_does_not_take_stays_in_the_hand() {
        for (fault, charged) in [(Fault::Unsure, 1), (Fault::Busy, 0), (Fault::Broken, 0)] {
            let mut tally = tally(0);
            let accounts = account(&mut tally, Err(PortError::new("admit", fault, "no")));
            assert_eq!(
                (accounts.charged, tally.report.released, accounts.answered),
                (charged, 0, false),
                "{fault:?}"
            );
            assert_eq!(
                (accounts.finished.len(), accounts.left.len(), accounts.kept.len()),
                (0, 0, 2),
                "{fault:?}"
            );
            assert!(accounts.failed.is_some());
        }
    }
}
