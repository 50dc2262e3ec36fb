//! Group commit. Every change waits in one queue. One committer takes all changes that have gathered, applies them in
//! one transaction, and syncs once. Thousands of joins share that sync. No change is reported as done before it.
//!
//! If the transaction fails, all of its changes fail. Then the database is opened again, because redb does not accept
//! writes after an I/O error. Until that succeeds, new changes fail at once, so that visitors are told to retry
//! instead of being kept waiting.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use redb::WriteTransaction;
use tokio::sync::oneshot;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::draft::{Committed, Draft};
use crate::shared::{SharedState, WriteFailure, unreadable};
use crate::tables::TableError;

/// One change. It is applied inside a transaction, and its caller gets the result after the commit.
trait QueuedChange: Send {
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

impl<F, T> QueuedChange for Pending<F, T>
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

enum CommitRequest {
    Change(Box<dyn QueuedChange>),
    Stop,
}

/// Takes changes for the committer.
#[derive(Clone)]
pub(crate) struct Queue(SyncSender<CommitRequest>);

impl Queue {
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        shared: &SharedState,
        attempt: &'static str,
        change: impl FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send + 'static,
    ) -> PortResult<T> {
        if let Some(failure) = shared.write_failure() {
            return Err(failure.error(attempt));
        }
        let (reply, result) = oneshot::channel();
        let pending = Pending { attempt, change: Some(change), result: None, reply };
        let closed = || PortError::new(attempt, Fault::Broken, "the store is closed");
        self.0.try_send(CommitRequest::Change(Box::new(pending))).map_err(|error| match error {
            TrySendError::Full(_) => {
                PortError::new(attempt, Fault::Busy, "too many changes are waiting for the disk")
            }
            TrySendError::Disconnected(_) => closed(),
        })?;
        result.await.map_err(|_| closed())?
    }

    pub(crate) fn stop(&self) {
        // Without a committer there is nothing to stop.
        let _ = self.0.send(CommitRequest::Stop);
    }
}

/// The only writer. In a server it [runs](Self::run) on its own thread until the store is closed. A simulation calls
/// [its steps](Self::commit_pending) itself.
pub struct Committer {
    shared: Arc<SharedState>,
    queue: Receiver<CommitRequest>,
}

impl Committer {
    /// The most changes in one transaction. This limits how long the first of them waits.
    const GROUP: usize = 4096;
    /// The most changes that wait while the disk stalls. Further visitors are told to retry.
    const QUEUE: usize = 16 * Self::GROUP;
    const RETRY_PAUSE: Duration = Duration::from_secs(1);

    pub(crate) fn new(shared: Arc<SharedState>) -> (Self, Queue) {
        let (sender, receiver) = mpsc::sync_channel(Self::QUEUE);
        (Self { shared, queue: receiver }, Queue(sender))
    }

    /// Commits until the store is closed or its last handle is dropped.
    pub(crate) fn run(mut self) {
        let mut stop = false;
        while !stop && let Ok(first) = self.queue.recv() {
            let group;
            (group, stop) = self.gather(Some(first));
            if self.commit(group).is_err() && !stop {
                stop = self.recover();
            }
        }
        self.shared.database.close();
    }

    /// Opens the database again at once, so that reads still find admissions, and rejects changes for a while. Returns
    /// whether the store was closed in the meantime.
    fn recover(&mut self) -> bool {
        loop {
            let opened = self.shared.open();
            std::thread::sleep(Self::RETRY_PAUSE);
            let (group, stop) = self.gather(None);
            // All of these changes are rejected, so nothing can fail.
            let _ = self.commit(group);
            if stop || opened.is_ok() {
                self.shared.resume_writes();
                return stop;
            }
        }
    }

    /// Commits the changes that have gathered, and returns how many there were.
    ///
    /// After a failure the store rejects changes until [`reopen`](Self::reopen) succeeds.
    pub fn commit_pending(&mut self) -> Result<usize, redb::Error> {
        let (group, _) = self.gather(None);
        let changes = group.len();
        self.commit(group).map(|()| changes)
    }

    /// Opens the database again after a failure, and reads its state from the file: the transaction that failed may
    /// have been committed.
    pub fn reopen(&mut self) -> Result<(), redb::Error> {
        self.shared.open().inspect(|()| self.shared.resume_writes())
    }

    /// The changes that have gathered, and whether the store was closed.
    fn gather(&self, first: Option<CommitRequest>) -> (Vec<Box<dyn QueuedChange>>, bool) {
        let mut group = Vec::new();
        let mut next = first.map_or_else(|| self.queue.try_recv(), Ok);
        loop {
            match next {
                Ok(CommitRequest::Change(change)) => group.push(change),
                Ok(CommitRequest::Stop) | Err(TryRecvError::Disconnected) => return (group, true),
                Err(TryRecvError::Empty) => return (group, false),
            }
            if group.len() == Self::GROUP {
                return (group, false);
            }
            next = self.queue.try_recv();
        }
    }

    fn commit(&self, mut group: Vec<Box<dyn QueuedChange>>) -> Result<(), redb::Error> {
        if group.is_empty() {
            return Ok(());
        }
        let (fault, error) = match self.shared.write_failure() {
            Some(failure) => {
                conclude(group, Err(&failure));
                return Ok(());
            }
            None => match self.try_commit_catching_panics(&mut group) {
                Ok(committed) => {
                    self.shared.apply(committed);
                    conclude(group, Ok(()));
                    return Ok(());
                }
                Err(failed) => failed,
            },
        };
        let failure = self.shared.stop_writes(&error);
        conclude(group, Err(&failure.with(fault)));
        Err(error)
    }

    /// A change that panics is a bug. It must not stop the committer, because then no later change would succeed.
    fn try_commit_catching_panics(
        &self,
        group: &mut [Box<dyn QueuedChange>],
    ) -> Result<Committed, (Fault, redb::Error)> {
        let committed = catch_unwind(AssertUnwindSafe(|| self.try_commit(group)));
        let panicked = || redb::Error::Corrupted("a change panicked".into());
        committed.unwrap_or_else(|_| Err((Fault::Unsure, panicked())))
    }

    fn try_commit(&self, group: &mut [Box<dyn QueuedChange>]) -> Result<Committed, (Fault, redb::Error)> {
        let transaction = self.shared.database.begin_write().map_err(|error| (Fault::Broken, error))?;
        let committed =
            self.draft(&transaction, group).map_err(|error| (Fault::Broken, unreadable(error)))?;
        // The commit may have reached the disk before it failed.
        transaction.commit().map_err(|error| (Fault::Unsure, error.into()))?;
        Ok(committed)
    }

    fn draft(
        &self,
        transaction: &WriteTransaction,
        group: &mut [Box<dyn QueuedChange>],
    ) -> Result<Committed, TableError> {
        let mut draft = Draft::new(transaction, self.shared.next_in_line(), self.shared.joined())?;
        group.iter_mut().try_for_each(|change| change.apply(&mut draft))?;
        draft.finish()
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}

fn conclude(group: Vec<Box<dyn QueuedChange>>, outcome: Result<(), &WriteFailure>) {
    for change in group {
        change.conclude(outcome);
    }
}
