//! A disk that keeps what was synced and may lose the rest.

use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rand::Rng;
use rand::RngExt;
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
    bytes: Vec<u8>,
    /// Changes since the last sync, in order.
    unsynced: Vec<Unsynced>,
    full: bool,
    /// Whether the next sync succeeds and says that it failed.
    loses_answer: bool,
    /// How many processes were killed. A killed process must not write, not even in its destructors.
    killed: u64,
}

#[derive(Debug)]
enum Unsynced {
    Write {
        offset: usize,
        new: Vec<u8>,
        old: Vec<u8>,
    },
    /// The file's length was changed. This keeps the length before, and the bytes that a shorter length cut off.
    Length {
        from: usize,
        cut: Vec<u8>,
    },
}

impl SimDisk {
    /// A disk writes a sector completely or not at all.
    const SECTOR: usize = 512;

    /// Opens the disk for a new process.
    pub fn open(&self) -> OpenDisk {
        OpenDisk { disk: self.clone(), process: self.0.lock().killed }
    }

    /// From now on every access by the running process fails.
    pub fn kill(&self) {
        self.0.lock().killed += 1;
    }

    /// Simulates a power cut. Any part of the unsynced changes may have reached the disk, in any order.
    pub fn lose_power(&self, rng: &mut impl Rng) {
        let mut disk = self.0.lock();
        let unsynced = std::mem::take(&mut disk.unsynced);
        let full_length = disk.bytes.len();
        for change in unsynced.iter().rev() {
            match change {
                Unsynced::Write { offset, old, .. } => disk.put(*offset, old),
                Unsynced::Length { from, cut } => {
                    disk.bytes.resize(*from, 0);
                    let kept = from - cut.len();
                    disk.put(kept, cut);
                }
            }
        }
        // The file may have kept its new length, with any part of the writes.
        if full_length > disk.bytes.len() && rng.random() {
            disk.bytes.resize(full_length, 0);
        }
        for change in &unsynced {
            let Unsynced::Write { offset, new, .. } = change else { continue };
            for (sector, bytes) in new.chunks(Self::SECTOR).enumerate() {
                let at = offset + sector * Self::SECTOR;
                if at + bytes.len() <= disk.bytes.len() && rng.random() {
                    disk.put(at, bytes);
                }
            }
        }
    }

    /// What is synced next is on the disk, although whoever syncs it gets an error.
    pub fn lose_next_answer(&self) {
        self.0.lock().loses_answer = true;
    }

    /// Sets whether writes fail because the disk is full.
    pub fn set_full(&self, full: bool) {
        self.0.lock().full = full;
    }
}

impl DiskState {
    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn check_space(&self) -> io::Result<()> {
        if self.full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
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
        let cut = disk.bytes.get(to..).unwrap_or_default().to_vec();
        disk.bytes.resize(to, 0);
        disk.unsynced.push(Unsynced::Length { from, cut });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.lock()?;
        disk.check_space()?;
        disk.unsynced.clear();
        if std::mem::take(&mut disk.loses_answer) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut disk = self.lock()?;
        disk.check_space()?;
        let range = range(offset, data.len(), &disk.bytes)?;
        let old = disk.bytes[range.clone()].to_vec();
        disk.put(range.start, data);
        disk.unsynced.push(Unsynced::Write { offset: range.start, new: data.to_vec(), old });
        Ok(())
    }
}
