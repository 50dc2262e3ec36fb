use std::time::Duration;

use waitroom::{MinuteRecord, Timestamp};

/// The longest wait of those whom a slice released in the current minute, and what was noted of it.
#[derive(Debug, Default)]
pub(crate) struct LongestWait {
    longest: Option<(Timestamp, Duration)>,
    noted: Option<(Timestamp, Duration)>,
}

impl LongestWait {
    /// A longer wait is noted only if it is longer by this, because each note costs money.
    const STEP: Duration = Duration::from_secs(5);

    /// A visitor who joined then was released at `at`.
    pub(crate) fn see(&mut self, joined: Option<Timestamp>, at: Timestamp) {
        let Some(wait) = joined.map(|joined| at.since(joined)) else { return };
        let is_longest = |(since, longest)| is_later_minute(since, at) || wait > longest;
        if self.longest.is_none_or(is_longest) {
            self.longest = Some((at, wait));
        }
    }

    /// What is to be noted now: the first wait of a minute, and then longer ones.
    pub(crate) fn take_due(&mut self) -> Option<(Timestamp, Duration)> {
        let (at, wait) = self.longest?;
        let is_due = |(since, noted)| is_later_minute(since, at) || wait >= noted + Self::STEP;
        self.noted.is_none_or(is_due).then(|| *self.noted.insert((at, wait)))
    }
}

fn is_later_minute(earlier: Timestamp, later: Timestamp) -> bool {
    MinuteRecord::number(later) > MinuteRecord::number(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_040_000 + second * 1000)
    }

    /// Sees somebody released in this second after a wait, and returns the wait that is noted.
    fn see(waits: &mut LongestWait, at: u64, wait: u64) -> Option<u64> {
        waits.see(Some(second(at) - Duration::from_secs(wait)), second(at));
        waits.take_due().map(|(_, wait)| wait.as_secs())
    }

    #[test]
    fn only_a_wait_that_is_much_longer_is_noted_again() {
        let mut waits = LongestWait::default();
        assert_eq!(waits.take_due(), None);
        waits.see(None, second(0));
        assert_eq!(waits.take_due(), None, "it is not known since when they waited");
        assert_eq!(see(&mut waits, 1, 30), Some(30));
        assert_eq!((see(&mut waits, 2, 34), see(&mut waits, 3, 10)), (None, None));
        assert_eq!((see(&mut waits, 4, 35), see(&mut waits, 5, 35)), (Some(35), None));
    }

    #[test]
    fn each_minute_has_its_own_longest_wait() {
        let mut waits = LongestWait::default();
        assert_eq!(see(&mut waits, 10, 300), Some(300));
        assert_eq!(see(&mut waits, 70, 20), Some(20), "the line has become shorter");
        assert_eq!(see(&mut waits, 71, 21), None);
    }
}
