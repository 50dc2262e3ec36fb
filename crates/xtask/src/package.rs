//! The functions as Lambda takes them: each alone in a zip, as one executable named `bootstrap`.

use std::env::consts;
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use testbed::workspace::target;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::{cargo, run};

/// Bytes. Lambda fetches and unpacks the package before the first request is answered.
const LARGEST: usize = 4_000_000;

/// What Amazon Linux 2023 has.
const GLIBC: u32 = 34;

#[derive(Debug, Args)]
pub(crate) struct Package {
    /// What the functions are to run on
    #[arg(long, value_enum, default_value_t = Arch::Arm64)]
    arch: Arch,
    /// Accept functions that need this machine's glibc: they run here, but not on Lambda
    #[arg(long)]
    host_glibc: bool,
    /// Which functions; all, unless named
    #[arg(value_enum)]
    functions: Vec<Function>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Function {
    Producer,
    Trigger,
    Consumer,
    Throttle,
    Caretaker,
}

impl Function {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Package {
    /// All functions.
    pub(crate) fn all(arch: Arch, host_glibc: bool) -> Self {
        Self { arch, host_glibc, functions: Vec::new() }
    }

    /// The folder in which they lie.
    pub(crate) fn make(&self) -> Result<PathBuf> {
        let all = Function::value_variants();
        let functions = if self.functions.is_empty() { all } else { &self.functions };
        let folder = target().join("lambda").join(self.arch.name());
        fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        for function in functions {
            let name = function.name();
            let program = fs::read(self.build(&name)?).with_context(|| format!("could not read {name}"))?;
            self.check_glibc(&name, &program)?;
            let package = zipped(&program)?;
            ensure!(
                package.len() <= LARGEST,
                "{name} is {} bytes zipped, and {LARGEST} are too many: what has it come to depend on?",
                package.len()
            );
            let path = folder.join(&name).with_extension("zip");
            // In one step, so that nobody uploads half a package.
            let new = path.with_extension("zip.new");
            File::create(&new)?.write_all(&package)?;
            fs::rename(&new, &path)?;
            eprintln!("{:>10} bytes  {} ({} unzipped)", package.len(), path.display(), program.len());
        }
        Ok(folder)
    }

    /// Builds one function, and only that, so that it has no more features than it needs.
    fn build(&self, name: &str) -> Result<PathBuf> {
        let only = ["--profile", "function", "--locked", "--package", "functions", "--bin", name];
        let triple = self.arch.target();
        if runs("cargo-lambda", &["lambda", "--version"]) && has_zig() {
            let mut lambda = cargo();
            lambda.args(["lambda", "build", "--target", &format!("{triple}.2.{GLIBC}")]).args(only);
            run(lambda.env("CARGO_TARGET_DIR", target()))?;
            return Ok(target().join("lambda").join(name).join("bootstrap"));
        }
        if !self.arch.is_this_machine() {
            bail!(
                "to build for {} on this machine, cargo-lambda and zig are needed: pip install cargo-lambda ziglang, \
                 and rustup target add {triple}",
                self.arch.name()
            );
        }
        run(cargo().arg("build").args(only).env("CARGO_TARGET_DIR", target()))?;
        Ok(target().join("function").join(name))
    }

    fn check_glibc(&self, name: &str, program: &[u8]) -> Result<()> {
        let needed = glibc_needed(program);
        if needed <= GLIBC {
            return Ok(());
        }
        if self.host_glibc {
            eprintln!("{name} needs glibc 2.{needed}: it runs here, but not on Lambda, which has 2.{GLIBC}");
            return Ok(());
        }
        bail!(
            "{name} was linked with this machine's glibc and needs 2.{needed}; Lambda has 2.{GLIBC}. Build with zig: pip \
             install cargo-lambda ziglang. To run it on this machine only: --host-glibc"
        )
    }
}

/// Installed as a program, or by pip as a module.
fn has_zig() -> bool {
    runs("zig", &["version"]) || runs("python3", &["-m", "ziglang", "version"])
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The newest glibc of which the program wants a symbol, as the second part of its version number.
fn glibc_needed(program: &[u8]) -> u32 {
    let mark = b"GLIBC_2.";
    let versions = program.windows(mark.len()).enumerate().filter(|(_, window)| window == mark);
    let minor = |(at, _): (usize, _)| {
        let digits = program[at + mark.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.take(4).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    versions.map(minor).max().unwrap_or(0)
}

/// The same bytes for the same program, whenever and wherever: no time, no owner, one order.
fn zipped(program: &[u8]) -> Result<Vec<u8>> {
    let executable = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o755);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("bootstrap", executable)?;
    zip.write_all(program)?;
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use zip::ZipArchive;

    use super::*;

    #[test]
    fn a_package_is_one_executable_and_always_the_same() {
        let program = b"not really a program".repeat(1000);
        let package = zipped(&program).unwrap();
        assert_eq!(zipped(&program).unwrap(), package);
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
    fn the_newest_glibc_that_is_needed_is_found() {
        assert_eq!(glibc_needed(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), 34);
        assert_eq!(glibc_needed(b"\0GLIBC_2.38"), 38);
        assert_eq!(glibc_needed(b"static"), 0);
    }
}
