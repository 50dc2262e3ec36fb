//! How many wait, from a count that may be old.

use std::time::Duration;

use crate::Timestamp;

/// The last ticket number that was reserved for a visitor, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssuedTickets {
    pub last: u64,
    pub at: Timestamp,
}

/// What is known about how many wait.
#[derive(Clone, Copy, Debug)]
pub struct LineCount {
    /// What the line counts. It may be old: in a rush it is far too low.
    pub counted: u64,
    pub issued: IssuedTickets,
    /// Whether a consumer finds nobody in the line at this time.
    pub found_empty: bool,
}

impl LineCount {
    /// The line's count is right when nobody has joined for so long.
    const SETTLES: Duration = Duration::from_mins(3);

    /// How many wait at most. `reached` is the ticket that the line has reached.
    ///
    /// Visitors with a number above it still wait. So while the count may be old, the result is no less than these numbers.
    /// That is too many, because some of them were never given to anybody. But if every page took itself to be near the
    /// front, all would poll as often as they can.
    pub fn waiting(&self, reached: u64, now: Timestamp) -> u64 {
        if self.found_empty || now.since(self.issued.at) >= Self::SETTLES {
            return self.counted;
        }
        self.counted.max(self.issued.last.saturating_sub(reached))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn count(counted: u64, last: u64, seconds_ago: u64) -> LineCount {
        let issued = IssuedTickets { last, at: NOW - Duration::from_secs(seconds_ago) };
        LineCount { counted, issued, found_empty: false }
    }

    #[test]
    fn in_a_rush_a_late_count_is_no_less_than_the_numbers_that_were_not_served() {
        assert_eq!(count(0, 5000, 1).waiting(1000, NOW), 4000);
        assert_eq!(count(4500, 5000, 1).waiting(1000, NOW), 4500, "a higher count may be right");
        assert_eq!(count(0, 5000, 179).waiting(1000, NOW), 4000);
    }

    #[test]
    fn nobody_waits_for_good_because_of_numbers_that_nobody_got() {
        assert_eq!(count(0, 5000, 180).waiting(1000, NOW), 0, "the count has settled");
        assert_eq!(LineCount { found_empty: true, ..count(0, 5063, 1) }.waiting(5000, NOW), 0);
        assert_eq!(
            LineCount { found_empty: true, ..count(7, 5063, 1) }.waiting(5000, NOW),
            7,
            "hidden for a while"
        );
        assert_eq!(count(0, 5000, 1).waiting(5000, NOW), 0);
        assert_eq!(count(3, 0, 1).waiting(5000, NOW), 3, "the counter was reset a moment ago");
    }
}
