//! Installing something once, however many test processes ask for it at the same time.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Has the folder filled by `install`, unless it holds what `wanted` says already.
///
/// What was installed is written down last, so an installation that was interrupted, or that is not `intact` any
/// more, is done again from nothing.
pub(crate) fn once(
    folder: &Path,
    wanted: &str,
    intact: impl Fn(&Path) -> bool,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let marker = folder.join("installed.txt");
    let is_there = || fs::read_to_string(&marker).is_ok_and(|found| found == wanted) && intact(folder);
    if is_there() {
        return Ok(());
    }
    let _lock = lock(&folder.with_added_extension("lock"))?;
    if is_there() {
        return Ok(());
    }
    eprintln!("installing {} (once)", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("could not remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    install(folder).with_context(|| format!("could not install {}", folder.display()))?;
    fs::write(&marker, wanted).with_context(|| format!("could not write {}", marker.display()))?;
    Ok(())
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use anyhow::anyhow;

    use super::*;

    #[test]
    fn many_ask_and_one_installs() {
        let tools = tempfile::tempdir().unwrap();
        let installed = AtomicUsize::new(0);
        let ask = || {
            once(
                &tools.path().join("tool"),
                "1.0",
                |_| true,
                |folder| {
                    fs::write(folder.join("tool"), "")?;
                    installed.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                },
            )
        };
        thread::scope(|scope| {
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            for thread in asked {
                thread.join().unwrap().unwrap();
            }
        });
        assert_eq!(installed.into_inner(), 1);
    }

    #[test]
    fn what_was_interrupted_or_damaged_or_is_another_version_is_installed_from_nothing() {
        let tools = tempfile::tempdir().unwrap();
        let tool = tools.path().join("tool");
        let install = |version: &str| {
            once(
                &tool,
                version,
                |folder| folder.join("program").exists(),
                |folder| {
                    assert_eq!(fs::read_dir(folder)?.count(), 0);
                    Ok(fs::write(folder.join("program"), version)?)
                },
            )
        };
        let interrupted = once(
            &tool,
            "1.0",
            |_| true,
            |folder| {
                fs::write(folder.join("half"), "")?;
                Err(anyhow!("the power failed"))
            },
        );
        assert!(interrupted.is_err());
        install("1.0").unwrap();
        fs::remove_file(tool.join("program")).unwrap();
        install("1.0").unwrap();
        install("2.0").unwrap();
        assert_eq!(fs::read_to_string(tool.join("program")).unwrap(), "2.0");
    }
}
