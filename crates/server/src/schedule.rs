//! What happens once a minute: the trigger, the consumers that it sends, the sweep; and, if wanted, the
//! throttle.

use std::time::Duration;

use clock::SystemClock;
use consumer::Consumer;
use embedded::EmbeddedStore;
use throttle::{SamplePurpose, Throttle, ThrottleOutcome};
use tokio::time::{MissedTickBehavior, interval};
use trigger::Trigger;
use waitroom::Slice;
use waitroom::ports::{Claimant, Dispatch, PortError, PortResult, Probe};
use waitroom::throttle_rules::Verdict;

/// Consumers as tasks of this process.
#[derive(Clone, Debug)]
struct Tasks(EmbeddedStore);

impl Dispatch for Tasks {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let consumer = Consumer::new(self.0.clone(), SystemClock);
        tokio::spawn(async move {
            if let Err(error) = consumer.run(slice, Claimant(rand::random())).await {
                warn(&error, "a slice was not worked on");
            }
        });
        Ok(())
    }
}

/// Fires every `minute` until dropped. Consumers under way are then cut off, which harms nobody.
pub async fn run(store: EmbeddedStore, minute: Duration) {
    let trigger = Trigger::new(store.clone(), SystemClock, Tasks(store.clone()), minute);
    let mut minutes = interval(minute);
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        minutes.tick().await;
        if let Err(error) = trigger.run().await {
            warn(&error, "this minute's plan could not be made; the next minute tries again");
        }
        if let Err(error) = store.sweep().await {
            warn(&error, "old visitors could not be swept; the next minute tries again");
        }
    }
}

/// Measures the shop every `minute` until dropped, and governs the rate.
pub async fn govern(store: EmbeddedStore, probe: impl Probe, minute: Duration) {
    let throttle = Throttle::new(store, SystemClock, probe, minute);
    let mut minutes = interval(minute);
    minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        minutes.tick().await;
        match throttle.run(SamplePurpose::Judge).await {
            Ok(ThrottleOutcome::Found(finding) | ThrottleOutcome::NoBaseline(finding))
                if finding.verdict != Verdict::Well =>
            {
                let (verdict, rate) = (finding.verdict, finding.rate);
                tracing::warn!(?verdict, failed = finding.failed, %rate, "the shop suffers; fewer may enter");
            }
            Ok(_) => {}
            Err(error) => warn(&error, "the shop could not be judged; the next minute tries again"),
        }
    }
}

fn warn(error: &PortError, consequence: &str) {
    tracing::warn!(error = error as &dyn std::error::Error, "{consequence}");
}
