//! What happens every minute: the trigger with its consumers, the removal of old records, and, if enabled, the
//! throttle. The trigger also runs whenever the valve changes. When the room stops, the last minute is recorded.
//!
//! Each of the three logs what it did and what failed, so their results are not needed here.

use std::time::Duration;

use clock::SystemClock;
use consumer::Consumer;
use embedded::EmbeddedStore;
use throttle::{SamplePurpose, Throttle};
use tokio::time::{MissedTickBehavior, interval};
use trigger::{Trigger, TriggerCause};
use waitroom::Slice;
use waitroom::ports::{ConsumerRun, Dispatch, PortResult, Probe};

/// Consumers as tasks of this process.
#[derive(Clone, Debug)]
struct Tasks(EmbeddedStore);

impl Dispatch for Tasks {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let consumer = Consumer::new(self.0.clone(), SystemClock);
        tokio::spawn(async move { consumer.run(slice, ConsumerRun(rand::random())).await });
        Ok(())
    }
}

/// Runs every `minute`, and whenever the valve changes, until dropped. Consumers that run then go on until the process ends,
/// which is safe at any point.
pub async fn run(store: EmbeddedStore, minute: Duration) {
    let trigger = Trigger::new(store.clone(), SystemClock, Tasks(store.clone()), minute);
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
pub async fn note_last_minute(store: &EmbeddedStore, minute: Duration) {
    let trigger = Trigger::new(store.clone(), SystemClock, Tasks(store.clone()), minute);
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
