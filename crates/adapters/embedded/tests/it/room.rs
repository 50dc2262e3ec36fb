//! Opening, changing, resetting and closing a room.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use embedded::{EmbeddedStore, OpenError};
use futures_executor::block_on;
use port_contracts::slices::{plan_from, progress};
use port_contracts::visitor::{admission, visitor};
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, ConsumerRun, Fault, LineBack, LineFront, LineLength,
    LineStatusReader, Plans, RoomAdmin, RoomReader, Slices, StatusBoard, StockCount, Taken, ThrottleStore,
    TicketCounter, TurnoutCount,
};
use waitroom::{
    Admission, AdmittedBy, LineProgress, LineStatus, Place, Plan, Rate, Room, RoomState, SliceId, Stretch,
    Timestamp, ValveSchedule, Window,
};

use crate::support::{TestStore, room};

#[test]
fn an_existing_room_is_kept() {
    let test = TestStore::new();
    let rate = Rate::new(77).unwrap();
    let change = test.store.change_room("set the rate", None, move |room| room.settings.rate = rate);
    let (before, after) = block_on(change).unwrap();
    assert_eq!((before.settings.rate.get(), before.version), (300, 0));
    assert_eq!((after.settings.rate.get(), after.version), (77, 1));
    let test = test.restarted();
    assert_eq!(block_on(test.store.room()).unwrap(), after);
}

/// Its operator moved the file to a larger disk, while the room tried to write.
#[test]
fn no_empty_line_begins_in_the_place_of_a_file_that_is_gone() {
    let empty = redb::backends::InMemoryBackend::new;
    let lead_time = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;
    let (store, mut committer) = EmbeddedStore::on(empty, lead_time, room(), Timestamp::default).unwrap();
    assert!(block_on(store.admission(visitor(1).token)).is_ok());
    committer.reopen().unwrap_err();
    assert!(block_on(store.admission(visitor(1).token)).is_err());
}

/// After a failed sync, the system's cache says what the disk hasn't.
#[cfg(target_os = "linux")]
#[test]
fn a_file_is_opened_as_it_is_on_disk() {
    let read_from_disk = || {
        let counts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let count = counts.lines().find_map(|line| line.strip_prefix("read_bytes: "));
        count.unwrap().parse::<u64>().unwrap()
    };
    // Where the system's files in memory are, the cache is all there is.
    let test = TestStore::open(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let before = read_from_disk();
    let _test = test.restarted();
    assert!(read_from_disk() > before);
}

#[test]
fn two_concurrent_changes_are_both_applied() {
    let test = TestStore::new();
    let pause = test.store.change_room("pause", None, |room| room.state = RoomState::Paused);
    let stretch = test.store.change_room("stretch the polls", None, |room| room.stretch = Stretch::MAX);
    let (paused, stretched) = block_on(futures_util::future::join(pause, stretch));
    let (last, room) = (stretched.unwrap().1, block_on(test.store.room()).unwrap());
    let both = (RoomState::Paused, Stretch::MAX, 2);
    assert_eq!((room.state, room.stretch, room.version), both, "{room:?}");
    assert_eq!(last, room);
    assert_eq!(paused.unwrap().1.state, RoomState::Paused);
}

#[test]
fn a_second_process_gets_an_error() {
    let test = TestStore::new();
    let now = test.time.clone();
    let error = EmbeddedStore::open(test.directory.path(), room(), move || now.now()).unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)), "{error:?}");
    let expected = format!(
        "the room in {} is open in another process; stop that one, or choose another directory",
        test.directory.path().display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_directory_that_cannot_be_created_is_named() {
    let error = EmbeddedStore::open("/proc/no/such".as_ref(), room(), Default::default).unwrap_err();
    assert_eq!(error.to_string(), "could not use the directory /proc/no/such");
}

#[test]
fn a_file_that_is_not_a_store_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("room.redb"), [7; 8192]).unwrap();
    let error = EmbeddedStore::open(directory.path(), room(), Default::default).unwrap_err();
    assert!(matches!(error, OpenError::NoRoom(_)), "{error:?}");
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_the_file() {
    use std::os::unix::fs::PermissionsExt;

    let test = TestStore::new();
    let path = test.directory.path().join("room.redb");
    let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _reopened = test.restarted();
    assert_eq!(mode(), 0o600, "somebody had copied it back from a backup");
}

