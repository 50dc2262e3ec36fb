//! The ports over an embedded store: the line and the ledger of one room, in one file on one machine.
//!
//! - When a future of this crate resolves with `Ok`, the change is on disk. A crash or a power failure cannot undo it.
//! - Changes are committed in [groups](commit): thousands of joins share one sync.
//! - The file is locked, so only one process can open it. A second process gets [`OpenError::InUse`].
//! - When the disk fails or is full, changes fail and the process keeps running. When the disk recovers, changes
//!   succeed again.
//!
//! The file is a [redb](redb) database. `docs/decisions/0001-embedded-store.md` has the reasons.

mod commit;
mod deliveries;
mod draft;
mod format;
mod history;
mod keys;
mod line;
mod look;
mod ports;
mod put_back;
mod recent_plans;
mod restore;
mod shared;
mod sweep;
mod tables;
mod unfinished;
mod upkeep;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use redb::{Builder, Database, DatabaseError, ReadTransaction, StorageBackend};
use waitroom::ports::{Fault, PortError, PortResult};
use waitroom::{AuditNote, LineProgress, LineStatus, Room, Timestamp, ValveSchedule};

pub use commit::Committer;
use commit::Queue;
use draft::Draft;
pub use put_back::{PutBack, PutBackError, ReplacedFile};
pub use restore::Restored;
pub use shared::WriteTrouble;
use shared::{SharedState, create_tables, unreadable};
pub use sweep::Swept;
use tables::{TableError, open_if_any, unrecorded};
pub use unfinished::Unfinished;
pub use upkeep::{BackedUp, BackupError};

/// A handle to the store. Clones share it.
#[derive(Clone)]
pub struct EmbeddedStore {
    shared: Arc<SharedState>,
    queue: Arc<Queue>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the room in {} is open in another process; stop that one, or choose another directory", .0.display())]
    InUse(PathBuf),
    #[error("{} is not the file of a room; put a backup in its place, or move it away to start with an empty line", .0.display())]
    NoRoom(PathBuf),
    #[error("this user may not use {}; run the command as the user who runs the room, or with sudo", .0.display())]
    Denied(PathBuf),
    #[error(
        "a newer beekeeper may have written {} ({found}); use the version that wrote it, and everybody keeps their place",
        .file.display()
    )]
    Newer { file: PathBuf, found: String },
    #[error("could not use the directory {}", .0.display())]
    Directory(PathBuf, #[source] io::Error),
    #[error("could not open the store {}", .0.display())]
    Store(PathBuf, #[source] Box<redb::Error>),
}

impl OpenError {
    fn of(file: &Path, error: TableError) -> Self {
        let error = match error {
            TableError::Storage(error) => error,
            TableError::Record(found) => return Self::Newer { file: file.into(), found },
        };
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::InUse(file.parent().unwrap_or(file).into()),
            // Its first bytes are not those of a store.
            redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => Self::NoRoom(file.into()),
            redb::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Self::Denied(file.into())
            }
            error => Self::Store(file.into(), Box::new(error)),
        }
    }
}

impl EmbeddedStore {
    /// The name of the file in its directory.
    pub const FILE: &str = "room.redb";
    const CACHE_BYTES: usize = 64 << 20;

