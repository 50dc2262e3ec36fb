//! A disk that keeps what was synced and may lose the rest.

use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use redb::StorageBackend;

/// The disk. It outlives the simulated processes.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<DiskState>>);

/// The disk, opened by one process. Every access fails after that process was killed.
#[derive(Clone, Debug)]
pub struct OpenDisk {
    disk: SimDisk,
    process: u64,
}

#[derive(Debug, Default)]
struct DiskState {
    /// What is read: the system's cache, which may have what the disk hasn't.
    bytes: Vec<u8>,
    /// What is on the disk.
    stored: Vec<u8>,
    /// Changes since the last sync, in order.
    unsynced: Vec<Unsynced>,
    full: bool,
    /// Whether the next sync succeeds and says that it failed.
    loses_answer: bool,
    /// By which the next sync fails, and forgets what it didn't write.
    drops: Option<StdRng>,
    /// How many processes were killed. A killed process must not write, not even in its destructors.
    killed: u64,
}

#[derive(Debug)]
enum Unsynced {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl SimDisk {
    /// A disk writes a sector completely or not at all.
    const SECTOR: usize = 512;

    /// Opens the disk for the running process, without what the system has cached of it.
    pub fn open(&self) -> OpenDisk {
        let mut disk = self.0.lock();
        disk.forget_cached();
        OpenDisk { disk: self.clone(), process: disk.killed }
    }

    /// From now on every access by the running process fails.
    pub fn kill(&self) {
        self.0.lock().killed += 1;
    }

    /// Simulates a power cut. Any part of the unsynced changes may have reached the disk, in any order.
    pub fn lose_power(&self, rng: &mut impl Rng) {
        let mut disk = self.0.lock();
        // The file may have kept its new length, with any part of the writes.
        let length = disk.bytes.len();
        if length > disk.stored.len() && rng.random() {
            disk.stored.resize(length, 0);
        }
        disk.store_parts(rng);
        disk.forget_cached();
    }

    /// What is synced next is on the disk, although whoever syncs it gets an error.
    pub fn lose_next_answer(&self) {
        self.0.lock().loses_answer = true;
    }

    /// The next sync fails, and any part of the changes is on the disk. The rest is read all the same, and no later sync writes it, as
    /// on ext4 and XFS under Linux.
    pub fn drop_next_sync(&self, rng: &mut impl Rng) {
        self.0.lock().drops = Some(StdRng::seed_from_u64(rng.random()));
    }

    /// From now on the disk has nothing that anybody wrote.
    pub fn ruin(&self) {
        self.0.lock().stored.fill(0xff);
    }

    /// Sets whether writes fail because the disk is full.
    pub fn set_full(&self, full: bool) {
        self.0.lock().full = full;
    }
}

impl DiskState {
    /// Stores any of the sectors that were written since the last sync, as far as the disk's file is long enough.
    fn store_parts(&mut self, rng: &mut impl Rng) {
        for change in std::mem::take(&mut self.unsynced) {
            let Unsynced::Write { offset, bytes } = change else { continue };
            for (sector, bytes) in bytes.chunks(SimDisk::SECTOR).enumerate() {
                let at = offset + sector * SimDisk::SECTOR;
                if at + bytes.len() <= self.stored.len() && rng.random() {
                    put(&mut self.stored, at, bytes);
                }
            }
        }
    }

    /// Reads the disk again. What is still to be synced stays in the cache.
    fn forget_cached(&mut self) {
        self.bytes.clone_from(&self.stored);
        self.unsynced.iter().for_each(|change| change.apply(&mut self.bytes));
    }

    fn check_space(&self) -> io::Result<()> {
        if self.full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Unsynced {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(to, *offset, bytes),
            Self::Length(length) => to.resize(*length, 0),
        }
    }
}

fn put(to: &mut [u8], offset: usize, bytes: &[u8]) {
    to[offset..offset + bytes.len()].copy_from_slice(bytes);
}

fn range(offset: u64, length: usize, within: &[u8]) -> io::Result<std::ops::Range<usize>> {
    let start = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    let end = start.checked_add(length).filter(|end| *end <= within.len());
    Ok(start..end.ok_or(io::ErrorKind::UnexpectedEof)?)
}

impl OpenDisk {
    fn lock(&self) -> io::Result<MutexGuard<'_, DiskState>> {
        let disk = self.disk.0.lock();
        if disk.killed == self.process { Ok(disk) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

impl StorageBackend for OpenDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock()?.bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.lock()?;
        let range = range(offset, out.len(), &disk.bytes)?;
        out.copy_from_slice(&disk.bytes[range]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.lock()?;
        let to = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        let from = disk.bytes.len();
        if to > from {
            disk.check_space()?;
        }
        disk.bytes.resize(to, 0);
        disk.unsynced.push(Unsynced::Length(to));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let disk = &mut *self.lock()?;
        disk.check_space()?;
        if let Some(mut rng) = disk.drops.take() {
            disk.stored.resize(disk.bytes.len(), 0);
            disk.store_parts(&mut rng);
            return Err(io::Error::other("the disk failed"));
        }
        disk.unsynced.drain(..).for_each(|change| change.apply(&mut disk.stored));
        if std::mem::take(&mut disk.loses_answer) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut disk = self.lock()?;
        disk.check_space()?;
        let range = range(offset, data.len(), &disk.bytes)?;
        put(&mut disk.bytes, range.start, data);
        disk.unsynced.push(Unsynced::Write { offset: range.start, bytes: data.to_vec() });
        Ok(())
    }
}
