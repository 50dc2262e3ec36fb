//! Every third-party licence text, in one file beside the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use emulators::workspace::root;

use super::dependencies::Dependency;
use super::tree::read;
use crate::zig;

/// What the names of files with licences begin with.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The texts, each once, with the names of those whom it belongs to.
pub(super) fn third_party(dependencies: &BTreeSet<Dependency>) -> Result<String> {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |text: &str, owner: String| {
        owners.entry(text.trim().replace("\r\n", "\n")).or_default().insert(owner);
    };
    for dependency in dependencies {
        let owner = format!("{} {} ({})", dependency.name, dependency.version, dependency.license);
        for text in texts(dependency)? {
            add(&text, owner.clone());
        }
    }
    // What is in every program, and no crate.
    add(&text_of(&zig::musl_licence()?)?, "musl, the C library of the programs for Linux".to_owned());
    for licence in ["Apache-2.0", "MIT", "LLVM-exception"] {
        add(&text_of(&rust_licence(licence)?)?, "Rust's standard library".to_owned());
    }
    let mut all =
        "beekeeper contains the work of others. Each text below belongs to what is listed above it.\n"
            .to_owned();
    for (text, owners) in owners {
        let owners: Vec<_> = owners.into_iter().collect();
        // Writing to a string cannot fail.
        let _ = write!(all, "\n{}\n\n{}\n\n{text}\n", "=".repeat(100), owners.join("\n"));
    }
    Ok(all)
}

/// The texts in the crate's folder, and below it, where C sources of others bring theirs. A crate without one of its own offers its
/// licence by name alone: then it is the usual text, with the names of its authors.
fn texts(dependency: &Dependency) -> Result<Vec<String>> {
    let mut found = files(&dependency.folder)?;
    found.sort();
    let mut texts = found.iter().map(|path| text_of(path)).collect::<Result<Vec<_>>>()?;
    if found.iter().any(|path| path.parent() == Some(dependency.folder.as_path())) {
        return Ok(texts);
    }
    let usual = usual_text(&dependency.license)
        .with_context(|| format!("{} {} has no licence text", dependency.name, dependency.version))?;
    let authors = match dependency.authors.as_slice() {
        [] => format!("the authors of {}", dependency.name),
        authors => authors.join(", "),
    };
    texts.push(text_of(&root().join(usual))?.replace("The Beekeeper authors", &authors));
    Ok(texts)
}

/// The files with licences in a folder and below. No program contains tests.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let kind = entry.file_type()?;
        if kind.is_dir() && name != "TESTS" {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Ours, where another crate has the same licence.
fn usual_text(license: &str) -> Result<&'static str> {
    let offers = |name| license.split([' ', '(', ')']).any(|word| word == name);
    ensure!(offers("MIT") || offers("Apache-2.0"), "its licence is {license}: where is the text?");
    Ok(if offers("Apache-2.0") { "LICENSE-APACHE" } else { "LICENSE-MIT" })
}

/// Rust's own, from its documents on this machine.
fn rust_licence(name: &str) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    let output = rustc.args(["--print", "sysroot"]).current_dir(root()).output()?;
    let sysroot = String::from_utf8(output.stdout)?;
    Ok(Path::new(sysroot.trim()).join("share/doc/rust/licenses").join(name).with_added_extension("txt"))
}

fn text_of(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::dependencies::of_others;
    use super::*;

    #[test]
    fn sources_in_c_bring_their_own_texts() {
        let dependencies = of_others(&["x86_64-unknown-linux-musl"]).unwrap();
        let allocator = dependencies.iter().find(|dependency| dependency.name == "libmimalloc-sys").unwrap();
        let texts = texts(allocator).unwrap().concat();
        assert!(texts.contains("Octavian Oncescu") && texts.contains("Daan Leijen"), "{texts}");
    }

    #[test]
    fn a_crate_without_a_text_has_the_usual_one_if_there_is_one() {
        assert_eq!(usual_text("MIT OR Apache-2.0").unwrap(), "LICENSE-APACHE");
        assert_eq!(usual_text("(MIT AND Zlib)").unwrap(), "LICENSE-MIT");
        assert!(usual_text("BSD-3-Clause").is_err());
    }
}