    /// Whether there is a store in `directory`.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(Self::FILE).exists()
    }

    /// Opens the store in `directory`, and creates the directory if it is missing. An existing room is kept; a new
    /// store gets the room `first`.
    pub fn open(
        directory: &Path,
        first: Room,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let path = directory.join(Self::FILE);
        fs::create_dir_all(directory).map_err(|error| OpenError::Directory(directory.into(), error))?;
        if !path.exists() {
            begin(directory, &path, &first).map_err(|error| OpenError::of(&path, error.into()))?;
        }
        let open = {
            let path = path.clone();
            move || open_file(&path, false)
        };
        let lead_time = ValveSchedule::LEAD_TIME_IN_ONE_PROCESS;
        let (store, committer) =
            Self::new(Box::new(open), Box::new(now), lead_time, first, Some(directory.into()))
                .map_err(|error| OpenError::of(&path, error))?;
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(move || {
                // A bug. The process would run on and never write again; once it has ended, whatever runs it starts it again.
                if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
                    tracing::error!("the store's committer panicked; the process ends, because nothing could be written any more");
                    // Whoever prints the log may do so on a thread of its own.
                    std::thread::sleep(Duration::from_millis(200));
                    std::process::abort();
                }
            })
            .map_err(|error| OpenError::Directory(directory.into(), error))?;
        *store.thread.lock() = Some(thread);
        Ok(store)
    }

    /// A store on the caller's storage medium, which opens as what is on it, whatever is cached of it. The caller also decides when to
    /// commit, and how long before it is in force a change is written. For simulations.
    pub fn on<B: StorageBackend>(
        medium: impl Fn() -> B + Send + Sync + 'static,
        lead_time: Duration,
        first: Room,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<(Self, Committer), redb::Error> {
        let open = move || builder().create_with_backend(medium());
        Self::new(Box::new(open), Box::new(now), lead_time, first, None).map_err(unreadable)
    }

    fn new(
        open: shared::OpenDatabase,
        now: shared::Now,
        lead_time: Duration,
        first: Room,
        directory: Option<PathBuf>,
    ) -> Result<(Self, Committer), TableError> {
        let shared = Arc::new(SharedState::new(open, now, lead_time, first, directory)?);
        let (committer, queue) = Committer::new(shared.clone());
        Ok((Self { shared, queue: Arc::new(queue), thread: Arc::default() }, committer))
    }

    /// Commits what is queued, then closes and unlocks the file. Blocks until that is done.
    pub fn close(&self) {
        self.queue.close();
        if let Some(thread) = self.thread.lock().take() {
            // A committer that panics ends the process, so the thread has no result to check.
            let _ = thread.join();
        }
    }

    /// The room as it was ordered. An opening whose time has come is not applied.
    pub fn kept_room(&self) -> Arc<Room> {
        self.shared.kept_room()
    }

    /// How many have joined in this epoch.
    pub fn joined_so_far(&self) -> u64 {
        self.shared.line().joined
    }

    /// The status of the line, as polls publish it.
    pub fn status(&self) -> LineStatus {
        self.status_of(&self.shared.room())
    }

    /// Why the store cannot write, if the latest change failed: nobody can join then.
    pub fn write_trouble(&self) -> Option<WriteTrouble> {
        self.shared.trouble()
    }

    fn status_of(&self, room: &Room) -> LineStatus {
        let line = self.shared.line();
        let left = room.stock.map(|stock| self.shared.left(stock));
        LineStatus::of(room, line.progress.reach(), line.waiting, left)
    }

    /// Changes the room, increases its version, and returns the room before and after. Each note becomes an entry of the audit
    /// trail. Without any, what is as it was is no change.
    pub async fn change_room(
        &self,
        attempt: &'static str,
        notes: impl IntoIterator<Item = AuditNote>,
        change: impl FnOnce(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        let (shared, notes) = (self.shared.clone(), Vec::from_iter(notes));
        self.change(attempt, move |draft| {
            let now = (shared.now)();
            let before = draft.room().unwrap_or_else(|| shared.room()).at(now);
            let after = Arc::new(before.changed(now, shared.lead_time, change));
            if notes.is_empty() && after.is_unchanged(&before) {
                return Ok((before.clone(), before));
            }
            if after.counts_apart(&before) {
                draft.close_count(&before, now, shared.entered.load(Ordering::Relaxed))?;
            }
            draft.set_room(&after)?;
            for note in &notes {
                draft.tables.add_entry(note, now, &before, &after)?;
            }
            Ok((before, after))
        })
        .await
    }

    /// Counts whom the process before has released without counting them: it was stopped in the middle of a slice, and nobody takes
    /// that again once its window is over.
    pub async fn count_released(&self) -> PortResult<()> {
        const ATTEMPT: &str = "count whom the room has released";

        let missing = |from: &ReadTransaction| {
            open_if_any(from, tables::SLICE)?.map_or(Ok(0), |slices| unrecorded(&slices))
        };
        if self.read(ATTEMPT, missing)? == 0 {
            return Ok(());
        }
        self.change(ATTEMPT, |draft| {
            let (more, progress) = (draft.record_slices()?, draft.progress()?);
            draft.set_progress(LineProgress { released: progress.released.saturating_add(more), ..progress })
        })
        .await
    }

    /// Waits until the valve has changed since the last call. Then the trigger has to run.
    pub async fn valve_changed(&self) {
        self.shared.valve_changed.notified().await;
    }

    /// Reads what was committed last.
    fn read<T>(
        &self,
        attempt: &'static str,
        read: impl FnOnce(&ReadTransaction) -> Result<T, TableError>,
    ) -> PortResult<T> {
        read_from(attempt, self.shared.database.begin_read(), read)
    }

    async fn change<T: Send + 'static>(
        &self,
        attempt: &'static str,
        change: impl FnOnce(&mut Draft<'_>) -> Result<T, TableError> + Send + 'static,
    ) -> PortResult<T> {
        self.queue.change(&self.shared, attempt, change).await
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").field("waiting", &self.shared.line().waiting).finish_non_exhaustive()
    }
}

/// Reads from what could be opened.
fn read_from<F, T>(
    attempt: &'static str,
    from: Result<F, redb::Error>,
    read: impl FnOnce(&F) -> Result<T, TableError>,
) -> PortResult<T> {
    from.map_err(TableError::from).and_then(|from| read(&from)).map_err(|error| {
        // Nothing was changed. If the storage failed, the next change opens it again, so a retry may succeed.
        let fault = if matches!(error, TableError::Storage(_)) { Fault::Busy } else { Fault::Broken };
        PortError::new(attempt, fault, error)
    })
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(EmbeddedStore::CACHE_BYTES);
    builder
}

/// Begins a store. It has its name once it's whole: what a kill or a full disk leaves of it would never open.
fn begin(directory: &Path, path: &Path, first: &Room) -> Result<(), redb::Error> {
    let unfinished = Unfinished::of(directory);
    create_tables(&open_file(unfinished.path(), true)?, first).map_err(unreadable)?;
    match fs::hard_link(unfinished.path(), path) {
        Ok(()) => Ok(fs::File::open(directory)?.sync_all()?),
        // Another process was first.
        Err(_) if path.exists() => Ok(()),
        // No file has two names on this disk, so this one begins in its place.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) =>
        {
            drop(open_file(path, true)?);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Readable by this user only: a token is enough to take a visitor's place, and the file has the signing keys.
fn open_file(path: &Path, is_new: bool) -> Result<Database, DatabaseError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(is_new).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|error| DatabaseError::Storage(error.into()))?;
    tighten(&file);
    forget_cached(&file);
    let opened = identity(file.metadata())?;
    let database = builder().create_file(file)?;
    // A restore may have put another file there before this one was locked. From now on none can.
    if identity(fs::metadata(path))? != opened {
        return Err(DatabaseError::DatabaseAlreadyOpen);
    }
    Ok(database)
}

/// Lets redb read what is on the disk. After a failed sync, Linux keeps in its cache what it could not write, as if it had been
/// written, for the next process too: nothing writes it any more, and a power cut brings the old content back.
fn forget_cached(file: &fs::File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Which file it is, whatever its name.
fn identity(metadata: io::Result<fs::Metadata>) -> Result<(u64, u64), DatabaseError> {
    let metadata = metadata.map_err(|error| DatabaseError::Storage(error.into()))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Takes permissions from others that somebody gave them, for example by copying the file. Where that is not possible,
/// because the file belongs to another user or the disk has no permissions, the file is used as it is.
fn tighten(file: &fs::File) {
    let Ok(metadata) = file.metadata() else { return };
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        drop(file.set_permissions(fs::Permissions::from_mode(mode & 0o600)));
    }
}
