//! Who joined when, and the history of the line.

use std::time::Duration;

use futures_executor::block_on;
use futures_util::future::try_join_all;
use port_contracts::visitor::visitor;
use redb::{ReadableDatabase, ReadableTableMetadata, TableDefinition};
use waitroom::ports::{EntryCount, LineBack, LineFront, LineLength, MinuteLog, RoomAdmin, RoomReader};
use waitroom::{Author, LineTotals, MinuteCount, MinuteRecord, Place, Rate, Timestamp};

use crate::support::TestStore;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

fn join(test: &TestStore, tickets: impl IntoIterator<Item = u64>) {
    let epoch = block_on(test.store.room()).unwrap().epoch;
    let visitors = tickets.into_iter().map(|ticket| Place { epoch, ..visitor(ticket) });
    block_on(try_join_all(visitors.map(|visitor| test.store.join(visitor)))).unwrap();
}

fn joined(test: &TestStore) -> u64 {
    block_on(test.store.joined()).unwrap().expect("this store counts them")
}

/// Removes the next visitors, and returns when they joined.
fn release(test: &TestStore, most: u32) -> Vec<Timestamp> {
    let received = block_on(test.store.receive(most, Duration::ZERO)).unwrap();
    let joined = received.iter().map(|delivery| delivery.joined.unwrap()).collect();
    block_on(test.store.remove(received.into_iter().map(|delivery| delivery.receipt).collect())).unwrap();
    joined
}

#[test]
fn everybody_who_joins_is_counted_exactly() {
    let test = TestStore::new();
    assert_eq!(joined(&test), 0);
    // Some tickets are never used.
    join(&test, [1, 2, 3, 65, 66]);
    release(&test, 2);
    assert_eq!(joined(&test), 5);
    let test = test.restarted();
    assert_eq!(joined(&test), 5);
    join(&test, [67]);
    assert_eq!((joined(&test), block_on(test.store.waiting()).unwrap()), (6, 4));
    block_on(test.store.start_epoch("next".parse().unwrap(), Author::new("anna"))).unwrap();
    assert_eq!(joined(&test), 0);
    let test = test.restarted();
    assert_eq!(joined(&test), 0, "in this epoch");
    join(&test, [1]);
    assert_eq!(joined(&test), 1);
}

#[test]
fn those_who_came_for_their_pass_are_kept_with_the_record_of_a_minute() {
    let test = TestStore::new();
    (0..3).for_each(|_| test.store.count_entry());
    let epoch = block_on(test.store.room()).unwrap().epoch;
    let noted = LineTotals { epoch, entered: test.store.entered(), ..totals(test.time.now()) };
    block_on(test.store.note(noted)).unwrap();
    test.store.count_entry();
    assert_eq!(test.store.entered(), Some(4));
    let test = test.restarted();
    assert_eq!(test.store.entered(), Some(3), "up to the record");
    block_on(test.store.start_epoch("next".parse().unwrap(), Author::new("anna"))).unwrap();
    assert_eq!(test.store.entered(), Some(0), "in this epoch");
    assert_eq!(test.restarted().store.entered(), Some(0));
}

#[test]
fn when_a_visitor_joined_is_kept_to_the_second() {
    let test = TestStore::new();
    let first = test.time.now();
    join(&test, [1, 2]);
    test.time.pass(SECOND / 2);
    join(&test, [3]);
    test.time.pass(40 * MINUTE);
    let later = test.time.now();
    join(&test, [4]);
    block_on(test.store.sweep()).unwrap();
    assert_eq!(release(&test, 3), [first; 3]);
    block_on(test.store.sweep()).unwrap();
    assert_eq!(release(&test, 1), [later]);
    block_on(test.store.sweep()).unwrap();
    let test = test.restarted();
    test.time.pass(5 * MINUTE);
    let after_restart = test.time.now();
    join(&test, [5]);
    test.time.pass(MINUTE);
    let last = test.time.now();
    join(&test, [6, 7]);
    let test = test.restarted();
    assert_eq!(release(&test, 3), [after_restart, last, last], "an empty line began again");
}

#[test]
fn a_clock_that_is_set_back_does_not_make_waits_longer() {
    let test = TestStore::new();
    test.time.pass(MINUTE);
    join(&test, [1]);
    let test = test.restarted();
    let earlier = test.time.now();
    join(&test, [2]);
    assert_eq!(release(&test, 2)[1], earlier);
}

