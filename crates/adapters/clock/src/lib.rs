//! The machine's clock, as the handlers need it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use waitroom::Timestamp;
use waitroom::ports::Clock;

/// The wall clock, with tokio's timer to wait by.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// A sleep is cut into pieces no longer than this, so that a wall clock that is set meanwhile (or a
    /// laptop that slept) is noticed.
    const LONGEST_NAP: Duration = Duration::from_secs(1);
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A machine that believes to be before 1970 gets the epoch: late, but not a crash.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::default() + since_epoch
    }

    async fn sleep_until(&self, until: Timestamp) {
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Self::LONGEST_NAP)).await;
        }
    }
}
