//! What happens every minute: the trigger with its consumers, the removal of old records, and, if enabled, the
//! throttle. The trigger also runs whenever the valve changes. When the room stops, the last minute is recorded.
//!
//! Each of the three logs what it did and what failed, so their results are not needed here.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use clock::SystemClock;
use consumer::Consumer;
use embedded::EmbeddedStore;
use futures_util::FutureExt;
use throttle::Throttle;
use tokio::sync::watch;
use trigger::{Trigger, TriggerCause};
use waitroom::ports::{Clock, ConsumerRun, Dispatch, PortResult, Probe};
use waitroom::{Slice, Timestamp};

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

/// Minutes by the clock of the room: tokio's own stand still while a laptop is suspended, and then nobody would be released until
/// the rest of one is over.
struct Minutes<C> {
    clock: C,
    minute: Duration,
    next: Timestamp,
}

impl<C: Clock> Minutes<C> {
    /// The first is at once.
    fn begun(clock: C, minute: Duration) -> Self {
        Self { next: clock.now(), clock, minute }
    }

    /// Ends when the next minute begins. Those that were missed are left out.
    async fn tick(&mut self) {
        // After a clock was set back, it is a minute away at most.
        self.next = self.next.min(self.clock.now() + self.minute);
        self.clock.sleep_until(self.next).await;
        let (due, now) = (self.next + self.minute, self.clock.now());
        self.next = if due > now { due } else { now + self.minute };
    }
}

/// Releases visitors and removes old records every `minute`, until dropped. Consumers that run then go on until the `end`.
pub async fn run(store: EmbeddedStore, minute: Duration, end: watch::Receiver<()>) {
    // Side by side: after a room has stood for weeks there is much to remove, and nobody waits for that to be released.
    tokio::join!(release(store.clone(), minute, end), remove_old(store, minute));
}

/// Also runs whenever the valve changes.
async fn release(store: EmbeddedStore, minute: Duration, end: watch::Receiver<()>) {
    let tasks = Tasks { store: store.clone(), end };
    let trigger = Trigger::new(store.clone(), SystemClock, tasks, minute);
    let mut minutes = Minutes::begun(SystemClock, minute);
    loop {
        let cause = tokio::select! {
            () = minutes.tick() => TriggerCause::Minute,
            () = store.valve_changed() => TriggerCause::Change,
        };
        survive("the trigger", trigger.run(cause)).await;
    }
}

async fn remove_old(store: EmbeddedStore, minute: Duration) {
    let mut minutes = Minutes::begun(SystemClock, minute);
    loop {
        minutes.tick().await;
        let sweep = async {
            if let Err(error) = store.sweep().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "could not remove old records; the next minute tries again");
            }
        };
        survive("the removal of old records", sweep).await;
    }
}

/// A panic is a bug, and would end what runs each minute for good: nobody would be released any more, and nobody be told.
async fn survive<T>(what: &'static str, run: impl Future<Output = T>) {
    if AssertUnwindSafe(run).catch_unwind().await.is_err() {
        tracing::error!(what, "broke off, as the lines above say; the next minute tries again");
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
    let mut minutes = Minutes::begun(SystemClock, minute);
    loop {
        minutes.tick().await;
        survive("the throttle", throttle.run()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Its sleeps end on time, and at once. It can be set.
    #[derive(Clone, Default)]
    struct QuickClock(Arc<AtomicU64>);

    impl Clock for QuickClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }

        async fn sleep_until(&self, until: Timestamp) {
            self.0.fetch_max(until.as_millis(), Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn what_runs_each_minute_survives_a_bug() {
        survive("a test", async { panic!("on purpose") }).await;
    }

    #[tokio::test]
    async fn a_minute_begins_on_time_after_a_laptop_was_suspended_or_its_clock_set_back() {
        let clock = QuickClock::default();
        let mut minutes = Minutes::begun(clock.clone(), Duration::from_mins(1));
        let mut seconds = async |set: Option<u64>| {
            if let Some(second) = set {
                clock.0.store(second * 1000, Ordering::Relaxed);
            }
            minutes.tick().await;
            clock.now().as_secs()
        };
        assert_eq!([seconds(None).await, seconds(None).await, seconds(None).await], [0, 60, 120]);
        assert_eq!([seconds(Some(130)).await, seconds(None).await], [180, 240], "the work took ten seconds");
        assert_eq!([seconds(Some(1000)).await, seconds(None).await], [1000, 1060], "suspended");
        assert_eq!([seconds(Some(100)).await, seconds(None).await], [160, 220], "set back");
    }
}