/// How many records a table has.
fn records(test: TestStore, table: TableDefinition<u64, u64>) -> (TestStore, u64) {
    let mut records = 0;
    let test = test.tampered(|database| {
        records = database.begin_read().unwrap().open_table(table).unwrap().len().unwrap();
    });
    (test, records)
}

#[test]
fn when_visitors_joined_is_removed_with_the_line() {
    const JOINED_AT: TableDefinition<u64, u64> = TableDefinition::new("joined_at");

    let test = TestStore::new();
    for ticket in 1..=50 {
        join(&test, [ticket]);
        test.time.pass(SECOND);
    }
    for _ in 0..3 {
        release(&test, 10);
    }
    block_on(test.store.sweep()).unwrap();
    let (test, left) = records(test, JOINED_AT);
    assert_eq!(left, 20);
    for _ in 0..2 {
        release(&test, 10);
    }
    block_on(test.store.sweep()).unwrap();
    assert_eq!(records(test, JOINED_AT).1, 1);
}

fn totals(at: Timestamp) -> LineTotals {
    let epoch = "ab12".parse().unwrap();
    LineTotals {
        at,
        epoch,
        joined: u64::MAX,
        released: u64::MAX,
        entered: Some(u64::MAX),
        waiting: u64::MAX,
        rate: Some(Rate::MAX),
        rehearsal: true,
        observed: None,
    }
}

#[test]
fn the_history_of_fourteen_days_is_kept_and_bounded() {
    const DAY: usize = 24 * 60;
    // Of fifteen days, these are no longer stored.
    const OLD: usize = DAY - 60;

    let test = TestStore::new();
    let first = test.time.now();
    for day in 0..15u32 {
        let minutes = (0..24 * 60).map(|minute| first + day * Duration::from_hours(24) + minute * MINUTE);
        block_on(try_join_all(minutes.clone().map(|at| test.store.note(totals(at))))).unwrap();
        block_on(try_join_all(minutes.map(|at| test.store.note_wait(at, MINUTE)))).unwrap();
    }
    let noted = block_on(test.store.minutes(Timestamp::default())).unwrap();
    assert_eq!(noted.len(), 15 * DAY);

    test.time.pass(Duration::from_hours(15 * 24));
    assert_eq!(block_on(test.store.sweep()).unwrap().minutes, OLD);
    assert_eq!(block_on(test.store.sweep()).unwrap().minutes, 0);
    let test = test.restarted();
    let kept = block_on(test.store.minutes(Timestamp::default())).unwrap();
    assert_eq!(kept, noted[OLD..]);
    let shown = block_on(test.store.minutes(first + Duration::from_hours(24))).unwrap();
    assert_eq!(shown, noted[DAY - 1..], "fourteen days, after the record before them");
    assert_eq!(kept[0], MinuteRecord { totals: kept[0].totals, longest_wait: Some(60) });
    let (test, waits) = records(test, TableDefinition::new("longest_wait"));
    assert_eq!(waits, 14 * 24 * 60 + 60);
    let size = test.directory.path().join("room.redb").metadata().unwrap().len();
    assert!(size < 16 << 20, "{size} bytes");
}

/// Otherwise its first minute would count everybody who ever came.
#[test]
fn a_room_that_was_stopped_for_weeks_counts_on_from_where_it_was() {
    let test = TestStore::new();
    let note = |joined, at| block_on(test.store.note(LineTotals { joined, released: joined, ..totals(at) }));
    note(900, test.time.now()).unwrap();
    test.time.pass(MINUTE);
    note(1000, test.time.now()).unwrap();
    test.time.pass(Duration::from_hours(20 * 24));
    assert_eq!(block_on(test.store.sweep()).unwrap().minutes, 1);
    let now = test.time.now();
    note(1003, now).unwrap();
    let records = block_on(test.store.minutes(now)).unwrap();
    assert_eq!(MinuteCount::from_records(&records, now)[0].joined, 3);
    assert_eq!(block_on(test.store.sweep()).unwrap().minutes, 1, "now there is another one");
}

#[test]
fn a_wait_that_was_noted_by_a_clock_that_was_ahead_is_none_of_the_latest() {
    let test = TestStore::new();
    let ahead = Duration::from_hours(365 * 24);
    test.time.pass(ahead);
    block_on(test.store.note_wait(test.time.now(), 10 * MINUTE)).unwrap();
    test.time.set_back(ahead);
    let longest = || block_on(test.store.longest_wait(test.time.now() - MINUTE)).unwrap();
    assert_eq!(longest(), None);
    block_on(test.store.note_wait(test.time.now(), SECOND)).unwrap();
    assert_eq!(longest(), Some(SECOND));
}
