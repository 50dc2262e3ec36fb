//! What all handles to the store share: the database, and in memory the values that every request needs.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use redb::{Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable, WriteTransaction};
use tokio::sync::Notify;
use waitroom::ports::{ConsumerRun, Fault, PortError};
use waitroom::{LineProgress, LineTotals, Room, Stock, Timestamp, UsedTime};

use crate::deliveries::Deliveries;
use crate::draft::{Committed, LineInMemory};
use crate::format::Format;
use crate::line;
use crate::recent_plans::RecentPlans;
use crate::tables::{
    ADMISSION, CLOSING, LINE, MINUTE, OpenAdmissions, SINGLE, STOCK, TableError, Tables, from_json,
    open_if_any, read_single, single,
};

/// Opens the database: a file, or in tests a disk that fails.
pub(crate) type OpenDatabase = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

pub(crate) type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

pub(crate) struct SharedState {
    pub(crate) database: DatabaseHandle,
    open: OpenDatabase,
    /// Where the file is, for the operator. `None` in tests.
    directory: Option<PathBuf>,
    pub(crate) now: Now,
    /// How long before it is in force a change of the valve is written.
    pub(crate) lead_time: Duration,
    pub(crate) deliveries: Mutex<Deliveries>,
    /// The consumers of this process that have taken a slice. A slice with another run was taken by an earlier process,
    /// which no longer runs.
    pub(crate) consumer_runs: Mutex<RecentPlans<HashSet<ConsumerRun>>>,
    /// The lowest ticket that the line delivered in the window of each plan. While it is not known, nobody is found to be
    /// overtaken.
    pub(crate) lowest_tickets: Mutex<RecentPlans<Option<u64>>>,
    /// The slices of each plan that are over, as their consumers have said.
    pub(crate) over: Mutex<RecentPlans<HashSet<u16>>>,
    room: RwLock<KeptRoom>,
    pub(crate) valve_changed: Notify,
    /// Only the committer changes it, each time as a whole.
    line: RwLock<LineInMemory>,
    pub(crate) entered: AtomicU64,
    /// Up to when the time of the doors' permits is used up.
    pub(crate) used: Mutex<UsedTime>,
    /// How many newcomers came while the room observed, by when their slots begin.
    pub(crate) newcomers: Mutex<BTreeMap<Timestamp, u64>>,
    /// How many were taken of each stock, by its order.
    taken: RwLock<BTreeMap<u64, u32>>,
    pub(crate) next_ticket: AtomicU64,
    /// When a ticket was leased last, in milliseconds; 0 if that was before this process.
    pub(crate) leased_at: AtomicU64,
    write_failure: RwLock<Option<WriteFailure>>,
    /// Since when no change was stored, and why. `None` after a change that was.
    trouble: Mutex<Option<WriteTrouble>>,
}

/// The room as it was ordered, and as it became by itself.
#[derive(Clone)]
struct KeptRoom {
    ordered: Arc<Room>,
    /// Since this instant. Kept so that it is computed once, and beside the ordered one, because a clock that was ahead may be set
    /// back to before it.
    settled: Option<(Timestamp, Arc<Room>)>,
}

impl KeptRoom {
    fn ordered(room: Arc<Room>) -> Self {
        Self { ordered: room, settled: None }
    }

    /// The room at `now`, and what to keep if that had to be computed.
    fn at(&self, now: Timestamp) -> (Arc<Room>, Option<Self>) {
        let settled = self.settled.as_ref().filter(|(from, _)| *from <= now);
        let before = settled.map_or(&self.ordered, |(_, settled)| settled);
        let room = before.clone().at(now);
        if Arc::ptr_eq(&room, before) {
            return (room, None);
        }
        let settled = Some((now, room.clone()));
        (room, Some(Self { ordered: self.ordered.clone(), settled }))
    }
}

/// The database. Empty from a failed write until it is opened again.
pub(crate) struct DatabaseHandle(RwLock<Option<HeldDatabase>>);

struct HeldDatabase {
    /// As the last commit has left them. Kept open, because every poll looks for one, and to open the table costs more than to look.
    /// `None` if that failed. Stands before the database, so that it's dropped first.
    admissions: Option<Arc<OpenAdmissions>>,
    database: Database,
}

/// No change was stored since then, although some were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTrouble {
    pub since: Timestamp,
    pub reason: String,
}

/// Why changes are rejected.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct WriteFailure {
    fault: Fault,
    why: Arc<str>,
}

