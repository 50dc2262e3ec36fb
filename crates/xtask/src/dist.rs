//! Builds a `beekeeper` that can deploy rooms, because it includes the function packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use emulators::workspace::target;

use crate::package::{Arch, PACKAGE, PackageArguments};
use crate::process::{cargo, run};

/// The environment variable that tells the build script of `beekeeper` where the packages are.
pub(crate) const PACKAGES: &str = "BEEKEEPER_PACKAGES";

#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// What the functions are to run on; say it twice for both
    #[arg(long, value_enum, default_value = "arm64")]
    arch: Vec<Arch>,
    /// Accept functions that need this machine's glibc: they run here, but not on Lambda
    #[arg(long)]
    host_glibc: bool,
}

impl Dist {
    /// For Lambda's arm64 machines.
    pub(crate) fn for_lambda() -> Self {
        Self { arch: vec![Arch::Arm64], host_glibc: false }
    }

    pub(crate) fn program() -> PathBuf {
        folder().join("beekeeper")
    }

    pub(crate) fn make(&self) -> Result<()> {
        let packages = packages(&self.arch, self.host_glibc)?;
        let mut build = cargo();
        build.args(["build", "--locked", "--release", "--package", "beekeeper", "--features", "aws"]);
        run(build.env(PACKAGES, &packages).env("CARGO_TARGET_DIR", target()))?;
        keep(&target().join("release/beekeeper"))
    }
}

/// Builds the packages for these architectures, and returns a folder that contains no others.
fn packages(archs: &[Arch], host_glibc: bool) -> Result<PathBuf> {
    let packages = folder().join("packages");
    fs::create_dir_all(&packages)?;
    fs::remove_dir_all(&packages)?;
    for &arch in archs {
        let package = PackageArguments { arch, host_glibc }.make()?;
        let folder = packages.join(arch.name());
        fs::create_dir_all(&folder)?;
        fs::copy(&package, folder.join(PACKAGE))
            .with_context(|| format!("could not copy {}", package.display()))?;
    }
    Ok(packages)
}

fn folder() -> PathBuf {
    target().join("dist")
}

fn keep(program: &Path) -> Result<()> {
    let made = Dist::program();
    // Replaced in one step, so that a running program is not overwritten.
    let new = made.with_extension("new");
    fs::copy(program, &new).with_context(|| format!("could not copy {}", program.display()))?;
    fs::rename(&new, &made)?;
    eprintln!("{:>10} bytes  {}", fs::metadata(&made)?.len(), made.display());
    Ok(())
}
