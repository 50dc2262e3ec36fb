use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::install;

/// Downloads a package of this release of Debian or Ubuntu, and unpacks it into the folder. That needs no root, and runs
/// nothing of the package. `get` says what to do if it fails.
pub(crate) fn unpack(package: &str, folder: &Path, get: &str) -> Result<()> {
    let mut download = Command::new("apt-get");
    install::run(download.args(["download", package]).current_dir(folder), get)?;
    let files = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let file = file.with_context(|| format!("apt-get left no package in {}", folder.display()))?;
    install::run(Command::new("dpkg-deb").arg("--extract").arg(file).arg(folder), get)
}
