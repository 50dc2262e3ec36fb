//! The processors that programs are built for.

use std::env::consts;

use anyhow::{Context, Result};
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    Arm64,
    #[value(name = "x86_64")]
    X86,
}

impl Arch {
    pub(crate) const ALL: [Self; 2] = [Self::Arm64, Self::X86];

    pub(crate) fn of_this_machine() -> Result<Self> {
        let here = Self::ALL.into_iter().find(|arch| arch.of_rust() == consts::ARCH);
        here.context("functions run on x86-64 and arm64 only")
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86_64",
        }
    }

    /// As Rust calls it.
    pub(crate) fn of_rust(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64",
            Self::X86 => "x86_64",
        }
    }
}
