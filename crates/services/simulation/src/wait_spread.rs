use serde::Serialize;

/// How long some visitors waited, in seconds. Each value is the wait of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WaitSpread {
    pub median: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub longest: f64,
}

impl WaitSpread {
    /// Of waits in milliseconds; none without waits.
    pub fn of(mut millis: Vec<u32>) -> Option<Self> {
        millis.sort_unstable();
        let seconds = |per_cent| Self::rank(&millis, per_cent).map(|millis| f64::from(millis) / 1000.0);
        Some(Self {
            median: seconds(50)?,
            p90: seconds(90)?,
            p95: seconds(95)?,
            p99: seconds(99)?,
            longest: seconds(100)?,
        })
    }

    /// The value that so many per cent of all are not above; none without values.
    pub fn rank(sorted: &[u32], per_cent: usize) -> Option<u32> {
        let index = (sorted.len() * per_cent).div_ceil(100);
        sorted.get(index.saturating_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_names_waits_that_somebody_had() {
        let spread = WaitSpread::of((1..=100).map(|second| second * 1000).rev().collect()).unwrap();
        let expected = WaitSpread { median: 50.0, p90: 90.0, p95: 95.0, p99: 99.0, longest: 100.0 };
        assert_eq!(spread, expected);
        let single = WaitSpread::of(vec![1234]).unwrap();
        assert_eq!((single.median, single.longest), (1.234, 1.234));
        assert_eq!(WaitSpread::of(Vec::new()), None);
    }

    #[test]
    fn so_many_per_cent_are_not_above_a_rank() {
        assert_eq!(
            [1, 50, 51, 100].map(|per_cent| WaitSpread::rank(&[10, 20], per_cent)),
            [Some(10), Some(10), Some(20), Some(20)]
        );
    }
}
