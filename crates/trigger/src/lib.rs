//! Runs once a minute: plans how many visitors may enter, cuts the plan into slices, and starts a consumer for each.
//!
//! The trigger keeps nothing in memory, and may run twice, late, or be killed at any point. It plans a new window only
//! when the latest one is about to end. Of two triggers, only one can write the plan with that window's number. Then
//! the trigger starts a consumer for every slice of every window that is not over, also of windows that an earlier run
//! planned. A second consumer for the same slice cannot claim it and ends.

use std::error::Error;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use waitroom::ports::{
    Clock, Dispatch, Fault, LineLength, Plans, PortError, PortResult, RoomReader, StatusBoard,
};
use waitroom::{Demand, Epoch, LineStatus, Plan, Room, RoomId, Slice, Valve};

/// What the trigger needs of a store.
pub trait TriggerStore: RoomReader + Plans + LineLength + StatusBoard {}

impl<S: RoomReader + Plans + LineLength + StatusBoard> TriggerStore for S {}

#[derive(Debug)]
pub struct Trigger<S, C, D> {
    store: S,
    clock: C,
    dispatch: D,
    minute: Duration,
}

/// What one run did. The values are the fields of its log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerReport {
    pub room: RoomId,
    pub epoch: Epoch,
    /// None if the line could not be counted.
    pub waiting: Option<u64>,
    /// The plan that this run wrote, if one was due.
    pub planned: Option<Plan>,
    /// Slices for which a consumer was started.
    pub sent: usize,
    /// Slices for which no consumer could be started. The next run tries again while their window lasts.
    pub not_sent: usize,
}

impl<S: TriggerStore, C: Clock, D: Dispatch> Trigger<S, C, D> {
    const AT_ONCE: usize = 16;
    const ATTEMPTS: u32 = 4;

    /// `minute` is the length of a window: a minute, or less in a demonstration.
    pub fn new(store: S, clock: C, dispatch: D, minute: Duration) -> Self {
        Self { store, clock, dispatch, minute }
    }

    /// Plans, starts consumers, and logs one line that says what was done.
    ///
    /// A failure that may pass is retried for half a minute: without a plan, nobody is released until the next run.
    pub async fn run(&self) -> PortResult<TriggerReport> {
        let give_up = self.clock.now() + self.minute / 2;
        loop {
            let error = match self.run_once().await {
                Ok(report) => {
                    report.log();
                    return Ok(report);
                }
                Err(error) => error,
            };
            let again = self.clock.now() + self.minute / 60;
            if error.fault == Fault::Broken || again > give_up {
                tracing::error!(error = &error as &dyn Error, "trigger failed; the next run tries again");
                return Err(error);
            }
            tracing::debug!(error = &error as &dyn Error, "trigger retries");
            self.clock.sleep_until(again).await;
        }
    }

    async fn run_once(&self) -> PortResult<TriggerReport> {
        let room = self.store.room().await?;
        // A rough count, used only for the plan's size. If it cannot be read, the window is planned without it.
        let waiting = self.store.waiting().await.inspect_err(warn).ok();
        let mut report = TriggerReport {
            room: room.settings.room.clone(),
            epoch: room.epoch,
            waiting,
            planned: None,
            sent: 0,
            not_sent: 0,
        };
        if let Valve::Open(_) = room.valve() {
            report.planned = self.plan(&room, waiting).await?;
            self.send(&mut report).await?;
        }
        // While a consumer works, it publishes the status itself, with more recent figures.
        if let (Some(waiting), 0) = (waiting, report.sent) {
            self.publish(waiting).await.unwrap_or_else(|error| warn(&error));
        }
        Ok(report)
    }

    /// Plans the next window, unless the latest one has more than half a minute left. In that case this run is early or
    /// a repetition, and the next regular run is soon enough.
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

    /// Starts a consumer for each slice of every window that is not over.
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
            match self.dispatch.send(slice).await {
                Ok(()) => return true,
                Err(error) if error.fault == Fault::Broken || attempt == Self::ATTEMPTS => {
                    let error = &error as &dyn Error;
                    tracing::error!(slice = %slice.id, error, "could not start a consumer for a slice");
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
        // Read again, because it may have changed while consumers were started.
        let room = self.store.room().await?;
        self.store.publish(LineStatus::of(&room, served, waiting)).await
    }
}

impl TriggerReport {
    /// The one line that every run logs, on one machine and on AWS. A run that planned nothing has no window.
    fn log(&self) {
        let Self { room, epoch, waiting, planned, sent, not_sent } = self;
        let (window, quota) = (planned.map(|plan| plan.number), planned.map(|plan| plan.quota));
        tracing::info!(%room, %epoch, window, quota, sent, not_sent, waiting, "trigger finished");
    }
}

fn warn(error: &PortError) {
    tracing::warn!(error = error as &dyn Error, "a call failed; the trigger goes on");
}
