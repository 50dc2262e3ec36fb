use std::process::Command;

use anyhow::Result;
use emulators::workspace::root;

use crate::deny;
use crate::process::{cargo, run, run_beside_others};

/// Runs all checks that do not execute the project's code.
pub(crate) fn lint() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    clippy(&["--features", "beekeeper/aws,installed/release-files"])?;
    // `beekeeper` without AWS, as most people build it. The other crates do not change, so they are not checked again.
    clippy(&[])?;
    deny::check()
}

/// The same, whenever nothing else wants a processor. This program's own file may be gone: compiling the tests replaces it.
pub(crate) fn lint_beside_others() -> Result<()> {
    run_beside_others(
        "lint",
        Command::new("nice").args(["-n", "19", "cargo", "xtask", "lint"]).current_dir(root()),
    )
}

fn clippy(features: &[&str]) -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--locked"]).args(features);
    run(clippy.args(["--", "--deny", "warnings"]))
}
