//! Group commit. Every change waits in one queue. One committer takes the changes that have gathered, applies them in
//! one transaction, and syncs once. Thousands of joins share that sync. No change is reported as done before it.
//!
//! If the transaction fails, all of its changes fail. Then the database is opened again, because redb does not accept
//! writes after an I/O error, and because after a failed sync the system's cache may say what the disk doesn't have. Until that
//! succeeds, new changes fail at once, so that visitors are told to retry instead of being kept waiting.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use redb::WriteTransaction;
use tokio::sync::{Notify, oneshot};
use waitroom::ports::{Fault, PortError, PortResult};
use waitroom::{Place, Timestamp};

use crate::draft::{Committed, Draft};
use crate::shared::{SharedState, WriteFailure, unreadable};
use crate::tables::TableError;

/// A change in the queue.
enum QueuedChange {
    /// Nearly all changes are joins, so they are kept as what they are. They succeed or fail as their group does.
    Join {
        place: Place,
        at: Timestamp,
        /// Gone once nobody waits any more to hear of it.
        waits: Weak<()>,
    },
    Other(Box<dyn OtherChange>),
}

/// A change with a result of its own. It is applied inside a transaction, and its caller gets the result after the commit.
trait OtherChange: Send {
    /// Fails only if the storage fails.
    fn apply(&mut self, draft: &mut Draft<'_>) -> Result<(), redb::Error>;

    fn conclude(self: Box<Self>, outcome: Result<(), &WriteFailure>);
}

struct Pending<F, T> {
    attempt: &'static str,
    change: Option<F>,
    result: Option<Result<T, TableError>>,
    reply: oneshot::Sender<PortResult<T>>,
}

impl<F, T> OtherChange for Pending<F, T>
where
    F: FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send,
    T: Send,
{
    fn apply(&mut self, draft: &mut Draft<'_>) -> Result<(), redb::Error> {
        if let Some(change) = self.change.take() {
            match change(draft) {
                Err(TableError::Storage(error)) => return Err(error),
                done => self.result = Some(done),
            }
        }
        Ok(())
    }

    fn conclude(self: Box<Self>, outcome: Result<(), &WriteFailure>) {
        let answer = match (outcome, self.result) {
            (Ok(()), Some(Ok(result))) => Ok(result),
            (Ok(()), Some(Err(error))) => Err(PortError::new(self.attempt, Fault::Broken, error)),
            (Ok(()), None) => Err(PortError::new(self.attempt, Fault::Busy, "the change was not applied")),
            (Err(failure), _) => Err(failure.error(self.attempt)),
        };
        // The caller may have stopped waiting, for example because a visitor closed the tab. The change is done anyway.
        drop(self.reply.send(answer));
    }
}

/// The changes of one transaction.
#[derive(Default)]
struct Group {
    changes: Vec<QueuedChange>,
    outcome: Arc<GroupOutcome>,
}

/// How it went, for all joins of the group at once.
#[derive(Default)]
struct GroupOutcome {
    known: OnceLock<Result<(), WriteFailure>>,
    told: Notify,
}

impl GroupOutcome {
    async fn get(&self) -> Result<(), WriteFailure> {
        loop {
            let told = self.told.notified();
            // Asked after `told` was made, so that nothing is told in between unheard.
            if let Some(known) = self.known.get() {
                return known.clone();
            }
            told.await;
        }
    }
}

impl Group {
    fn conclude(mut self, outcome: Result<(), &WriteFailure>) {
        for change in self.changes.drain(..) {
            if let QueuedChange::Other(change) = change {
                change.conclude(outcome);
            }
        }
        self.tell(outcome.map_err(WriteFailure::clone));
    }

    /// Only the first word counts.
    fn tell(&self, outcome: Result<(), WriteFailure>) {
        if self.outcome.known.set(outcome).is_ok() {
            self.outcome.told.notify_waiters();
        }
    }
}

/// Without a committer nobody concludes it, and nobody who joins may wait forever.
impl Drop for Group {
    fn drop(&mut self) {
        self.tell(Err(WriteFailure::closed()));
    }
}

/// A group whose transaction failed. Those who wait for it don't know yet.
struct FailedGroup {
    group: Group,
    failure: WriteFailure,
    error: Box<redb::Error>,
}

impl FailedGroup {
    fn conclude(self) -> redb::Error {
        self.group.conclude(Err(&self.failure));
        *self.error
    }
}

/// Takes changes for the committer. The store is closed when this is dropped, or earlier.
pub(crate) struct Queue(Arc<Gathering>);

/// What gathers until the committer takes it.
#[derive(Default)]
struct Gathering {
    gathered: Mutex<Gathered>,
    came: Condvar,
}

#[derive(Default)]
struct Gathered {
    /// Only the last one may have room for another change.
    groups: VecDeque<Group>,
    is_closed: bool,
}

impl Gathered {
    /// The group that the next change belongs to. `None` if too many wait.
    fn open_group(&mut self) -> Option<&mut Group> {
        let is_full = |group: &Group| group.changes.len() >= Committer::GROUP;
        if self.groups.back().is_none_or(is_full) {
            if self.groups.len() >= Committer::GROUPS {
                return None;
            }
            self.groups.push_back(Group::default());
        }
        self.groups.back_mut()
    }
}

impl Queue {
    pub(crate) async fn join(&self, shared: &SharedState, place: Place) -> PortResult<()> {
        const ATTEMPT: &str = "put a visitor in line";
        let waits = Arc::new(());
        let join = QueuedChange::Join { place, at: (shared.now)(), waits: Arc::downgrade(&waits) };
        let outcome = self.put(shared, ATTEMPT, join)?;
        outcome.get().await.map_err(|failure| failure.error(ATTEMPT))
    }

