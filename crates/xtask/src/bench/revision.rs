//! The program that is measured: this tree's, or that of another revision.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use emulators::workspace::{root, target};

use crate::process::{cargo, run};

/// Another revision's `beekeeper`.
pub(super) struct OtherRevision {
    pub(super) program: PathBuf,
    /// Its short name in git.
    pub(super) name: String,
}

/// Builds this tree's `beekeeper`, and returns where it is.
pub(super) fn built() -> Result<PathBuf> {
    run(cargo().args(["build", "--release", "--locked", "--package", "beekeeper"]))?;
    Ok(target().join("release/beekeeper"))
}

/// Builds the revision that git knows by this name, unless it was built before.
pub(super) fn other_revision(named: &str) -> Result<OtherRevision> {
    let commit = format!("{named}^{{commit}}");
    let said = git(&["rev-parse", "--short", "--verify", "--quiet", &commit]).output()?;
    ensure!(said.status.success(), "git knows no revision {named}; git log --oneline lists them");
    let name = String::from_utf8(said.stdout)?.trim().to_owned();
    let folder = target().join("bench-revisions");
    let program = folder.join(format!("beekeeper-{name}"));
    if !program.exists() {
        fs::create_dir_all(&folder)?;
        let tree = folder.join("tree");
        let path = tree.to_str().context("the target directory has a name that is no text")?;
        // Left by a build that was ended.
        drop(git(&["worktree", "remove", "--force", path]).output());
        run(&mut git(&["worktree", "add", "--quiet", "--detach", path, &name]))?;
        // Not this tree's directory: cargo tells crates apart by their place in the workspace, and would take those of one
        // tree for the other's.
        let compiled = folder.join("target");
        let mut build = cargo();
        build
            .args(["build", "--release", "--locked", "--package", "beekeeper", "--target-dir"])
            .arg(&compiled);
        let done = run(build.current_dir(&tree))
            .and_then(|()| Ok(fs::copy(compiled.join("release/beekeeper"), &program).map(drop)?));
        run(&mut git(&["worktree", "remove", "--force", path]))?;
        done?;
    }
    Ok(OtherRevision { program, name })
}

fn git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.current_dir(root()).args(arguments);
    git
}
