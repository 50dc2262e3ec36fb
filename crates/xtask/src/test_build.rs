//! Builds the programs and the package that tests run in the same way as the tests themselves: the whole workspace, one
//! set of features, the dev profile. So no dependency is compiled twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use emulators::workspace::target;

use crate::arch::Arch;
use crate::package::{Compression, PACKAGE, PACKAGES, PROGRAM, packages, write_package, zipped};
use crate::process::{cargo, run};

/// All tests are built with these features. A separate test covers a build without AWS.
const FEATURES: [&str; 3] = ["--workspace", "--features", "beekeeper/aws"];

/// The function package that the tests deploy; none for tests that deploy nothing. `beekeeper` includes it, so it is
/// compiled again when the package changes.
#[derive(Debug)]
pub(crate) struct FunctionPackages(Option<PathBuf>);

impl FunctionPackages {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Builds the package for this machine. Unlike that of `cargo xtask package`, it is large, and needs the C library of this machine.
    pub(crate) fn build() -> Result<Self> {
        let arch = Arch::of_this_machine()?;
        // To build a crate's test, Cargo also builds all of the crate's programs.
        run(cargo_test(&Self::none()).args(["--no-run", "--test", "programs"]))?;
        let folder = target().join("test-packages");
        let program = target().join("debug").join(PROGRAM);
        pack(&program, &folder.join(arch.name()).join(PACKAGE))
            .with_context(|| format!("could not pack {}", program.display()))?;
        Ok(Self(Some(folder)))
    }

    /// Builds the package of `cargo xtask package`, for this machine.
    pub(crate) fn release() -> Result<Self> {
        packages(&[Arch::of_this_machine()?]).map(Some).map(Self)
    }

    fn given_to<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match &self.0 {
            Some(folder) => command.env(PACKAGES, folder),
            None => command.env_remove(PACKAGES),
        }
    }
}

/// Writes the package only if the program is newer than it, because what includes the package is then compiled again.
fn pack(program: &Path, package: &Path) -> Result<()> {
    let written = package.metadata().and_then(|metadata| metadata.modified()).ok();
    if written.is_some_and(|written| {
        program.metadata().and_then(|file| file.modified()).is_ok_and(|built| built < written)
    }) {
        return Ok(());
    }
    let stripped = program.with_extension("stripped");
    // The debug information is many times as large as the rest of the program.
    let mut strip = Command::new("strip");
    run(strip.arg("-o").arg(&stripped).arg(program)).context("strip is needed; it comes with binutils")?;
    write_package(package, &zipped(&fs::read(&stripped)?, Compression::Fast)?)
}

/// `cargo test` for the whole workspace. The caller may add arguments.
pub(crate) fn cargo_test(packages: &FunctionPackages) -> Command {
    let mut test = cargo();
    packages.given_to(test.args(["test", "--locked"]).args(FEATURES));
    test
}

/// Builds `beekeeper` with the packages in it, and returns its path. `cargo build` would select other features, because
/// it ignores the dependencies of tests.
pub(crate) fn build_beekeeper(packages: &FunctionPackages) -> Result<PathBuf> {
    run(cargo_test(packages).args(["--no-run", "--test", "command"]))?;
    Ok(target().join("debug/beekeeper"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a feature that they need, Cargo leaves out hundreds of tests and doesn't say so.
    #[test]
    fn the_documented_command_runs_all_tests() {
        let command = format!("`cargo test {}`", FEATURES.join(" "));
        assert!(include_str!("../../../docs/testing.md").contains(&command), "{command}");
    }
}
