use std::time::Duration;

use waitroom::Timestamp;

/// When the visitors of a line joined, to the second: an entry for all who join within one, so no visitor needs a field for it.
#[derive(Debug, Default)]
pub(crate) struct JoinTimes(Vec<(u32, Timestamp)>);

impl JoinTimes {
    const PRECISION: Duration = Duration::from_secs(1);

    /// The visitor with this rank, who is the last so far, joins.
    pub(crate) fn note(&mut self, rank: u32, at: Timestamp) {
        let known = self.0.last().map(|(_, last)| *last);
        if known.is_none_or(|last| !(last..last + Self::PRECISION).contains(&at)) {
            self.0.push((rank, at));
        }
    }

    pub(crate) fn of(&self, rank: u32) -> Timestamp {
        let after = self.0.partition_point(|(first, _)| *first <= rank);
        after.checked_sub(1).map_or(Timestamp::default(), |entry| self.0[entry].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_joined_within_a_second_of_what_is_kept() {
        let mut times = JoinTimes::default();
        let joined =
            [0, 400, 999, 1000, 1500, 9000, 9001].map(|millis| Timestamp::from_millis(60_000 + millis));
        for (rank, at) in (0..).zip(joined) {
            times.note(rank, at);
        }
        for (rank, at) in (0..).zip(joined) {
            let kept = times.of(rank);
            assert!(kept <= at && at < kept + JoinTimes::PRECISION, "{kept:?} for {at:?}");
        }
        assert_eq!(times.0.len(), 3);
    }
}
