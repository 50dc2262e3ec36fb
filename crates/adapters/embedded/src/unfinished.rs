//! Files that aren't finished yet: a backup that is written, or put back. What a process that was killed left of them is removed when
//! the room starts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{BackedUp, BackupError, EmbeddedStore};

/// How the name of such a file begins. No operator would name a file like that.
const UNFINISHED: &str = ".unfinished-backup-";

impl EmbeddedStore {
    /// A backup for somebody else to take away. Blocks until it is on disk.
    pub fn back_up_for_another(&self, directory: &Path) -> Result<(BackedUp, Unfinished), BackupError> {
        let file = Unfinished::of(directory);
        Ok((self.back_up(file.path())?, file))
    }

    /// Removes what a room or a command that was killed left of such files.
    pub fn remove_unfinished(directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Removed when this is dropped, if it is still there.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// One with a new name.
    pub(crate) fn of(directory: &Path) -> Self {
        Self(directory.join(format!("{UNFINISHED}{:016x}", rand::random::<u64>())))
    }

    /// The one with this name.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}
