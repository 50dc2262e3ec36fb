use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use waitroom::RoomId;

/// The directory of a local room's data: the given one, or one in the user's data directory.
pub(crate) fn directory(given: Option<&PathBuf>, name: &RoomId) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let absolute =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data =
        data.context("could not find your data directory: set HOME, or choose a directory with --data DIR")?;
    Ok(data.join("beekeeper").join(name.as_str()))
}
