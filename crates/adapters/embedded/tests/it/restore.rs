//! A backup in the place of a file: what it takes from that.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use embedded::{BackupError, EmbeddedStore, Restored};
use futures_executor::block_on;
use pass::{GuardReport, ReportKeyDigest};
use port_contracts::slices::{plan_from, progress};
use port_contracts::visitor::{admission, visitor};
use tempfile::TempDir;
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, AuditTrail, ConsumerRun, EntryCount, GuardReports, HelpCalls,
    LineBack, MinuteLog, Plans, RoomAdmin, RoomReader, Slices, StockCount, Taken, TicketCounter,
    TurnoutCount,
};
use waitroom::{
    AuditNote, AuditSubject, AuditedChange, Author, HelpCall, HelpCode, KeptReport, LineTotals, Place, Plan,
    Rate, Room, SliceId, Stock, Timestamp, Turnout, Window,
};

use crate::support::TestStore;

const MINUTE: Duration = Duration::from_mins(1);

fn join(test: &TestStore, ticket: u64) {
    let epoch = test.store.kept_room().epoch;
    block_on(test.store.join(Place { epoch, ..visitor(ticket) })).unwrap();
}

fn reset(test: &TestStore) {
    block_on(test.store.start_epoch("next".parse().unwrap(), Author::new("anna"))).unwrap();
}

/// Writes the record of this minute.
fn note(test: &TestStore, joined: u64) {
    let epoch = test.store.kept_room().epoch;
    let (at, entered) = (test.time.now(), test.store.entered());
    let (released, waiting, rate, rehearsal) = (0, joined, None, false);
    let totals =
        LineTotals { at, epoch, joined, released, entered, waiting, rate, rehearsal, observed: None };
    block_on(test.store.note(totals)).unwrap();
}

/// A backup, and where it is restored.
struct Backup(TempDir);

impl Backup {
    fn of(test: &TestStore) -> Self {
        let backup = Self(tempfile::tempdir().unwrap());
        test.store.back_up(&backup.file()).unwrap();
        backup
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("noon.redb")
    }

    fn restore(&self, replaced: &TestStore) -> Result<Restored, BackupError> {
        self.restore_at(Some(replaced), replaced.time.now())
    }

    /// The file that is replaced may be lost.
    fn restore_at(&self, replaced: Option<&TestStore>, now: Timestamp) -> Result<Restored, BackupError> {
        let (backup, _) = EmbeddedStore::look_at(&self.file()).unwrap();
        let file = self.0.path().join(EmbeddedStore::FILE);
        backup.restore(replaced.map(|replaced| &replaced.store), &file, now)
    }

    fn opened(self) -> TestStore {
        TestStore::open(self.0)
    }
}

#[test]
fn a_line_that_was_reset_counts_on() {
    let test = TestStore::new();
    (1..=3).for_each(|ticket| join(&test, ticket));
    test.store.count_entry();
    let epoch = test.store.kept_room().epoch;
    note(&test, 3);
    let backup = Backup::of(&test);
    test.time.pass(MINUTE);
    reset(&test);
    let between = test.time.now() + MINUTE;
    for _ in 0..3 {
        test.time.pass(MINUTE);
        note(&test, 1);
    }
    backup.restore(&test).unwrap();
    let later = test.time.now() + 2 * MINUTE;

    let test = backup.opened();
    assert_eq!(test.store.entered(), Some(1), "who came for their pass before the reset");
    test.time.pass(later.since(test.time.now()));
    note(&test, 5);
    for since in [between, later] {
        let minutes = block_on(test.store.minutes(since)).unwrap();
        let before = minutes.iter().rev().skip(1).find(|minute| minute.totals.epoch == epoch);
        assert_eq!(before.map(|minute| minute.totals.joined), Some(3), "since {since}");
    }
}

/// Whoever joined in the last minute of the line that is replaced is in the history too.
#[test]
fn a_line_that_is_replaced_has_a_closing_record() {
    let test = TestStore::new();
    let backup = Backup::of(&test);
    reset(&test);
    test.time.pass(MINUTE);
    (1..=2).for_each(|ticket| join(&test, ticket));
    let ends = test.time.now();
    let epoch = test.store.kept_room().epoch;
    backup.restore(&test).unwrap();
    let test = backup.opened();
    let minutes = block_on(test.store.minutes(ends)).unwrap();
    let last = minutes.last().unwrap().totals;
    assert_eq!((last.at, last.epoch, last.joined, last.waiting), (ends, epoch, 2, 2));
}

/// Orders a stock.
fn sell(test: &TestStore, size: u32) -> Stock {
    let sell = move |room: &mut Room| room.sell(size.try_into().unwrap());
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    let (_, selling) = block_on(test.store.change("set how many more are let in", note, sell)).unwrap();
    selling.stock.unwrap()
}

fn admit(test: &TestStore, stock: Stock, tickets: RangeInclusive<u64>) -> Vec<Option<Admitted>> {
    let admissions = tickets.map(|ticket| (visitor(ticket).token, admission(ticket, 1))).collect();
    block_on(test.store.admit_from(stock, admissions)).unwrap()
}

