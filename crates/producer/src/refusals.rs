use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use waitroom::Timestamp;

/// Logs refused requests without flooding the log.
///
/// The first refusal is a warning at once. After that there is at most one warning every ten seconds, with the number
/// of refusals since the warning before it. Refusals in between are logged at level debug, so each is logged exactly
/// once.
#[derive(Debug, Default)]
pub struct RefusalLog {
    /// The earliest time of the next warning, in milliseconds.
    quiet_until: AtomicU64,
    /// Refusals since the last warning.
    refused: AtomicU64,
}

impl RefusalLog {
    const INTERVAL: Duration = Duration::from_secs(10);

    /// Logs that a request for `path` got status 503, and why.
    pub fn log(&self, now: Timestamp, path: &str, error: &(dyn Error + 'static)) {
        if let Some(refused) = self.due(now) {
            tracing::warn!(path, refused, error, "refused: the visitor was told to retry");
        } else {
            tracing::debug!(path, error, "refused: the visitor was told to retry");
        }
    }

    /// Counts a refusal. If a warning is due, returns the number of refusals that the warning reports.
    fn due(&self, now: Timestamp) -> Option<u64> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let now = now.as_millis();
        let next = now + u64::try_from(Self::INTERVAL.as_millis()).unwrap_or(u64::MAX);
        let quiet_until = self.quiet_until.load(Ordering::Relaxed);
        // A clock that was set back must not silence warnings for longer than the interval.
        let quiet = now < quiet_until && quiet_until <= next;
        // If several requests get here at once, only one of them logs the warning.
        let due = !quiet
            && self
                .quiet_until
                .compare_exchange(quiet_until, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        due.then(|| self.refused.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_one_warning_every_ten_seconds() {
        let log = RefusalLog::default();
        let start = Timestamp::from_millis(1_700_000_000_000);
        let due = |seconds| log.due(start + Duration::from_secs(seconds));
        assert_eq!(due(0), Some(1), "the first at once");
        assert_eq!([due(0), due(1), due(9)], [None; 3]);
        assert_eq!(due(10), Some(4));
        assert_eq!(due(15), None);
        assert_eq!(due(3600), Some(2));
    }

    #[test]
    fn warnings_continue_after_the_clock_is_set_back() {
        let log = RefusalLog::default();
        let start = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(log.due(start), Some(1));
        assert_eq!(log.due(start - Duration::from_hours(1)), Some(1));
    }
}
