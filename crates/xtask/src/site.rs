//! The page's own tests, under Node.js and in Chromium, and pictures of it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use emulators::{browser, workspace};

use crate::{cargo, run};

pub(crate) fn test() -> Result<()> {
    let folder = workspace::root().join("site/test");
    run(node()?.arg("--test").args(tests(&folder)?))?;
    // One file after the other: two crowds of browsers at once are too many for a small machine.
    run(in_browser()?
        .args(["--test", "--test-concurrency=1", "--test-force-exit"])
        .args(tests(&folder.join("browser"))?))
}

pub(crate) fn screenshots() -> Result<()> {
    let script = workspace::root().join("site/test/browser/screenshots.js");
    run(in_browser()?.arg(script).arg(workspace::target().join("screenshots")))
}

fn tests(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    found.sort();
    Ok(found)
}

fn node() -> Result<Command> {
    let found = Command::new("node").arg("--version").output();
    found.context("could not start node: the page's tests need Node.js 20 or newer")?;
    Ok(Command::new("node"))
}

/// Node.js, told of a room to run and of the browser to look at it with.
fn in_browser() -> Result<Command> {
    run(cargo().args(["build", "--locked", "--package", "beekeeper"]))?;
    let mut packages = browser::packages()?.into_os_string();
    packages.push(OsString::from("/"));
    let mut node = node()?;
    node.env("BEEKEEPER", workspace::target().join("debug/beekeeper"))
        .env("CHROMIUM", browser::chromium()?)
        .env("NODE_PACKAGES", packages);
    Ok(node)
}
