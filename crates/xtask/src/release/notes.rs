//! What is new, from the changelog.

use anyhow::{Context, Result};

/// The changelog's section of this version, or what is not released yet if it has none.
pub(super) fn of_release(changelog: &str, version: &str) -> Result<String> {
    let section = section(changelog, version).or_else(|| section(changelog, "Unreleased"));
    let section =
        section.with_context(|| format!("CHANGELOG.md has no section {version}, and none Unreleased"))?;
    Ok(format!("{}\n", section.trim()))
}

/// From its heading, `## 0.1.0` with or without a date behind it, to the next one.
pub(super) fn section<'a>(changelog: &'a str, name: &str) -> Option<&'a str> {
    let mut sections = changelog.split("\n## ").skip(1);
    sections.find_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let heading = heading.split_whitespace().next()?.trim_matches(['[', ']']);
        (heading == name).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\nAbout it.\n\n## Unreleased\n\n- Next.\n\n## [0.1.0] - 2026-12-01\n\n### Added\n- First.\n";

    #[test]
    fn the_notes_are_the_section_of_the_version() {
        assert_eq!(of_release(CHANGELOG, "0.1.0").unwrap(), "### Added\n- First.\n");
        assert_eq!(of_release(CHANGELOG, "0.2.0").unwrap(), "- Next.\n");
        assert!(of_release("# Changelog\n", "0.1.0").is_err());
    }
}
