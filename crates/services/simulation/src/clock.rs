use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::Timestamp;
use waitroom::ports::Clock;

/// A clock that only the simulation advances.
#[derive(Clone, Debug)]
pub struct SimClock(Arc<Mutex<Timers>>);

/// Instants are those of a clock that was never set back.
#[derive(Debug)]
struct Timers {
    now: Timestamp,
    /// By how much the clock was set back.
    behind: Duration,
    /// The sleeping tasks, by the instant at which each wakes. The second number orders tasks of the same instant:
    /// the first to sleep wakes first.
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    next: u64,
}

impl SimClock {
    pub fn at(now: Timestamp) -> Self {
        let behind = Duration::ZERO;
        Self(Arc::new(Mutex::new(Timers { now, behind, sleepers: BTreeMap::new(), next: 0 })))
    }

    /// When the next sleeper wakes.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let timers = self.0.lock();
        timers.sleepers.first_key_value().map(|((at, _), _)| *at - timers.behind)
    }

    /// Says an earlier time from now on. Whoever sleeps does so no longer for it.
    pub fn set_back(&self, by: Duration) {
        self.0.lock().behind += by;
    }

    pub fn advance_to(&self, now: Timestamp) {
        let mut timers = self.0.lock();
        let now = now + timers.behind;
        timers.now = timers.now.max(now);
        let mut woken = Vec::new();
        while let Some(first) = timers.sleepers.first_entry().filter(|first| first.key().0 <= now) {
            woken.push(first.remove());
        }
        drop(timers);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let timers = self.0.lock();
        timers.now - timers.behind
    }

    fn sleep_until(&self, until: Timestamp) -> impl Future<Output = ()> + Send {
        let until = until + self.0.lock().behind;
        Sleep { clock: self.clone(), until, key: None }
    }
}

struct Sleep {
    clock: SimClock,
    until: Timestamp,
    key: Option<(Timestamp, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.clock.0.lock();
        if timers.now >= self.until {
            return Poll::Ready(());
        }
        let key = self.key.unwrap_or_else(|| {
            timers.next += 1;
            (self.until, timers.next)
        });
        timers.sleepers.insert(key, context.waker().clone());
        drop(timers);
        self.key = Some(key);
        Poll::Pending
    }
}

/// A task that is killed while it sleeps must not be woken later.
impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.clock.0.lock().sleepers.remove(&key);
        }
    }
}
