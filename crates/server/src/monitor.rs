//! `/healthz` and `/metrics`, for the operator's monitoring. They have a listener of their own, because they are not for
//! visitors.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::SystemClock;
use control::Status;
use embedded::EmbeddedStore;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use waitroom::ports::{Clock, PortResult};
use waitroom::throttle_rules::Verdict;
use waitroom::{RoomState, Slowdown, with_causes};

use crate::connections::HttpService;
use crate::metrics::{AnswerMetrics, MetricsText, answer_monitoring, as_f64};
use routes::HttpResponse;

/// Answers the operator's monitoring.
#[derive(Debug)]
pub struct Monitor {
    store: EmbeddedStore,
    metrics: Arc<AnswerMetrics>,
}

impl Monitor {
    /// A disk that takes longer than this to store a change is not healthy.
    const PATIENCE: Duration = Duration::from_secs(5);

    pub fn new(store: EmbeddedStore, metrics: Arc<AnswerMetrics>) -> Self {
        Self { store, metrics }
    }

    /// Whether the room can store a place: it writes to its file, as a join does.
    async fn health(&self) -> (StatusCode, String) {
        let failure = match tokio::time::timeout(Self::PATIENCE, self.store.check_writes()).await {
            Ok(Ok(())) => return (StatusCode::OK, "ok\n".into()),
            Ok(Err(error)) => with_causes(&error),
            Err(_) => format!("the disk did not store a change within {} seconds", Self::PATIENCE.as_secs()),
        };
        (StatusCode::SERVICE_UNAVAILABLE, format!("{failure}\n"))
    }

    async fn text(&self) -> PortResult<String> {
        let status = Status::of(&self.store, SystemClock.now()).await?;
        let mut text = MetricsText::default();
        self.counts(&mut text, &status);
        line(&mut text, &status);
        throttle(&mut text, &status);
        Ok(text.into_string())
    }

    fn counts(&self, text: &mut MetricsText, status: &Status) {
        let metrics = &self.metrics;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        text.info("beekeeper_info", &status.room.settings.room);
        text.counter("beekeeper_joins_total", "Places that visitors got.", count(&metrics.joins));
        text.counter("beekeeper_polls_total", "Answered polls.", metrics.polls.count());
        text.counter(
            "beekeeper_edge_asked_total",
            "Requests of how the line stands, which an edge in front of the room sends.",
            count(&metrics.edge),
        );
        text.counter(
            "beekeeper_releases_total",
            "Visitors released in this epoch, also before the last start.",
            status.released,
        );
        text.counter(
            "beekeeper_limited_total",
            "Visitors refused with status 429, because of too many places or passes.",
            count(&metrics.limited),
        );
        text.counter(
            "beekeeper_unavailable_total",
            "Requests refused with status 503, because the room could not answer.",
            count(&metrics.unavailable),
        );
        text.histogram("beekeeper_door_seconds", "How long the door took to answer.", &metrics.door);
        text.histogram("beekeeper_poll_seconds", "How long polls took to answer.", &metrics.polls);
    }
}

fn line(text: &mut MetricsText, status: &Status) {
    text.gauge("beekeeper_waiting", "Visitors who wait.", as_f64(status.line.waiting));
    text.gauge(
        "beekeeper_served",
        "The highest ticket that the line has reached.",
        as_f64(status.line.reached),
    );
    text.gauge(
        "beekeeper_rate",
        "Visitors who may enter a minute, as the operator set it.",
        status.room.settings.rate.get().into(),
    );
    text.gauge(
        "beekeeper_rate_in_force",
        "Visitors let in a minute now: the rate, less while the throttle holds it down or the shop is full, more while some don't come.",
        status.line.rate.get().into(),
    );
    if let Some(left) = status.line.left {
        let help = "How many more are let in before the room ends. Absent without a stock.";
        text.gauge("beekeeper_stock", help, left.into());
    }
    let state = status.room.state.to_string();
    let known = RoomState::ALL.map(RoomState::as_str);
    text.states("beekeeper_state", "The state of the room.", "state", &known, Some(&state));
}

/// Nothing without a throttle, except that it does not hold the rate down.
fn throttle(text: &mut MetricsText, status: &Status) {
    let holds = match status.room.slowdown() {
        Some(Slowdown::Throttle | Slowdown::Both) => 1.0,
        Some(Slowdown::FullShop) | None => 0.0,
    };
    text.gauge("beekeeper_throttle_holds", "1 while the throttle holds the rate down, otherwise 0.", holds);
    let latest = status.findings.last();
    let verdict = latest.map(|finding| match finding.verdict {
        _ if finding.refused => "not-measured",
        Verdict::Well => "well",
        Verdict::Slow => "slow",
        Verdict::Failing => "failing",
    });
    let words = ["well", "slow", "failing", "not-measured"];
    text.states("beekeeper_shop", "The throttle's latest verdict.", "verdict", &words, verdict);
    for (name, help, value) in [
        (
            "beekeeper_shop_mean_seconds",
            "How long the shop took to answer, at the mean of the latest sample.",
            latest.and_then(|finding| finding.mean),
        ),
        (
            "beekeeper_shop_threshold_seconds",
            "The shop is slow if the mean is above this.",
            latest.and_then(|finding| finding.threshold),
        ),
        (
            "beekeeper_shop_failed_requests",
            "How many of the twenty requests of the latest sample failed.",
            latest.map(|finding| as_f64(finding.failed as u64)),
        ),
    ] {
        if let Some(value) = value {
            text.gauge(name, help, value);
        }
    }
}

impl HttpService for Monitor {
    async fn answer(&self, request: &mut Request<Incoming>, _: IpAddr) -> HttpResponse {
        answer_monitoring(request.uri().path(), self.health(), self.text()).await
    }
}
