//! A checksum beside each file, and all of them in one.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::tree::read;

const ALL: &str = "SHA256SUMS";

/// As `sha256sum --check` reads it.
pub(super) fn write_beside_each(folder: &Path) -> Result<()> {
    let mut all = String::new();
    for name in names(folder)? {
        let sum = format!("{}  {name}\n", of(&folder.join(&name))?);
        // Writing to a string cannot fail.
        let _ = write!(all, "{sum}");
        fs::write(folder.join(format!("{name}.sha256")), sum)?;
    }
    fs::write(folder.join(ALL), all)?;
    Ok(())
}

/// Of everything in the folder that is no checksum itself, in alphabetical order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != ALL && !name.ends_with(".sha256") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

pub(super) fn of(file: &Path) -> Result<String> {
    let digest = Sha256::digest(read(file)?);
    Ok(digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}
