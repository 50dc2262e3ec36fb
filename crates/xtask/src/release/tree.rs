//! Files for an archive. The same files give the same bytes, wherever and whenever they are packed.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// In the order of their paths, which are relative, with `/` between the folders.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree(BTreeMap<String, PackedFile>);

#[derive(Clone, Debug)]
struct PackedFile {
    content: Vec<u8>,
    mode: u32,
}

impl Tree {
    pub(super) fn add(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { content: content.into(), mode: 0o644 });
    }

    pub(super) fn add_program(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), PackedFile { content: content.into(), mode: 0o755 });
    }

    /// Adds everything in a folder, below this path.
    pub(super) fn add_folder(&mut self, path: &str, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = format!("{path}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.add_folder(&name, &entry.path())?;
            } else {
                self.add(name, read(&entry.path())?);
            }
        }
        Ok(())
    }

    /// Writes the files below a folder, which is emptied before.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        empty(folder)?;
        for (path, file) in &self.0 {
            let path = folder.join(path);
            let attempt = || format!("could not write {}", path.display());
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).with_context(attempt)?;
            }
            fs::write(&path, &file.content).with_context(attempt)?;
            fs::set_permissions(&path, Permissions::from_mode(file.mode)).with_context(attempt)?;
        }
        Ok(())
    }

    /// A tar archive in which everything lies below `top`, owned by root, of this time.
    pub(super) fn tar(&self, top: &str, time: u64) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, file) in &self.0 {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_size(file.content.len() as u64);
            header.set_mode(file.mode);
            header.set_mtime(time);
            header.set_uid(0);
            header.set_gid(0);
            tar.append_data(&mut header, format!("{top}{path}"), file.content.as_slice())
                .with_context(|| format!("could not pack {path}"))?;
        }
        Ok(tar.into_inner()?)
    }
}

/// Compresses without the name and the time that gzip would note.
pub(super) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().read(content, Compression::best());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut gzip, &mut packed)?;
    Ok(packed)
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("could not read {}", path.display()))
}

/// Makes the folder, and removes what was in it.
pub(super) fn empty(folder: &Path) -> Result<()> {
    let attempt = || format!("could not empty {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(attempt)?;
    }
    fs::create_dir_all(folder).with_context(attempt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_archive_whatever_the_order() {
        let mut one = Tree::default();
        one.add("docs/a.md", "a");
        one.add_program("beekeeper", "program");
        let mut other = Tree::default();
        other.add_program("beekeeper", "program");
        other.add("docs/a.md", "a");
        let packed = |tree: &Tree| gzip(&tree.tar("beekeeper-1/", 1_700_000_000).unwrap()).unwrap();
        assert_eq!(packed(&one), packed(&other));
        other.add("docs/a.md", "b");
        assert_ne!(packed(&one), packed(&other));
    }

    #[test]
    fn a_program_can_be_run_and_nothing_says_who_packed_it() {
        let mut tree = Tree::default();
        tree.add_program("beekeeper", "program");
        let packed = tree.tar("beekeeper-1/", 1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(packed.as_slice());
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        let header = entry.header();
        assert_eq!(entry.path().unwrap().to_str(), Some("beekeeper-1/beekeeper"));
        assert_eq!((header.mode().unwrap(), header.mtime().unwrap()), (0o755, 1_700_000_000));
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
    }
}
