//! Checks that every Rust path in `docs/names.md` exists.
//!
//! The check searches the crates' words and does not parse them: a type must be defined in the crate that the path names, and
//! the rest of the path must be a word of that crate.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const NAMES: &str = include_str!("../../../docs/names.md");

/// What is defined in a crate, and all of its words.
#[derive(Default)]
struct CrateWords {
    defined: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl CrateWords {
    fn read(folder: &Path) -> Self {
        let mut words = Self::default();
        let mut paths = vec![folder.to_owned()];
        while let Some(path) = paths.pop() {
            if path.is_dir() {
                paths.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                words.add(&fs::read_to_string(path).unwrap());
            }
        }
        words
    }

    fn add(&mut self, source: &str) {
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let mut before = "";
        for word in words {
            if ["struct", "enum", "trait", "type", "fn", "const", "mod"].contains(&before) {
                self.defined.insert(word.to_owned());
            }
            self.all.insert(word.to_owned());
            before = word;
        }
    }

    /// Whether the crate defines what the path begins with, and has its other words.
    fn has(&self, path: &[&str]) -> bool {
        path.split_first().is_none_or(|(first, rest)| {
            self.defined.contains(*first) && rest.iter().all(|word| self.all.contains(*word))
        })
    }
}

fn crates() -> BTreeMap<String, CrateWords> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let source = |package: &Value| PathBuf::from(text(&package["manifest_path"])).with_file_name("src");
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (text(&package["name"]), CrateWords::read(&source(package)))).collect()
}

/// What stands in backticks in the column "Rust" of the tables.
fn rust_paths() -> Vec<&'static str> {
    let mut paths = Vec::new();
    let mut column = None;
    for line in NAMES.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        match cells.iter().position(|cell| *cell == "Rust") {
            Some(found) => column = Some(found),
            None if cells.len() == 1 => column = None,
            None => {
                let cell = column.and_then(|column| cells.get(column)).copied().unwrap_or_default();
                paths.extend(cell.split('`').skip(1).step_by(2));
            }
        }
    }
    paths
}

#[test]
fn every_rust_path_of_the_names_exists() {
    let crates = crates();
    let exists = |path: &&str| {
        let words: Vec<_> = path.split("::").collect();
        match crates.get(words[0]) {
            Some(named) => named.has(&words[1..]),
            None => crates.values().any(|any| any.has(&words)),
        }
    };
    let paths = rust_paths();
    assert!(paths.len() > 100, "these are not all paths");
    let missing: Vec<_> = paths.into_iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "docs/names.md names what is not in the code: {missing:?}");
}
