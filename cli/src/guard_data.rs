//! What a guard keeps on disk: its session key, and its sessions.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use guard::{FileSessions, SessionKey};

pub(crate) struct GuardData {
    pub(crate) key: SessionKey,
    pub(crate) sessions: FileSessions,
    /// Locked until it is dropped.
    pub(crate) lock: File,
}

impl GuardData {
    const KEY: &str = "session.key";
    const SESSIONS: &str = "sessions";

    /// Reads both, or creates them. Only one process may use a directory, because each has its own view of the sessions.
    pub(crate) fn open(directory: &Path, now: u64) -> Result<Self> {
        fs::create_dir_all(directory).with_context(|| format!("could not create {}", directory.display()))?;
        let path = directory.join(Self::KEY);
        let named = || path.display();
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
        let mut file = opened.with_context(|| format!("could not open {}", named()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another guard uses {}; give this one another directory with --data",
                    directory.display()
                )
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("could not lock {}", named()));
            }
        }
        let key = Self::key(&mut file).with_context(|| {
            format!("could not use the session key in {}; without the file, a new one is made and every session ends", named())
        })?;
        let path = directory.join(Self::SESSIONS);
        let sessions = FileSessions::open(&path, now);
        let sessions =
            sessions.with_context(|| format!("could not open the sessions in {}", path.display()))?;
        Ok(Self { key, sessions, lock: file })
    }

    fn key(file: &mut File) -> Result<SessionKey> {
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if text.is_empty() {
            text = SessionKey::generate()?;
            file.write_all(format!("{text}\n").as_bytes())?;
            file.sync_all()?;
        }
        Ok(SessionKey::new(&text)?)
    }
}
