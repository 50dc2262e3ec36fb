//! Packages the functions for Lambda: one zip for each, with one executable named `bootstrap`.

use std::env::{self, consts};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use emulators::workspace::{root, target};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::process::{cargo, run};

/// The size limit of a package, in bytes. Lambda downloads and unpacks it before a function answers its first request.
const LARGEST: usize = 4_000_000;

/// The minor version of glibc in Amazon Linux 2023.
const GLIBC: u32 = 34;

/// The path that programs contain instead of cargo's real folder.
const CARGO_HOME: &str = "/cargo";

#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
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
pub(crate) enum Function {
    Producer,
    Trigger,
    Consumer,
    Throttle,
    Setup,
    /// Not of a room: `infra/lambda-authorizer.yaml` deploys it beside a shop's API.
    Authorizer,
}

impl Function {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// Those that `beekeeper deploy` deploys.
    pub(crate) fn of_a_room() -> impl Iterator<Item = Self> {
        Self::all().filter(|function| !matches!(function, Self::Authorizer))
    }

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl PackageArguments {
    /// Selects the functions of a room.
    pub(crate) fn of_a_room(arch: Arch, host_glibc: bool) -> Self {
        Self { arch, host_glibc, functions: Function::of_a_room().collect() }
    }

    /// Builds the packages, and returns the folder that contains them.
    pub(crate) fn make(&self) -> Result<PathBuf> {
        let all = Function::value_variants();
        let functions = if self.functions.is_empty() { all } else { &self.functions };
        let folder = target().join("lambda").join(self.arch.name());
        fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        let names: Vec<_> = functions.iter().map(|function| function.name()).collect();
        for (name, program) in names.iter().zip(self.build(&names)?) {
            let program =
                fs::read(&program).with_context(|| format!("could not read {}", program.display()))?;
            self.check_glibc(name, &program)?;
            check_paths(name, &program)?;
            let package = zipped(&program, Compression::Best)?;
            ensure!(
                package.len() <= LARGEST,
                "{name} is {} bytes zipped, and {LARGEST} are too many: what has it come to depend on?",
                package.len()
            );
            let path = folder.join(name).with_extension("zip");
            // Replaced in one step, so that nobody uploads half a package.
            let new = path.with_extension("zip.new");
            File::create(&new)?.write_all(&package)?;
            fs::rename(&new, &path)?;
            eprintln!("{:>10} bytes  {} ({} unzipped)", package.len(), path.display(), program.len());
        }
        Ok(folder)
    }

    /// Builds only the functions. Built with the rest of the workspace, they would get features that they do not need.
    /// Returns the path of each program.
    fn build(&self, names: &[String]) -> Result<Vec<PathBuf>> {
        let triple = self.arch.target();
        let mut build = cargo();
        let has_cargo_lambda = runs("cargo-lambda", &["lambda", "--version"]) && has_zig();
        let folder = if has_cargo_lambda {
            // cargo-lambda moves the programs here. Its default folder is the same for both architectures.
            let folder = target().join("cargo-lambda").join(self.arch.name());
            build.args(["lambda", "build", "--target", &format!("{triple}.2.{GLIBC}"), "--lambda-dir"]);
            build.arg(&folder);
            folder
        } else if self.arch.is_this_machine() {
            build.arg("build");
            target().join("function")
        } else {
            bail!(
                "to build for {} on this machine, cargo-lambda and zig are needed: pip install cargo-lambda ziglang, \
                 and rustup target add {triple}",
                self.arch.name()
            );
        };
        build.args(["--profile", "function", "--locked", "--package", "functions"]);
        build.args(names.iter().flat_map(|name| ["--bin", name]));
        build.env("CARGO_TARGET_DIR", target());
        // This variable overrides all other compiler flags, so that flags of this machine do not change the programs.
        run(build.env("CARGO_ENCODED_RUSTFLAGS", flags()?))?;
        let programs = names.iter().map(|name| folder.join(name));
        Ok(programs.map(|path| if has_cargo_lambda { path.join("bootstrap") } else { path }).collect())
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
fn check_paths(name: &str, program: &[u8]) -> Result<()> {
    let mut folders = vec![root().join("crates"), cargo_home()?.join("registry")];
    folders.retain(|folder| !folder.starts_with(CARGO_HOME));
    for folder in folders {
        ensure!(
            !contains(program, folder.as_os_str().as_encoded_bytes()),
            "{name} has {} in it and would be another program if it were built elsewhere: which crate puts it there?",
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::path::Path;

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
            check_paths("producer", &program)
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
