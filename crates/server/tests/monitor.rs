//! What the operator's monitoring gets.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::collections::BTreeMap;
use std::sync::Arc;

use clock::SystemClock;
use embedded::EmbeddedStore;
use frozen_names::{Section, assert_frozen};
use server::connections::{AccessLog, Limits, serve};
use server::{AnswerMetrics, Monitor};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use waitroom::ports::{ActiveVisitors, Clock, RoomAdmin, ThrottleMemory, ThrottleStore};
use waitroom::throttle_rules::{Finding, Verdict};
use waitroom::{AuditNote, AuditSubject, Author, Rate, Room, RoomState, Timestamp, fixture};

fn store() -> (EmbeddedStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (EmbeddedStore::open(directory.path(), fixture::room(300), Timestamp::default).unwrap(), directory)
}

async fn monitor(store: &EmbeddedStore) -> impl AsyncFn(&str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let monitor = Arc::new(Monitor::new(store.clone(), Arc::new(AnswerMetrics::default())));
    let limits = Limits::of_monitoring();
    tokio::spawn(serve(listener, monitor, limits, AccessLog::Off, std::future::pending()));
    async move |path: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

/// A metric's name without what a histogram appends to it.
fn base(sample: &str) -> &str {
    let name = sample.split(['{', ' ']).next().unwrap();
    ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

#[tokio::test]
async fn every_metric_is_typed_explained_and_frozen() {
    let (store, _directory) = store();
    let (at, rate) = (SystemClock.now(), Rate::MIN);
    let (mean, threshold) = (Some(0.125), Some(0.5));
    let finding = Finding {
        at,
        verdict: Verdict::Failing,
        mean,
        threshold,
        failed: 3,
        refused: false,
        why: None,
        rate,
    };
    let memory = ThrottleMemory { history: vec![finding], version: 1, ..ThrottleMemory::default() };
    assert!(store.remember(memory).await.unwrap());
    store.hold(Some(rate)).await.unwrap();
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    let sell = |room: &mut Room| room.sell(5000.try_into().unwrap());
    store.change("set how many more are let in", note, sell).await.unwrap();

    let answer = monitor(&store).await("/metrics").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    let explained: BTreeMap<_, _> =
        body.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' ')).collect();
    let typed: BTreeMap<_, _> =
        body.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    assert_eq!(explained.keys().collect::<Vec<_>>(), typed.keys().collect::<Vec<_>>());
    for sample in body.lines().filter(|line| !line.starts_with('#')) {
        assert!(typed.contains_key(base(sample)), "{sample}");
        sample.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    }
    assert!(body.ends_with('\n'));
    for line in [
        concat!("beekeeper_info{room=\"sale\",version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        "beekeeper_rate 300",
        "beekeeper_rate_in_force 1",
        "beekeeper_throttle_holds 1",
        "beekeeper_shop{verdict=\"failing\"} 1",
        "beekeeper_shop{verdict=\"well\"} 0",
        "beekeeper_shop_mean_seconds 0.125",
        "beekeeper_shop_failed_requests 3",
        "beekeeper_state{state=\"on\"} 1",
        "beekeeper_stock 5000",
    ] {
        assert!(body.lines().any(|found| found == line), "{line} in {body}");
    }
    let documented = include_str!("../../../docs/metrics.md");
    for name in typed.keys() {
        assert!(documented.contains(&format!("`{name}")), "{name} in docs/metrics.md");
    }
    let (_, alerts) = documented.split_once("```yaml").unwrap();
    let (alerts, _) = alerts.split_once("```").unwrap();
    let words = alerts.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let named: Vec<_> = words.filter(|word| word.starts_with("beekeeper_")).collect();
    // Only where the room releases does a line that stands mean that something is wrong.
    let releasing = RoomState::ALL.into_iter().filter(|state| state.switches().releases);
    let releasing = releasing.map(RoomState::as_str).collect::<Vec<_>>().join("|");
    assert!(alerts.contains(&format!("state=~\"{releasing}\"")), "{releasing}");
    let of_guards = Section::GuardMetrics.names();
    let is_known = |name: &&str| typed.contains_key(name) || of_guards.contains(name);
    assert!(named.len() >= 6 && named.iter().all(is_known), "{named:?}");
    // Prometheus asks once a minute, if nobody tells it otherwise, and sees a change between two answers.
    let minutes = alerts.split('[').skip(1).map(|range| range.split_once("m]").unwrap().0);
    assert!(minutes.map(|minutes| minutes.parse::<u64>().unwrap()).min().unwrap() >= 3, "{alerts}");
    let alert =
        |expression: &str| alerts.split("- alert: ").find(|alert| alert.contains(expression)).unwrap();
    assert!(alert("rate(beekeeper_releases_total").contains("\n  for: 2m "), "a line that was paused");
    assert!(
        alert("up{job=\"beekeeper\"} == 0").ends_with("\n  for: 1m\n"),
        "a process that is gone has no metrics"
    );
    assert_frozen(Section::MonitoringMetrics, typed.into_keys());
}

/// The line moves slower then, and nothing is wrong with the shop.
#[tokio::test]
async fn a_full_shop_is_not_told_as_the_throttle() {
    let (store, _directory) = store();
    store.keep_while_full(Some(Rate::MIN)).await.unwrap();
    assert!(store.status().slow, "as pages hear it");
    let told = monitor(&store).await("/metrics").await;
    assert!(told.lines().any(|line| line == "beekeeper_throttle_holds 0"), "{told}");
    store.hold(Some(Rate::MIN)).await.unwrap();
    let told = monitor(&store).await("/metrics").await;
    assert!(told.lines().any(|line| line == "beekeeper_throttle_holds 1"), "full as well: {told}");
}

#[tokio::test]
async fn a_room_that_cannot_write_is_not_healthy() {
    let (store, _directory) = store();
    let monitor = monitor(&store).await;
    let healthy = monitor("/healthz").await;
    assert!(healthy.starts_with("HTTP/1.1 200") && healthy.ends_with("\r\n\r\nok\n"), "{healthy}");
    store.close();
    let broken = monitor("/healthz").await;
    assert!(broken.starts_with("HTTP/1.1 503"), "{broken}");
    assert!(broken.ends_with("\r\n\r\ncould not write to the store: the store is closed\n"), "{broken}");
    assert!(monitor("/").await.starts_with("HTTP/1.1 404"));
}
