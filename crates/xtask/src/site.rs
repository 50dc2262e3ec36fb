//! Builds the page's program, runs the page's tests in Node.js and in browsers, and takes screenshots of the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use emulators::{browser, workspace};

use crate::pictures;
use crate::process::{run, run_beside_others};
use crate::test_build::{FunctionPackages, build_beekeeper};

/// Writes `site/built/wait.min.js`.
pub(crate) fn bundle() -> Result<()> {
    run(node()?.arg(workspace::root().join("site/bundle.js")))
}

pub(crate) fn test(packages: &FunctionPackages, filter: Option<&str>) -> Result<()> {
    commands(packages, filter)?.iter_mut().try_for_each(|(_, command)| run(command))
}

/// The same, while other tests run.
pub(crate) fn test_beside_others(packages: &FunctionPackages) -> Result<()> {
    commands(packages, None)?.iter_mut().try_for_each(|(name, command)| run_beside_others(name, command))
}

fn commands(packages: &FunctionPackages, filter: Option<&str>) -> Result<[(&'static str, Command); 2]> {
    let folder = workspace::root().join("site/test");
    let named = filter.map(|filter| format!("--test-name-pattern={filter}"));
    let mut page = node()?;
    page.arg("--test").args(&named).args(tests(&folder)?);
    // One file at a time: two groups of browsers at once are too many for a small machine.
    let mut browsers = in_browser(packages)?;
    browsers.args(["--test", "--test-concurrency=1", "--test-force-exit"]).args(&named);
    browsers.args(tests(&folder.join("browser"))?);
    Ok([("site page", page), ("site browsers", browsers)])
}

/// Every scene of the page, into `target/screenshots`; and the pictures of the documents, into `docs/images`.
pub(crate) fn screenshots() -> Result<()> {
    let folder = workspace::root().join("site/test/browser");
    let images = workspace::root().join("docs/images");
    for (script, into) in
        [("screenshots.js", workspace::target().join("screenshots")), ("pictures.js", images)]
    {
        run(in_browser(&FunctionPackages::none())?.arg(folder.join(script)).arg(into))?;
    }
    pictures::write_manifest()
}

fn tests(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    found.sort();
    Ok(found)
}

/// Node.js, with an environment variable that names the folder of the packages from npm.
fn node() -> Result<Command> {
    let found = Command::new("node").arg("--version").output();
    found.context("could not start node: the page needs Node.js 20 or newer to be built and tested")?;
    let mut node = Command::new("node");
    node.env("NODE_PACKAGES", browser::packages()?.join(""));
    Ok(node)
}

/// The same, with environment variables that name the `beekeeper` and the browsers to use.
fn in_browser(packages: &FunctionPackages) -> Result<Command> {
    let beekeeper = build_beekeeper(packages)?;
    let mut node = node()?;
    node.env("BEEKEEPER", beekeeper).envs(browser::browsers()?);
    Ok(node)
}
