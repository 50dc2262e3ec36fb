//! What an operator does beside the handlers: a backup while the room runs, and a check that it can write.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, DatabaseError, Key, ReadTransaction, ReadableTable, ReadableTableMetadata,
    TableDefinition, TableHandle, Value, WriteTransaction,
};
use waitroom::ports::PortResult;

use crate::EmbeddedStore;
use crate::line;
use crate::shared::{SharedState, unreadable};
use crate::tables::{ADMISSION, CopyTable, LINE, copy_tables};

/// How many visitors a backup has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    pub waiting: u64,
    pub admissions: u64,
}

/// Why a backup was not written. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("could not create the file {}", .0.display())]
    Create(PathBuf, #[source] io::Error),
    #[error("could not copy the room into {}", .0.display())]
    Copy(PathBuf, #[source] Box<redb::Error>),
    /// Only of a restore.
    #[error("could not read whom the file that is replaced knows")]
    Merge(#[source] Box<redb::Error>),
}

impl EmbeddedStore {
    /// Stores an empty change: whether a visitor could join now.
    pub async fn check_writes(&self) -> PortResult<()> {
        self.change("write to the store", |_| Ok(())).await
    }

    /// Writes the room as it is now into a new file, which a store can open. Joins and releases go on meanwhile: the copy has
    /// everything that was committed before it began, and nothing later. Blocks until the copy is on disk.
    pub fn back_up(&self, to: &Path) -> Result<BackedUp, BackupError> {
        let mut options = OpenOptions::new();
        // It has the same secrets as the store's own file.
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(to).map_err(|error| BackupError::Create(to.into(), error))?;
        let copied =
            new_database(file).map_err(redb::Error::from).and_then(|copy| copy_all(&self.shared, &copy));
        copied.map_err(|error| {
            // The first error is the one that matters.
            drop(fs::remove_file(to));
            BackupError::Copy(to.into(), Box::new(error))
        })
    }
}

fn new_database(file: fs::File) -> Result<Database, DatabaseError> {
    const CACHE_BYTES: usize = 16 << 20;

    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder.create_file(file)
}

/// The transaction that is read keeps its snapshot, whatever is committed meanwhile.
fn copy_all(shared: &SharedState, copy: &Database) -> Result<BackedUp, redb::Error> {
    let (from, to) = (shared.database.begin_read()?, copy.begin_write()?);
    let mut rest: BTreeSet<String> = from.list_tables()?.map(|table| table.name().to_owned()).collect();
    let mut copier = Copier { shared, from: &from, to: &to, rest: &mut rest };
    copy_tables(&mut copier)?;
    if let Some(table) = rest.first() {
        return Err(redb::Error::Corrupted(format!(
            "this version of Beekeeper cannot copy the table {table}"
        )));
    }
    let waiting = line::count(&to.open_table(LINE)?).map_err(unreadable)?;
    let backed_up = BackedUp { waiting, admissions: to.open_table(ADMISSION)?.len()? };
    to.commit()?;
    Ok(backed_up)
}

struct Copier<'a> {
    shared: &'a SharedState,
    from: &'a ReadTransaction,
    to: &'a WriteTransaction,
    /// The tables that are not yet copied.
    rest: &'a mut BTreeSet<String>,
}

impl Copier<'_> {
    /// How many records are copied between two looks at the store.
    const RECORDS: usize = 1000;
}

impl CopyTable for Copier<'_> {
    fn copy<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<(), redb::Error> {
        if !self.rest.remove(table.name()) {
            // The file was written before there was such a table, and nothing since.
            return Ok(());
        }
        let (from, mut to) = (self.from.open_table(table)?, self.to.open_table(table)?);
        for (copied, record) in from.iter()?.enumerate() {
            // After a failed write the store opens its file again, which is not possible while this transaction reads it.
            if copied % Self::RECORDS == 0
                && let Some(failure) = self.shared.write_failure()
            {
                return Err(io::Error::other(failure).into());
            }
            let (key, value) = record?;
            to.insert(key.value(), value.value())?;
        }
        Ok(())
    }
}
