//! Plans, slices, and how many they released.

use std::time::Duration;

use futures_util::future;
use waitroom::ports::{ConsumerRun, PlanRecord, Plans, SliceProgress, Slices, StatusBoard, Taken};
use waitroom::{Plan, Rate, SliceId, Timestamp, Window};

use crate::Fixture;

/// A slice that nobody has worked on before.
const NEW: Taken = Taken::Here { released: 0 };

/// A plan of a minute, after `last` or from `start`.
pub fn plan_from(last: Option<&Plan>, start: Timestamp, rate: Rate) -> Plan {
    let start = last.map_or(start, |last| last.window.end.max(start));
    let window = Window { start, end: start + Duration::from_mins(1) };
    let number = last.map_or(1, |last| last.number + 1);
    let (valve_from, made_at, planned_before) = (Timestamp::default(), start, Timestamp::default());
    Plan {
        number,
        window,
        releases_from: start,
        ahead: 0,
        rate,
        quota: rate.get(),
        valve_from,
        made_at,
        planned_before,
        needs_permits: false,
    }
}

fn plan_after(last: Option<&Plan>, rate: u32) -> Plan {
    plan_from(last, Timestamp::from_millis(1_700_000_000_000), Rate::new(rate).expect("within bounds"))
}

/// The progress of a slice that delivered nobody.
pub fn progress(released: u32, reached: u64) -> SliceProgress {
    SliceProgress { released, reached, lowest: None, disorder: None, at_most: None }
}

fn slice(plan: u64, index: u16) -> SliceId {
    SliceId { plan, index }
}

pub async fn a_plan_is_written_once<F: Fixture>() {
    let fixture = F::new().await;
    assert_eq!(fixture.ledger().recent().await.expect("recent"), []);
    let plan = plan_after(None, 300);
    assert!(fixture.ledger().write(plan).await.expect("write"));
    assert!(!fixture.ledger().write(plan_after(None, 500)).await.expect("write"), "the number is taken");
    assert_eq!(
        fixture.ledger().recent().await.expect("recent"),
        [PlanRecord { plan, released: 0, lowest: None }]
    );
}

pub async fn recent_returns_the_two_latest_plans_newest_first<F: Fixture>() {
    let fixture = F::new().await;
    let mut plans = Vec::new();
    for _ in 0..4 {
        plans.push(plan_after(plans.last(), 3300));
        assert!(fixture.ledger().write(plans[plans.len() - 1]).await.expect("write"));
    }
    for (index, released) in [(0, 400), (2, 70)] {
        fixture.ledger().take(slice(3, index), ConsumerRun(1)).await.expect("take");
        fixture.ledger().record(slice(3, index), progress(released, 9)).await.expect("record");
    }
    let recent = fixture.ledger().recent().await.expect("recent");
    let expected = [
        PlanRecord { plan: plans[3], released: 0, lowest: None },
        PlanRecord { plan: plans[2], released: 470, lowest: None },
    ];
    assert_eq!(recent, expected);
}

pub async fn a_slice_is_taken_once<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert!(store.write(plan_after(None, 3300)).await.expect("write"));
    assert_eq!(store.take(slice(1, 0), ConsumerRun(7)).await.expect("take"), NEW);
    assert_eq!(store.take(slice(1, 0), ConsumerRun(7)).await.expect("take again"), NEW);
    assert_eq!(store.take(slice(1, 0), ConsumerRun(8)).await.expect("take"), Taken::Elsewhere);
    assert_eq!(store.take(slice(1, 1), ConsumerRun(8)).await.expect("another slice"), NEW);
    store.record(slice(1, 0), progress(5, 5)).await.expect("record");
    assert_eq!(store.take(slice(1, 0), ConsumerRun(8)).await.expect("take after a record"), Taken::Elsewhere);
}

pub async fn of_concurrent_consumers_one_takes_a_slice<F: Fixture>() {
    let fixture = F::new().await;
    assert!(fixture.ledger().write(plan_after(None, 100)).await.expect("write"));
    let runs = (1..=8).map(|consumer_run| fixture.ledger().take(slice(1, 0), ConsumerRun(consumer_run)));
    let granted =
        future::join_all(runs).await.into_iter().filter(|taken| *taken.as_ref().expect("take") == NEW);
    assert_eq!(granted.count(), 1);
}

