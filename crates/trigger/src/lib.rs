//! Once a minute: how many may enter, cut into slices, a consumer for each.
//!
//! The trigger keeps nothing in memory and may run twice, late, or be killed anywhere. It plans a new window
//! only when the latest one is about to end, under a number that only one of two triggers can write; then,
//! whoever planned, it sends a consumer for every slice of every window that is not over. A slice that
//! somebody already works on is refused to the second by its claim.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use waitroom::ports::{
    Clock, Dispatch, Fault, LineLength, Plans, PortError, PortResult, RoomReader, StatusBoard,
};
use waitroom::{Demand, LineStatus, Plan, Room, Slice, Valve};

/// What the trigger needs of a store.
pub trait TriggerStore: RoomReader + Plans + LineLength + StatusBoard {}

impl<S: RoomReader + Plans + LineLength + StatusBoard> TriggerStore for S {}

#[derive(Debug)]
pub struct Trigger<S, C, W> {
    store: S,
    clock: C,
    crew: W,
    minute: Duration,
}

/// What one run did, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerReport {
    /// None if the line could not be counted.
    pub waiting: Option<u64>,
    /// The plan that this run wrote, if it was time for one.
    pub planned: Option<Plan>,
    pub sent: usize,
    /// Slices for which no consumer could be started. The next run tries again while their window lasts.
    pub not_sent: usize,
}

impl<S: TriggerStore, C: Clock, W: Dispatch> Trigger<S, C, W> {
    const AT_ONCE: usize = 16;
    const ATTEMPTS: u32 = 4;

    /// `minute` is the length of a window: a minute, unless a demonstration is in a hurry.
    pub fn new(store: S, clock: C, crew: W, minute: Duration) -> Self {
        Self { store, clock, crew, minute }
    }

    /// Plans and sends, again if that fails and may still succeed: until the next run most of the minute would be lost.
    pub async fn run(&self) -> PortResult<TriggerReport> {
        let give_up = self.clock.now() + self.minute / 2;
        loop {
            let error = match self.run_once().await {
                Err(error) if error.fault != Fault::Broken => error,
                ended => return ended,
            };
            let again = self.clock.now() + self.minute / 60;
            if again > give_up {
                return Err(error);
            }
            self.clock.sleep_until(again).await;
        }
    }

    async fn run_once(&self) -> PortResult<TriggerReport> {
        let room = self.store.room().await?;
        // Only a rough count, for a plan's size: not knowing it must not cost a minute.
        let waiting = self.store.waiting().await.inspect_err(warn).ok();
        let mut report = TriggerReport { waiting, planned: None, sent: 0, not_sent: 0 };
        if let Valve::Open(_) = room.valve() {
            report.planned = self.plan(&room, waiting).await?;
            self.send(&mut report).await?;
        }
        // Where a consumer is at work it publishes, and knows better than this.
        if let (Some(waiting), 0) = (waiting, report.sent) {
            self.publish(waiting).await.unwrap_or_else(|error| warn(&error));
        }
        Ok(report)
    }

    /// Plans the next window, unless the latest has more than half a minute to go: then this run came early
    /// or twice, and the next regular one is in time.
    async fn plan(&self, room: &Room, waiting: Option<u64>) -> PortResult<Option<Plan>> {
        let recent = self.store.recent().await?;
        let last = recent.first();
        let now = self.clock.now();
        if last.is_some_and(|last| last.plan.suffices(now)) {
            return Ok(None);
        }
        let idle = waiting == Some(0) && last.is_none_or(|last| last.released == 0);
        let demand = if idle { Demand::Quiet } else { Demand::Busy };
        let plan = Plan::next(last.map(|last| &last.plan), now, self.minute, room.rate(), demand);
        Ok(self.store.write(plan).await?.then_some(plan))
    }

    async fn send(&self, report: &mut TriggerReport) -> PortResult<()> {
        let now = self.clock.now();
        let slices = self.store.recent().await?.into_iter().map(|record| record.plan);
        let slices = slices.filter(|plan| plan.window.end > now).flat_map(|plan| plan.slices());
        let sent: Vec<bool> =
            stream::iter(slices).map(|slice| self.send_one(slice)).buffered(Self::AT_ONCE).collect().await;
        report.sent = sent.iter().filter(|&&sent| sent).count();
        report.not_sent = sent.len() - report.sent;
        Ok(())
    }

    async fn send_one(&self, slice: Slice) -> bool {
        for attempt in 1..=Self::ATTEMPTS {
            match self.crew.send(slice).await {
                Ok(()) => return true,
                Err(error) if error.fault == Fault::Broken || attempt == Self::ATTEMPTS => {
                    tracing::error!(slice = %slice.id, error = &error as &dyn std::error::Error, "no consumer");
                }
                Err(_) => {
                    self.clock.sleep_until(self.clock.now() + Duration::from_millis(100) * attempt).await;
                }
            }
        }
        false
    }

    async fn publish(&self, waiting: u64) -> PortResult<()> {
        let served = self.store.served().await?;
        // As it is now: while consumers were sent it may have changed.
        let room = self.store.room().await?;
        self.store.publish(LineStatus::of(&room, served, waiting)).await
    }
}

fn warn(error: &PortError) {
    tracing::warn!(error = error as &dyn std::error::Error, "the trigger goes on after trouble");
}
