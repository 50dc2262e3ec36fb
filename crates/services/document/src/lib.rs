//! What a service found, to be read by a person: a [`Document`]. It is drawn as text and as a page, and both say the same.
//!
//! There is no terminal here: who prints a text knows how wide it may be, and breaks its sentences ([`wrap::wrapped`]).

mod html;
mod plot;
mod refusal;
mod table;
mod text;
pub mod words;
pub mod wrap;

pub use plot::{Plot, PlotAxis, PlotSeries, PlotShape};
pub use refusal::Refusal;
pub use table::{DocumentTable, TableRow};

/// What a person reads, from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub title: String,
    /// What happened, in a sentence or two. Each stands on a line of its own.
    pub summary: Vec<String>,
    /// What matters most, each with its name before it. It may have several lines.
    pub facts: Vec<(&'static str, String)>,
    pub sections: Vec<DocumentSection>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DocumentSection {
    pub heading: &'static str,
    pub parts: Vec<DocumentPart>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DocumentPart {
    Paragraph(String),
    Plot(Plot),
    Table(DocumentTable),
    Checks(Vec<CheckLine>),
}

/// A promise or a check: how it ended, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckLine {
    pub mark: CheckMark,
    /// How it ended, for those who see no colours: `kept`.
    pub word: &'static str,
    pub name: &'static str,
    /// It may have several lines.
    pub found: String,
}

/// The colour of a check's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMark {
    Good,
    Doubtful,
    Bad,
}
