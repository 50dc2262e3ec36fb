//! What the room counts about its answers, for Prometheus. Only atomics, so that counting never makes a visitor wait.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use waitroom::ports::PortResult;

use routes::{Handler, HttpResponse, respond};

/// The upper bounds of a histogram's buckets, in microseconds.
const BOUNDS: [u64; 16] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000, 20_000_000,
];

/// Counts since the process started.
#[derive(Debug, Default)]
pub struct AnswerMetrics {
    pub(crate) joins: AtomicU64,
    pub(crate) limited: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) door: Histogram,
    pub(crate) polls: Histogram,
    /// How often an edge asked how the line stands.
    pub(crate) edge: AtomicU64,
}

/// How long answers took.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One for each bound, and one for everything above the last.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum_nanos: AtomicU64,
}

pub(crate) fn increase(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl AnswerMetrics {
    /// Counts an answer of this route.
    pub(crate) fn count(&self, handler: Handler, status: StatusCode, took: Duration) {
        match handler {
            Handler::Door => self.door.observe(took),
            Handler::Poll => self.polls.observe(took),
            Handler::Status => increase(&self.edge),
            Handler::Root
            | Handler::Guard
            | Handler::ClientCheck
            | Handler::PublicKeys
            | Handler::Discovery
            | Handler::Page
            | Handler::Preview => {}
        }
        match status {
            StatusCode::TOO_MANY_REQUESTS => increase(&self.limited),
            StatusCode::SERVICE_UNAVAILABLE => increase(&self.unavailable),
            _ => {}
        }
    }
}

impl Histogram {
    pub(crate) fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| bound * 1_000 < nanos);
        increase(&self.buckets[bucket]);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How many were observed.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }
}

/// Answers the operator's monitoring at this path: whether all is well, or what is measured.
pub(crate) async fn answer_monitoring(
    path: &str,
    health: impl Future<Output = (StatusCode, String)>,
    metrics: impl Future<Output = PortResult<String>>,
) -> HttpResponse {
    match path {
        "/healthz" => {
            let (status, found) = health.await;
            respond::text(status, found)
        }
        "/metrics" => match metrics.await {
            Ok(text) => {
                let response = respond::uncached(StatusCode::OK);
                respond::finish(response.header(CONTENT_TYPE, MetricsText::CONTENT_TYPE), text)
            }
            Err(error) => respond::text(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
        },
        _ => respond::text(StatusCode::NOT_FOUND, "there is nothing here; look at /metrics and /healthz\n"),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Prometheus has only 64-bit floats; counts are far below 2^52"
)]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// A text in Prometheus's format, version 0.0.4.
#[derive(Debug, Default)]
pub(crate) struct MetricsText(String);

impl MetricsText {
    pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    pub(crate) fn into_string(self) -> String {
        self.0
    }

    /// That this room is told about, by this version of the program.
    pub(crate) fn info(&mut self, name: &str, room: impl Display) {
        self.head(name, "gauge", "The room, and the version of the program. Always 1.");
        let version = env!("CARGO_PKG_VERSION");
        self.line(name, &format!("{{room=\"{room}\",version=\"{version}\"}}"), 1);
    }

    /// A number that only grows, except that it starts again at 0.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.line(name, "", value);
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    /// One line for each of these words, which is 1 for the present one and 0 for the others. All are 0 without a present
    /// one.
    pub(crate) fn states(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        words: &[&str],
        present: Option<&str>,
    ) {
        self.head(name, "gauge", help);
        for word in words {
            self.line(name, &format!("{{{label}=\"{word}\"}}"), u8::from(present == Some(word)));
        }
    }

    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (bound, observed) in BOUNDS.iter().map(Some).chain([None]).zip(&histogram.buckets) {
            count += observed.load(Ordering::Relaxed);
            let bound = bound
                .map_or("+Inf".into(), |&micros| Duration::from_micros(micros).as_secs_f64().to_string());
            self.line(&bucket, &format!("{{le=\"{bound}\"}}"), count);
        }
        let sum = Duration::from_nanos(histogram.sum_nanos.load(Ordering::Relaxed));
        self.line(&format!("{name}_sum"), "", sum.as_secs_f64());
        self.line(&format!("{name}_count"), "", count);
    }

    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(crate) fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_what_took_at_most_each_bound() {
        let histogram = Histogram::default();
        for micros in [0, 100, 101, 900, 20_000_000, 20_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        assert_eq!(histogram.count(), 6);
        let mut text = MetricsText::default();
        text.histogram("x_seconds", "How long.", &histogram);
        let expected = "# HELP x_seconds How long.\n# TYPE x_seconds histogram\n\
            x_seconds_bucket{le=\"0.000025\"} 1\nx_seconds_bucket{le=\"0.00005\"} 1\nx_seconds_bucket{le=\"0.0001\"} 2\nx_seconds_bucket{le=\"0.00025\"} 3\nx_seconds_bucket{le=\"0.0005\"} 3\n\
            x_seconds_bucket{le=\"0.001\"} 4\n";
        let text = text.into_string();
        assert!(text.starts_with(expected), "{text}");
        let expected = "x_seconds_bucket{le=\"20\"} 5\nx_seconds_bucket{le=\"+Inf\"} 6\n\
            x_seconds_sum 40.001102\nx_seconds_count 6\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn bounds_ascend() {
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn numbers_and_states_have_a_line_each() {
        let mut text = MetricsText::default();
        text.counter("x_joins_total", "Joins.", 3);
        text.gauge("x_rate", "Rate.", 0.5);
        text.states("x_state", "State.", "state", &["on", "off"], Some("off"));
        let expected = "# HELP x_joins_total Joins.\n# TYPE x_joins_total counter\nx_joins_total 3\n\
            # HELP x_rate Rate.\n# TYPE x_rate gauge\nx_rate 0.5\n\
            # HELP x_state State.\n# TYPE x_state gauge\nx_state{state=\"on\"} 0\nx_state{state=\"off\"} 1\n";
        assert_eq!(text.into_string(), expected);
    }
}
