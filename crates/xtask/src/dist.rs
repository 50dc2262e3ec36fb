//! The `beekeeper` that deploys rooms: with the function packages inside.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use testbed::workspace::target;

use crate::package::{Arch, Package};
use crate::{cargo, run};

#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// What the functions are to run on; say it twice for both
    #[arg(long, value_enum, default_value = "arm64")]
    arch: Vec<Arch>,
    /// Accept functions that need this machine's glibc: they run here, but not on Lambda
    #[arg(long)]
    host_glibc: bool,
    /// Built in a tenth of the time, and slower
    #[arg(skip)]
    to_try: bool,
}

impl Dist {
    /// One whose functions run here.
    pub(crate) fn to_try() -> Result<Self> {
        Ok(Self { arch: vec![Arch::of_this_machine()?], host_glibc: true, to_try: true })
    }

    pub(crate) fn make(&self) -> Result<()> {
        let folder = target().join("dist");
        // Exactly these, whatever was packaged before.
        let packages = folder.join("packages");
        fs::create_dir_all(&packages)?;
        fs::remove_dir_all(&packages)?;
        for &arch in &self.arch {
            let from = Package::all(arch, self.host_glibc).make()?;
            copy(&from, &packages.join(arch.name()))?;
        }
        let mut build = cargo();
        build.args(["build", "--locked", "--package", "beekeeper", "--features", "aws"]);
        build.env("BEEKEEPER_PACKAGES", &packages).env("CARGO_TARGET_DIR", target());
        if !self.to_try {
            build.arg("--release");
        }
        run(&mut build)?;
        let program = target().join(if self.to_try { "debug" } else { "release" }).join("beekeeper");
        let made = folder.join("beekeeper");
        // In one step, so that one that runs is not written over.
        let new = folder.join("beekeeper.new");
        fs::copy(&program, &new).with_context(|| format!("could not copy {}", program.display()))?;
        fs::rename(&new, &made)?;
        eprintln!("{:>10} bytes  {}", fs::metadata(&made)?.len(), made.display());
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|end| end == "zip")) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