#[test]
fn ticket_numbers_continue_after_a_restart() {
    let test = TestStore::new();
    let lease = |test: &TestStore| block_on(test.store.lease(8)).unwrap();
    assert_eq!(lease(&test), 1);
    assert_eq!(lease(&test), 9);
    block_on(test.store.join(port_contracts::visitor::visitor(10))).unwrap();
    let test = test.restarted();
    assert_eq!(lease(&test), 11, "the first number after the last one that was used");
}

#[test]
fn polls_read_the_current_status_also_after_a_restart() {
    let test = TestStore::new();
    let line = |test: &TestStore| {
        let room = block_on(test.store.room()).unwrap();
        block_on(test.store.line_status(&room)).unwrap()
    };
    let rate = Rate::new(300).unwrap();
    assert_eq!(
        line(&test),
        LineStatus { reached: 0, overtaken: 0, disorder: 0, waiting: 0, rate, slow: false, left: None }
    );
    (1..=3).for_each(|n| block_on(test.store.join(visitor(n))).unwrap());
    let plan = plan_from(None, test.time.now(), Rate::MAX);
    assert!(block_on(test.store.write(plan)).unwrap());
    let slice = SliceId { plan: 1, index: 0 };
    assert_eq!(block_on(test.store.take(slice, ConsumerRun(1))).unwrap(), Taken::Here { released: 0 });
    block_on(test.store.record(slice, progress(2, 2))).unwrap();
    block_on(test.store.hold(Some(Rate::MIN))).unwrap();
    let expected = LineStatus {
        reached: 2,
        overtaken: 0,
        disorder: 0,
        waiting: 3,
        rate: Rate::MIN,
        slow: true,
        left: None,
    };
    assert_eq!(line(&test), expected);
    assert_eq!(line(&test.restarted()), expected);
}

#[test]
fn a_clock_that_is_ahead_for_a_while_neither_opens_nor_ends_the_room_for_good() {
    let (test, minutes) = (TestStore::new(), Duration::from_mins);
    let (opens, ends) = (test.time.now() + minutes(10), test.time.now() + minutes(20));
    let order = move |room: &mut Room| {
        room.open_at(opens);
        room.ends = Some(ends);
        room.sell(3.try_into().unwrap());
    };
    block_on(test.store.change_room("set when the room opens", None, order)).unwrap();
    let state = || {
        let room = block_on(test.store.room()).unwrap();
        (room.state, room.stock.is_some())
    };
    let ordered = test.store.kept_room();
    for _ in 0..2 {
        assert_eq!(state(), (RoomState::Paused, true));
        test.time.pass(minutes(15));
        assert_eq!([state(), state()], [(RoomState::On, true); 2]);
        test.time.pass(minutes(15));
        assert_eq!([state(), state()], [(RoomState::Ended, false); 2]);
        test.time.set_back(minutes(15));
        assert_eq!(state(), (RoomState::On, true));
        test.time.set_back(minutes(15));
    }
    assert_eq!(test.store.kept_room(), ordered);
}

/// Its consumer has read the room while the disk still synced the order.
#[test]
fn a_slice_admits_nobody_past_a_stock_that_is_in_force() {
    let test = TestStore::new();
    let sell = |size: u32| {
        let order = move |room: &mut Room| room.sell(size.try_into().unwrap());
        let (_, selling) = block_on(test.store.change_room("sell", None, order)).unwrap();
        test.time.pass(Duration::from_secs(2));
        selling.stock.unwrap()
    };
    let visitors = || vec![(visitor(1).token, admission(1, 1))];
    let first = sell(3);
    let refused = block_on(test.store.admit(visitor(1).token, admission(1, 1))).unwrap_err();
    assert_eq!(refused.fault, Fault::Busy);
    let second = sell(3);
    let refused = block_on(test.store.admit_from(first, visitors())).unwrap_err();
    assert_eq!(refused.fault, Fault::Busy);
    assert_eq!(block_on(test.store.admission(visitor(1).token)).unwrap(), None);
    assert_eq!(block_on(test.store.admit_from(second, visitors())).unwrap(), [Some(Admitted::Now)]);
    assert_eq!([first, second].map(|stock| block_on(test.store.left(stock)).unwrap()), [3, 2]);
}

