//! The commit that is released. Its time is the time of every file in an archive.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use emulators::workspace::root;
use jiff::Timestamp;

/// Where releases are published. Their files are below `/releases`.
pub(super) const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) hash: String,
    /// In seconds since 1970.
    pub(super) time: u64,
}

impl Commit {
    /// The one that is checked out. What isn't committed would be released under a name that doesn't contain it.
    pub(super) fn checked_out() -> Result<Self> {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
        ensure!(
            changed.is_empty(),
            "commit these changes first, or put them aside with `git stash`:\n{changed}"
        );
        let shown = git(&["log", "-1", "--format=%H %ct"])?;
        let (hash, time) = shown.split_once(' ').context("git shows no commit")?;
        Ok(Self { hash: hash.to_owned(), time: time.parse()? })
    }

    /// Whether it has the tag by which this version is published.
    pub(super) fn is_tagged(&self, version: &str) -> Result<bool> {
        let tags = git(&["tag", "--points-at", &self.hash])?;
        Ok(tags.lines().any(|tag| tag.strip_prefix('v') == Some(version)))
    }

    /// Like `2026-11-24T12:00:00Z`.
    pub(super) fn utc(&self) -> Result<String> {
        Ok(Timestamp::from_second(self.time.try_into()?)?.to_string())
    }

    /// Like `2026-11-24`.
    pub(super) fn day(&self) -> Result<String> {
        Ok(self.utc()?.chars().take_while(|&next| next != 'T').collect())
    }
}

/// The files below this folder that belong to the repository.
pub(super) fn files_of(folder: &str) -> Result<Vec<String>> {
    Ok(git(&["ls-files", folder])?.lines().map(str::to_owned).collect())
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.context("git is needed to know what is released")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {}", arguments.join(" "), printed.trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
