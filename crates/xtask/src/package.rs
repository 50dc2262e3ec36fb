//! Packages the functions for Lambda: one program for all, in a zip as the executable `bootstrap`.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use emulators::workspace::target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::arch::Arch;
use crate::zig;

/// The size limit of a package, in bytes. Lambda downloads and unpacks it before a function answers its first request.
const LARGEST: usize = 7_000_000;

/// The crate of the functions, and its program.
pub(crate) const PROGRAM: &str = "functions";

/// The package of an architecture, in the folder of its name.
pub(crate) const PACKAGE: &str = "functions.zip";

/// The environment variable that tells the build script of `beekeeper` where the packages are.
pub(crate) const PACKAGES: &str = "BEEKEEPER_PACKAGES";

#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// What the functions are to run on [default: the processor of this machine]
    #[arg(long, value_enum)]
    arch: Option<Arch>,
}

impl PackageArguments {
    pub(crate) fn make(&self) -> Result<PathBuf> {
        package(self.arch.map_or_else(Arch::of_this_machine, Ok)?)
    }
}

/// Builds the package, and returns its path.
pub(crate) fn package(arch: Arch) -> Result<PathBuf> {
    let program = zig::build(arch, PROGRAM, &[])?;
    let program = fs::read(&program).with_context(|| format!("could not read {}", program.display()))?;
    zig::check_paths(PROGRAM, &program)?;
    let package = zipped(&program, Compression::Best)?;
    ensure!(
        package.len() <= LARGEST,
        "the functions are {} bytes zipped, and {LARGEST} are too many: what have they come to depend on?",
        package.len()
    );
    let path = target().join("lambda").join(arch.name()).join(PACKAGE);
    write_package(&path, &package)?;
    Ok(path)
}

/// Builds the packages for these architectures, and returns a folder that contains no others.
pub(crate) fn packages(archs: &[Arch]) -> Result<PathBuf> {
    let folder = target().join("dist/packages");
    fs::create_dir_all(&folder)?;
    fs::remove_dir_all(&folder)?;
    for &arch in archs {
        let package = package(arch)?;
        let folder = folder.join(arch.name());
        fs::create_dir_all(&folder)?;
        fs::copy(&package, folder.join(PACKAGE))
            .with_context(|| format!("could not copy {}", package.display()))?;
    }
    Ok(folder)
}

/// How much time to spend on making a package small.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compression {
    Fast = 1,
    Best = 9,
}

/// Zips a program. The same program gives the same bytes on every machine: no time, no owner, a fixed order.
pub(crate) fn zipped(program: &[u8], compression: Compression) -> Result<Vec<u8>> {
    let executable = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(compression as i64))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o755);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("bootstrap", executable)?;
    zip.write_all(program)?;
    Ok(zip.finish()?.into_inner())
}

/// Writes a package in one step, so that nobody uploads or includes half of it.
pub(crate) fn write_package(path: &Path, package: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a package has a folder")?)?;
    let new = path.with_extension("zip.new");
    fs::write(&new, package)?;
    fs::rename(&new, path)?;
    eprintln!("{:>10} bytes  {}", package.len(), path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use zip::ZipArchive;

    use super::*;

    #[test]
    fn a_package_is_one_executable_and_always_the_same() {
        let program = b"not really a program".repeat(1000);
        let package = zipped(&program, Compression::Best).unwrap();
        assert_eq!(zipped(&program, Compression::Best).unwrap(), package);
        let mut archive = ZipArchive::new(Cursor::new(package)).unwrap();
        assert_eq!(archive.len(), 1);
        let mut bootstrap = archive.by_name("bootstrap").unwrap();
        assert_eq!(bootstrap.unix_mode(), Some(0o100_755));
        assert_eq!(bootstrap.last_modified(), Some(DateTime::default()), "not the time at which it was made");
        let mut unzipped = Vec::new();
        bootstrap.read_to_end(&mut unzipped).unwrap();
        assert_eq!(unzipped, program);
    }
}
