use std::process::Command;

use anyhow::Result;
use emulators::workspace::root;

use crate::process::{cargo_tool, run};

/// Runs cargo-deny.
///
/// The scheduled workflow checks advisories, not this. Their database is downloaded, and a new entry in it must not
/// fail a test run.
pub(crate) fn check() -> Result<()> {
    let mut check = Command::new(cargo_tool("cargo-deny", "0.20.2")?.join("cargo-deny"));
    run(check.args(["check", "bans", "licenses", "sources"]).current_dir(root()))
}
