//! Every block of the documents says who tries it. CONTRIBUTING.md has the words.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

use std::fs;
use std::path::PathBuf;

use emulators::console::{self, Fenced};
use emulators::workspace;

/// What a block may need that a test hasn't, or not as it stands.
const NEEDS: [&str; 14] = [
    "a browser",
    "a CDN",
    "a clone",
    "a registry",
    "a release",
    "a room",
    "a shop",
    "a web server",
    "AWS",
    "Docker",
    "GitHub",
    "macOS",
    "Prometheus",
    "root",
];

/// The sources in which a test may be, each with its path.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = ["cli", "crates"].map(|folder| workspace::root().join(folder)).to_vec();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(sources.len() > 500, "these are not all sources");
    sources
}

/// The source of a test, which is named by its function or its path.
fn source_of(test: &str, sources: &[(PathBuf, String)]) -> Result<String, String> {
    if test.contains('/') {
        return fs::read_to_string(workspace::root().join(test)).map_err(|error| format!("{test}: {error}"));
    }
    let begins = format!("fn {test}(");
    let source = sources.iter().find(|(_, source)| source.contains(&begins));
    source.map(|(_, source)| source.clone()).ok_or(format!("no test is called {test}"))
}

/// What is wrong with the marker of a block on this page.
fn mistake(page: &str, block: &Fenced<'_>, sources: &[(PathBuf, String)]) -> Result<(), String> {
    let reads = |source: &str| source.contains(&format!("{page}\"")) && source.contains("console::");
    if block.language == "console" {
        let is_read =
            sources.iter().any(|(_, source)| reads(source) && source.contains("console::commands("));
        let is_alone = block.marker.is_empty() && is_read;
        return is_alone
            .then_some(())
            .ok_or("a `console` block is for a test that runs the page's commands".into());
    }
    let (needs, test) = match block.marker.strip_prefix("needs ") {
        Some(needs) => needs.split_once(", ").ok_or("who tries it? `like TEST`, or `untested`")?,
        None => ("", block.marker),
    };
    if let Some(unknown) = needs.split(" and ").find(|need| !need.is_empty() && !NEEDS.contains(need)) {
        return Err(format!("{unknown:?} is not in the list of what blocks need, in {}", file!()));
    }
    match test.split_once(' ') {
        Some(("like", test)) => source_of(test, sources).map(|_| ()),
        Some(("runs", test)) => {
            let is_read = reads(&source_of(test, sources)?);
            is_read.then_some(()).ok_or(format!("{test} doesn't read this page's blocks"))
        }
        None if test == "shown" && needs.is_empty() => Ok(()),
        None if test == "untested" && !needs.is_empty() => Ok(()),
        _ => Err("it doesn't say who tries it; CONTRIBUTING.md has the words".into()),
    }
}

#[test]
fn every_block_says_who_tries_it() {
    let (documents, sources) = (console::documents().unwrap(), sources());
    let mut mistakes = Vec::new();
    for (page, document) in &documents {
        for block in console::blocks(document) {
            if let Err(mistake) = mistake(page, &block, &sources) {
                mistakes
                    .push(format!("{page}:{}: {} {}: {mistake}", block.line, block.language, block.marker));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_marker_that_says_too_little_is_found() {
    let sources = sources();
    let said = |language, marker| {
        let block = Fenced { line: 1, language, marker, text: String::new() };
        mistake("docs/observe.md", &block, &sources).is_ok()
    };
    assert!(said("console", "") && said("text", "shown") && said("text", "needs AWS and root, untested"));
    assert!(said("toml", "like every_block_says_who_tries_it"));
    assert!(said("text", "runs the_documentation_shows_what_changing_the_mode_prints"));
    for wrong in [
        "",
        "needs AWS",
        "needs luck, untested",
        "untested",
        "like no_test_of_ours",
        "runs every_type_has_a_name_of_its_own",
        "like crates/none.rs",
    ] {
        assert!(!said("text", wrong), "{wrong}");
    }
    assert!(!said("console", "shown"));
}