#[test]
fn what_was_taken_of_a_stock_since_the_backup_is_not_taken_again() {
    let test = TestStore::new();
    let stock = sell(&test, 5);
    let backup = Backup::of(&test);
    admit(&test, stock, 1..=3);
    backup.restore(&test).unwrap();
    let test = backup.opened();
    assert_eq!((block_on(test.store.left(stock)).unwrap(), test.store.status().left), (2, Some(2)));
    assert_eq!(admit(&test, stock, 4..=6), [Some(Admitted::Now), Some(Admitted::Now), None]);
}

#[test]
fn whoever_counted_for_a_later_stock_counts_for_that_of_the_backup() {
    let test = TestStore::new();
    let stock = sell(&test, 5);
    let backup = Backup::of(&test);
    admit(&test, stock, 1..=3);
    let corrected = sell(&test, 2);
    admit(&test, corrected, 4..=4);
    let (looked_at, _) = EmbeddedStore::look_at(&backup.file()).unwrap();
    let foretold = looked_at.left_in_place_of(&test.store, stock);
    backup.restore(&test).unwrap();
    let test = backup.opened();
    assert_eq!((block_on(test.store.left(stock)).unwrap(), foretold), (1, Some(1)));
    assert!(sell(&test, 2).order > corrected.order, "whoever was let in then counts for no other");
}

#[test]
fn a_stock_that_an_undo_brings_back_knows_who_was_let_in() {
    let test = TestStore::new();
    block_on(test.store.change_room("pause", None, Room::pause)).unwrap();
    let backup = Backup::of(&test);
    let stock = sell(&test, 5);
    admit(&test, stock, 1..=3);
    backup.restore(&test).unwrap();
    let test = backup.opened();
    let taken_back = block_on(test.store.entries(1)).unwrap().remove(0);
    let undo = taken_back.change.reverted().unwrap();
    let undone = block_on(test.store.change_room("undo", None, move |room| _ = undo.apply(room)));
    assert_eq!(undone.unwrap().1.stock, Some(stock));
    assert_eq!(block_on(test.store.left(stock)).unwrap(), 2);
}

/// Without it, the history would say that the order of since is still in force, and a report that the throttle lowered the rate.
#[test]
fn the_audit_trail_says_which_orders_a_restore_takes_back() {
    let test = TestStore::new();
    let backup = Backup::of(&test);
    let [before, after] = [test.store.kept_room().settings.rate, Rate::new(1234).unwrap()];
    let note = AuditNote::new(Author::new("anna"), AuditSubject::Rate);
    block_on(test.store.change("set the rate", note, move |room| room.settings.rate = after)).unwrap();
    backup.restore(&test).unwrap();
    let test = backup.opened();
    let changes: Vec<_> = block_on(test.store.entries(9)).unwrap();
    let [ordered, taken_back] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(ordered.change, AuditedChange::Rate { from: before, to: after });
    assert_eq!(taken_back.change, AuditedChange::Rate { from: after, to: before });
    assert_eq!((taken_back.number, &taken_back.who), (ordered.number + 1, &Author::restore()));
    assert_eq!(test.store.kept_room().settings.rate, before);
}

/// Some numbers are given to nobody, so the highest is above how many joined.
#[test]
fn numbers_continue_after_the_highest_of_the_line_that_was_reset() {
    let test = TestStore::new();
    join(&test, 1);
    let backup = Backup::of(&test);
    join(&test, 65);
    reset(&test);
    join(&test, 1);
    backup.restore(&test).unwrap();
    let test = backup.opened();
    assert_eq!(block_on(test.store.lease(1)).unwrap(), 66);
}

/// Whoever stands in the line of a rehearsal is no customer, also after a restore.
#[test]
fn a_rehearsal_that_was_left_behind_stays_marked() {
    let test = TestStore::new();
    let backup = Backup::of(&test);
    let mark = "abcdefghijkmnpqr".parse().unwrap();
    block_on(test.store.change_room("rehearse", None, move |room| room.rehearsal = Some(mark))).unwrap();
    (1..=3).for_each(|ticket| join(&test, ticket));
    assert_eq!(backup.restore(&test).unwrap().joined_since, 3);
    let test = backup.opened();
    assert_eq!(block_on(test.store.room()).unwrap().rehearsal, Some(mark));
}

/// The first window after a restore is planned before any guard reports again. Until then the shop has as many as before.
#[test]
fn what_guards_reported_since_the_backup_is_known() {
    let test = TestStore::new();
    let report = |guard: char, live| {
        test.time.pass(MINUTE);
        let (guard, received) = (guard.to_string().repeat(16).try_into().unwrap(), test.time.now());
        let made = received.as_millis();
        let report = GuardReport { guard, made, pass: 300, live, opened: [(1, live)].into() };
        block_on(test.store.keep_report(KeptReport { report, received })).unwrap();
    };
    report('a', 10);
    report('b', 20);
    let backup = Backup::of(&test);
    report('b', 2000);
    report('c', 30);
    let expected = block_on(test.store.reports()).unwrap();
    backup.restore(&test).unwrap();
    assert_eq!(block_on(backup.opened().store.reports()).unwrap(), expected);
}

