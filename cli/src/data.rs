use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use waitroom::RoomId;

/// Where a local room is kept: where the person says, or under their data directory.
pub(crate) fn directory(given: Option<&PathBuf>, name: &RoomId) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let absolute =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data =
        data.context("neither XDG_DATA_HOME nor HOME is set; say where the room is kept with --data DIR")?;
    Ok(data.join("beekeeper").join(name.as_str()))
}