pub async fn a_repeated_record_counts_once<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert!(store.write(plan_after(None, 3300)).await.expect("write"));
    for index in [0, 1] {
        assert_eq!(store.take(slice(1, index), ConsumerRun(1)).await.expect("take"), NEW);
    }
    store.record(slice(1, 0), progress(10, 1)).await.expect("record");
    store.record(slice(1, 0), progress(10, 1)).await.expect("record");
    store.record(slice(1, 0), progress(30, 1)).await.expect("record");
    store.record(slice(1, 1), progress(5, 1)).await.expect("record");
    store.record(slice(1, 0), progress(20, 1)).await.expect("an older record that arrives late");
    assert_eq!(store.progress().await.expect("progress").released, 35);
    assert_eq!(store.recent().await.expect("recent")[0].released, 35);
}

pub async fn progress_never_decreases<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert_eq!(store.progress().await.expect("progress"), waitroom::LineProgress::default());
    assert!(store.write(plan_after(None, 3300)).await.expect("write"));
    for (index, reached, expected) in [(0, 40, 40), (1, 25, 40), (2, 60, 60)] {
        assert_eq!(store.take(slice(1, index), ConsumerRun(1)).await.expect("take"), NEW);
        store.record(slice(1, index), progress(10, reached)).await.expect("record");
        assert_eq!(store.reach().await.expect("reach").reached, expected);
    }
    let expected = waitroom::LineProgress { reached: 60, released: 30, ..Default::default() };
    assert_eq!(store.progress().await.expect("progress"), expected);
}

pub async fn records_of_a_slice_that_nobody_took_are_ignored<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let plan = plan_after(None, 3300);
    assert!(store.write(plan).await.expect("write"));
    let record = SliceProgress { lowest: Some(3), ..progress(10, 0) };
    store.record(slice(1, 0), record).await.expect("record");
    store.record(slice(2, 0), record).await.expect("record for a missing plan");
    assert_eq!(store.progress().await.expect("progress"), waitroom::LineProgress::default());
    assert_eq!(store.recent().await.expect("recent"), [PlanRecord { plan, released: 0, lowest: None }]);
    assert_eq!(
        store.take(slice(1, 0), ConsumerRun(1)).await.expect("take"),
        NEW,
        "the slice can still be taken"
    );
}

pub async fn totals_add_up_over_many_plans<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let mut last = None;
    for number in 1..=6 {
        let plan = plan_after(last.as_ref(), 18_000);
        assert!(store.write(plan).await.expect("write"));
        for index in [0, 17] {
            assert_eq!(store.take(slice(number, index), ConsumerRun(1)).await.expect("take"), NEW);
            store.record(slice(number, index), progress(100, number)).await.expect("record");
        }
        let expected =
            waitroom::LineProgress { reached: number, released: 200 * number, ..Default::default() };
        assert_eq!(store.progress().await.expect("progress"), expected);
        last = Some(plan);
    }
}

pub async fn the_lowest_ticket_of_a_plan_is_kept<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert!(store.write(plan_after(None, 18_000)).await.expect("write"));
    for (index, released, lowest) in
        [(0, 10, Some(31)), (17, 10, Some(12)), (17, 20, Some(12)), (1, 10, None)]
    {
        assert_eq!(store.take(slice(1, index), ConsumerRun(1)).await.expect("take"), NEW);
        let progress = SliceProgress { lowest, ..progress(released, 40) };
        store.record(slice(1, index), progress).await.expect("record");
    }
    assert_eq!(store.recent().await.expect("recent")[0].lowest, Some(12));
}

pub async fn the_latest_disorder_is_kept<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert!(store.write(plan_after(None, 3300)).await.expect("write"));
    assert_eq!(store.take(slice(1, 0), ConsumerRun(1)).await.expect("take"), NEW);
    for (released, disorder, expected) in [(10, Some(600), 600), (20, None, 600), (30, Some(200), 200)] {
        let progress = SliceProgress { disorder, ..progress(released, 40) };
        store.record(slice(1, 0), progress).await.expect("record");
        assert_eq!(store.reach().await.expect("reach").disorder, expected);
    }
    assert_eq!(store.progress().await.expect("progress").disorder, 200);
}

pub async fn who_was_overtaken_never_decreases<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert!(store.write(plan_after(None, 300)).await.expect("write"));
    for (overtaken, expected) in [(40, 40), (25, 40), (60, 60)] {
        store.overtake(1, overtaken).await.expect("overtake");
        assert_eq!(store.reach().await.expect("reach").overtaken, expected);
    }
    assert_eq!(store.progress().await.expect("progress").overtaken, 60);
}
