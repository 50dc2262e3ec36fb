//! What tests run, built the way that tests are built: the whole workspace, one set of features, the dev profile. Nothing
//! that they depend on is compiled twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::target;

use crate::dist::PACKAGES;
use crate::package::{Arch, Compression, Function, PackageArguments, zipped};
use crate::{cargo, run};

/// The one set of features. Without AWS there is a test of its own.
const FEATURES: [&str; 3] = ["--workspace", "--features", "beekeeper/aws"];

/// The function packages that the tests deploy, or none, for tests that deploy nothing. `beekeeper` has them inside: it is
/// compiled again when they change.
#[derive(Debug)]
pub(crate) struct FunctionPackages(Option<PathBuf>);

impl FunctionPackages {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// One zip for each function, for this machine. Unlike those of `cargo xtask package` they are neither small nor fit
    /// for Lambda.
    pub(crate) fn build() -> Result<Self> {
        let arch = Arch::of_this_machine()?;
        let names: Vec<_> = Function::all().map(Function::name).collect();
        // Cargo builds all programs of the crate for a test of the crate.
        run(cargo_test(&Self::none()).args(["--no-run", "--test", "programs"]))?;
        let folder = target().join("test-packages");
        fs::create_dir_all(folder.join(arch.name()))?;
        for name in &names {
            let program = target().join("debug").join(name);
            pack(&program, &folder.join(arch.name()).join(name).with_extension("zip"))
                .with_context(|| format!("could not pack {}", program.display()))?;
        }
        Ok(Self(Some(folder)))
    }

    /// Those of `cargo xtask package`, for this machine.
    pub(crate) fn release() -> Result<Self> {
        PackageArguments::all(Arch::of_this_machine()?, true).make()?;
        Ok(Self(Some(target().join("lambda"))))
    }

    fn given_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.0 {
            Some(folder) => command.env(PACKAGES, folder),
            None => command.env_remove(PACKAGES),
        }
    }
}

/// Writes the package if the program is newer, so that nothing that contains the package is compiled again without need.
fn pack(program: &Path, package: &Path) -> Result<()> {
    let written = package.metadata().and_then(|metadata| metadata.modified()).ok();
    if written.is_some_and(|written| {
        program.metadata().and_then(|file| file.modified()).is_ok_and(|built| built < written)
    }) {
        return Ok(());
    }
    let stripped = program.with_extension("stripped");
    // Its debug information is many times as large as the rest.
    let mut strip = Command::new("strip");
    run(strip.arg("-o").arg(&stripped).arg(program)).context("strip is needed; it comes with binutils")?;
    let zip = zipped(&fs::read(&stripped)?, Compression::Fast)?;
    let new = package.with_extension("zip.new");
    fs::write(&new, &zip)?;
    fs::rename(&new, package)?;
    eprintln!("{:>10} bytes  {}", zip.len(), package.display());
    Ok(())
}

/// `cargo test` of the whole workspace. More arguments may follow.
pub(crate) fn cargo_test(packages: &FunctionPackages) -> Command {
    let mut test = cargo();
    packages.given_to(test.args(["test", "--locked"]).args(FEATURES));
    test
}

/// Builds `beekeeper`, with the packages inside, and returns where it is. `cargo build` would use other features: it leaves
/// out those of the tests' dependencies.
pub(crate) fn build_beekeeper(packages: &FunctionPackages) -> Result<PathBuf> {
    run(cargo_test(packages).args(["--no-run", "--test", "command"]))?;
    Ok(target().join("debug/beekeeper"))
}
