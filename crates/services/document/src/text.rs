//! A document for a terminal or a file.

use crate::table::DocumentTable;
use crate::{CheckLine, Document, DocumentPart, DocumentSection};

impl Document {
    /// The document for a terminal of this width. Plots and tables are drawn for it; a sentence stays on its line. Nothing has a
    /// colour.
    pub fn text(&self, width: u16) -> String {
        let head = [&[self.title.clone()][..], &self.summary].concat().join("\n");
        let widest = self.facts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let below = format!("\n{:widest$}  ", "");
        let facts = self.facts.iter().map(|(name, value)| {
            let value = value.replace('\n', &below);
            format!("{name:<widest$}  {value}")
        });
        let facts = facts.collect::<Vec<_>>().join("\n");
        let sections = self.sections.iter().map(|section| section.text(width));
        let parts = [head, facts].into_iter().chain(sections).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

impl DocumentSection {
    fn text(&self, width: u16) -> String {
        let mut text = format!("{}\n{}", self.heading, "─".repeat(self.heading.chars().count()));
        let mut before = None;
        for part in &self.parts {
            let is_paragraph = matches!(part, DocumentPart::Paragraph(_));
            // Sentences stand below each other, and everything else is apart.
            let is_apart = before.is_some_and(|before| !(before && is_paragraph));
            text.push_str(if is_apart { "\n\n" } else { "\n" });
            text.push_str(part.text(width).trim_end());
            before = Some(is_paragraph);
        }
        text
    }
}

impl DocumentPart {
    fn text(&self, width: u16) -> String {
        match self {
            Self::Paragraph(text) => text.clone(),
            Self::Plot(plot) => plot.text(width),
            Self::Table(table) => DocumentTable::text(table, width),
            Self::Checks(checks) => {
                let widest = checks.iter().map(|check| check.word.len()).max().unwrap_or_default();
                let below = format!("\n{:widest$}  ", "");
                let line = |check: &CheckLine| {
                    let CheckLine { word, name, found, .. } = check;
                    format!("{word:<widest$}  {name}: {}", found.replace('\n', &below))
                };
                checks.iter().map(line).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckMark;

    #[test]
    fn the_facts_come_before_the_sections_and_sentences_stand_below_each_other() {
        let sentences = ["It rained.", "Then it stopped."].map(|text| DocumentPart::Paragraph(text.into()));
        let check =
            |mark, word, found: &str| CheckLine { mark, word, name: "nobody got wet", found: found.into() };
        let checks = vec![check(CheckMark::Good, "kept", "0 did"), check(CheckMark::Bad, "BROKEN", "7 did")];
        let table = DocumentTable::new("Rain", &["hour", "litres"], [vec!["noon".into(), "12".into()]]);
        let parts = sentences.into_iter().chain([DocumentPart::Checks(checks), DocumentPart::Table(table)]);
        let document = Document {
            title: "The weather".into(),
            summary: vec!["It was wet.".into()],
            facts: vec![("rain", "12 litres\nat noon".into()), ("umbrellas", "3".into())],
            sections: vec![DocumentSection { heading: "The day", parts: parts.collect() }],
        };
        snapbox::assert_data_eq!(
            document.text(80),
            snapbox::str![[r"
The weather
It was wet.

rain       12 litres
           at noon
umbrellas  3

The day
───────
It rained.
Then it stopped.

kept    nobody got wet: 0 did
BROKEN  nobody got wet: 7 did

Rain
hour  litres
noon      12
"]]
        );
        let bare = Document { facts: Vec::new(), sections: Vec::new(), ..document };
        assert_eq!(bare.text(80), "The weather\nIt was wet.");
    }
}
