//! A slice whose visitors take from a stock. The ledger counts, so nothing here has to be right: it keeps visitors from being
//! received in vain, and ends the room at once.

use std::ops::ControlFlow;

use waitroom::ports::{Clock, PortResult, StockCount};
use waitroom::{BATCH, Place, Room, Stock};

use crate::hand::Held;
use crate::release::FoundAdmission;
use crate::slice_run::SliceRun;
use crate::store::ConsumerStore;

impl<S: ConsumerStore, C: Clock> SliceRun<'_, S, C> {
    pub(crate) fn stock_in(&self, room: &Room) -> Option<Stock> {
        room.valve_at(self.slice.valve_from).valve.stock()
    }

    /// How many to receive, at most as many as are left. Whom the line delivers in vain, it may put behind everybody else.
    pub(crate) async fn what_is_left(&mut self, most: u32, room: &Room) -> PortResult<u32> {
        let Some(stock) = self.stock_in(room) else { return Ok(most) };
        // When every slice could release a batch and more are left, nobody has to ask.
        if self.stock.left <= BATCH.saturating_mul(self.slice.slices()) {
            self.stock.left = self.store.ledger().left(stock).await?;
            self.stock.is_sold_out = self.stock.left == 0;
        }
        Ok(most.min(self.stock.left))
    }

    /// Admits all of them, with one of the stock each: in one call, so that they take them in one transaction.
    pub(crate) async fn admit_from(
        &self,
        stock: Stock,
        visitors: &[(Place, Vec<Held>)],
        room: &Room,
    ) -> Vec<PortResult<Option<FoundAdmission>>> {
        let admit = || {
            let admissions = visitors.iter().map(|(visitor, _)| self.admission(visitor, room)).collect();
            self.store.ledger().admit_from(stock, admissions)
        };
        match self.until_known(room, admit).await {
            Ok((admitted, was_unsure)) => {
                let found = |admitted: Option<_>| admitted.map(|admitted| self.found(admitted, was_unsure));
                admitted.into_iter().map(|admitted| Ok(found(admitted))).collect()
            }
            Err(error) => visitors.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Whoever finds that nothing is left ends the room, so that everybody reads it at once.
    pub(crate) async fn end_room(&mut self) -> ControlFlow<()> {
        match self.store.ledger().end_if_sold_out().await {
            Ok(()) => ControlFlow::Break(()),
            Err(error) => {
                self.pause_after(&error).await;
                ControlFlow::Continue(())
            }
        }
    }
}
