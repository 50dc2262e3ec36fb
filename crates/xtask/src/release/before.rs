//! The version before the first release, as a Debian package: what the upgrade test starts from.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use emulators::workspace::{root, target};

use super::deb;
use super::product::Product;
use super::tree::read;
use crate::arch::Arch;
use crate::zig;

/// The last commit before there was anything to download.
const COMMIT: &str = "61ded13b8b87";

const VERSION: &str = "0.0.9";

/// Writes `release-work/beekeeper_0.0.9_amd64.deb`, unless it is there: the commit doesn't change.
pub(super) fn write(product: &Product) -> Result<()> {
    let work = target().join("release-work");
    let package = work.join("beekeeper_0.0.9_amd64.deb");
    if package.exists() {
        return Ok(());
    }
    let source = work.join("before");
    if !source.exists() {
        let mut git = Command::new("git");
        let output = git.args(["archive", COMMIT]).current_dir(root()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        // An interrupted run leaves no half of it.
        let new = work.join("before.new");
        tar::Archive::new(output.stdout.as_slice()).unpack(&new)?;
        fs::rename(new, &source)?;
    }
    let program = read(&zig::build_in(&source, Arch::X86)?)?;
    let mut before = product.clone();
    VERSION.clone_into(&mut before.version);
    // Its service had the flags of the room, and another place of the program.
    let unit = String::from_utf8(read(&source.join("docs/hosting/beekeeper.service"))?)?;
    before
        .hosting
        .insert("beekeeper.service".into(), unit.replace("/usr/local/bin", "/usr/bin").into_bytes());
    // From version to version, the examples differ.
    before.hosting.entry("room.toml".into()).or_default().extend_from_slice(b"\n# The version before.\n");
    deb::write(&before, &program, "amd64", &package)
}
