//! `/healthz` and `/metrics` of a guard, on a listener of their own.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::SystemClock;
use guard::{Guard, GuardOutcome, LiveSessions, Reporter, RoomClient};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use waitroom::ports::Clock;

use crate::connections::HttpService;
use crate::metrics::{Histogram, MetricsText, answer_monitoring, as_f64, increase};
use routes::HttpResponse;

/// Counts since the process started.
#[derive(Debug, Default)]
pub struct GuardMetrics {
    outcomes: [AtomicU64; GuardOutcome::WORDS.len()],
    took: Histogram,
}

impl GuardMetrics {
    pub(crate) fn count(&self, outcome: GuardOutcome, took: Duration) {
        let word = outcome.as_str();
        let counters = GuardOutcome::WORDS.iter().zip(&self.outcomes);
        counters.filter(|(known, _)| **known == word).for_each(|(_, counter)| increase(counter));
        self.took.observe(took);
    }
}

/// Answers the operator's monitoring.
#[derive(Debug)]
pub struct GuardMonitor<L, C> {
    guard: Arc<Guard<L, C>>,
    metrics: Arc<GuardMetrics>,
    reporter: Option<Arc<Reporter>>,
}

impl<L: LiveSessions, C: RoomClient> GuardMonitor<L, C> {
    /// A guard that reports to its room has a reporter.
    pub fn new(guard: Arc<Guard<L, C>>, metrics: Arc<GuardMetrics>, reporter: Option<Arc<Reporter>>) -> Self {
        Self { guard, metrics, reporter }
    }

    /// Whether a pass can be verified.
    fn health(&self) -> (StatusCode, String) {
        if self.guard.keys().count() > 0 {
            return (StatusCode::OK, "ok\n".into());
        }
        let keys = self.guard.rules().keys_url();
        let failure =
            format!("no key of the room is known, so nobody new can enter; the guard asks {keys}\n");
        (StatusCode::SERVICE_UNAVAILABLE, failure)
    }

    fn text(&self) -> String {
        let now = SystemClock.now().as_secs();
        let mut text = MetricsText::default();
        text.info("beekeeper_guard_info", &self.guard.rules().name);
        let name = "beekeeper_guard_requests_total";
        text.head(name, "counter", "Requests, by what became of them.");
        for (word, count) in GuardOutcome::WORDS.iter().zip(&self.metrics.outcomes) {
            text.line(name, &format!("{{outcome=\"{word}\"}}"), count.load(Ordering::Relaxed));
        }
        text.histogram("beekeeper_guard_seconds", "How long a decision took.", &self.metrics.took);
        if let Some(counts) = self.guard.sessions().counts(now, 0) {
            text.gauge("beekeeper_guard_sessions", "Live sessions.", as_f64(counts.live));
        }
        let keys = self.guard.keys().count();
        text.gauge("beekeeper_guard_keys", "Keys of the room that are known.", as_f64(keys as u64));
        let is_open = f64::from(u8::from(self.guard.is_open(now)));
        let open = "1 while everybody enters, because the room does not answer, otherwise 0.";
        text.gauge("beekeeper_guard_open", open, is_open);
        if let Some(reporter) = &self.reporter {
            let taken = "Seconds since the room last took a report of who is in the shop.";
            text.gauge("beekeeper_guard_report_age_seconds", taken, as_f64(reporter.silent_for(now)));
        }
        text.into_string()
    }
}

impl<L: LiveSessions + 'static, C: RoomClient + 'static> HttpService for GuardMonitor<L, C> {
    async fn answer(&self, request: &mut Request<Incoming>, _: IpAddr) -> HttpResponse {
        let (health, metrics) = (async { self.health() }, async { Ok(self.text()) });
        answer_monitoring(request.uri().path(), health, metrics).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use frozen_names::{Section, assert_frozen};
    use guard::{GuardRules, HttpRoom, MemorySessions, RoomKeys, SessionKey, new_guard_name};

    use super::*;

    #[test]
    fn every_metric_is_explained_documented_and_frozen() {
        let rules = GuardRules::new("https://wait.example", "sale");
        let keys = RoomKeys::<HttpRoom>::given(&rules, pass::Jwks::default());
        let room = HttpRoom::new(&rules).unwrap();
        let reporter = Reporter::new(room, &"key".parse().unwrap(), new_guard_name().unwrap()).unwrap();
        let key = SessionKey::new(&SessionKey::generate().unwrap()).unwrap();
        let guard = Arc::new(Guard::new(rules, key, MemorySessions::default(), keys));
        let metrics = Arc::new(GuardMetrics::default());
        metrics.count(GuardOutcome::Taken, Duration::from_millis(1));
        let text = GuardMonitor::new(guard.clone(), metrics.clone(), None).text();
        assert!(!text.contains("report"), "it does not report: {text}");
        let text = GuardMonitor::new(guard, metrics, Some(Arc::new(reporter))).text();
        assert!(text.contains("\nbeekeeper_guard_report_age_seconds 0\n"), "{text}");
        assert!(text.contains("\nbeekeeper_guard_requests_total{outcome=\"taken\"} 1\n"), "{text}");
        assert!(text.contains("\nbeekeeper_guard_seconds_count 1\n"), "{text}");
        let explained = text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next());
        let names: BTreeSet<_> = explained.collect();
        let documented = include_str!("../../../docs/metrics.md");
        for name in names.iter().copied().chain(GuardOutcome::WORDS) {
            assert!(documented.contains(&format!("`{name}")), "{name} in docs/metrics.md");
        }
        assert_frozen(Section::GuardMetrics, names);
    }
}
