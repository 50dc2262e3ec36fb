//! What the pictures of the documents were made from. `cargo xtask screenshots` makes them.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use emulators::workspace;
use sha2::{Digest, Sha256};

/// What a report of a command looks like.
const REPORTS: &[&str] = &[
    "crates/services/document/src/html.rs",
    "crates/services/document/src/html.css",
    "crates/services/document/src/plot/svg.rs",
    "crates/services/document/src/plot/plot.css",
];

/// Each picture, and the files that it shows: few, so that not every change asks for new pictures.
const PICTURES: [(&str, &[&str]); 4] = [
    ("page.png", &["site/index.html", "site/wait.css", "site/view.js", "site/text-en.js", "site/logo.svg"]),
    ("rehearsal.png", REPORTS),
    ("report.png", REPORTS),
    ("simulate.png", REPORTS),
];

fn folder() -> PathBuf {
    workspace::root().join("docs/images")
}

fn manifest() -> Result<String> {
    let mut manifest = String::from(
        "# What each picture was made from, by SHA-256. `cargo xtask screenshots` makes both.\n",
    );
    for (picture, files) in PICTURES {
        writeln!(manifest, "\n[\"{picture}\"]")?;
        for file in files {
            let content =
                fs::read(workspace::root().join(file)).with_context(|| format!("could not read {file}"))?;
            let digest =
                Sha256::digest(content).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            writeln!(manifest, "\"{file}\" = \"{digest}\"")?;
        }
    }
    Ok(manifest)
}

pub(crate) fn write_manifest() -> Result<()> {
    fs::write(folder().join("manifest.toml"), manifest()?)
        .context("could not write the manifest of the pictures")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use emulators::console;

    use super::*;

    #[test]
    fn the_pictures_show_what_there_is() {
        let written = fs::read_to_string(folder().join("manifest.toml")).unwrap();
        let is_current = written == manifest().unwrap();
        assert!(is_current, "what these pictures show has changed since: cargo xtask screenshots");
    }

    #[test]
    fn the_pictures_are_small_and_each_is_shown() {
        let mut found = BTreeSet::new();
        let documents = console::documents().unwrap();
        for entry in fs::read_dir(folder()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name != "manifest.toml" {
                let shown = format!("images/{name}\"");
                assert!(
                    documents.iter().any(|(_, document)| document.contains(&shown)),
                    "no document shows {name}"
                );
                assert!(entry.metadata().unwrap().len() < 100_000, "{name} has more than 100 kB");
            }
            found
                .extend(entry.path().extension().is_some_and(|extension| extension == "png").then_some(name));
        }
        assert_eq!(found, PICTURES.map(|(picture, _)| picture.to_owned()).into());
    }
}
