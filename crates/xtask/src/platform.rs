//! What the command is built for.

use std::env::consts;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use emulators::workspace::target;

use crate::arch::Arch;
use crate::package::PACKAGES;
use crate::process::{cargo, run};
use crate::zig;

/// The environment variables that tell the build script of `beekeeper` which commit it is, and of which day.
const COMMIT: [&str; 2] = ["BEEKEEPER_COMMIT", "BEEKEEPER_COMMIT_DATE"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Platform {
    #[value(name = "x86_64-unknown-linux-musl")]
    LinuxX86,
    #[value(name = "aarch64-unknown-linux-musl")]
    LinuxArm,
    #[value(name = "x86_64-apple-darwin")]
    MacX86,
    #[value(name = "aarch64-apple-darwin")]
    MacArm,
}

impl Platform {
    pub(crate) const ALL: [Self; 4] = [Self::LinuxX86, Self::LinuxArm, Self::MacX86, Self::MacArm];

    /// Those that are built on any Linux.
    pub(crate) const LINUX: [Self; 2] = [Self::LinuxX86, Self::LinuxArm];

    /// As Rust calls it.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::LinuxX86 => "x86_64-unknown-linux-musl",
            Self::LinuxArm => "aarch64-unknown-linux-musl",
            Self::MacX86 => "x86_64-apple-darwin",
            Self::MacArm => "aarch64-apple-darwin",
        }
    }

    /// As Debian and Docker call the processor; none on macOS.
    pub(crate) fn on_linux(self) -> Option<(&'static str, Arch)> {
        match self {
            Self::LinuxX86 => Some(("amd64", Arch::X86)),
            Self::LinuxArm => Some(("arm64", Arch::Arm64)),
            Self::MacX86 | Self::MacArm => None,
        }
    }

    pub(crate) fn of_this_machine() -> Result<Self> {
        let here = Self::ALL.into_iter().find(|platform| platform.is_this_machine());
        here.with_context(|| format!("beekeeper is not built for {} on {}", consts::OS, consts::ARCH))
    }

    pub(crate) fn is_this_machine(self) -> bool {
        let system = if self.on_linux().is_some() { "linux" } else { "macos" };
        system == consts::OS && self.triple().starts_with(consts::ARCH)
    }

    pub(crate) fn archive(self) -> String {
        format!("beekeeper-{}.tar.gz", self.triple())
    }

    /// Builds the command, with these function packages in it. It says of which commit and day it is.
    pub(crate) fn command(self, packages: &Path, commit: Option<[&str; 2]>) -> Result<PathBuf> {
        let mut environment = vec![(PACKAGES, packages.as_os_str())];
        environment.extend(COMMIT.into_iter().zip(commit.into_iter().flatten().map(OsStr::new)));
        if let Some((_, arch)) = self.on_linux() {
            return zig::build(arch, "beekeeper", &environment);
        }
        ensure!(cfg!(target_os = "macos"), "{} is built on macOS only", self.triple());
        let mut build = cargo();
        build.args(["build", "--locked", "--release", "--package", "beekeeper", "--features", "aws"]);
        build.args(["--target", self.triple()]).envs(environment);
        run(build.env("CARGO_ENCODED_RUSTFLAGS", zig::flags()?))?;
        Ok(target().join(self.triple()).join("release/beekeeper"))
    }
}
