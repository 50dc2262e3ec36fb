//! Installs a tool once, even if many test processes need it at the same time.

use std::env;
use std::fmt::Display;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// `cargo xtask test --quick` sets this variable. A test that needs a tool and is not marked `#[ignore]` then fails.
pub const WITHOUT_TOOLS: &str = "BEEKEEPER_TEST_WITHOUT_TOOLS";

/// A download may fail.
const ATTEMPTS: u32 = 3;

/// Fills the folder with `install`, unless `wanted` is installed there already.
///
/// The marker file is written last, so an installation that was interrupted, or is no longer `intact`, starts again from an
/// empty folder.
pub(crate) fn once(
    folder: &Path,
    wanted: &str,
    intact: impl Fn(&Path) -> bool,
    install: impl Fn(&Path) -> Result<()>,
) -> Result<()> {
    refuse_without_tools(folder.display())?;
    fill(folder, wanted, intact, install)
}

/// Fails in a quick test.
pub(crate) fn refuse_without_tools(tool: impl Display) -> Result<()> {
    if env::var_os(WITHOUT_TOOLS).is_some() {
        bail!("{tool} is not for quick tests: mark this test #[ignore = \"needs …\"]");
    }
    Ok(())
}

fn fill(
    folder: &Path,
    wanted: &str,
    intact: impl Fn(&Path) -> bool,
    install: impl Fn(&Path) -> Result<()>,
) -> Result<()> {
    let marker = folder.join("installed.txt");
    let is_installed = || fs::read_to_string(&marker).is_ok_and(|found| found == wanted) && intact(folder);
    if is_installed() {
        return Ok(());
    }
    let _lock = lock(&folder.with_added_extension("lock"))?;
    if is_installed() {
        return Ok(());
    }
    eprintln!("installing {} (once)", folder.display());
    for attempt in 1.. {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("could not remove {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
        match install(folder) {
            Ok(()) => break,
            Err(error) if attempt < ATTEMPTS => eprintln!("{error:#}; trying again"),
            Err(error) => return Err(error.context(format!("could not install {}", folder.display()))),
        }
    }
    fs::write(&marker, wanted).with_context(|| format!("could not write {}", marker.display()))?;
    Ok(())
}

/// Waits while another process installs the same. The lock ends when the file is closed, or with the process.
pub(crate) fn lock(path: &Path) -> Result<File> {
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

/// Runs a command to its end. The error has its output. `get` says how to get a missing program.
pub(crate) fn run(command: &mut Command, get: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("could not start {program}: {get}"))?;
    if !output.status.success() {
        let printed = [output.stdout, output.stderr].concat();
        bail!("{command:?} failed, {}\n{}", output.status, String::from_utf8_lossy(&printed).trim());
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
    fn of_many_processes_one_installs() {
        let tools = tempfile::tempdir().unwrap();
        let installed = AtomicUsize::new(0);
        let ask = || {
            fill(
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
    fn an_interrupted_damaged_or_outdated_tool_is_installed_again() {
        let tools = tempfile::tempdir().unwrap();
        let tool = tools.path().join("tool");
        let install = |version: &str| {
            fill(
                &tool,
                version,
                |folder| folder.join("program").exists(),
                |folder| {
                    assert_eq!(fs::read_dir(folder)?.count(), 0);
                    Ok(fs::write(folder.join("program"), version)?)
                },
            )
        };
        let interrupted = fill(
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
