//! What the page needs to be built and tested: packages from npm, and Chromium.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{install, workspace};

const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

const GET_CHROMIUM: &str = "Chromium is needed: `sudo apt-get install chromium` on Debian; \
                            or set CHROMIUM to its path";

/// The browser: the one that CHROMIUM names, or one on the PATH. Root gets Debian's installed.
pub fn chromium() -> Result<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = on_path() {
        return Ok(found);
    }
    if !rustix::process::geteuid().is_root() {
        bail!(GET_CHROMIUM);
    }
    let install = || {
        eprintln!("installing Debian's chromium (once)");
        install::run(Command::new("apt-get").args(["update", "-qq"]), GET_CHROMIUM)?;
        let mut apt = Command::new("apt-get");
        apt.args(["install", "-y", "-qq", "--no-install-recommends", "chromium"]);
        install::run(apt.env("DEBIAN_FRONTEND", "noninteractive"), GET_CHROMIUM)
    };
    install()?;
    on_path().context(GET_CHROMIUM)
}

fn on_path() -> Option<PathBuf> {
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let candidates = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// The folder with the packages in `site/package-lock.json`. They build and test the page.
pub fn packages() -> Result<PathBuf> {
    let site = workspace::root().join("site");
    let lock = site.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("could not read {}", lock.display()))?;
    let folder = workspace::tools().join("site");
    install::once(
        &folder,
        &wanted,
        |folder| folder.join("node_modules").is_dir(),
        |folder| {
            for file in ["package.json", "package-lock.json"] {
                fs::copy(site.join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
            install::run(&mut npm, "npm is needed; it comes with Node.js 20 or newer")
        },
    )?;
    Ok(folder)
}
