//! What every package has beside the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use emulators::workspace::{root, target};

use super::commit::{Commit, files_of};
use super::tree::{Tree, empty, read};

/// The files by their names.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) version: String,
    pub(super) commit: Commit,
    /// What other people's work asks for, in one text.
    pub(super) licences: Vec<u8>,
    pub(super) manual: Files,
    pub(super) completions: Files,
    /// README.md and docs, so that links between them hold.
    pub(super) documents: Files,
    /// What a service needs, from docs/hosting, where a test runs it.
    pub(super) hosting: Files,
}

impl Product {
    /// Asks a program that runs on this machine for its manual and its completions.
    pub(super) fn described_by(program: &Path, commit: Commit, licences: String) -> Result<Self> {
        let folder = target().join("release-work/man");
        empty(&folder)?;
        printed(program, &["man", "--dir", &folder.to_string_lossy()])?;
        let mut manual = Files::new();
        for entry in folder.read_dir()? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            manual.insert(name, read(&path)?);
        }
        let mut completions = Files::new();
        for (shell, name) in [("bash", "beekeeper.bash"), ("zsh", "_beekeeper"), ("fish", "beekeeper.fish")] {
            completions.insert(name.to_owned(), printed(program, &["completions", shell])?);
        }
        let mut documents = Files::new();
        for path in [files_of("docs")?, files_of("*.md")?].concat() {
            let is_ours = path.starts_with("docs/") || !path.contains('/');
            if is_ours {
                documents.insert(path.clone(), read(&root().join(path))?);
            }
        }
        let mut hosting = Files::new();
        for name in ["beekeeper.service", "beekeeper-guard.service", "room.toml", "guard.toml"] {
            hosting.insert(name.to_owned(), read(&root().join("docs/hosting").join(name))?);
        }
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit,
            licences: licences.into_bytes(),
            manual,
            completions,
            documents,
            hosting,
        })
    }

    /// The archive's files, apart from the program.
    pub(super) fn archived(&self) -> Result<Tree> {
        let mut tree = Tree::default();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            tree.add(licence, read(&root().join(licence))?);
        }
        tree.add("THIRD-PARTY.txt", self.licences.clone());
        for (path, content) in &self.documents {
            tree.add(path, content.clone());
        }
        for (name, page) in &self.manual {
            tree.add(format!("man/man1/{name}"), page.clone());
        }
        for (name, script) in &self.completions {
            tree.add(format!("completions/{name}"), script.clone());
        }
        Ok(tree)
    }
}

fn printed(program: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} {} failed: {}",
        program.display(),
        arguments.join(" "),
        complaint.trim()
    );
    Ok(output.stdout)
}