impl SharedState {
    /// Opens the store. An existing room is kept; a new store gets the room `first`.
    pub(crate) fn new(
        open: OpenDatabase,
        now: Now,
        lead_time: Duration,
        first: Room,
        directory: Option<PathBuf>,
    ) -> Result<Self, TableError> {
        // What the process before has used is not known.
        let begun = UsedTime::at(now());
        let progress = LineProgress::default();
        let line = LineInMemory { waiting: 0, next_in_line: 0, joined: 0, progress, format: Format::CURRENT };
        let shared = Self {
            database: DatabaseHandle(RwLock::new(None)),
            open,
            directory,
            now,
            lead_time,
            deliveries: Mutex::default(),
            consumer_runs: Mutex::default(),
            lowest_tickets: Mutex::default(),
            over: Mutex::default(),
            room: RwLock::new(KeptRoom::ordered(Arc::new(first))),
            valve_changed: Notify::new(),
            line: RwLock::new(line),
            entered: AtomicU64::new(0),
            used: Mutex::new(begun),
            newcomers: Mutex::default(),
            taken: RwLock::default(),
            next_ticket: AtomicU64::new(1),
            leased_at: AtomicU64::new(0),
            write_failure: RwLock::new(None),
            trouble: Mutex::default(),
        };
        let database = (shared.open)()?;
        if is_new(&database)? {
            create_tables(&database, &shared.kept_room())?;
        }
        shared.take(database)?;
        Ok(shared)
    }

    /// Opens the database again, and loads its state into memory. Somebody may have moved it away meanwhile: then it's an error, and no
    /// empty line begins in its place.
    pub(crate) fn open(&self) -> Result<(), redb::Error> {
        self.database.close();
        self.take((self.open)()?).map_err(unreadable)
    }

    fn take(&self, database: Database) -> Result<(), TableError> {
        self.load(&database)?;
        *self.database.0.write() = Some(HeldDatabase { admissions: None, database });
        self.database.hold_admissions();
        Ok(())
    }

