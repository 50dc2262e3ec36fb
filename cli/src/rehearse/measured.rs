//! Times as a report shows them.

use std::fmt;

use serde::Serialize;

use super::wire::VisitRoute;

/// How long something took, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct WaitSpread {
    pub(crate) median: f64,
    pub(crate) p95: f64,
    pub(crate) longest: f64,
}

impl WaitSpread {
    /// None without waits. In milliseconds.
    pub(crate) fn of(mut millis: Vec<u64>) -> Option<Self> {
        millis.sort_unstable();
        let seconds = |share| rank(&millis, share).map(|millis| rounded(millis as f64 / 1000.0));
        Some(Self { median: seconds(50)?, p95: seconds(95)?, longest: seconds(100)? })
    }
}

impl fmt::Display for WaitSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, p95, longest } = self;
        write!(f, "median {median:.1} s, 95 % within {p95:.1} s, longest {longest:.1} s")
    }
}

/// How fast one route answered, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RouteLatency {
    pub(crate) route: VisitRoute,
    pub(crate) requests: usize,
    pub(crate) median: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) longest: f64,
    /// How many took at most so long, and longer than the bar before.
    pub(crate) histogram: Vec<LatencyBar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct LatencyBar {
    /// None for all that took longer than every other bar.
    pub(crate) up_to: Option<f64>,
    pub(crate) requests: usize,
}

impl RouteLatency {
    /// The ends of the bars, in milliseconds.
    const BARS: [f64; 15] =
        [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 10e3, 20e3];

    /// None without requests. In microseconds.
    pub(crate) fn of(route: VisitRoute, micros: &[u32]) -> Option<Self> {
        let mut sorted: Vec<u64> = micros.iter().map(|micros| u64::from(*micros)).collect();
        sorted.sort_unstable();
        let millis = |share| rank(&sorted, share).map(|micros| rounded(micros as f64 / 1000.0));
        let mut before = 0;
        let mut histogram = Vec::new();
        for up_to in Self::BARS.map(Some).into_iter().chain([None]) {
            let within = up_to.map_or(sorted.len(), |up_to| {
                sorted.partition_point(|micros| *micros as f64 <= up_to * 1000.0)
            });
            histogram.push(LatencyBar { up_to, requests: within - before });
            before = within;
        }
        Some(Self {
            route,
            requests: sorted.len(),
            median: millis(50)?,
            p95: millis(95)?,
            p99: millis(99)?,
            longest: millis(100)?,
            histogram,
        })
    }
}

/// The value that this many per cent of all are not above.
fn rank(sorted: &[u64], per_cent: usize) -> Option<u64> {
    let index = (sorted.len() * per_cent).div_ceil(100);
    sorted.get(index.saturating_sub(1)).copied()
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_names_values_that_were_measured() {
        let spread = WaitSpread::of((1..=100).map(|second| second * 1000).rev().collect()).unwrap();
        assert_eq!(spread, WaitSpread { median: 50.0, p95: 95.0, longest: 100.0 });
        let single = WaitSpread::of(vec![1234]).unwrap();
        assert_eq!((single.median, single.longest), (1.234, 1.234));
        assert_eq!(WaitSpread::of(Vec::new()), None);
    }

    #[test]
    fn every_request_is_in_one_bar() {
        let latency = RouteLatency::of(VisitRoute::Poll, &[1, 500, 501, 40_000_000]).unwrap();
        let filled: Vec<_> = latency
            .histogram
            .iter()
            .filter(|bar| bar.requests > 0)
            .map(|bar| (bar.up_to, bar.requests))
            .collect();
        assert_eq!(filled, [(Some(0.5), 2), (Some(1.0), 1), (None, 1)]);
        assert_eq!((latency.requests, latency.longest), (4, 40_000.0));
    }
}
