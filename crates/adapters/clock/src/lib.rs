//! The port `Clock` over the system clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use waitroom::Timestamp;
use waitroom::ports::Clock;

/// Reads the wall clock and waits with tokio's timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// A sleep is split into pieces of at most this length. So it ends on time even if the wall clock is set in the
    /// meantime, or a laptop was suspended.
    const LONGEST_SLEEP: Duration = Duration::from_secs(1);
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // If the clock is set to a time before 1970, this returns the start of 1970 instead of failing.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::default() + since_epoch
    }

    async fn sleep_until(&self, until: Timestamp) {
        let (begun, longest) = (Instant::now(), until.since(self.now()));
        loop {
            let left = until.since(self.now()).min(longest.saturating_sub(begun.elapsed()));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Self::LONGEST_SLEEP)).await;
        }
    }
}
