//! What every handle to the store shares: the database, and in memory what is asked for on every request.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::{
    Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    WriteTransaction,
};
use waitroom::ports::{Fault, PortError};
use waitroom::{LineProgress, Room, Timestamp};

use crate::claimants::Claimants;
use crate::deliveries::Deliveries;
use crate::draft::Committed;
use crate::tables::{LINE, SINGLE, TableError, Tables, read_single, single};

/// Opens the database: a file, or in tests a disk that misbehaves.
pub(crate) type OpenDatabase = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

pub(crate) type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// Rises when what lies in the file changes its meaning.
const FORMAT: u32 = 1;

pub(crate) struct SharedState {
    pub(crate) database: Handle,
    open: OpenDatabase,
    pub(crate) now: Now,
    pub(crate) deliveries: Mutex<Deliveries>,
    pub(crate) claimants: Mutex<Claimants>,
    room: RwLock<Arc<Room>>,
    served: AtomicU64,
    released: AtomicU64,
    waiting: AtomicU64,
    next_in_line: AtomicU64,
    pub(crate) next_ticket: AtomicU64,
    refusal: RwLock<Option<Refusal>>,
    /// So that the operator reads one line when trouble begins, not one for every visitor.
    told_of_trouble: AtomicBool,
}

/// The database, while it is open and can be trusted.
pub(crate) struct Handle(RwLock<Option<Database>>);

/// Why changes are refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    fault: Fault,
    why: Arc<str>,
}

impl SharedState {
    /// Opens the store. A room that is in it stays as it is; a new store gets `first`.
    pub(crate) fn new(open: OpenDatabase, now: Now, first: Room) -> Result<Self, redb::Error> {
        let shared = Self {
            database: Handle(RwLock::new(None)),
            open,
            now,
            deliveries: Mutex::default(),
            claimants: Mutex::default(),
            room: RwLock::new(Arc::new(first)),
            served: AtomicU64::new(0),
            released: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            next_in_line: AtomicU64::new(0),
            next_ticket: AtomicU64::new(1),
            refusal: RwLock::new(None),
            told_of_trouble: AtomicBool::new(false),
        };
        shared.open()?;
        Ok(shared)
    }

    /// Opens the database and takes over what it says.
    pub(crate) fn open(&self) -> Result<(), redb::Error> {
        self.database.close();
        let database = (self.open)()?;
        if let Err(missing) = self.take_over(&database) {
            match missing {
                redb::Error::TableDoesNotExist(_) => {
                    self.furnish(&database)?;
                    self.take_over(&database)?;
                }
                other => return Err(other),
            }
        }
        *self.database.0.write() = Some(database);
        Ok(())
    }

    /// Reads only: a disk that is full must not keep those out who have a place.
    fn take_over(&self, database: &Database) -> Result<(), redb::Error> {
        let transaction = database.begin_read()?;
        let singles = transaction.open_table(SINGLE)?;
        match read_single::<u32>(&singles, single::FORMAT).map_err(unreadable)? {
            Some(FORMAT) => {}
            other => {
                let found = other.map_or("no format".into(), |other| format!("format {other}"));
                let why = format!("{found}, this version of Beekeeper reads format {FORMAT}");
                return Err(redb::Error::Corrupted(why));
            }
        }
        if let Some(room) = read_single::<Room>(&singles, single::ROOM).map_err(unreadable)? {
            *self.room.write() = Arc::new(room);
        }
        let progress = read_single(&singles, single::PROGRESS).map_err(unreadable)?;
        self.set_progress(progress.unwrap_or_default());
        let next_ticket = read_single(&singles, single::NEXT_TICKET).map_err(unreadable)?.unwrap_or(1);
        self.next_ticket.fetch_max(next_ticket, Ordering::Relaxed);
        let line = transaction.open_table(LINE)?;
        let next_in_line = line.last()?.map_or(0, |(key, _)| key.value() + 1);
        self.next_in_line.fetch_max(next_in_line, Ordering::Relaxed);
        self.waiting.store(line.len()?, Ordering::Relaxed);
        Ok(())
    }

    /// Makes all tables of a new store, and its room.
    fn furnish(&self, database: &Database) -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
        {
            let mut tables = Tables::open(&transaction).map_err(unreadable)?;
            tables.write(single::FORMAT, &FORMAT).map_err(unreadable)?;
            tables.write(single::ROOM, &**self.room.read()).map_err(unreadable)?;
        }
        Ok(transaction.commit()?)
    }

    pub(crate) fn apply(&self, committed: Committed) {
        if committed.begins_epoch {
            // Before the epoch can be seen: no number of the old one may be handed out in the new.
            self.next_ticket.store(1, Ordering::Relaxed);
        }
        if let Some(room) = committed.room {
            *self.room.write() = room;
        }
        if let Some(progress) = committed.progress {
            self.set_progress(progress);
        }
        self.waiting.store(committed.waiting, Ordering::Relaxed);
        self.next_in_line.store(committed.next_in_line, Ordering::Relaxed);
        if self.told_of_trouble.swap(false, Ordering::Relaxed) {
            tracing::info!("the store can write again; visitors are let into the line as before");
        }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.database.close();
        if !self.told_of_trouble.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the store cannot write ({refusal}); visitors are asked to come again until it can, nobody loses their place"
            );
        }
        *self.refusal.write() = Some(refusal);
    }

    /// Lets changes be tried again.
    pub(crate) fn allow(&self) {
        *self.refusal.write() = None;
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.read().clone()
    }

    pub(crate) fn room(&self) -> Arc<Room> {
        self.room.read().clone()
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    pub(crate) fn progress(&self) -> LineProgress {
        LineProgress { served: self.served(), released: self.released.load(Ordering::Relaxed) }
    }

    fn set_progress(&self, progress: LineProgress) {
        self.served.store(progress.served, Ordering::Relaxed);
        self.released.store(progress.released, Ordering::Relaxed);
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn next_in_line(&self) -> u64 {
        self.next_in_line.load(Ordering::Relaxed)
    }
}

/// What exists once and cannot be read is as bad as a storage that fails.
pub(crate) fn unreadable(error: TableError) -> redb::Error {
    match error {
        TableError::Storage(error) => error,
        TableError::Record(problem) => redb::Error::Corrupted(problem),
    }
}

impl Handle {
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, redb::Error> {
        let database = self.0.read();
        Ok(database.as_ref().ok_or(redb::Error::DatabaseClosed)?.begin_write()?)
    }

    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, redb::Error> {
        let database = self.0.read();
        Ok(database.as_ref().ok_or(redb::Error::DatabaseClosed)?.begin_read()?)
    }

    pub(crate) fn close(&self) {
        *self.0.write() = None;
    }
}

impl Refusal {
    pub(crate) fn new(fault: Fault, error: &redb::Error) -> Self {
        let full = matches!(error, redb::Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull);
        let why = if full { "the disk is full: make room on it".into() } else { error.to_string() };
        Self { fault, why: why.into() }
    }

    /// The same reason, for those of whom less (or more) is known.
    pub(crate) fn with(&self, fault: Fault) -> Self {
        Self { fault, ..self.clone() }
    }

    pub(crate) fn error(&self, attempt: &'static str) -> PortError {
        PortError::new(attempt, self.fault, self.clone())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for Refusal {}