#[test]
fn a_report_key_that_was_replaced_since_the_backup_stays_replaced() {
    let test = TestStore::new();
    let replace = |key: &str| {
        let digest = ReportKeyDigest::stored(key);
        let set = move |room: &mut Room| room.report_key = Some(digest);
        block_on(test.store.change_room("replace the report key", None, set)).unwrap().1
    };
    replace("old");
    let backup = Backup::of(&test);
    let expected = replace("new").report_key.clone();
    backup.restore(&test).unwrap();
    assert_eq!(backup.opened().store.kept_room().report_key, expected);
}

/// Writes the plan that is due. Returns it.
fn plan(test: &TestStore) -> Plan {
    let recent = block_on(test.store.recent()).unwrap();
    let (now, rate) = (test.time.now(), Rate::new(300).unwrap());
    let plan = if recent.is_empty() {
        plan_from(None, now, rate)
    } else {
        let room = block_on(test.store.room()).unwrap();
        Plan::due(&recent, &room, now, MINUTE, MINUTE * 11 / 12).unwrap()
    };
    assert!(block_on(test.store.write(plan)).unwrap());
    plan
}

/// Guards report who came by the numbers of windows. A window with a number of before would count for nobody whom it lets in.
#[test]
fn plans_get_numbers_that_none_had_since_the_backup() {
    for is_lost in [false, true] {
        for hours in [0, 30] {
            let test = TestStore::new();
            (0..3).for_each(|_| {
                plan(&test);
                test.time.pass(MINUTE);
            });
            let backup = Backup::of(&test);
            let mut last = 3;
            test.time.pass(hours * 60 * MINUTE);
            for _ in 0..20 {
                last = plan(&test).number;
                test.time.pass(MINUTE);
            }
            let now = test.time.now();
            backup.restore_at(Some(&test).filter(|_| !is_lost), now).unwrap();
            let test = backup.opened();
            test.time.pass(now.since(test.time.now()));
            let next = plan(&test);
            assert!(next.number > last, "{} after {last}", next.number);
            assert_eq!((next.window.start, next.quota), (now, 300));
        }
    }
}

/// The window of the backup goes on where it was.
#[test]
fn a_window_that_runs_is_released_once() {
    let test = TestStore::new();
    let running = plan(&test);
    let (slice, of_slice) = (SliceId { plan: 1, index: 3 }, |number| admission(number, 1));
    block_on(test.store.take(slice, ConsumerRun(1))).unwrap();
    block_on(test.store.admit(visitor(1).token, of_slice(1))).unwrap();
    let backup = Backup::of(&test);
    block_on(test.store.admit(visitor(2).token, of_slice(2))).unwrap();
    test.time.pass(MINUTE / 3);
    let now = test.time.now();
    backup.restore(&test).unwrap();
    let test = backup.opened();
    test.time.pass(now.since(test.time.now()));
    assert!(block_on(test.store.recent()).unwrap().iter().any(|record| record.plan == running));
    let windows = block_on(test.store.window_admissions(Timestamp::default())).unwrap();
    assert_eq!(windows.iter().map(|window| window.at_most).sum::<u64>(), 300);
    assert_eq!(block_on(test.store.take(slice, ConsumerRun(2))).unwrap(), Taken::Here { released: 2 });
    test.time.pass(MINUTE / 3);
    assert_eq!(plan(&test).window.start, running.window.end);
}

/// Otherwise they would seem missing, and as many more be let in, or come twice; and nobody would know whose code it is.
#[test]
fn who_came_and_who_asked_for_help_since_the_backup_is_known() {
    let test = TestStore::new();
    let (running, slice) = (plan(&test), SliceId { plan: 1, index: 3 });
    block_on(test.store.take(slice, ConsumerRun(1))).unwrap();
    for number in 1..=2 {
        block_on(test.store.admit(visitor(number).token, admission(number, 1))).unwrap();
    }
    block_on(test.store.record(slice, progress(2, 2))).unwrap();
    let backup = Backup::of(&test);
    let came = |test: &TestStore| block_on(test.store.note_came(visitor(1).token, slice)).unwrap();
    assert!(came(&test));
    let [code, ..] = HelpCode::of(visitor(3).token);
    let call = HelpCall { code, place: visitor(3), at: test.time.now() };
    assert!(block_on(test.store.note_call(call)).unwrap());
    backup.restore(&test).unwrap();

    let test = backup.opened();
    assert!(!came(&test), "they came before");
    let ended = Window { end: running.window.end + MINUTE, ..running.window };
    let turnout = block_on(test.store.turnout(ended)).unwrap();
    assert_eq!(turnout, Turnout { came: 1, released: 2 });
    assert_eq!(block_on(test.store.call(code)).unwrap(), Some(call));
}
