//! What happens every minute: the trigger with its consumers, the removal of old records, and, if enabled, the
//! throttle. The trigger also runs whenever the valve changes. When the room stops, the last minute is recorded.
//!
//! Each of the three logs what it did and what failed, so their results are not needed here.

use std::time::Duration;

use clock::SystemClock;
use consumer::Consumer;
use embedded::EmbeddedStore;
use throttle::{SamplePurpose, Throttle};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use trigger::{Trigger, TriggerCause};
use waitroom::Slice;
use waitroom::ports::{ConsumerRun, Dispatch, PortResult, Probe};

/// Consumers as tasks of this process, until the room ends.
#[derive(Clone, Debug)]
struct Tasks {
    store: EmbeddedStore,
    end: watch::Receiver<()>,
}

impl Dispatch for Tasks {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let consumer = Consumer::new(self.store.clone(), SystemClock);
        let mut end = self.end.clone();
        tokio::spawn(async move {
            tokio::select! {
                // Looked at first, or the log would say that the store of a room that ends is closed. It may end at any point.
                biased;
                _ = end.changed() => {}
                _ = consumer.run(slice, ConsumerRun(rand::random())) => {}
            }
        });
        Ok(())
    }
}

/// Runs every `minute`, and whenever the valve changes, until dropped. Consumers that run then go on until the `end`.
pub async fn run(store: EmbeddedStore, minute: Duration, end: watch::Receiver<()>) {
    let tasks = Tasks { store: store.clone(), end };
    let trigger = Trigger::new(store.clone(), SystemClock, tasks, minute);
    let mut minutes = interval(minute);
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let cause = tokio::select! {
            _ = minutes.tick() => TriggerCause::Minute,
            () = store.valve_changed() => TriggerCause::Change,
        };
        drop(trigger.run(cause).await);
        if cause == TriggerCause::Change {
            continue;
        }
        if let Err(error) = store.sweep().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "could not remove old records; the next minute tries again");
        }
    }
}

/// Writes the record of the minute in which the room stops. Call it after [`run`] was dropped and the last visitor was
/// answered.
pub async fn note_last_minute(store: &EmbeddedStore, minute: Duration, end: watch::Receiver<()>) {
    let tasks = Tasks { store: store.clone(), end };
    let trigger = Trigger::new(store.clone(), SystemClock, tasks, minute);
    if let Err(error) = trigger.note_last_minute().await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "could not record the last minute; who came for their pass in it is not counted"
        );
    }
}

/// Measures the shop every `minute` until dropped, and lowers the rate while it is slow or failing.
pub async fn run_throttle(store: EmbeddedStore, probe: impl Probe, minute: Duration) {
    let throttle = Throttle::new(store, SystemClock, probe, minute);
    let mut minutes = interval(minute);
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        minutes.tick().await;
        drop(throttle.run(SamplePurpose::Judge).await);
    }
}
