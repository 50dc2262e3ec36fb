//! What a guard keeps on disk: its session key, its sessions, and the name by which a room knows that they are the same sessions.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use guard::{FileSessions, SessionKey, new_guard_name};
use pass::GuardName;

use crate::exit::{Exit, Failure};

pub(crate) struct GuardData {
    pub(crate) key: SessionKey,
    pub(crate) sessions: FileSessions,
    pub(crate) name: GuardName,
    /// Locked until it is dropped.
    pub(crate) lock: File,
}

impl GuardData {
    const KEY: &str = "session.key";
    const SESSIONS: &str = "sessions";
    const NAME: &str = "name";

    /// Reads all of it, or creates them. Only one process may use a directory, because each has its own view of the sessions.
    pub(crate) fn open(directory: &Path, now: u64) -> Result<Self> {
        Self::read(directory, now).map_err(|error| with_owner(error, directory))
    }

    fn read(directory: &Path, now: u64) -> Result<Self> {
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
        // Before a new file of sessions is made, or a crash in between would leave it with the name of the one that is lost.
        let name = Self::name(directory, &path)?;
        let sessions = FileSessions::open(&path, now);
        let sessions =
            sessions.with_context(|| format!("could not open the sessions in {}", path.display()))?;
        Ok(Self { key, sessions, name, lock: file })
    }

    /// The name that is kept. A new one if the sessions that it was for are gone, or if a power cut has left something else.
    fn name(directory: &Path, sessions: &Path) -> Result<GuardName> {
        let path = directory.join(Self::NAME);
        let kept = match fs::read(&path) {
            Ok(bytes) => {
                String::from_utf8(bytes).ok().and_then(|text| text.trim().to_owned().try_into().ok())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("could not read the guard's name in {}", path.display()));
            }
        };
        if let Some(name) = kept
            && sessions.try_exists().with_context(|| format!("could not look for {}", sessions.display()))?
        {
            return Ok(name);
        }
        let name = new_guard_name().context("could not make a name for the guard")?;
        let write = || -> io::Result<()> {
            let beside = path.with_extension("new");
            let mut file = File::create(&beside)?;
            writeln!(file, "{}", name.as_str())?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().with_context(|| format!("could not write the guard's name into {}", path.display()))?;
        Ok(name)
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

/// Somebody who once started the guard as root left files that the service may not open.
fn with_owner(error: anyhow::Error, directory: &Path) -> anyhow::Error {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if !causes.into_iter().any(|cause| cause.kind() == io::ErrorKind::PermissionDenied) {
        return error;
    }
    let directory = directory.display();
    let advice = format!(
        "it belongs to another user than the guard, perhaps to root; give it back: sudo chown --recursive --reference={directory} \
         {directory}"
    );
    Failure::new(Exit::Failed, format!("{error:#}")).advising(advice).into()
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

    #[test]
    fn files_of_another_user_are_told_with_the_way_to_give_them_back() {
        let told = |kind: io::ErrorKind| {
            let error = anyhow::Error::new(io::Error::from(kind))
                .context("could not open the sessions in /data/sessions");
            with_owner(error, Path::new("/data"))
        };
        let denied = told(io::ErrorKind::PermissionDenied);
        let failure = denied.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.to_string(), "could not open the sessions in /data/sessions: permission denied");
        assert!(
            failure.advice.as_ref().unwrap().contains("chown --recursive --reference=/data /data"),
            "{failure:?}"
        );
        assert!(told(io::ErrorKind::StorageFull).downcast_ref::<Failure>().is_none());
    }
}