#[test]
fn an_old_window_with_a_high_number_hides_none_before_it() {
    let (test, minutes) = (TestStore::new(), Duration::from_mins);
    let now = test.time.now();
    let first = plan_from(None, now - minutes(5), Rate::MIN);
    // Of a clock that was an hour behind.
    let behind = Plan { number: 2, ..plan_from(None, now - minutes(65), Rate::MIN) };
    for plan in [first, behind] {
        assert!(block_on(test.store.write(plan)).unwrap());
    }
    let counted = block_on(test.store.window_admissions(now - minutes(10))).unwrap();
    assert_eq!(counted.iter().map(|window| window.plan).collect::<Vec<_>>(), [1]);
    assert_eq!(
        block_on(test.store.take(SliceId { plan: 1, index: 0 }, ConsumerRun(1))).unwrap(),
        Taken::Here { released: 0 }
    );
    block_on(test.store.record(SliceId { plan: 1, index: 0 }, progress(1, 1))).unwrap();
    let turnout = block_on(test.store.turnout(Window { start: now - minutes(10), end: now })).unwrap();
    assert_eq!(turnout.released, 1);
}

#[test]
fn a_new_epoch_keeps_the_room_as_it_has_become_by_itself() {
    let test = TestStore::new();
    let opens = test.time.now() + Duration::from_mins(1);
    let wait = test.store.change_room("wait", None, move |room| room.open_at(opens));
    let (_, before) = block_on(wait).unwrap();
    test.time.pass(Duration::from_mins(2));
    block_on(test.store.start_epoch("next".parse().unwrap(), waitroom::Author::new("anna"))).unwrap();
    let kept = test.store.kept_room();
    assert_eq!((kept.state, kept.opens), (RoomState::On, None), "as with every other change");
    assert_eq!((kept.version, &kept.valves), (before.version + 1, &before.valves));
}

#[test]
fn a_new_epoch_starts_with_an_empty_line_and_ticket_one() {
    let test = TestStore::new();
    let join = |place| block_on(test.store.join(place)).unwrap();
    assert_eq!(block_on(test.store.lease(8)).unwrap(), 1);
    (1..=3).map(port_contracts::visitor::visitor).for_each(join);
    let plan = plan_from(None, test.time.now(), Rate::MAX);
    assert!(block_on(test.store.write(plan)).unwrap());
    let slice = SliceId { plan: 1, index: 0 };
    assert_eq!(block_on(test.store.take(slice, ConsumerRun(1))).unwrap(), Taken::Here { released: 0 });
    let admit = |n: u64| {
        let admission =
            Admission { by: AdmittedBy::Slice(slice), ..port_contracts::visitor::admission(n, 1) };
        block_on(test.store.admit(visitor(n).token, admission)).unwrap();
    };
    (1..=5).for_each(admit);
    block_on(test.store.record(slice, progress(3, 3))).unwrap();

    let epoch = "next".parse().unwrap();
    assert_eq!(block_on(test.store.start_epoch(epoch, waitroom::Author::new("anna"))).unwrap(), 3);
    assert_eq!(block_on(test.store.waiting()).unwrap(), 0);
    assert_eq!(block_on(test.store.room()).unwrap().epoch, epoch);
    assert_eq!(block_on(test.store.lease(1)).unwrap(), 1);
    // A slice still records whom it released in the old epoch, and then one more visitor.
    block_on(test.store.record(slice, progress(5, 5))).unwrap();
    assert_eq!(block_on(test.store.progress()).unwrap(), LineProgress::default());
    admit(6);
    block_on(test.store.record(slice, progress(6, 6))).unwrap();
    let expected = LineProgress { released: 1, ..Default::default() };
    assert_eq!(
        block_on(test.store.progress()).unwrap(),
        expected,
        "tickets of the old epoch are not reached"
    );
    // Somebody who got a place before the reset, and was put in line after it.
    join(port_contracts::visitor::visitor(9));
    join(Place { epoch, ..port_contracts::visitor::visitor(2) });
    let test = test.restarted();
    assert_eq!(block_on(test.store.room()).unwrap().epoch, epoch);
    assert_eq!(block_on(test.store.waiting()).unwrap(), 1);
    assert_eq!(block_on(test.store.lease(1)).unwrap(), 3);
}

#[test]
fn a_closed_store_returns_an_error() {
    let test = TestStore::new();
    test.store.close();
    let error = block_on(test.store.join(port_contracts::visitor::visitor(1))).unwrap_err();
    assert_eq!(error.to_string(), "could not put a visitor in line");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the store is closed");
}

