//! Files that aren't finished yet: a backup that is written, or put back. What a process that was killed left of them is removed when
//! the room starts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::EmbeddedStore;

/// How the name of such a file begins. No operator would name a file like that.
const UNFINISHED: &str = ".unfinished-backup-";

impl EmbeddedStore {
    /// A new name for a file that isn't finished yet.
    pub fn unfinished(directory: &Path) -> PathBuf {
        directory.join(format!("{UNFINISHED}{:016x}", rand::random::<u64>()))
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
pub(crate) struct Unfinished(pub(crate) PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}
