use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::{root, tools};

use crate::process::{cargo, run};

const VERSION: &str = "0.20.2";

/// Runs cargo-deny, at the version above. It is installed under the build directory.
///
/// The scheduled workflow checks advisories, not this. Their database is downloaded, and a new entry in it must not
/// fail a test run.
pub(crate) fn check() -> Result<()> {
    let deny = tools().join("bin").join("cargo-deny");
    let installed = Command::new(&deny).arg("--version").output();
    let is_current =
        installed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(VERSION));
    if !is_current {
        eprintln!("installing cargo-deny {VERSION} under {} (a few minutes, once)", tools().display());
        // It runs for a second, so optimising it would take longer than it saves.
        let mut install = cargo();
        install.args(["install", "cargo-deny", "--locked", "--debug", "--version", VERSION, "--root"]);
        run(install.arg(tools()).env("CARGO_PROFILE_DEV_DEBUG", "false"))
            .context("could not install cargo-deny")?;
    }
    let mut check = Command::new(deny);
    run(check.args(["check", "bans", "licenses", "sources"]).current_dir(root()))
}
