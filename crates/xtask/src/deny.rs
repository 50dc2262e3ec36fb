use std::process::Command;

use anyhow::Result;
use emulators::workspace::root;

use crate::process::{cargo_tool, run};

/// Licences, sources and duplicates.
pub(crate) fn check() -> Result<()> {
    deny(&["bans", "licenses", "sources"])
}

/// Security advisories, in a job of their own: their database is downloaded, and a new entry in it must not fail a test run.
pub(crate) fn check_advisories() -> Result<()> {
    deny(&["advisories"])
}

fn deny(checks: &[&str]) -> Result<()> {
    let mut check = Command::new(cargo_tool("cargo-deny", "0.20.2")?.join("cargo-deny"));
    run(check.arg("check").args(checks).current_dir(root()))
}
