//! Group commit: every change waits its turn in one queue, and one committer takes whatever has gathered,
//! applies it in one transaction and syncs once. Thousands of joins share that sync; none is reported as
//! done before it.
//!
//! A failed transaction fails everybody in it, and the database, which does not trust itself after an I/O
//! error, is opened afresh. Until that succeeds changes are refused at once, so that visitors are asked to
//! come again instead of being kept waiting.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use redb::WriteTransaction;
use tokio::sync::oneshot;
use waitroom::ports::{Fault, PortError, PortResult};

use crate::draft::{Committed, Draft};
use crate::shared::{Refusal, SharedState, unreadable};
use crate::tables::TableError;

/// One change, applied inside a transaction and concluded after it.
trait QueuedChange: Send {
    /// Fails only if the storage does.
    fn apply(&mut self, draft: &mut Draft<'_>) -> Result<(), redb::Error>;

    fn conclude(self: Box<Self>, outcome: Result<(), &Refusal>);
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

    fn conclude(self: Box<Self>, outcome: Result<(), &Refusal>) {
        let answer = match (outcome, self.result) {
            (Ok(()), Some(Ok(result))) => Ok(result),
            (Ok(()), Some(Err(error))) => Err(PortError::new(self.attempt, Fault::Broken, error)),
            (Ok(()), None) => Err(PortError::new(self.attempt, Fault::Busy, "the change was not applied")),
            (Err(refusal), _) => Err(refusal.error(self.attempt)),
        };
        // Whoever asked may be gone: a visitor who closed the tab. What was done stays done.
        drop(self.reply.send(answer));
    }
}

enum CommitRequest {
    Change(Box<dyn QueuedChange>),
    Stop,
}

/// Where changes are handed in.
#[derive(Clone)]
pub(crate) struct Queue(SyncSender<CommitRequest>);

impl Queue {
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        shared: &SharedState,
        attempt: &'static str,
        change: impl FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send + 'static,
    ) -> PortResult<T> {
        if let Some(refusal) = shared.refusal() {
            return Err(refusal.error(attempt));
        }
        let (reply, answer) = oneshot::channel();
        let pending = Pending { attempt, change: Some(change), result: None, reply };
        let closed = || PortError::new(attempt, Fault::Broken, "the store is closed");
        self.0.try_send(CommitRequest::Change(Box::new(pending))).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                PortError::new(attempt, Fault::Busy, "too many changes wait for the disk")
            }
            TrySendError::Disconnected(_) => closed(),
        })?;
        answer.await.map_err(|_| closed())?
    }

    pub(crate) fn stop(&self) {
        // No committer, nothing to stop.
        let _ = self.0.send(CommitRequest::Stop);
    }
}

/// The one writer. On a thread of its own it [runs](Self::run) until told to stop; a simulation
/// [takes its steps](Self::commit_pending) itself.
pub struct Committer {
    shared: Arc<SharedState>,
    queue: Receiver<CommitRequest>,
}

impl Committer {
    /// Changes in one transaction at most: bounds how long the first of them waits.
    const GROUP: usize = 4096;
    /// Changes that may wait for a disk that stalls; whoever comes then is asked to come again.
    const QUEUE: usize = 16 * Self::GROUP;
    const BEFORE_TRYING_AGAIN: Duration = Duration::from_secs(1);

    pub(crate) fn new(shared: Arc<SharedState>) -> (Self, Queue) {
        let (sender, receiver) = mpsc::sync_channel(Self::QUEUE);
        (Self { shared, queue: receiver }, Queue(sender))
    }

    /// Commits until the store is closed or the last handle to it is gone.
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

    /// Opens the database again at once, so that those who have a place are still found, and refuses changes
    /// for a while. Says whether it was told to stop meanwhile.
    fn recover(&mut self) -> bool {
        loop {
            let opened = self.shared.open();
            std::thread::sleep(Self::BEFORE_TRYING_AGAIN);
            let (group, stop) = self.gather(None);
            // Everybody in it is refused, so there is nothing that could fail.
            let _ = self.commit(group);
            if stop || opened.is_ok() {
                self.shared.allow();
                return stop;
            }
        }
    }

    /// Commits what has gathered, and says how many changes that were.
    ///
    /// After a failure the store refuses changes until [`reopen`](Self::reopen) succeeds.
    pub fn commit_pending(&mut self) -> Result<usize, redb::Error> {
        let (group, _) = self.gather(None);
        let changes = group.len();
        self.commit(group).map(|()| changes)
    }

    /// Opens the database again after a failure, and believes only what it then finds there: a
    /// transaction that failed may have been committed all the same.
    pub fn reopen(&mut self) -> Result<(), redb::Error> {
        self.shared.open().inspect(|()| self.shared.allow())
    }

    /// What has gathered, and whether this was the last of it.
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
        let (fault, error) = match self.shared.refusal() {
            Some(refusal) => {
                conclude(group, Err(&refusal));
                return Ok(());
            }
            None => match self.try_commit_unharmed(&mut group) {
                Ok(committed) => {
                    self.shared.apply(committed);
                    conclude(group, Ok(()));
                    return Ok(());
                }
                Err(failed) => failed,
            },
        };
        let refusal = Refusal::new(Fault::Broken, &error);
        self.shared.refuse(refusal.clone());
        conclude(group, Err(&refusal.with(fault)));
        Err(error)
    }

    /// A change that panics is a bug, and must not be the end of every visitor after it.
    fn try_commit_unharmed(
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
        // A commit that fails may have reached the disk before it did.
        transaction.commit().map_err(|error| (Fault::Unsure, error.into()))?;
        Ok(committed)
    }

    fn draft(
        &self,
        transaction: &WriteTransaction,
        group: &mut [Box<dyn QueuedChange>],
    ) -> Result<Committed, TableError> {
        let mut draft = Draft::new(transaction, self.shared.next_in_line())?;
        group.iter_mut().try_for_each(|change| change.apply(&mut draft))?;
        draft.finish()
    }
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}

fn conclude(group: Vec<Box<dyn QueuedChange>>, outcome: Result<(), &Refusal>) {
    for change in group {
        change.conclude(outcome);
    }
}
