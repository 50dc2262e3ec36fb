//! How fast the routes answered.

use serde::Serialize;
use simulation::WaitSpread;

use crate::wire::VisitRoute;

/// How fast one route answered, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteLatency {
    pub route: VisitRoute,
    pub requests: u64,
    pub median: f64,
    pub p95: f64,
    pub p99: f64,
    pub longest: f64,
    /// How many took at most so long, and longer than the bar before.
    pub histogram: Vec<LatencyBar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyBar {
    /// None for all that took longer than every other bar.
    pub up_to: Option<f64>,
    pub requests: u64,
}

impl RouteLatency {
    /// The ends of the bars, in milliseconds.
    const BARS: [f64; 15] =
        [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 10e3, 20e3];

    /// None without requests. In microseconds.
    pub fn of(route: VisitRoute, micros: &[u32]) -> Option<Self> {
        let mut sorted = micros.to_vec();
        sorted.sort_unstable();
        let millis =
            |per_cent| WaitSpread::rank(&sorted, per_cent).map(|micros| rounded(f64::from(micros) / 1000.0));
        let mut before = 0;
        let mut histogram = Vec::new();
        for up_to in Self::BARS.map(Some).into_iter().chain([None]) {
            let within = up_to.map_or(sorted.len(), |up_to| {
                sorted.partition_point(|micros| f64::from(*micros) <= up_to * 1000.0)
            });
            histogram.push(LatencyBar { up_to, requests: (within - before) as u64 });
            before = within;
        }
        Some(Self {
            route,
            requests: sorted.len() as u64,
            median: millis(50)?,
            p95: millis(95)?,
            p99: millis(99)?,
            longest: millis(100)?,
            histogram,
        })
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

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