    pub(crate) async fn change<T: Send + 'static>(
        &self,
        shared: &SharedState,
        attempt: &'static str,
        change: impl FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send + 'static,
    ) -> PortResult<T> {
        let (reply, result) = oneshot::channel();
        let pending = Pending { attempt, change: Some(change), result: None, reply };
        self.put(shared, attempt, QueuedChange::Other(Box::new(pending)))?;
        result.await.map_err(|_| WriteFailure::closed().error(attempt))?
    }

    fn put(
        &self,
        shared: &SharedState,
        attempt: &'static str,
        change: QueuedChange,
    ) -> PortResult<Arc<GroupOutcome>> {
        if let Some(failure) = shared.write_failure() {
            return Err(failure.error(attempt));
        }
        let mut gathered = self.0.gathered.lock();
        if gathered.is_closed {
            return Err(WriteFailure::closed().error(attempt));
        }
        let Some(group) = gathered.open_group() else {
            return Err(PortError::new(attempt, Fault::Busy, "too many changes are waiting for the disk"));
        };
        group.changes.push(change);
        let outcome = group.outcome.clone();
        drop(gathered);
        self.0.came.notify_one();
        Ok(outcome)
    }

    /// No more changes are taken. Those that have gathered are still committed.
    pub(crate) fn close(&self) {
        self.0.gathered.lock().is_closed = true;
        self.0.came.notify_one();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

/// The only writer. In a server it [runs](Self::run) on its own thread until the store is closed. A simulation calls
/// [its steps](Self::commit_pending) itself.
pub struct Committer {
    shared: Arc<SharedState>,
    gathering: Arc<Gathering>,
}

impl Committer {
    /// The most changes in one transaction. This limits how long the first of them waits.
    const GROUP: usize = 4096;
    /// The most groups that wait while the disk stalls. Further visitors are told to retry.
    const GROUPS: usize = 16;
    const RETRY_PAUSE: Duration = Duration::from_secs(1);
    const LONGEST_PAUSE: Duration = Duration::from_secs(30);

    pub(crate) fn new(shared: Arc<SharedState>) -> (Self, Queue) {
        let gathering = Arc::new(Gathering::default());
        (Self { shared, gathering: gathering.clone() }, Queue(gathering))
    }

    /// Commits until the store is closed or its last handle is dropped.
    pub(crate) fn run(self) {
        while let Some(group) = self.gathering.wait() {
            if let Err(failed) = self.commit(group) {
                self.recover(failed);
            }
        }
        self.shared.database.close();
    }

    /// Opens the database again at once, so that reads still find admissions, and rejects changes for a while. A large file takes seconds to
    /// open, in which nobody can read, so the next change that may fail comes only after nine times as long.
    fn recover(&self, failed: FailedGroup) {
        let mut failed = Some(failed);
        loop {
            let begun = Instant::now();
            let opened = self.open().map(|()| begun.elapsed());
            // Whoever hears of the failure, and reads, finds the database open.
            drop(failed.take().map(FailedGroup::conclude));
            while let Some(group) = self.gathering.take() {
                // All of these changes are rejected, so nothing can fail.
                let _ = self.commit(group);
            }
            let pause = opened.as_ref().map_or(Self::RETRY_PAUSE, |took| 9 * *took);
            self.gathering.pause(pause.clamp(Self::RETRY_PAUSE, Self::LONGEST_PAUSE));
            if opened.is_ok() || self.gathering.gathered.lock().is_closed {
                self.shared.resume_writes();
                return;
            }
        }
    }

    /// Commits the next group of the changes that have gathered, and returns how many it has.
    ///
    /// After a failure the store rejects changes until [`reopen`](Self::reopen) succeeds.
    pub fn commit_pending(&mut self) -> Result<usize, redb::Error> {
        let Some(group) = self.gathering.take() else { return Ok(0) };
        let changes = group.changes.len();
        self.commit(group).map(|()| changes).map_err(FailedGroup::conclude)
    }

    /// Opens the database again after a failure, and reads its state from the file: the transaction that failed may
    /// have been committed.
    pub fn reopen(&mut self) -> Result<(), redb::Error> {
        self.open().inspect(|()| self.shared.resume_writes())
    }

    /// A file that cannot be opened is more than the failure that led here, so from then on it is the reason. That somebody still
    /// reads the old database is none.
    fn open(&self) -> Result<(), redb::Error> {
        self.shared.open().inspect_err(|error| {
            if !matches!(error, redb::Error::DatabaseAlreadyOpen) {
                drop(self.shared.stop_writes(error));
            }
        })
    }

    fn commit(&self, mut group: Group) -> Result<(), FailedGroup> {
        if let Some(failure) = self.shared.write_failure() {
            group.conclude(Err(&failure));
            return Ok(());
        }
        match self.try_commit_catching_panics(&mut group.changes) {
            Ok(committed) => {
                self.shared.apply(committed);
                group.conclude(Ok(()));
                Ok(())
            }
            Err((fault, error)) => {
                let failure = self.shared.stop_writes(&error).with(fault);
                Err(FailedGroup { group, failure, error: Box::new(error) })
            }
        }
    }

    /// A change that panics is a bug. It must not stop the committer, because then no later change would succeed.
    fn try_commit_catching_panics(
        &self,
        changes: &mut [QueuedChange],
    ) -> Result<Committed, (Fault, redb::Error)> {
        let committed = catch_unwind(AssertUnwindSafe(|| self.try_commit(changes)));
        let panicked = || redb::Error::Corrupted("a change panicked".into());
        committed.unwrap_or_else(|_| Err((Fault::Unsure, panicked())))
    }

    fn try_commit(&self, changes: &mut [QueuedChange]) -> Result<Committed, (Fault, redb::Error)> {
        let transaction = self.shared.database.begin_write().map_err(|error| (Fault::Broken, error))?;
        let committed =
            self.draft(&transaction, changes).map_err(|error| (Fault::Broken, unreadable(error)))?;
        // The commit may have reached the disk before it failed.
        transaction.commit().map_err(|error| (Fault::Unsure, error.into()))?;
        Ok(committed)
    }

    fn draft(
        &self,
        transaction: &WriteTransaction,
        changes: &mut [QueuedChange],
    ) -> Result<Committed, TableError> {
        let shared = &self.shared;
        let epoch = shared.kept_room().epoch;
        let mut draft = Draft::new(transaction, epoch, shared.line());
        for change in changes {
            match change {
                // Nobody heard of this place: while the disk stalled, its visitor was told to come again, or closed the tab. It
                // would stand in line for nobody.
                QueuedChange::Join { waits, .. } if waits.strong_count() == 0 => {}
                QueuedChange::Join { place, at, .. } => draft.join(place, *at)?,
                QueuedChange::Other(change) => {
                    draft.line_up()?;
                    change.apply(&mut draft)?;
                }
            }
        }
        draft.finish()
    }
}

impl Gathering {
    /// The first of the groups that have gathered.
    fn take(&self) -> Option<Group> {
        self.gathered.lock().groups.pop_front()
    }

    /// Waits for the next group. `None` when the store is closed and nothing is left.
    fn wait(&self) -> Option<Group> {
        let mut gathered = self.gathered.lock();
        loop {
            match gathered.groups.pop_front() {
                None if !gathered.is_closed => self.came.wait(&mut gathered),
                next => return next,
            }
        }
    }

    /// Waits this long, or until the store is closed.
    fn pause(&self, time: Duration) {
        self.came.wait_while_for(&mut self.gathered.lock(), |gathered| !gathered.is_closed, time);
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}

/// Whoever still waits gets to know that nobody commits their change.
impl Drop for Committer {
    fn drop(&mut self) {
        let mut gathered = self.gathering.gathered.lock();
        gathered.is_closed = true;
        let abandoned = std::mem::take(&mut gathered.groups);
        drop(gathered);
        drop(abandoned);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Poll, Waker};

    use futures_executor::block_on;
    use futures_util::FutureExt;
    use port_contracts::visitor::{admission, visitor};
    use redb::backends::InMemoryBackend;
    use redb::{Builder, Database, DatabaseError};
    use waitroom::fixture;
    use waitroom::ports::{Admissions, LineBack};

    use super::*;
    use crate::EmbeddedStore;
    use crate::tables::{Tables, encode_admission};

    fn opened(
        open: impl Fn() -> Result<Database, DatabaseError> + Send + Sync + 'static,
    ) -> (EmbeddedStore, Committer) {
        let now = || Timestamp::from_millis(1_700_000_000_000);
        EmbeddedStore::new(Box::new(open), Box::new(now), Duration::ZERO, fixture::room(300), None).unwrap()
    }

    fn in_memory() -> Result<Database, DatabaseError> {
        Builder::new().create_with_backend(InMemoryBackend::new())
    }

    async fn fail(store: &EmbeddedStore) -> PortResult<()> {
        store.change("fail", |_: &mut Draft<'_>| -> Result<(), TableError> { panic!("on purpose") }).await
    }

    #[test]
    fn who_hears_that_a_change_failed_can_read() {
        let directory = tempfile::tempdir().unwrap();
        let (begun, file) = (OnceLock::new(), directory.path().join(EmbeddedStore::FILE));
        let open = move || {
            if begun.set(()).is_err() {
                // As a large file that is opened again.
                std::thread::sleep(Duration::from_millis(200));
            }
            Builder::new().create(&file)
        };
        let (store, committer) = opened(open);
        let thread = std::thread::spawn(move || committer.run());

        block_on(fail(&store)).unwrap_err();
        store.read("read", |_| Ok(())).unwrap();

        store.close();
        drop(store);
        thread.join().unwrap();
    }

    #[test]
    fn while_changes_fail_a_file_that_opens_slowly_can_be_read_most_of_the_time() {
        let directory = tempfile::tempdir().unwrap();
        let (file, opens) = (directory.path().join(EmbeddedStore::FILE), Arc::new(AtomicU32::new(0)));
        let count = opens.clone();
        let open = move || {
            if count.fetch_add(1, Ordering::Relaxed) > 0 {
                std::thread::sleep(Duration::from_millis(300));
            }
            Builder::new().create(&file)
        };
        let (store, committer) = opened(open);
        let thread = std::thread::spawn(move || committer.run());

        let (mut found, mut failed) = (0, 0);
        // From the first failure to the second.
        while opens.load(Ordering::Relaxed) < 3 {
            drop(fail(&store).now_or_never());
            match store.read("read", |_| Ok(())) {
                Ok(()) => found += 1,
                Err(_) => failed += 1,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        store.close();
        drop(store);
        thread.join().unwrap();
        assert!(found > 5 * failed, "{found} reads found the file open, and {failed} didn't");
    }

    #[test]
    fn admissions_are_opened_once_for_each_commit() {
        let (store, mut committer) = opened(in_memory);
        let admissions = || store.shared.database.admissions().unwrap();
        let before = admissions();
        assert!(Arc::ptr_eq(&before, &admissions()));
        drop(store.takes_admissions().now_or_never());
        assert_eq!(committer.commit_pending().unwrap(), 1);
        let after = admissions();
        assert!(!Arc::ptr_eq(&before, &after));
        assert!(Arc::ptr_eq(&after, &admissions()));
    }

    #[test]
    fn admissions_are_those_of_the_file_that_was_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let (begun, file) = (OnceLock::new(), directory.path().join(EmbeddedStore::FILE));
        let open = move || {
            Builder::new().create(&file).inspect(|database| {
                if begun.set(()).is_err() {
                    // As if the change that failed were on the disk all the same.
                    let transaction = database.begin_write().unwrap();
                    let (token, record) = (visitor(1).token, encode_admission(&admission(1, 1)));
                    let mut tables = Tables::of(&transaction);
                    tables.admission().unwrap().insert(token.as_bytes(), record.as_slice()).unwrap();
                    drop(tables);
                    transaction.commit().unwrap();
                }
            })
        };
        let (store, mut committer) = opened(open);
        let find = || block_on(store.admission(visitor(1).token));
        assert_eq!(find().unwrap(), None);
        drop(fail(&store).now_or_never());
        committer.commit_pending().unwrap_err();
        assert_eq!(find().unwrap_err().fault, Fault::Busy, "nothing is read of the file that was closed");
        committer.reopen().unwrap();
        assert_eq!(find().unwrap(), Some(admission(1, 1)));
    }

    #[test]
    fn whoever_was_told_to_come_again_has_no_place_that_nobody_knows() {
        let (store, mut committer) = opened(in_memory);
        let mut context = Context::from_waker(Waker::noop());
        let [mut waits, mut gave_up] = [1, 2].map(|n| Box::pin(store.join(visitor(n))));
        for join in [&mut waits, &mut gave_up] {
            assert!(join.as_mut().poll(&mut context).is_pending());
        }
        drop(gave_up);
        committer.commit_pending().unwrap();
        assert!(matches!(waits.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
        assert_eq!(store.status().waiting, 1);
    }
}
