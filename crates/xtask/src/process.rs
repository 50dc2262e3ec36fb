use std::env;
use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};
use emulators::workspace::root;

/// Cargo, as this program was started with it, at the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root());
    cargo
}

/// Runs a command to its end, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
