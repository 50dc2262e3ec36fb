//! What a guard keeps on disk: its session key, its sessions, and the name by which a room knows that they are the same sessions.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pass::GuardName;

use crate::{FileSessions, NoRandomness, SessionKey, new_guard_name};

#[derive(Debug)]
pub struct GuardData {
    pub key: SessionKey,
    pub sessions: FileSessions,
    pub name: GuardName,
    /// Locked until it is dropped.
    pub lock: File,
}

/// Why a guard cannot use a directory.
#[derive(Debug, thiserror::Error)]
pub enum GuardDataError {
    #[error("another guard uses {}; give this one another directory with --data", .0.display())]
    InUse(PathBuf),
    #[error("could not {attempt} {}", path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("could not use the session key in {}; without the file, a new one is made and every session ends", .0.display())]
    Key(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("could not make a name for the guard")]
    Name(#[from] NoRandomness),
}

impl GuardData {
    const KEY: &str = "session.key";
    const SESSIONS: &str = "sessions";
    const NAME: &str = "name";

    /// Whether a guard has used this directory before.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(Self::KEY).metadata().is_ok_and(|key| key.len() > 0)
    }

    /// Reads all of it, or creates them. Only one process may use a directory, because each has its own view of the sessions.
    pub fn open(directory: &Path, now: u64) -> Result<Self, GuardDataError> {
        fs::create_dir_all(directory).map_err(failed("create", directory))?;
        let path = directory.join(Self::KEY);
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
        let mut lock = opened.map_err(failed("open", &path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => GuardDataError::InUse(directory.into()),
            TryLockError::Error(error) => failed("lock", &path)(error),
        })?;
        let key = Self::key(&mut lock).map_err(|error| GuardDataError::Key(path, error))?;
        let path = directory.join(Self::SESSIONS);
        // Before a new file of sessions is made, or a crash in between would leave it with the name of the one that is lost.
        let name = Self::name(directory, &path)?;
        let sessions = FileSessions::open(&path, now).map_err(failed("open the sessions in", &path))?;
        Ok(Self { key, sessions, name, lock })
    }

    /// The name that is kept. A new one if the sessions that it was for are gone, or if a power cut has left something else.
    fn name(directory: &Path, sessions: &Path) -> Result<GuardName, GuardDataError> {
        let path = directory.join(Self::NAME);
        let kept = match fs::read(&path) {
            Ok(bytes) => {
                String::from_utf8(bytes).ok().and_then(|text| text.trim().to_owned().try_into().ok())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read the guard's name in", &path)(error)),
        };
        if let Some(name) = kept
            && sessions.try_exists().map_err(failed("look for", sessions))?
        {
            return Ok(name);
        }
        let name = new_guard_name()?;
        let write = || -> io::Result<()> {
            let beside = path.with_extension("new");
            let mut file = File::create(&beside)?;
            writeln!(file, "{}", name.as_str())?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(failed("write the guard's name into", &path))?;
        Ok(name)
    }

    fn key(file: &mut File) -> Result<SessionKey, Box<dyn std::error::Error + Send + Sync>> {
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

fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GuardDataError {
    let path = path.into();
    move |cause| GuardDataError::File { attempt, path, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_another_one_once_its_sessions_are_lost() {
        let folder = tempfile::tempdir().unwrap();
        let named = || GuardData::open(folder.path(), 1_800_000_000).unwrap().name;
        let first = named();
        assert_eq!(named(), first);
        fs::remove_file(folder.path().join("sessions")).unwrap();
        let second = named();
        assert_ne!(second, first);
        assert_eq!(named(), second);
        for torn in ["", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n", "half-a-name"] {
            fs::write(folder.path().join("name"), torn).unwrap();
            assert_ne!(named(), second, "{torn:?}");
        }
        let third = named();
        fs::remove_file(folder.path().join("name")).unwrap();
        assert_ne!(named(), third, "as a guard of an earlier version left its directory");
    }
}
