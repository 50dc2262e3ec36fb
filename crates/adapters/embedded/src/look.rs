//! Looks at the file of a room that doesn't run, without changing it.
//!
//! The store itself is opened, over a medium that keeps what is written in memory. So a file that was left by kill -9, which has to
//! be repaired before anybody can read it, is repaired in memory. Looking takes the lock of the file, shared with others who
//! look: no room can start meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, Database, ReadableDatabase, ReadableTable, StorageBackend};
use serde::Deserialize;
use waitroom::{Timestamp, ValveSchedule};

use crate::tables::{AUDIT, CLOSING, MINUTE, TableError, from_json, open_if_any};
use crate::{EmbeddedStore, OpenError, builder, shared};

impl EmbeddedStore {
    /// The store in this file as it was left, and when its room ran last. Whatever would change it fails.
    pub fn look_at(file: &Path) -> Result<(Self, Timestamp), OpenError> {
        let failed = |error: TableError| OpenError::of(file, error);
        let medium = Overlay::over(file).map_err(|error| failed(error.into()))?;
        if medium.is_empty().map_err(|error| failed(error.into()))? {
            // redb would make a new store of it.
            return Err(OpenError::NoRoom(file.into()));
        }
        let open = move || builder().create_with_backend(medium.clone());
        let database = open().map_err(|error| failed(error.into()))?;
        let room = shared::stored_room(&database).map_err(failed)?;
        let room = room.ok_or_else(|| OpenError::NoRoom(file.into()))?;
        let recorded = last_record(&database).map_err(failed)?;
        drop(database);
        let written = last_write(file).map_err(|error| failed(error.into()))?;
        // The file of a room that was copied has the time of that.
        let is_copied = |recorded: &Timestamp| written.since(*recorded) > RECORDED_WITHIN;
        let stopped_at = recorded.filter(is_copied).unwrap_or(written);
        // Nobody commits.
        let (now, lead_time) = (move || stopped_at, ValveSchedule::LEAD_TIME_IN_ONE_PROCESS);
        let (store, _) = Self::new(Box::new(open), Box::new(now), lead_time, room, None).map_err(failed)?;
        Ok((store, stopped_at))
    }
}

/// A room that runs writes a record each minute, unless that fails for a moment.
const RECORDED_WITHIN: Duration = Duration::from_mins(2);

/// The instant of the latest record: of a minute, of a line that ended, or of an order.
fn last_record(database: &Database) -> Result<Option<Timestamp>, TableError> {
    #[derive(Deserialize)]
    struct DatedRecord {
        at: Timestamp,
    }

    let from = database.begin_read()?;
    let mut latest = None;
    for table in [MINUTE, CLOSING, AUDIT] {
        let Some(records) = open_if_any(&from, table)? else { continue };
        if let Some((_, record)) = records.last()? {
            let DatedRecord { at } = from_json(record.value(), "record")?;
            latest = latest.max(Some(at));
        }
    }
    Ok(latest)
}

/// When the file was written last.
fn last_write(file: &Path) -> io::Result<Timestamp> {
    let written = fs::metadata(file)?.modified()?;
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// A file that is only read, and what would have been written into it.
#[derive(Clone, Debug)]
struct Overlay {
    file: Arc<FileBackend>,
    written: Arc<Mutex<OverlayPages>>,
}

#[derive(Debug)]
struct OverlayPages {
    /// How long the file would be.
    length: u64,
    /// How much of it is still the file's.
    below: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;

impl Overlay {
    fn over(file: &Path) -> Result<Self, redb::Error> {
        let file = FileBackend::new(File::open(file)?)?;
        let length = file.len()?;
        let written = OverlayPages { length, below: length, pages: BTreeMap::new() };
        Ok(Self { file: Arc::new(file), written: Arc::new(Mutex::new(written)) })
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.file.len()? == 0)
    }
}

/// What lies over each other between two offsets.
fn overlap(page: u64, offset: u64, length: usize) -> Option<(Range<usize>, Range<usize>)> {
    let (from, to) = (page.max(offset), (page + PAGE).min(offset + length as u64));
    let within = |start: u64| {
        Some(usize::try_from(from.checked_sub(start)?).ok()?..usize::try_from(to.checked_sub(start)?).ok()?)
    };
    (from < to).then(|| Some((within(page)?, within(offset)?)))?
}

impl OverlayPages {
    /// Fails if so many bytes from `offset` on reach beyond the end.
    fn check(&self, offset: u64, length: usize) -> io::Result<()> {
        let end = offset.checked_add(length as u64);
        end.filter(|end| *end <= self.length).map(drop).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// What the file has there, and zeros beyond what is left of it.
    fn read_below(&self, file: &FileBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let kept = usize::try_from(self.below.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (below, beyond) = out.split_at_mut(kept);
        beyond.fill(0);
        if below.is_empty() { Ok(()) } else { file.read(offset, below) }
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written.lock().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        written.check(offset, out.len())?;
        written.read_below(&self.file, offset, out)?;
        let first = offset - offset % PAGE;
        for (at, page) in written.pages.range(first..offset + out.len() as u64) {
            if let Some((from, to)) = overlap(*at, offset, out.len()) {
                out[to].copy_from_slice(&page[from]);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock();
        written.check(offset, data.len())?;
        let mut at = offset - offset % PAGE;
        while let Some((to, from)) = overlap(at, offset, data.len()) {
            let mut page = if let Some(page) = written.pages.remove(&at) {
                page
            } else {
                let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
                written.read_below(&self.file, at, &mut page)?;
                page
            };
            page[to].copy_from_slice(&data[from]);
            written.pages.insert(at, page);
            at += PAGE;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut written = self.written.lock();
        (written.length, written.below) = (length, written.below.min(length));
        let beyond = length - length % PAGE;
        if let Some(page) = written.pages.get_mut(&beyond) {
            // Less than a page.
            page[(length % PAGE) as usize..].fill(0);
        }
        written.pages.retain(|at, _| *at < length);
        Ok(())
    }

    /// Nothing is to be kept.
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    // Whoever looks changes nothing, so others may look too.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Whatever is written, cut off and read: as a file in memory has it, and the file below stays.
    #[test]
    fn an_overlay_reads_what_was_written_and_changes_no_file() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let kept: Vec<u8> = (0..20_000).map(|_| rng.random()).collect();
        file.write_all(&kept).unwrap();
        let overlay = Overlay::over(file.path()).unwrap();
        let mut expected = kept.clone();
        for _ in 0..2000 {
            let offset = rng.random_range(0..expected.len());
            let length = rng.random_range(0..=(expected.len() - offset).min(9000));
            match rng.random_range(0..10) {
                0 => {
                    let length = rng.random_range(1..30_000);
                    expected.resize(length, 0);
                    overlay.set_len(length as u64).unwrap();
                }
                1..5 => {
                    let data: Vec<u8> = (0..length).map(|_| rng.random()).collect();
                    expected[offset..offset + length].copy_from_slice(&data);
                    overlay.write(offset as u64, &data).unwrap();
                }
                _ => {
                    let mut read = vec![1; length];
                    overlay.read(offset as u64, &mut read).unwrap();
                    assert_eq!(read, expected[offset..offset + length]);
                }
            }
            assert_eq!(overlay.len().unwrap(), expected.len() as u64);
        }
        assert!(overlay.read(expected.len() as u64, &mut [0]).is_err(), "beyond the end");
        assert_eq!(fs::read(file.path()).unwrap(), kept);
    }
}
