use anyhow::Result;

use crate::{cargo, deny, run};

/// Everything that fails on a change and runs nothing of it.
pub(crate) fn lint() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    clippy(&["--features", "beekeeper/aws"])?;
    // `beekeeper` as most people build it, without AWS. All other crates are as before and are not checked again.
    clippy(&[])?;
    deny::check()
}

fn clippy(features: &[&str]) -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--locked"]).args(features);
    run(clippy.args(["--", "--deny", "warnings"]))
}
