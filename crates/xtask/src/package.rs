//! Packages the functions for Lambda: one program for all, in a zip as the executable `bootstrap`.

use std::env::{self, consts};
use std::ffi::OsString;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use emulators::workspace::{root, target};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::process::{cargo, run};

/// The size limit of a package, in bytes. Lambda downloads and unpacks it before a function answers its first request.
const LARGEST: usize = 5_000_000;

/// The crate of the functions, and its program.
pub(crate) const PROGRAM: &str = "functions";

/// The package of an architecture, in the folder of its name.
pub(crate) const PACKAGE: &str = "functions.zip";

/// The minor version of glibc in Amazon Linux 2023.
const GLIBC: u32 = 34;

/// The path that programs contain instead of cargo's real folder.
const CARGO_HOME: &str = "/cargo";

#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// What the functions are to run on
    #[arg(long, value_enum, default_value_t = Arch::Arm64)]
    pub(crate) arch: Arch,
    /// Accept functions that need this machine's glibc: they run here, but not on Lambda
    #[arg(long)]
    pub(crate) host_glibc: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Arch {
    Arm64,
    #[value(name = "x86_64")]
    X86,
}

impl Arch {
    pub(crate) fn of_this_machine() -> Result<Self> {
        let here = Self::value_variants().iter().copied().find(|arch| arch.is_this_machine());
        here.context("functions are built for Linux with glibc, and run nowhere else")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86_64",
        }
    }

    fn target(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64-unknown-linux-gnu",
            Self::X86 => "x86_64-unknown-linux-gnu",
        }
    }

    fn is_this_machine(self) -> bool {
        let here = match self {
            Self::Arm64 => "aarch64",
            Self::X86 => "x86_64",
        };
        (consts::OS, consts::ARCH) == ("linux", here) && cfg!(target_env = "gnu")
    }
}

impl PackageArguments {
    /// Builds the package, and returns its path.
    pub(crate) fn make(&self) -> Result<PathBuf> {
        let program = self.build()?;
        let program = fs::read(&program).with_context(|| format!("could not read {}", program.display()))?;
        self.check_glibc(&program)?;
        check_paths(&program)?;
        let package = zipped(&program, Compression::Best)?;
        ensure!(
            package.len() <= LARGEST,
            "the functions are {} bytes zipped, and {LARGEST} are too many: what have they come to depend on?",
            package.len()
        );
        let path = target().join("lambda").join(self.arch.name()).join(PACKAGE);
        write_package(&path, &package)?;
        Ok(path)
    }

    /// Builds only the functions. Built with the rest of the workspace, they would get features that they do not need.
    /// Returns the path of the program.
    fn build(&self) -> Result<PathBuf> {
        let triple = self.arch.target();
        let mut build = cargo();
        let has_cargo_lambda = runs("cargo-lambda", &["lambda", "--version"]) && has_zig();
        let program = if has_cargo_lambda {
            // cargo-lambda moves the program here. Its default folder is the same for both architectures.
            let folder = target().join("cargo-lambda").join(self.arch.name());
            build.args(["lambda", "build", "--target", &format!("{triple}.2.{GLIBC}"), "--lambda-dir"]);
            build.arg(&folder);
            folder.join(PROGRAM).join("bootstrap")
        } else if self.arch.is_this_machine() {
            build.arg("build");
            target().join("function").join(PROGRAM)
        } else {
            bail!(
                "to build for {} on this machine, cargo-lambda and zig are needed: pip install cargo-lambda ziglang, \
                 and rustup target add {triple}",
                self.arch.name()
            );
        };
        build.args(["--profile", "function", "--locked", "--package", PROGRAM]);
        build.env("CARGO_TARGET_DIR", target());
        // This variable overrides all other compiler flags, so that flags of this machine do not change the program.
        run(build.env("CARGO_ENCODED_RUSTFLAGS", flags()?))?;
        Ok(program)
    }

    fn check_glibc(&self, program: &[u8]) -> Result<()> {
        let needed = glibc_needed(program);
        if needed <= GLIBC {
            return Ok(());
        }
        if self.host_glibc {
            eprintln!(
                "the functions need glibc 2.{needed}: they run here, but not on Lambda, which has 2.{GLIBC}"
            );
            return Ok(());
        }
        bail!(
            "the functions were linked with this machine's glibc and need 2.{needed}; Lambda has 2.{GLIBC}. Build with zig: \
             pip install cargo-lambda ziglang. To run them on this machine only: --host-glibc"
        )
    }
}

/// Compiler flags that replace the path of cargo's folder by [`CARGO_HOME`].
///
/// Panic messages contain the path of their source file. For our crates it is relative to the workspace. For other
/// crates it would be in cargo's folder, so the program would differ from machine to machine and reveal where it was
/// built.
fn flags() -> Result<OsString> {
    let mut flags = OsString::from("--remap-path-prefix=");
    flags.push(cargo_home()?);
    flags.push("=");
    flags.push(CARGO_HOME);
    Ok(flags)
}

fn cargo_home() -> Result<PathBuf> {
    let usual = || Some(env::home_dir()?.join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(usual).context("cargo has no folder: set CARGO_HOME")
}

/// Fails if the program contains the path where it was built: a build elsewhere would give a different program.
fn check_paths(program: &[u8]) -> Result<()> {
    let mut folders = vec![root().join("crates"), cargo_home()?.join("registry")];
    folders.retain(|folder| !folder.starts_with(CARGO_HOME));
    for folder in folders {
        ensure!(
            !contains(program, folder.as_os_str().as_encoded_bytes()),
            "the program has {} in it and would be another one if it were built elsewhere: which crate puts it there?",
            folder.display()
        );
    }
    Ok(())
}

fn contains(program: &[u8], text: &[u8]) -> bool {
    program.windows(text.len()).any(|window| window == text)
}

/// Whether zig is installed, as a program or as a Python module (by pip).
fn has_zig() -> bool {
    runs("zig", &["version"]) || runs("python3", &["-m", "ziglang", "version"])
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The minor version of the newest glibc that the program needs a symbol of.
fn glibc_needed(program: &[u8]) -> u32 {
    let mark = b"GLIBC_2.";
    let versions = program.windows(mark.len()).enumerate().filter(|(_, window)| window == mark);
    let minor = |(at, _): (usize, _)| {
        let digits = program[at + mark.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.take(4).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    versions.map(minor).max().unwrap_or(0)
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

    #[test]
    fn a_program_that_says_where_it_was_built_is_refused() {
        let says = |folder: &Path| {
            let program = [b"before ", folder.as_os_str().as_encoded_bytes(), b"/src/lib.rs"].concat();
            check_paths(&program)
        };
        assert!(says(&root().join("crates/producer")).is_err());
        assert!(says(Path::new("crates/producer")).is_ok());
        assert!(says(Path::new("/cargo/registry/src/tokio")).is_ok());
    }

    #[test]
    fn the_newest_glibc_that_is_needed_is_found() {
        assert_eq!(glibc_needed(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), 34);
        assert_eq!(glibc_needed(b"\0GLIBC_2.38"), 38);
        assert_eq!(glibc_needed(b"static"), 0);
    }
}
