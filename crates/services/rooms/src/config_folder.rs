//! The operator's configuration files, one for each room.
//!
//! A file is replaced in one step, so an interrupted command leaves either the old file or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result};
use config::RoomConfig;
use waitroom::RoomId;

use crate::config_file;
use crate::data::of_this_user;

/// No configuration file has this name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no room {name}: {} does not exist", .path.display())]
pub struct UnknownRoom {
    pub name: RoomId,
    path: PathBuf,
    /// The rooms that there are, for a sentence.
    others: Option<String>,
}

impl UnknownRoom {
    pub fn advice(&self) -> String {
        let name = &self.name;
        match &self.others {
            Some(names) => {
                format!("your rooms are {names}; to configure another: beekeeper init {name}")
            }
            None => format!("configure it with: beekeeper init {name}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ConfigFolder(PathBuf);

impl ConfigFolder {
    /// In `$XDG_CONFIG_HOME/beekeeper`, usually `~/.config/beekeeper`.
    pub fn of_this_user() -> Result<Self> {
        let config = of_this_user("XDG_CONFIG_HOME", ".config");
        let config = config.context("could not find your configuration directory: set HOME")?;
        Ok(Self(config))
    }

    pub fn path(&self, name: &RoomId) -> PathBuf {
        self.0.join(format!("{name}.toml"))
    }

    /// In alphabetical order.
    pub fn names(&self) -> Result<Vec<RoomId>> {
        let files = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.with_context(|| format!("could not list {}", self.0.display()))?,
        };
        let mut names = Vec::new();
        for file in files {
            let path = file?.path();
            let is_config = path.extension().is_some_and(|extension| extension == "toml");
            let name = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
            names.extend(name.filter(|_| is_config));
        }
        names.sort();
        Ok(names)
    }

    pub fn find(&self, name: &RoomId) -> Result<Option<RoomConfig>> {
        let path = self.path(name);
        let Some(text) = read(&path)? else { return Ok(None) };
        let config = config_file::read(name, &text);
        config.map(Some).with_context(|| format!("{} is invalid", path.display()))
    }

    /// The room that a command names.
    pub fn load(&self, name: &RoomId) -> Result<RoomConfig> {
        if let Some(config) = self.find(name)? {
            return Ok(config);
        }
        let (path, others) = (self.path(name), self.listed()?);
        Err(UnknownRoom { name: name.clone(), path, others }.into())
    }

    /// The names, for a sentence; none if there are no rooms.
    pub fn listed(&self) -> Result<Option<String>> {
        let names = self.names()?;
        let names: Vec<_> = names.iter().map(RoomId::as_str).collect();
        Ok((!names.is_empty()).then(|| names.join(", ")))
    }

    /// Writes the room's file, and returns its path. A new one says what only a room on AWS has, if it is `for_aws`.
    pub fn save(&self, config: &RoomConfig, for_aws: bool) -> Result<PathBuf> {
        let path = self.path(&config.room);
        let text = config_file::updated(config, read(&path)?.as_deref(), for_aws)?;
        let attempt = || format!("could not write {}", path.display());
        // A file that the next command would refuse is never written.
        config_file::read(&config.room, &text).with_context(attempt)?;
        fs::create_dir_all(&self.0).with_context(attempt)?;
        replace(&path, &text).with_context(attempt)?;
        Ok(path)
    }

    /// After nothing of a room is left on AWS. The file is read again, because somebody may have edited it during the removal.
    pub fn forget_account(&self, name: &RoomId) -> Result<()> {
        let Some(config) = self.find(name)? else { return Ok(()) };
        self.save(&RoomConfig { account: None, ..config }, true).map(drop)
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link to a file somewhere else stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // In the same directory, because a rename is atomic only within a file system; and of this process alone.
    let new = path.with_extension(format!("{}.new", process::id()));
    let written = write_like(&path, &new, text).and_then(|()| fs::rename(&new, path));
    written.inspect_err(|_| drop(fs::remove_file(new)))
}

/// The new file has the mode of the old one, if it has its owner too: somebody else's file of mode 0600 would be lost to them.
fn write_like(old: &Path, new: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(new)?;
    if let Ok(old) = fs::metadata(old) {
        let is_given = fchown(&file, Some(old.uid()), Some(old.gid())).is_ok();
        if is_given || file.metadata()?.uid() == old.uid() {
            // Some disks have no modes.
            drop(file.set_permissions(old.permissions()));
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