    /// Only reads, so that polls still work when the disk is full.
    fn load(&self, database: &Database) -> Result<(), TableError> {
        let transaction = database.begin_read()?;
        let singles = transaction.open_table(SINGLE)?;
        let format = Format::of(&singles)?;
        if let Some(room) = read_single::<Room>(&singles, single::ROOM)? {
            if self.kept_room().epoch != room.epoch {
                // A reset whose transaction failed, but was committed: as in `apply`.
                self.next_ticket.store(1, Ordering::Relaxed);
                self.entered.store(0, Ordering::Relaxed);
            }
            // Perhaps that of an order whose transaction failed, but was committed.
            self.replace_room(Arc::new(room));
        }
        let progress: LineProgress = read_single(&singles, single::PROGRESS)?.unwrap_or_default();
        let next_ticket = read_single(&singles, single::NEXT_TICKET)?.unwrap_or(1);
        self.next_ticket.fetch_max(next_ticket, Ordering::Relaxed);
        let line = transaction.open_table(LINE)?;
        let next_in_line = line::end(&line)?.max(self.line().next_in_line);
        let waiting = line::count(&line)?;
        // A file that was written before those who join were counted has no number of them.
        let joined = read_single(&singles, single::JOINED)?.unwrap_or(progress.released + waiting);
        *self.line.write() = LineInMemory { waiting, next_in_line, joined, progress, format };
        if let Some(stocks) = open_if_any(&transaction, STOCK)? {
            for record in stocks.iter()? {
                let (order, taken) = record?;
                self.taken.write().insert(order.value(), taken.value());
            }
        }
        let epoch = self.kept_room().epoch;
        for records in [MINUTE, CLOSING] {
            let Some(records) = open_if_any(&transaction, records)? else { continue };
            // After a restore, the last ones may be of the line that was replaced.
            for record in records.iter()?.rev() {
                let totals: LineTotals = from_json(record?.1.value(), "minute")?;
                if totals.epoch == epoch {
                    self.entered.fetch_max(totals.entered.unwrap_or(0), Ordering::Relaxed);
                    break;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn apply(&self, committed: Committed) {
        // First, so that whoever sees anything of this commit finds its admissions.
        self.database.hold_admissions();
        if committed.begins_epoch {
            // Before the new epoch is visible, so that no ticket of the old epoch is handed out in it.
            self.next_ticket.store(1, Ordering::Relaxed);
            self.entered.store(0, Ordering::Relaxed);
        }
        if let Some(room) = committed.room {
            self.replace_room(room);
        }
        self.taken.write().extend(committed.taken);
        *self.line.write() = committed.line;
        if self.trouble.lock().take().is_some() {
            tracing::info!("the store can write again; visitors join the line as before");
        }
    }

    /// Closes the database and rejects changes. Returns what to tell their callers.
    pub(crate) fn stop_writes(&self, error: &redb::Error) -> WriteFailure {
        let failure = WriteFailure::new(error, self.directory.as_deref());
        self.database.close();
        let mut trouble = self.trouble.lock();
        // Logged once, not once for every visitor.
        if trouble.as_ref().is_none_or(|trouble| trouble.reason != failure.to_string()) {
            tracing::error!(
                "the store cannot write ({failure}); until it can, visitors are told to retry, and nobody loses their place"
            );
        }
        let since = trouble.as_ref().map_or_else(|| (self.now)(), |trouble| trouble.since);
        *trouble = Some(WriteTrouble { since, reason: failure.to_string() });
        *self.write_failure.write() = Some(failure.clone());
        failure
    }

    pub(crate) fn resume_writes(&self) {
        *self.write_failure.write() = None;
    }

    pub(crate) fn trouble(&self) -> Option<WriteTrouble> {
        self.trouble.lock().clone()
    }

    pub(crate) fn write_failure(&self) -> Option<WriteFailure> {
        self.write_failure.read().clone()
    }

    fn replace_room(&self, room: Arc<Room>) {
        let mut kept = self.room.write();
        if kept.ordered.valves != room.valves {
            self.valve_changed.notify_one();
        }
        *kept = KeptRoom::ordered(room);
    }

    /// The room as it was ordered.
    pub(crate) fn kept_room(&self) -> Arc<Room> {
        self.room.read().ordered.clone()
    }

    /// The room as it is now.
    pub(crate) fn room(&self) -> Arc<Room> {
        let kept = self.room.read().clone();
        if !kept.ordered.changes_by_itself() {
            return kept.ordered;
        }
        let (room, settled) = kept.at((self.now)());
        if let Some(settled) = settled {
            let mut current = self.room.write();
            if Arc::ptr_eq(&current.ordered, &kept.ordered) {
                *current = settled;
            }
        }
        room
    }

    /// How many are left of a stock.
    pub(crate) fn left(&self, stock: Stock) -> u32 {
        stock.size.get().saturating_sub(self.taken.read().get(&stock.order).copied().unwrap_or_default())
    }

    pub(crate) fn line(&self) -> LineInMemory {
        *self.line.read()
    }
}

fn is_new(database: &Database) -> Result<bool, TableError> {
    Ok(open_if_any(&database.begin_read()?, SINGLE)?.is_none())
}

/// Creates the tables of a new store, and its room.
pub(crate) fn create_tables(database: &Database, room: &Room) -> Result<(), TableError> {
    let transaction = database.begin_write()?;
    {
        let mut tables = Tables::of(&transaction);
        tables.create()?;
        tables.write(single::FORMAT, &Format::CURRENT)?;
        tables.write(single::ROOM, room)?;
    }
    Ok(transaction.commit()?)
}

/// The room in a file; `None` if the file is no store of a room.
pub(crate) fn stored_room(database: &Database) -> Result<Option<Room>, TableError> {
    let Some(singles) = open_if_any(&database.begin_read()?, SINGLE)? else { return Ok(None) };
    Format::of(&singles)?;
    read_single(&singles, single::ROOM)
}

/// A single record that cannot be read is treated like a failure of the storage: the store cannot work without it.
pub(crate) fn unreadable(error: TableError) -> redb::Error {
    match error {
        TableError::Storage(error) => error,
        TableError::Record(problem) => redb::Error::Corrupted(problem),
    }
}

/// Whether it failed because the disk is full.
pub(crate) fn is_full(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull)
}

impl DatabaseHandle {
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, redb::Error> {
        let held = self.0.read();
        Ok(held.as_ref().ok_or(redb::Error::DatabaseClosed)?.database.begin_write()?)
    }

    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, redb::Error> {
        let held = self.0.read();
        Ok(held.as_ref().ok_or(redb::Error::DatabaseClosed)?.database.begin_read()?)
    }

    /// The admissions as the last commit has left them.
    pub(crate) fn admissions(&self) -> Result<Arc<OpenAdmissions>, redb::Error> {
        // Cloned, because whoever looks may wait for the disk, and must not keep the committer waiting.
        let held = self.0.read().as_ref().and_then(|held| held.admissions.clone());
        held.map_or_else(|| self.open_admissions(), Ok)
    }

    fn open_admissions(&self) -> Result<Arc<OpenAdmissions>, redb::Error> {
        Ok(Arc::new(self.begin_read()?.open_table(ADMISSION)?))
    }

    /// Once for each commit. Held any longer, those of an old one would keep redb from using its space again.
    fn hold_admissions(&self) {
        let admissions = self.open_admissions().ok();
        if let Some(held) = self.0.write().as_mut() {
            held.admissions = admissions;
        }
    }

    pub(crate) fn close(&self) {
        *self.0.write() = None;
    }
}

impl WriteFailure {
    /// `directory` is where the file is.
    fn new(error: &redb::Error, directory: Option<&Path>) -> Self {
        let why = if is_full(error) {
            let of = directory.map_or_else(String::new, |directory| format!(" of {}", directory.display()));
            format!("the disk{of} is full: free some space, and the room goes on by itself")
        } else {
            error.to_string()
        };
        Self { fault: Fault::Broken, why: why.into() }
    }

    pub(crate) fn closed() -> Self {
        Self { fault: Fault::Broken, why: "the store is closed".into() }
    }

    /// The same reason with another fault.
    pub(crate) fn with(&self, fault: Fault) -> Self {
        Self { fault, ..self.clone() }
    }

    pub(crate) fn error(&self, attempt: &'static str) -> PortError {
        PortError::new(attempt, self.fault, self.clone())
    }
}
