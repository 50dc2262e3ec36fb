//! The audit trail.

use waitroom::ports::{AuditTrail, RoomReader, ThrottleStore};
use waitroom::{AuditEntry, AuditedChange, Author, Rate};

use crate::Fixture;

fn rate(per_minute: u32) -> Rate {
    Rate::new(per_minute).expect("within bounds")
}

pub async fn a_decision_of_the_throttle_is_an_entry<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert_eq!(store.entries(AuditEntry::KEPT).await.expect("entries"), []);
    let wanted = store.room_now().await.expect("room").rate();
    store.hold(Some(Rate::MIN)).await.expect("hold");
    store.hold(Some(Rate::MIN)).await.expect("hold");
    store.hold(None).await.expect("hold");
    let entries = store.entries(AuditEntry::KEPT).await.expect("entries");
    let [held, ended] = &*entries else { panic!("one entry for each change: {entries:?}") };
    assert_eq!((held.number, ended.number), (1, 2));
    assert_eq!(held.change, AuditedChange::Throttle { from: wanted, to: Rate::MIN });
    assert_eq!(ended.change, AuditedChange::Throttle { from: Rate::MIN, to: wanted });
    assert_eq!(held.who, Author::throttle());
    assert!(held.at <= ended.at && held.at.as_millis() > 0);
}

pub async fn the_latest_entries_are_read_oldest_first<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    for held in 1..=4 {
        store.hold(Some(rate(held))).await.expect("hold");
    }
    for (most, expected) in [(0, vec![]), (3, vec![2, 3, 4]), (u16::MAX, vec![1, 2, 3, 4])] {
        let entries = store.entries(most).await.expect("entries");
        let numbers: Vec<_> = entries.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, expected, "at most {most}");
    }
}
