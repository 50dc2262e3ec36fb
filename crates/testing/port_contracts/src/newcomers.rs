use std::time::Duration;

use futures_util::future;
use waitroom::ports::{Admissions, LineLength, MinuteLog, NewcomerCount, StatusBoard};
use waitroom::{
    Admission, AdmittedBy, CountedSlot, LineCounts, LineTotals, ObservedLine, Timestamp, UsedTime,
    VirtualLine, fixture,
};

use crate::Fixture;
use crate::visitor::{admission, visitor};

const SLOT: Duration = Duration::from_secs(5);

fn slots(fixture: &impl Fixture) -> [Timestamp; 3] {
    let last = CountedSlot::at(fixture.now(), fixture::MINUTE);
    [last - 2 * SLOT, last - SLOT, last]
}

async fn counted(fixture: &impl Fixture) -> Vec<(Timestamp, u64)> {
    let slots = fixture.ledger().newcomers().await.expect("newcomers");
    slots.into_iter().map(|slot| (slot.from, slot.newcomers)).collect()
}

pub async fn newcomers_are_counted_by_slot_until_they_are_forgotten<F: Fixture>() {
    let fixture = F::new().await;
    let [first, second, third] = slots(&fixture);
    assert_eq!(counted(&fixture).await, []);
    fixture.ledger().forget_newcomers(third).await.expect("forget nobody");
    for (slot, count) in [(third, 1), (first, 45), (third, 2), (second, 1)] {
        fixture.ledger().count_newcomers(slot, count).await.expect("count");
    }
    assert_eq!(counted(&fixture).await, [(first, 45), (second, 1), (third, 3)]);
    fixture.ledger().forget_newcomers(third).await.expect("forget");
    assert_eq!(counted(&fixture).await, [(third, 3)]);
}

pub async fn of_concurrent_doors_every_newcomer_is_counted_once<F: Fixture>() {
    let fixture = F::new().await;
    let [slot, ..] = slots(&fixture);
    let doors = (0..20).map(|_| fixture.ledger().count_newcomers(slot, 1));
    for counted in future::join_all(doors).await {
        counted.expect("count");
    }
    assert_eq!(counted(&fixture).await, [(slot, 20)]);
}

pub async fn who_passes_counts_as_joined_and_released<F: Fixture>() {
    let fixture = F::new().await;
    let [slot, ..] = slots(&fixture);
    fixture.ledger().count_newcomers(slot, 1).await.expect("count");
    let passes = Admission { by: AdmittedBy::Permit, ..admission(1, 1) };
    fixture.ledger().admit(visitor(1).token, passes).await.expect("admit");
    assert_eq!(fixture.ledger().progress().await.expect("progress").released, 1);
    let joined = fixture.line().joined().await.expect("joined");
    assert!(joined.is_none_or(|joined| joined == 1), "{joined:?}");
}

pub async fn a_record_keeps_what_the_line_would_have_been<F: Fixture>() {
    let fixture = F::new().await;
    let (room, at) = (fixture::room(600), fixture.now());
    let totals = LineTotals::of(&room, at, LineCounts { joined: 3, released: 3, entered: None, waiting: 0 });
    let line = ObservedLine { waited: 2, waiting: 1, longest_wait: 7, longest_line: 3, busiest: 9 };
    let observed = Some(VirtualLine { until: at, used: UsedTime::at(at), line });
    for noted in [observed, None] {
        fixture.ledger().note(LineTotals { observed: noted, ..totals }).await.expect("note");
        let records = fixture.ledger().minutes(at).await.expect("minutes");
        assert_eq!(records.last().map(|record| record.totals.observed), Some(observed), "it stays");
    }
}
