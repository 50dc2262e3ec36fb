//! What a consumer tells the ledger while it releases a slice: how many, and where the line is.

use std::pin::pin;

use waitroom::ports::{Clock, LineLength, MinuteLog, PortResult, Slices, StatusBoard, StockCount, within};
use waitroom::{LineCount, LineReach, LineStatus, Room};

use crate::slice_run::{LONGEST_WAIT, SliceRun};
use crate::store::ConsumerStore;

impl<S: ConsumerStore, C: Clock> SliceRun<'_, S, C> {
    /// Reports progress, but gives up after a second, because visitors wait meanwhile.
    pub(crate) async fn report_in_time(&mut self, room: &Room) {
        let clock = self.clock;
        if within(clock, LONGEST_WAIT, pin!(self.report(room))).await.is_none() {
            self.tally.report.failures += 1;
        }
        self.tally.reported(clock.now());
    }

    /// Records how many the slice has released. The plan's first slice also publishes the line's status.
    pub(crate) async fn report(&mut self, room: &Room) {
        if let Err(error) = self.write_progress(room).await {
            self.tally.failed(&error);
        }
    }

    async fn write_progress(&mut self, room: &Room) -> PortResult<()> {
        self.store.ledger().record(self.slice.id, self.tally.progress()).await?;
        if let Some((at, wait)) = self.tally.waits.take_due() {
            self.store.ledger().note_wait(at, wait).await?;
        }
        let is_first = self.slice.id.index == 0;
        if self.tally.reached.is_some() && !is_first {
            return Ok(());
        }
        let reach = self.store.ledger().reach().await?;
        self.tally.begin_at(reach);
        if is_first {
            self.publish(room, reach).await?;
        }
        Ok(())
    }

    async fn publish(&mut self, room: &Room, reach: LineReach) -> PortResult<()> {
        let now = self.clock.now();
        let count = LineCount {
            counted: self.store.line().waiting().await?,
            issued: self.store.line().issued().await?,
            found_empty: self.tally.finds_nobody(now),
        };
        let waiting = count.waiting(reach.reached, now);
        let left = self.store.ledger().left_in(room).await?;
        self.stock.is_sold_out |= left == Some(0);
        let status = LineStatus::of(room, reach, waiting, left);
        // An unchanged status is not written again: an idle room must cost next to nothing.
        self.tally.is_news = self.tally.published != Some(status);
        if self.tally.is_news {
            self.store.ledger().publish(status).await?;
            self.tally.published = Some(status);
        }
        Ok(())
    }
}
