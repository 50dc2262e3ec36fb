//! The blocks of our documents, so that a test can run their commands.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace;

/// A fenced block of a document.
#[derive(Debug)]
pub struct Fenced<'a> {
    /// The line of its fence, from 1.
    pub line: usize,
    pub language: &'a str,
    /// What follows the language, which GitHub doesn't show: who tries the block. CONTRIBUTING.md has the words.
    pub marker: &'a str,
    pub text: String,
}

/// Every document for people: those at the root, and the pages below docs. Each by its path from the root.
pub fn documents() -> Result<Vec<(String, String)>> {
    let (mut folders, mut documents) = (vec![String::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(workspace::root().join(&folder)).context("could not list the documents")?;
        for entry in entries {
            let entry = entry?;
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            let is_ours = !folder.is_empty() || path == "docs";
            if is_ours && entry.file_type()?.is_dir() {
                folders.push(path + "/");
            } else if entry.path().extension().is_some_and(|extension| extension == "md") {
                documents.push((path, fs::read_to_string(entry.path())?));
            }
        }
    }
    documents.sort();
    Ok(documents)
}

pub fn blocks(document: &str) -> Vec<Fenced<'_>> {
    let mut blocks = Vec::<Fenced<'_>>::new();
    let mut is_open = false;
    for (line, text) in (1..).zip(document.lines()) {
        match (text.strip_prefix("```"), blocks.last_mut()) {
            (Some(_), _) if is_open => is_open = false,
            (Some(info), _) => {
                let (language, marker) = info.split_once(' ').unwrap_or((info, ""));
                blocks.push(Fenced { line, language, marker, text: String::new() });
                is_open = true;
            }
            (None, Some(block)) if is_open => block.text.extend([text, "\n"]),
            _ => {}
        }
    }
    blocks
}

/// The commands of a document's `console` blocks, each with the output that the document shows.
pub fn commands(document: &str) -> Vec<(String, String)> {
    let consoles = blocks(document).into_iter().filter(|block| block.language == "console");
    let mut commands = Vec::<(String, String)>::new();
    for line in consoles.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => output.extend([&line, "\n"]),
            (None, None) => {}
        }
    }
    commands
}

/// Splits a command into words as a shell does. Our documents quote with double quotes only.
pub fn words(command: &str) -> Vec<String> {
    let quoted = command.split('"').enumerate();
    let words = quoted.flat_map(|(n, part)| match n % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// The output without the seconds until an order is in force. On a busy machine, a part of them has passed.
pub fn without_seconds(said: &str) -> String {
    const IN_FORCE: &str = ", in force in ";
    let mut parts = said.split(IN_FORCE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + IN_FORCE + "…" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// Whether a command printed what a document shows. `…` in the document matches anything; on a line of its own it matches
/// any number of lines.
pub fn is_as_told(said: &str, told: &str) -> bool {
    lines_match(&said.lines().collect::<Vec<_>>(), &told.lines().collect::<Vec<_>>())
}

fn lines_match(said: &[&str], told: &[&str]) -> bool {
    match (said.split_first(), told.split_first()) {
        (_, Some((&"…", rest))) => (0..=said.len()).any(|skipped| lines_match(&said[skipped..], rest)),
        (Some((line, said)), Some((pattern, told))) => line_matches(line, pattern) && lines_match(said, told),
        (None, None) => true,
        _ => false,
    }
}

fn line_matches(line: &str, pattern: &str) -> bool {
    match pattern.split_once('…') {
        None => line == pattern,
        Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|line| {
            line.char_indices()
                .map(|(at, _)| at)
                .chain([line.len()])
                .any(|at| line_matches(&line[at..], rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_tells_what_is_typed_and_what_is_printed() {
        let document =
            "Text\n```console\n$ one \"two three\"\nfour\n$ five\n```\n```text shown\n$ not this\n```\n";
        let commands = commands(document);
        let expected = [("one \"two three\"", "four\n"), ("five", "")];
        assert_eq!(commands, expected.map(|(command, said)| (command.to_owned(), said.to_owned())));
        assert_eq!(words(&commands[0].0), ["one", "two three"]);
        let blocks = blocks(document);
        let [_, text] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!((text.line, text.language, text.marker), (7, "text", "shown"));
        assert_eq!(text.text, "$ not this\n");
    }

    #[test]
    fn seconds_are_left_out() {
        let said = "rate: 60 -> 600, in force in 2 s\nroom: on -> off, in force in 1 s\n";
        let expected = "rate: 60 -> 600, in force in … s\nroom: on -> off, in force in … s\n";
        assert_eq!(without_seconds(said), expected);
        assert_eq!(without_seconds("nothing changed"), "nothing changed");
    }

    #[test]
    fn dots_stand_for_anything() {
        assert!(is_as_told("a\nb\nc\nd 12 e\n", "a\n…\nd … e\n"));
        assert!(is_as_told("a\n", "a\n…\n"));
        assert!(!is_as_told("a\nb\n", "a\n"));
        assert!(!is_as_told("a\n", "a\n…\nb\n"));
        assert!(!is_as_told("d 12\n", "d … e\n"));
    }
}
