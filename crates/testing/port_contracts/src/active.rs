//! Whom guards report, and whom windows have let in, in a room with a limit of active visitors.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future;
use pass::{GuardName, GuardReport};
use waitroom::ports::{
    ActiveVisitors, Admissions, ConsumerRun, GuardReports, Plans, RoomReader, SliceProgress, Slices,
};
use waitroom::{Admission, AdmittedBy, KeptReport, Plan, Rate, SliceId, Timestamp};

use crate::Fixture;
use crate::slices::{plan_from, progress};
use crate::visitor::{admission, visitor};

fn name(guard: usize) -> GuardName {
    format!("guard-{guard:010}").try_into().expect("a name")
}

fn report(guard: usize, made: u64, live: u64) -> KeptReport {
    let opened = BTreeMap::from([(made, live + 1)]);
    let report = GuardReport { guard: name(guard), made, pass: 300, live, opened };
    KeptReport { report, received: Timestamp::from_millis(made + 20) }
}

async fn reports<F: Fixture>(fixture: &F) -> Vec<KeptReport> {
    let mut reports = fixture.ledger().reports().await.expect("reports");
    reports.sort_by(|one, other| one.report.guard.cmp(&other.report.guard));
    reports
}

pub async fn the_latest_report_of_each_guard_is_kept<F: Fixture>() {
    let fixture = F::new().await;
    assert_eq!(reports(&fixture).await, []);
    // It was long on its way.
    let late = KeptReport { received: Timestamp::from_millis(2100), ..report(2, 1400, 9) };
    for kept in [report(1, 1000, 5), report(2, 1500, 7), report(1, 2000, 4), late] {
        fixture.ledger().keep_report(kept).await.expect("keep");
    }
    assert_eq!(reports(&fixture).await, [report(1, 2000, 4), report(2, 1500, 7)]);
}

pub async fn of_concurrent_guards_every_report_is_kept<F: Fixture>() {
    let fixture = F::new().await;
    let at_once = (1..=3).map(|guard| fixture.ledger().keep_report(report(guard, 1000, 5)));
    for kept in future::join_all(at_once).await {
        kept.expect("keep");
    }
    assert_eq!(reports(&fixture).await.len(), 3);
}

pub async fn too_many_guards_push_out_the_oldest<F: Fixture>() {
    let fixture = F::new().await;
    for guard in 0..=KeptReport::MOST {
        let made = 1000 + u64::try_from(guard).expect("few");
        fixture.ledger().keep_report(report(guard, made, 1)).await.expect("keep");
    }
    let guards = reports(&fixture).await.into_iter().map(|kept| kept.report.guard).collect::<Vec<_>>();
    assert_eq!(guards, (1..=KeptReport::MOST).map(name).collect::<Vec<_>>());
}

/// A plan that begins so long before now, and lasts a minute.
async fn begun<F: Fixture>(fixture: &F, last: Option<&Plan>, ago: Duration) -> Plan {
    let plan = plan_from(last, fixture.now() - ago, Rate::new(1500).expect("a rate"));
    assert!(fixture.ledger().write(plan).await.expect("write"));
    plan
}

/// Lets in so many by this slice, whose consumer then says so.
async fn let_in<F: Fixture>(fixture: &F, slice: SliceId, visitors: std::ops::Range<u64>, says: bool) {
    let ledger = fixture.ledger();
    ledger.take(slice, ConsumerRun(1)).await.expect("take");
    let many = u32::try_from(visitors.end - visitors.start).expect("few");
    for number in visitors {
        let admission = Admission { by: AdmittedBy::Slice(slice), ..admission(number, 1) };
        ledger.admit(visitor(number).token, admission).await.expect("admit");
    }
    let at_most = says.then_some(many);
    ledger.record(slice, SliceProgress { at_most, ..progress(many, 1) }).await.expect("record");
}

async fn counted<F: Fixture>(fixture: &F, since: Timestamp) -> Vec<(u64, u64, bool)> {
    let counts = fixture.ledger().window_admissions(since).await.expect("count");
    let mut counts: Vec<_> = counts.iter().map(|count| (count.plan, count.at_most, count.is_sure)).collect();
    counts.sort_unstable();
    counts
}

pub async fn a_window_counts_with_its_quota_until_its_consumers_have_said_what_it_let_in<F: Fixture>() {
    let fixture = F::new().await;
    let since = fixture.now() - Duration::from_hours(1);
    let plan = begun(&fixture, None, Duration::from_secs(70)).await;
    let slices: Vec<_> = plan.slice_ids().collect();
    assert_eq!(slices.len(), 2);
    let_in(&fixture, slices[0], 1..8, true).await;
    let_in(&fixture, slices[1], 10..15, false).await;
    assert_eq!(counted(&fixture, since).await, [(1, 507, false)], "one may still let its whole quota in");
    let_in(&fixture, slices[1], 15..15, true).await;
    let said = counted(&fixture, since).await;
    // A store that counts its admissions knows of those whom the second record leaves out.
    assert!([(1, 7, true), (1, 12, true)].contains(&said[0]), "{said:?}");
    // Running, with consumers that are over already.
    let running = begun(&fixture, Some(&plan), Duration::ZERO).await;
    let_in(&fixture, SliceId { plan: running.number, index: 0 }, 20..21, true).await;
    assert_eq!(counted(&fixture, since).await[1], (2, 1500, false));
}

pub async fn windows_that_ended_before_then_are_not_counted<F: Fixture>() {
    let fixture = F::new().await;
    let first = begun(&fixture, None, Duration::from_mins(3)).await;
    let second = begun(&fixture, Some(&first), Duration::from_mins(2)).await;
    let plans =
        async |since| -> Vec<u64> { counted(&fixture, since).await.iter().map(|count| count.0).collect() };
    assert_eq!(plans(first.window.end).await, [1, 2]);
    assert_eq!(plans(first.window.end + Duration::from_millis(1)).await, [2]);
    assert_eq!(plans(second.window.end + Duration::from_millis(1)).await, [0u64; 0]);
}

pub async fn a_difference_that_pages_should_show_is_kept_with_the_room<F: Fixture>() {
    let fixture = F::new().await;
    let rate = |a_minute| Rate::new(a_minute).expect("a rate");
    for (lately, kept) in
        [(Some(100), Some(100)), (Some(104), Some(100)), (Some(106), Some(106)), (None, None)]
    {
        fixture.ledger().keep_while_full(lately.map(rate)).await.expect("keep");
        let room = fixture.ledger().room_now().await.expect("room");
        assert_eq!(room.while_full, kept.map(rate), "{lately:?}");
    }
}
