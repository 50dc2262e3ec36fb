//! Backups, written while the store is in use.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use embedded::{BackedUp, BackupError, EmbeddedStore};
use futures_executor::block_on;
use port_contracts::visitor::{admission, visitor};
use tempfile::TempDir;
use waitroom::ports::{
    Admissions, Delivery, LineBack, LineFront, LineLength, RoomReader, ThrottleStore, TicketCounter,
};
use waitroom::{AuditNote, AuditSubject, Author, Rate, Room, Ticket};

use crate::support::{TestStore, room};

/// The store that a backup is restored to.
fn restored(backup: &TempDir) -> EmbeddedStore {
    EmbeddedStore::open(backup.path(), room(), Default::default).unwrap()
}

/// Everybody in line, in order.
fn line(store: &EmbeddedStore) -> Vec<Ticket> {
    let receive = || block_on(store.receive(10, Duration::ZERO)).unwrap();
    let batches = std::iter::repeat_with(receive).take_while(|batch| !batch.is_empty()).flatten();
    batches.map(|Delivery { visitor, .. }| visitor.unwrap().ticket).collect()
}

#[test]
fn a_backup_has_the_whole_room() {
    let (test, backup) = (TestStore::new(), tempfile::tempdir().unwrap());
    for n in 1..=25 {
        block_on(test.store.lease(1)).unwrap();
        block_on(test.store.join(visitor(n))).unwrap();
    }
    block_on(test.store.admit(visitor(1).token, admission(1, 1))).unwrap();
    block_on(test.store.hold(Some(Rate::MIN))).unwrap();
    let copied = test.store.back_up(&backup.path().join("room.redb")).unwrap();
    assert_eq!(copied, BackedUp { waiting: 25, admissions: 1 });

    let copy = restored(&backup);
    assert_eq!(block_on(copy.room()).unwrap(), block_on(test.store.room()).unwrap());
    assert_eq!(line(&copy), line(&test.store));
    assert_eq!(block_on(copy.admission(visitor(1).token)).unwrap(), Some(admission(1, 1)));
    assert_eq!(block_on(copy.lease(1)).unwrap(), 26, "tickets continue after the last one");
}

/// Four threads join as fast as they can, and a backup begins in the middle.
#[test]
fn a_backup_under_load_has_everybody_who_joined_before_it_began() {
    let (test, backup) = (TestStore::new(), tempfile::tempdir().unwrap());
    let (joined, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (before, copied) = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let first = block_on(test.store.lease(64)).unwrap();
                    let joins = (first..first + 64).map(|ticket| test.store.join(visitor(ticket)));
                    block_on(futures_util::future::try_join_all(joins)).unwrap();
                    joined.fetch_add(64, Ordering::SeqCst);
                }
            });
        }
        while joined.load(Ordering::SeqCst) < 5_000 {
            std::thread::yield_now();
        }
        let before = joined.load(Ordering::SeqCst);
        let copied = test.store.back_up(&backup.path().join("room.redb"));
        is_over.store(true, Ordering::SeqCst);
        (before, copied)
    });
    let (copied, after) = (copied.unwrap(), joined.into_inner());
    assert!((before..=after).contains(&copied.waiting), "{before} <= {} <= {after}", copied.waiting);

    let copy = restored(&backup);
    assert_eq!(block_on(copy.waiting()).unwrap(), copied.waiting);
    let expected: Vec<_> =
        line(&test.store).into_iter().take(usize::try_from(copied.waiting).unwrap()).collect();
    assert_eq!(line(&copy), expected, "the first in line, in the same order");
}

#[test]
fn a_backup_never_overwrites_a_file() {
    let (test, backup) = (TestStore::new(), tempfile::tempdir().unwrap());
    let path = backup.path().join("room.redb");
    std::fs::write(&path, "precious").unwrap();
    let error = test.store.back_up(&path).unwrap_err();
    assert!(matches!(error, BackupError::Create(..)), "{error:?}");
    assert_eq!(error.to_string(), format!("could not create the file {}", path.display()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

/// An old one that was fetched from elsewhere would seem new.
#[test]
fn a_backup_that_was_copied_is_as_old_as_before() {
    let (test, backup) = (TestStore::new(), tempfile::tempdir().unwrap());
    let (path, now) = (backup.path().join("noon.redb"), test.time.now());
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    block_on(test.store.change_room("pause", Some(note), Room::pause)).unwrap();
    test.store.back_up(&path).unwrap();
    let written = |after: Duration| {
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(now.as_millis()) + after).unwrap();
        EmbeddedStore::look_at(&path).unwrap().1
    };
    assert_eq!(written(Duration::from_hours(2)), now);
    let minute = Duration::from_mins(1);
    assert_eq!(written(minute), now + minute, "it has no record of a minute that is not over");
}

#[test]
fn a_backup_that_fails_leaves_nothing() {
    let backup = tempfile::tempdir().unwrap();
    let path = backup.path().join("room.redb");
    let test = TestStore::new().tampered(|database| {
        let transaction = database.begin_write().unwrap();
        transaction.open_table(redb::TableDefinition::<u64, u64>::new("newer")).unwrap();
        transaction.commit().unwrap();
    });
    let error = test.store.back_up(&path).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.ends_with("this version of Beekeeper cannot copy the table newer"), "{cause}");
    assert!(!path.exists());

    test.store.close();
    test.store.back_up(&path).unwrap_err();
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_a_backup() {
    use std::os::unix::fs::PermissionsExt;

    let (test, backup) = (TestStore::new(), tempfile::tempdir().unwrap());
    let path = backup.path().join("room.redb");
    test.store.back_up(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_store_that_can_write_says_so() {
    let test = TestStore::new();
    block_on(test.store.check_writes()).unwrap();
    test.store.close();
    let error = block_on(test.store.check_writes()).unwrap_err();
    assert_eq!(error.to_string(), "could not write to the store");
}