#[test]
fn closing_does_not_wait_for_a_broken_disk() {
    let test = TestStore::new();
    // The change that breaks the group and the one that closes the store arrive together.
    let change = test.store.change_room("break", None, |_| panic!("a bug"));
    let closing = test.store.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || closing.close());
        drop(block_on(change));
    });
}

#[test]
fn later_changes_succeed_after_one_that_panics() {
    let test = TestStore::new();
    let error = block_on(test.store.change_room("break", None, |_| panic!("a bug"))).unwrap_err();
    assert_eq!(error.fault, Fault::Unsure);
    for _ in 0..100 {
        if block_on(test.store.join(port_contracts::visitor::visitor(1))).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nobody could join after ten seconds");
}

#[test]
fn one_invalid_record_affects_only_its_visitor() {
    let test = TestStore::new().tampered(|database| {
        let transaction = database.begin_write().unwrap();
        let visitors = redb::TableDefinition::<[u8; 16], &[u8]>::new("admission");
        let token = *port_contracts::visitor::visitor(1).token.as_bytes();
        transaction.open_table(visitors).unwrap().insert(token, b"?".as_slice()).unwrap();
        transaction.commit().unwrap();
    });
    let admission = port_contracts::visitor::admission(1, 1);
    let unreadable = test.store.admit(port_contracts::visitor::visitor(1).token, admission);
    let fine = test.store.admit(port_contracts::visitor::visitor(2).token, admission);
    let (unreadable, fine) = block_on(futures_util::future::join(unreadable, fine));
    assert_eq!(unreadable.unwrap_err().fault, Fault::Broken);
    assert_eq!(fine.unwrap(), Admitted::Now);
}

#[test]
fn receivers_on_several_threads_get_different_visitors() {
    let test = TestStore::new();
    let joins = (1..=2000).map(|n| test.store.join(visitor(n)));
    block_on(futures_util::future::try_join_all(joins)).unwrap();
    let received: Vec<_> = std::thread::scope(|scope| {
        let receiver = || {
            let batches =
                std::iter::repeat_with(|| block_on(test.store.receive(10, Duration::ZERO)).unwrap());
            batches
                .take_while(|batch| !batch.is_empty())
                .flatten()
                .map(|delivery| delivery.receipt.0)
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(receiver)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let different: std::collections::HashSet<_> = received.iter().collect();
    assert_eq!((received.len(), different.len()), (2000, 2000));
}

/// The file's lock proves that the earlier process no longer runs, so its consumers do not run either.
#[test]
fn a_slice_of_an_earlier_process_can_be_resumed() {
    let test = TestStore::new();
    let plan = plan_from(None, test.time.now(), Rate::MAX);
    assert!(block_on(test.store.write(plan)).unwrap());
    let (slice, idle) = (SliceId { plan: 1, index: 0 }, SliceId { plan: 1, index: 1 });
    let take = |test: &TestStore, slice, consumer_run| {
        block_on(test.store.take(slice, ConsumerRun(consumer_run))).unwrap()
    };
    assert_eq!(take(&test, slice, 1), Taken::Here { released: 0 });
    for n in 1..=3 {
        let admission =
            Admission { by: AdmittedBy::Slice(slice), ..port_contracts::visitor::admission(n, 1) };
        let token = visitor(n).token;
        assert_eq!(block_on(test.store.admit(token, admission)).unwrap(), Admitted::Now);
        assert_eq!(
            block_on(test.store.admit(token, admission)).unwrap(),
            Admitted::Before(admission),
            "counted once"
        );
    }
    // It recorded only two of the three before the process ended.
    block_on(test.store.record(slice, progress(2, 2))).unwrap();
    assert_eq!(take(&test, slice, 2), Taken::Elsewhere);

    let test = test.restarted();
    assert_eq!(take(&test, slice, 3), Taken::Here { released: 3 });
    assert_eq!(take(&test, slice, 3), Taken::Here { released: 3 });
    assert_eq!(take(&test, slice, 4), Taken::Elsewhere, "its new consumer works on it");
    assert_eq!(take(&test, idle, 4), Taken::Here { released: 0 });
    block_on(test.store.record(slice, progress(4, 4))).unwrap();
    assert_eq!(
        block_on(test.store.progress()).unwrap(),
        LineProgress { reached: 4, released: 4, ..Default::default() }
    );
}

#[test]
fn a_file_of_a_newer_version_is_neither_looked_at_nor_opened() {
    let TestStore { store, directory, .. } = TestStore::new();
    store.close();
    drop(store);
    let file = directory.path().join(EmbeddedStore::FILE);
    let look = || EmbeddedStore::look_at(&file).map(|(store, _)| store.status().waiting);
    assert_eq!(look().unwrap(), 0);
    let write = |name: &str, record: &str| {
        let database = redb::Database::open(&file).unwrap();
        let singles: redb::TableDefinition<&str, &[u8]> = redb::TableDefinition::new("single");
        let transaction = database.begin_write().unwrap();
        transaction.open_table(singles).unwrap().insert(name, record.as_bytes()).unwrap();
        transaction.commit().unwrap();
        database
    };
    let assert_newer = |why: &str| {
        let opened = EmbeddedStore::open(directory.path(), room(), Default::default);
        for error in [look().unwrap_err(), opened.unwrap_err()] {
            let is_newer = matches!(&error, OpenError::Newer { found, .. } if found.starts_with(why));
            assert!(is_newer, "{error}");
        }
    };
    let database = write("format", "3");
    assert!(matches!(look().unwrap_err(), OpenError::InUse(_)), "somebody else has it");
    drop(database);
    assert_newer("format 3, this version of Beekeeper reads formats 1 to 2");
    drop(write("format", "2"));
    drop(write("room", "\"of a later year\""));
    assert_newer("room: ");

    let other = directory.path().join("other.redb");
    drop(redb::Database::create(&other).unwrap());
    assert!(
        matches!(EmbeddedStore::look_at(&other).unwrap_err(), OpenError::NoRoom(_)),
        "a store of something else"
    );
}

/// A run of the trigger may write eight plans, and starts consumers for their slices and for those of the two before.
#[test]
fn a_slice_that_is_released_is_given_to_nobody_else_however_many_plans_follow() {
    let test = TestStore::new();
    let take = |plan, run| block_on(test.store.take(SliceId { plan, index: 0 }, ConsumerRun(run))).unwrap();
    let new = Taken::Here { released: 0 };
    assert_eq!(take(1, 1), new);
    for plan in 2..=10 {
        assert_eq!(take(plan, plan.into()), new);
    }
    for plan in 1..=10 {
        assert_eq!(take(plan, 11), Taken::Elsewhere, "plan {plan}");
    }
}

/// Nobody takes its slice again once the window is over.
#[test]
fn whom_a_room_released_that_was_killed_is_counted_when_it_starts_again() {
    let test = TestStore::new();
    let plan = plan_from(None, test.time.now(), Rate::MAX);
    assert!(block_on(test.store.write(plan)).unwrap());
    let slice = SliceId { plan: 1, index: 3 };
    block_on(test.store.take(slice, ConsumerRun(1))).unwrap();
    for number in 1..=3 {
        block_on(test.store.admit(visitor(number).token, admission(number, 1))).unwrap();
    }
    block_on(test.store.record(slice, progress(1, 1))).unwrap();
    let test = test.restarted();
    for _ in 0..2 {
        block_on(test.store.count_released()).unwrap();
        assert_eq!(block_on(test.store.progress()).unwrap().released, 3);
    }
    // Within its window, another process goes on with it.
    assert_eq!(block_on(test.store.take(slice, ConsumerRun(2))).unwrap(), Taken::Here { released: 3 });
    block_on(test.store.record(slice, progress(4, 4))).unwrap();
    assert_eq!(block_on(test.store.progress()).unwrap().released, 4);
}

/// It would run on, and tell every visitor to come again. The test starts itself in a second process.
#[test]
fn a_process_whose_committer_panics_ends() {
    const VICTIM: &str = "COMMITTER_VICTIM";
    if let Some(directory) = env::var_os(VICTIM) {
        let now = || {
            assert_ne!(thread::current().name(), Some("committer"), "on purpose");
            Timestamp::default()
        };
        let store = EmbeddedStore::open(directory.as_ref(), room(), now).unwrap();
        // That the change panics is caught. Then the clock is asked since when nothing can be written.
        block_on(store.change_room("fail", None, |_| ())).unwrap_err();
        thread::sleep(Duration::from_secs(10));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", "room::a_process_whose_committer_panics_ends"])
        .env(VICTIM, directory.path())
        .output()
        .unwrap();
    assert!(victim.status.signal().is_some(), "{victim:?}");
}
