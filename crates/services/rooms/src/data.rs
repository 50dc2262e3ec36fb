//! Where rooms on this machine keep their data.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use control::SocketRoom;
use embedded::EmbeddedStore;
use waitroom::RoomId;

/// The default name of a room on this machine.
const DEMONSTRATION: &str = "demo";

/// The name of a room on this machine, unless another is given.
pub fn default_name() -> Result<RoomId> {
    Ok(DEMONSTRATION.parse()?)
}

/// The directory of a local room's data: the given one, or one in the user's data directory.
pub fn directory(given: Option<&PathBuf>, name: &RoomId) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let data = all_rooms()
        .context("could not find your data directory: set HOME, or choose a directory with --data DIR")?;
    Ok(data.join(name.as_str()))
}

/// The rooms that run in the user's data directory, in alphabetical order. Rooms with a directory of their own
/// (`--data`) are not found.
pub fn running() -> Vec<RoomId> {
    named(SocketRoom::certainly_runs_in)
}

/// The rooms in the user's data directory, running or not.
pub fn rooms() -> Vec<RoomId> {
    named(EmbeddedStore::is_in)
}

fn named(is_wanted: impl Fn(&Path) -> bool) -> Vec<RoomId> {
    let directories = all_rooms().and_then(|data| fs::read_dir(data).ok()).into_iter().flatten().flatten();
    let wanted = directories.filter(|directory| is_wanted(&directory.path()));
    let mut names: Vec<RoomId> =
        wanted.filter_map(|directory| directory.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    names
}

fn all_rooms() -> Option<PathBuf> {
    of_this_user("XDG_DATA_HOME", ".local/share")
}

/// Our folder in the one that this variable names, or in its usual place below `HOME`.
pub(crate) fn of_this_user(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    Some(absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)))?.join("beekeeper"))
}
