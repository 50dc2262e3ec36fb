//! Installing something once, however many test processes ask for it at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The folder `tools/<name>`, filled by `install` unless it holds what `wanted` says already.
///
/// What was installed is written down last, so an installation that was interrupted, or that is not `intact` any
/// more, is done again from nothing.
pub(crate) fn once(
    name: &str,
    wanted: &str,
    intact: impl Fn(&Path) -> bool,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = workspace::tools().join(name);
    let marker = folder.join("installed.txt");
    let is_there = || fs::read_to_string(&marker).is_ok_and(|found| found == wanted) && intact(&folder);
    if is_there() {
        return Ok(folder);
    }
    let _lock = lock(&workspace::tools().join(format!("{name}.lock")))?;
    if is_there() {
        return Ok(folder);
    }
    eprintln!("installing {name} in {} (once)", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    install(&folder).with_context(|| format!("could not install {name}"))?;
    fs::write(&marker, wanted).with_context(|| format!("could not write {}", marker.display()))?;
    Ok(folder)
}

/// Waits for whoever installs the same at this moment. The lock ends with the file, and with the process.
fn lock(path: &Path) -> Result<File> {
    let attempt = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(path)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    };
    attempt().with_context(|| format!("could not lock {}", path.display()))
}

/// Runs a command to its end; what it printed is in the error. `get` says how to come by a missing program.
pub(crate) fn run(command: &mut Command, get: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("could not start {program}: {get}"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{command:?} failed, {}\n{}", output.status, String::from_utf8_lossy(&said).trim());
    }
    Ok(())
}
