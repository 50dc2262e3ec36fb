//! Puts a backup in the place of a stopped room's file.
//!
//! The new file is written and synced beside the old one. Then the old one gets a second name, under which it is kept, and the new
//! one takes its place in one step. So whenever this is killed, the room has the old file or the new one, and both are whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use waitroom::Timestamp;

use crate::unfinished::Unfinished;
use crate::{BackupError, EmbeddedStore, Restored};

/// What is where the backup goes.
#[derive(Clone, Copy, Debug)]
pub enum ReplacedFile<'a> {
    Nothing,
    /// Nobody knows whom it knows.
    Unreadable,
    Room(&'a EmbeddedStore),
}

/// Who is in the file that was put back, and where the other one is kept.
#[derive(Debug)]
pub struct PutBack {
    pub restored: Restored,
    pub kept: Option<PathBuf>,
}

/// Why a backup was not put back. What was there is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PutBackError {
    #[error("another restore is under way in {}", .0.display())]
    UnderWay(PathBuf),
    #[error("could not use {}", .0.display())]
    Directory(PathBuf, #[source] io::Error),
    #[error(transparent)]
    NotWritten(#[from] BackupError),
    #[error("could not put the backup into {}", .0.display())]
    File(PathBuf, #[source] io::Error),
}

impl EmbeddedStore {
    /// Makes sure that nobody else puts a backup back into this directory meanwhile: of two at once, the second would replace the
    /// file of the first, on which a room may have started.
    pub fn alone_in(directory: &Path) -> Result<Option<File>, PutBackError> {
        let opened = match File::open(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| PutBackError::Directory(directory.into(), error))?,
        };
        match opened.try_lock() {
            Ok(()) => Ok(Some(opened)),
            Err(TryLockError::WouldBlock) => Err(PutBackError::UnderWay(directory.into())),
            // Some file systems lock no directories.
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Puts this store, which is a backup, into a directory in which no room runs. `now` names the file that was there, and
    /// tells how old the backup is.
    pub fn put_back(
        &self,
        replaced: ReplacedFile<'_>,
        directory: &Path,
        now: Timestamp,
    ) -> Result<PutBack, PutBackError> {
        fs::create_dir_all(directory).map_err(|error| PutBackError::Directory(directory.into(), error))?;
        let (file, unfinished) = (directory.join(Self::FILE), Unfinished::of(directory));
        let known = match replaced {
            ReplacedFile::Room(room) => Some(room),
            ReplacedFile::Nothing | ReplacedFile::Unreadable => None,
        };
        let restored = self.restore(known, unfinished.path(), now)?;
        let failed = |error| PutBackError::File(file.clone(), error);
        give(unfinished.path(), if file.exists() { &file } else { directory }).map_err(failed)?;
        let kept = if matches!(replaced, ReplacedFile::Nothing) {
            // Fails if a room was begun here meanwhile.
            fs::hard_link(unfinished.path(), &file).map_err(failed)?;
            None
        } else {
            let kept = keep(&file, directory, now).map_err(failed)?;
            sync(directory).map_err(failed)?;
            fs::rename(unfinished.path(), &file).map_err(failed)?;
            Some(kept)
        };
        sync(directory).map_err(failed)?;
        Ok(PutBack { restored, kept })
    }
}

/// Gives the file to whom the other belongs: root restores, and another user runs the room.
fn give(file: &Path, like: &Path) -> io::Result<()> {
    // They own the directory, and could have put a link to a file of somebody else in its place.
    let file =
        OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(file)?;
    let (ours, theirs) = (file.metadata()?, like.metadata()?);
    if (ours.uid(), ours.gid()) != (theirs.uid(), theirs.gid()) {
        fchown(&file, Some(theirs.uid()), Some(theirs.gid()))?;
    }
    file.sync_all()
}

/// Gives the file a second name that no other has.
fn keep(file: &Path, directory: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let now = now.to_string().replace(" UTC", "Z").replace(' ', "T").replace(':', "");
    for number in 1_u32.. {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let kept = directory.join(format!("room-before-{now}{more}.redb"));
        match fs::hard_link(file, &kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.map(|()| kept),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// After this, a power cut can't undo what was renamed.
fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_file_is_given_away_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [room, link, other] = ["room", "link", "other"].map(|name| folder.path().join(name));
        for file in [&room, &other] {
            fs::write(file, "").unwrap();
        }
        symlink(&other, &link).unwrap();
        assert!(give(&other, &room).is_ok());
        assert!(give(&link, &room).is_err());
    }
}
