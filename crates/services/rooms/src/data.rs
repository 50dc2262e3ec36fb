//! Where rooms on this machine keep their data.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use control::SocketRoom;
use document::Refusal;
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
        refuse_tilde(given)?;
        return Ok(given.clone());
    }
    let data = all_rooms()
        .context("could not find your data directory: set HOME, or choose a directory with --data DIR")?;
    Ok(data.join(name.as_str()))
}

/// A shell replaces it in `--data ~/room`, but nobody does in `--data=~/room` or in a file of flags.
fn refuse_tilde(given: &Path) -> Result<(), Refusal> {
    let Ok(below) = given.strip_prefix("~") else { return Ok(()) };
    let home = env::var_os("HOME").map_or_else(|| "/home/you".into(), PathBuf::from);
    let called = format!("\"{}\" would be a folder called ~", given.display());
    Err(Refusal::new(called, format!("write the whole path, such as {}", home.join(below).display())))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_is_begun_in_a_folder_called_tilde() {
        let name = default_name().unwrap();
        for (given, below) in [("~/room", "/room"), ("~", "/")] {
            let error = directory(Some(&given.into()), &name).unwrap_err();
            assert_eq!(error.to_string(), format!("\"{given}\" would be a folder called ~"));
            let advice = error.downcast::<Refusal>().unwrap().advice.unwrap();
            assert!(
                advice.starts_with("write the whole path, such as /") && advice.ends_with(below),
                "{advice}"
            );
        }
        for meant in ["./~/room", "/srv/~", "~room", "room"] {
            assert_eq!(directory(Some(&meant.into()), &name).unwrap(), Path::new(meant));
        }
    }
}
