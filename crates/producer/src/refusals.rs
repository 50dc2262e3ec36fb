use std::error::Error;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::{Refusals, Timestamp, with_causes};

/// Logs refused requests without flooding the log, and remembers the latest for the operator's status.
///
/// The first refusal is a warning at once. After that there is at most one warning every ten seconds, with the number
/// of refusals since the warning before it. Refusals in between are logged at level debug, so each is logged exactly
/// once.
#[derive(Debug, Default)]
pub struct RefusalLog(Mutex<RefusalCounts>);

#[derive(Debug, Default)]
struct RefusalCounts {
    /// The earliest time of the next warning.
    quiet_until: Timestamp,
    /// Refusals since the last warning.
    unlogged: u64,
    recent: Option<LatestRefusals>,
}

#[derive(Debug)]
struct LatestRefusals {
    since: Timestamp,
    last: Timestamp,
    in_last_minute: u64,
    in_minute_before: u64,
    reason: String,
}

impl RefusalLog {
    const INTERVAL: Duration = Duration::from_secs(10);
    /// A join that is stored this long after the last refusal shows that visitors are no longer refused.
    const LULL: Duration = Duration::from_secs(10);

    /// Logs that a request for `path` got status 503, and why.
    pub fn log(&self, now: Timestamp, path: &str, error: &(dyn Error + 'static)) {
        if let Some(refused) = self.count(now, error) {
            tracing::warn!(path, refused, error, "refused: the visitor was told to retry");
        } else {
            tracing::debug!(path, error, "refused: the visitor was told to retry");
        }
    }

    /// What was refused in this minute and the one before. `None` if nothing was, or if it is over.
    pub fn recent(&self, now: Timestamp) -> Option<Refusals> {
        let refused = self.0.lock();
        let recent = refused.recent.as_ref()?;
        let (in_this_minute, in_minute_before) = recent.counts_at(now)?;
        let requests = in_this_minute + in_minute_before;
        Some(Refusals { requests, since: recent.since, reason: recent.reason.clone() })
    }

    /// A place was stored.
    pub(crate) fn note_join(&self, now: Timestamp) {
        self.0.lock().recent.take_if(|recent| now >= recent.last + Self::LULL);
    }

    /// Counts a refusal. If a warning is due, returns the number of refusals that the warning reports.
    fn count(&self, now: Timestamp, error: &(dyn Error + 'static)) -> Option<u64> {
        let reason = with_causes(error);
        let mut refused = self.0.lock();
        refused.remember(now, reason);
        refused.unlogged += 1;
        let next = now + Self::INTERVAL;
        // A clock that was set back must not silence warnings for longer than the interval.
        let is_quiet = now < refused.quiet_until && refused.quiet_until <= next;
        if is_quiet {
            return None;
        }
        refused.quiet_until = next;
        Some(std::mem::take(&mut refused.unlogged))
    }
}

impl RefusalCounts {
    fn remember(&mut self, now: Timestamp, reason: String) {
        let before = self.recent.as_ref().and_then(|recent| {
            let counts = recent.counts_at(now)?;
            Some((recent.since, recent.last.max(now), counts))
        });
        let (since, last, (in_last_minute, in_minute_before)) = before.unwrap_or((now, now, (0, 0)));
        let in_last_minute = in_last_minute + 1;
        self.recent = Some(LatestRefusals { since, last, in_last_minute, in_minute_before, reason });
    }
}

impl LatestRefusals {
    /// How many in this minute, and in the one before. `None` if that is over.
    fn counts_at(&self, now: Timestamp) -> Option<(u64, u64)> {
        match minutes_since(self.last, now)? {
            0 => Some((self.in_last_minute, self.in_minute_before)),
            1 => Some((0, self.in_last_minute)),
            _ => None,
        }
    }
}

/// How many times the clock's minute has changed. `None` if the clock was set back, and not only read by another request a
/// little earlier.
fn minutes_since(earlier: Timestamp, now: Timestamp) -> Option<u64> {
    let minute = |at: Timestamp| at.as_secs() / 60;
    (earlier.since(now) < Duration::from_mins(1)).then(|| minute(now).saturating_sub(minute(earlier)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_700_000_040_000);

    #[derive(Debug, thiserror::Error)]
    #[error("could not join")]
    struct Refusal(#[source] Full);

    #[derive(Debug, thiserror::Error)]
    #[error("the disk is full")]
    struct Full;

    fn count(log: &RefusalLog, at: Timestamp) -> Option<u64> {
        log.count(at, &Refusal(Full))
    }

    #[test]
    fn many_refusals_are_one_warning_every_ten_seconds() {
        let log = RefusalLog::default();
        let due = |seconds| count(&log, START + Duration::from_secs(seconds));
        assert_eq!(due(0), Some(1), "the first at once");
        assert_eq!([due(0), due(1), due(9)], [None; 3]);
        assert_eq!(due(10), Some(4));
        assert_eq!(due(15), None);
        assert_eq!(due(3600), Some(2));
    }

    #[test]
    fn warnings_continue_after_the_clock_is_set_back() {
        let log = RefusalLog::default();
        assert_eq!(count(&log, START), Some(1));
        assert_eq!(count(&log, START - Duration::from_hours(1)), Some(1));
    }

    #[test]
    fn the_refusals_of_this_minute_and_the_one_before_are_remembered() {
        let log = RefusalLog::default();
        let recent = |seconds| {
            let recent = log.recent(START + Duration::from_secs(seconds))?;
            assert_eq!(recent.reason, "could not join: the disk is full");
            Some((recent.requests, recent.since.since(START).as_secs()))
        };
        assert_eq!(recent(0), None);
        for second in [0, 1, 59, 60, 130] {
            count(&log, START + Duration::from_secs(second));
        }
        assert_eq!([recent(130), recent(179)], [Some((2, 0)); 2], "the first minute is over");
        assert_eq!([recent(180), recent(239)], [Some((1, 0)); 2]);
        assert_eq!(recent(240), None);
        count(&log, START + Duration::from_mins(5));
        assert_eq!(recent(301), Some((1, 300)), "these are others");
    }

    #[test]
    fn a_join_ends_it_unless_others_were_refused_just_now() {
        let log = RefusalLog::default();
        count(&log, START);
        log.note_join(START + Duration::from_secs(9));
        assert!(log.recent(START + Duration::from_secs(9)).is_some(), "a busy store takes some");
        log.note_join(START + Duration::from_secs(10));
        assert_eq!(log.recent(START + Duration::from_secs(10)), None);
    }

    #[test]
    fn requests_that_read_the_clock_at_the_turn_of_a_minute_are_all_counted() {
        let log = RefusalLog::default();
        let before = START - Duration::from_millis(1);
        for at in [before, START, before, START] {
            count(&log, at);
        }
        assert_eq!(log.recent(START).map(|recent| (recent.requests, recent.since)), Some((4, before)));
    }

    #[test]
    fn a_clock_that_was_set_back_counts_from_then() {
        let log = RefusalLog::default();
        count(&log, START);
        let earlier = START - Duration::from_hours(1);
        assert_eq!(log.recent(earlier), None);
        count(&log, earlier);
        assert_eq!(log.recent(earlier).map(|recent| (recent.requests, recent.since)), Some((1, earlier)));
    }
}
