//! A store in its own directory, and a clock that the test advances.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use embedded::EmbeddedStore;
use tempfile::TempDir;
use waitroom::{Room, Timestamp, fixture};

pub(crate) fn room() -> Room {
    Room { url: "http://localhost:8080".parse().unwrap(), ..fixture::room(300) }
}

/// The time, which the test sets.
#[derive(Clone)]
pub(crate) struct TestTime(Arc<AtomicU64>);

impl TestTime {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_700_000_000_000)))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// As when a clock that was ahead is put right.
    pub(crate) fn set_back(&self, by: Duration) {
        self.0.fetch_sub(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

pub(crate) struct TestStore {
    pub(crate) store: EmbeddedStore,
    pub(crate) time: TestTime,
    pub(crate) directory: TempDir,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self::open(tempfile::tempdir().unwrap())
    }

    pub(crate) fn open(directory: TempDir) -> Self {
        let time = TestTime::new();
        let now = time.clone();
        let store = EmbeddedStore::open(directory.path(), room(), move || now.now()).unwrap();
        Self { store, time, directory }
    }

    /// Closes the store and opens it again, as a restart does.
    pub(crate) fn restarted(self) -> Self {
        self.store.close();
        Self::open(self.directory)
    }

    /// Closes the store, changes its file, and opens it again.
    pub(crate) fn tampered(self, tamper: impl FnOnce(&redb::Database)) -> Self {
        self.store.close();
        tamper(&redb::Database::open(self.directory.path().join("room.redb")).unwrap());
        Self::open(self.directory)
    }
}
