//! Builds a `beekeeper` that can deploy rooms, because it includes the function package.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use emulators::workspace::target;

use crate::arch::Arch;
use crate::package::packages;
use crate::platform::Platform;

#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// What the functions are to run on; say it twice for both [default: the processor of this machine]
    #[arg(long, value_enum)]
    arch: Vec<Arch>,
}

impl Dist {
    /// With the functions for this architecture.
    pub(crate) fn with(arch: Arch) -> Self {
        Self { arch: vec![arch] }
    }

    pub(crate) fn program() -> PathBuf {
        target().join("dist/beekeeper")
    }

    pub(crate) fn make(&self) -> Result<()> {
        let here = [Arch::of_this_machine()?];
        let packages = packages(if self.arch.is_empty() { &here } else { &self.arch })?;
        let program = Platform::of_this_machine()?.command(&packages, None)?;
        let made = Self::program();
        // Replaced in one step, so that a running program is not overwritten.
        let new = made.with_extension("new");
        fs::copy(&program, &new).with_context(|| format!("could not copy {}", program.display()))?;
        fs::rename(&new, &made)?;
        eprintln!("{:>10} bytes  {}", fs::metadata(&made)?.len(), made.display());
        Ok(())
    }
}
