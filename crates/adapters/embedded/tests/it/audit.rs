//! The audit trail.

use futures_executor::block_on;
use waitroom::ports::{AuditTrail, RoomAdmin, ThrottleStore};
use waitroom::{AuditEntry, AuditNote, AuditSubject, Author, Rate, Room, RoomState};

use crate::support::TestStore;

fn order(test: &TestStore, subject: AuditSubject, set: impl Fn(&mut Room) + Send + 'static) {
    let note = AuditNote::new(Author::new("anna"), subject);
    block_on(test.store.change("give an order", note, set)).unwrap();
}

/// The entries in the words of `history`.
fn trail(test: &TestStore) -> Vec<String> {
    let entries = block_on(test.store.entries(AuditEntry::KEPT)).unwrap();
    entries.iter().map(|entry| format!("{} {} {}", entry.number, entry.who, entry.change)).collect()
}

#[test]
fn the_trail_survives_off_a_reset_and_a_restart() {
    let test = TestStore::new();
    order(&test, AuditSubject::Rate, |room| room.settings.rate = Rate::MAX);
    block_on(test.store.hold(Some(Rate::MIN))).unwrap();
    order(&test, AuditSubject::State, |room| room.state = RoomState::Off);
    block_on(test.store.start_epoch("next".parse().unwrap(), Author::new("otto"))).unwrap();
    let expected = [
        "1 anna rate: 300 -> 270000",
        "2 throttle rate in force: 270000 -> 1",
        "3 anna room: on -> off",
        "4 otto reset, epoch: ab12 -> next",
    ];
    assert_eq!(trail(&test), expected);
    let at = block_on(test.store.entries(1)).unwrap()[0].at;
    assert_eq!(at, test.time.now());

    let test = test.restarted();
    assert_eq!(trail(&test), expected);
    order(&test, AuditSubject::State, |room| room.state = RoomState::On);
    assert_eq!(trail(&test)[4], "5 anna room: off -> on");
    let copy = tempfile::tempdir().unwrap();
    test.store.back_up(&copy.path().join("room.redb")).unwrap();
    let copy = TestStore::open(copy);
    assert_eq!(trail(&copy), trail(&test), "a backup has it too");
}

#[test]
fn the_oldest_entries_are_removed() {
    let test = TestStore::new();
    let kept = u32::from(AuditEntry::KEPT);
    let orders = (1..=kept + 5).map(|number| {
        let rate = Rate::new(number).unwrap();
        let note = AuditNote::new(Author::new("anna"), AuditSubject::Rate);
        test.store.change_room("set the rate", Some(note), move |room| room.settings.rate = rate)
    });
    block_on(futures_util::future::try_join_all(orders)).unwrap();
    let numbers: Vec<_> =
        block_on(test.store.entries(u16::MAX)).unwrap().iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, (6..=u64::from(kept) + 5).collect::<Vec<_>>());
}
