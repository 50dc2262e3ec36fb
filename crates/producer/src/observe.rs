//! The door of a room that observes: everybody goes on to the shop at once, whatever fails. Newcomers are counted, and admitted, so
//! that they can come back once the room makes them wait.

use futures_util::future;
use waitroom::ports::{Admissions, Admitted, Clock, NewcomerCount, PortError, PortResult, TokenSource};
use waitroom::{Admission, AdmittedBy, CountedSlot, Place, Room, Ticket};

use crate::answer::DoorAnswer;
use crate::error::ProducerError;
use crate::request::{CountedPlace, DoorRequest};
use crate::{Producer, ProducerStore};

impl<S: ProducerStore, C: Clock, T: TokenSource> Producer<S, C, T> {
    pub(crate) async fn observe(
        &self,
        room: &Room,
        place: Option<Place>,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        let Some(place) = place else { return self.observe_newcomer(room, request).await };
        let known = match self.in_short(self.admission(room, place.token)).await {
            Some(Ok(None)) if self.is_proven(room, &place, request).await => {
                self.out_of_line(room, &place).await
            }
            Some(Ok(known)) => known,
            Some(Err(error)) => {
                warn(&error);
                return self.observe_unknown(room, request).await;
            }
            None => return self.observe_unknown(room, request).await,
        };
        let now = self.clock.now();
        let Some(admission) = known.filter(|admission| admission.is_valid(now)) else {
            return self.observe_newcomer(room, request).await;
        };
        let ticket = self.ticket_for_pass(room, &place, Some(&admission), request).await;
        let to_shop = self.to_shop(room, place.token, ticket, None, request).await?;
        self.count_entry(room, place.token, &admission).await;
        Ok(to_shop)
    }

    /// Admits somebody who stands in line from before. They were counted when they joined, and the line finds them admitted.
    async fn out_of_line(&self, room: &Room, place: &Place) -> Option<Admission> {
        let admission = room.new_admission(place.ticket, AdmittedBy::Door, self.clock.now());
        match self.in_short(self.store.ledger().admit(place.token, admission)).await {
            Some(Ok(Admitted::Before(before))) => Some(before),
            Some(Ok(Admitted::Now)) | None => Some(admission),
            Some(Err(error)) => {
                // At worst the line releases this visitor later.
                warn(&error);
                Some(admission)
            }
        }
    }

    /// Counts and admits a newcomer. If that fails, or if their address has taken too many places, they pass without it.
    async fn observe_newcomer(
        &self,
        room: &Room,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        let Ok(counted) = CountedPlace::take(request.limit) else {
            return self.observe_unknown(room, request).await;
        };
        let token = self.tokens.token()?;
        let admission = room.new_admission(Ticket::FIRST, AdmittedBy::Permit, self.clock.now());
        let admitted = counted.store(self.store.ledger().admit(token, admission));
        let notes = future::join(self.count_newcomer(room), admitted);
        let is_admitted = self.in_short(notes).await.is_some_and(|(counted, admitted)| {
            counted.unwrap_or_else(|error| warn(&error));
            admitted.inspect_err(warn).is_ok()
        });
        let to_shop = self.to_shop(room, token, None, None, request).await?;
        if !is_admitted {
            return Ok(to_shop);
        }
        Ok(self.with_place(to_shop, room, token, &admission, request).await)
    }

    /// Lets somebody pass of whom nothing is written down.
    async fn observe_unknown(
        &self,
        room: &Room,
        request: &DoorRequest<'_>,
    ) -> Result<DoorAnswer, ProducerError> {
        self.to_shop(room, self.tokens.token()?, None, None, request).await
    }

    async fn count_newcomer(&self, room: &Room) -> PortResult<()> {
        let now = self.clock.now();
        let slot = CountedSlot::at(now, self.minute);
        let portion = CountedSlot::portion(room.rate());
        if portion == 1 {
            return self.store.ledger().count_newcomers(slot, 1).await;
        }
        let mut held = self.newcomers.lock().await;
        if held.take(slot, now) {
            return Ok(());
        }
        self.store.ledger().count_newcomers(slot, portion).await?;
        held.keep_rest(slot, slot + CountedSlot::length(self.minute), portion);
        Ok(())
    }
}

fn warn(error: &PortError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(
        error,
        "a visitor passes while the room observes, and it is not known whether they were counted"
    );
}
