//! Results go to standard output, everything else to standard error. Colours and moving lines only go to a terminal.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, Result};
use document::CheckMark;
use document::wrap::wrapped;
use ratatui::crossterm::terminal;
use tracing_subscriber::fmt::MakeWriter;

use crate::error_output;
use crate::exit::Exit;

/// The width of a terminal that does not know it, and of a file.
const USUAL_COLUMNS: u16 = 80;

pub(crate) fn say(text: &str) -> io::Result<()> {
    print_line(text).map_err(|error| unprinted(&error))
}

/// The same, where the caller tells what it means that it could not be printed.
pub(crate) fn print_line(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", fitted(text, &io::stdout()))
}

/// On its own, "No space left on device" could be about the room's disk.
fn unprinted(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("could not print the answer: {error}"))
}

/// Says this when a program ends, and waits for nobody who doesn't read it.
pub(crate) fn say_farewell(text: String) {
    // The output may be closed.
    error_output::print_last(move || drop(say(&text)));
}

/// Prints text for the person at the terminal that is not part of the result.
pub(crate) fn note(text: &str) {
    error_output::print(format!("{}\n", fitted(text, &io::stderr())).into_bytes());
}

/// Prints such a text above a live line.
pub(crate) fn note_above(text: &str) {
    print_above(format!("{}\n", fitted(text, &io::stderr())).as_bytes());
}

/// Prints a help, or what is wrong with a command line.
pub(crate) fn explain(error: &clap::Error) {
    let (colours, rendered) = (Colours::of(error.use_stderr()), error.render());
    let text = if colours == Colours::Ansi { rendered.ansi().to_string() } else { rendered.to_string() };
    // The output may be closed.
    if error.use_stderr() {
        drop(write!(io::stderr().lock(), "{}", fitted(&text, &io::stderr())));
    } else {
        drop(write!(io::stdout().lock(), "{}", fitted(&text, &io::stdout())));
    }
}

/// Breaks the lines of a text for a terminal, but not those of JSON, which is for programs.
fn fitted(text: &str, output: &impl IsTerminal) -> String {
    if output.is_terminal() && !text.starts_with(['{', '[']) {
        wrapped(text, terminal_columns())
    } else {
        text.to_owned()
    }
}

/// Writes this text into a file that somebody asked for, and says so.
pub(crate) fn write_file(file: &Path, what: &str, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("could not write {what} to {}", file.display()))?;
    note(&format!("wrote {}", file.display()));
    Ok(())
}

pub(crate) fn write(data: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(data).map_err(|error| unprinted(&error))
}

/// Prints the error for an invalid command line.
pub(crate) fn complain_about_usage(error: &clap::Error) {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default().trim();
    let tips: Vec<_> = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let advice = if tips.is_empty() { "see: beekeeper help".to_owned() } else { tips.join("; ") };
    complain_as(first.strip_prefix("error: ").unwrap_or(first), Some(&advice), Exit::Usage, false, true);
}

/// `may_be_done` says that it isn't known whether an order was carried out.
pub(crate) fn complain_as(error: &str, advice: Option<&str>, exit: Exit, may_be_done: bool, json: bool) {
    if !json {
        note(&format!("{} {error}", Colours::of_errors().red("error:")));
        advice.inspect(|advice| note(&format!("hint: {advice}")));
        return;
    }
    let mut object = serde_json::json!({ "error": error, "kind": exit.kind() });
    if let Some(advice) = advice {
        object["advice"] = advice.into();
    }
    if may_be_done {
        object["may_be_done"] = true.into();
    }
    note(&object.to_string());
}

/// Whether the program that reads our output has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether what is printed may have colours: on a terminal, unless `NO_COLOR` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    Ansi,
    None,
}

impl Colours {
    pub(crate) fn of_output() -> Self {
        Self::on(io::stdout().is_terminal())
    }

    pub(crate) fn of_errors() -> Self {
        Self::on(io::stderr().is_terminal())
    }

    fn of(is_error: bool) -> Self {
        if is_error { Self::of_errors() } else { Self::of_output() }
    }

    fn on(is_terminal: bool) -> Self {
        if is_terminal && are_colours_wanted() { Self::Ansi } else { Self::None }
    }

    /// For what an operator must not miss.
    pub(crate) fn red(self, text: &str) -> String {
        self.coloured("1;31", text)
    }

    /// For what to look at.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.coloured("33", text)
    }

    /// For what is as it should be.
    pub(crate) fn green(self, text: &str) -> String {
        self.coloured("32", text)
    }

    pub(crate) fn marked(self, mark: Option<CheckMark>, text: &str) -> String {
        match mark {
            None => text.to_owned(),
            Some(CheckMark::Good) => self.green(text),
            Some(CheckMark::Doubtful) => self.yellow(text),
            Some(CheckMark::Bad) => self.red(text),
        }
    }

    fn coloured(self, code: &str, text: &str) -> String {
        match self {
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::None => text.to_owned(),
        }
    }
}

pub(crate) fn are_colours_wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How many columns the terminal has. One that does not know it says 0.
pub(crate) fn terminal_columns() -> u16 {
    columns_or_usual(terminal::size().ok().map(|(columns, _)| columns))
}

fn columns_or_usual(columns: Option<u16>) -> u16 {
    columns.filter(|columns| *columns > 0).unwrap_or(USUAL_COLUMNS)
}

/// How wide a document is: as wide as the terminal, but no wider than is easy to read.
pub(crate) fn readable_width() -> u16 {
    const WIDEST: u16 = 110;

    if io::stdout().is_terminal() { terminal_columns().min(WIDEST) } else { USUAL_COLUMNS }
}

/// A line at the bottom of a terminal that is rewritten in place.
pub(crate) struct LiveLine {
    shown: bool,
}

impl LiveLine {
    pub(crate) fn new() -> Self {
        // What reads a pipe may print on the same terminal, into the middle of this line.
        Self { shown: io::stderr().is_terminal() && !is_piped(&io::stdout()) }
    }

    /// Facts that are separated by commas: the first ones that fit into the terminal's width. A longer line would wrap,
    /// and could not be rewritten.
    pub(crate) fn show_facts(&self, text: &str) {
        self.show_facts_after("", text);
    }

    /// The same after what an operator must not miss, in red.
    pub(crate) fn show_facts_after(&self, alarming: &str, text: &str) {
        let columns = terminal_columns().into();
        self.show(&coloured_facts(alarming, text, columns, Colours::on(self.shown)));
    }

    /// Whether there is a terminal for it.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown
    }

    pub(crate) fn show(&self, text: &str) {
        if self.shown {
            error_output::print(format!("{}{text}", error_output::CLEAR).into_bytes());
        }
    }
}

fn is_piped(output: &impl AsFd) -> bool {
    error_output::file_type(output).is_some_and(|kind| kind.is_fifo())
}

/// The facts that fit into this many columns. At least the first fact stays.
fn first_facts(text: &str, columns: usize) -> &str {
    // The last column stays free, because some terminals wrap when it is written.
    let fits = |end: usize| text.get(..end).is_some_and(|text| text.chars().count() < columns);
    let ends: Vec<usize> = text.match_indices(", ").map(|(end, _)| end).chain([text.len()]).collect();
    let end = ends.iter().rev().find(|end| fits(**end)).or(ends.first());
    end.and_then(|end| text.get(..*end)).unwrap_or(text)
}

fn coloured_facts(alarming: &str, text: &str, columns: usize, colours: Colours) -> String {
    if alarming.is_empty() {
        return first_facts(text, columns).to_owned();
    }
    // What alarms is never left out, but cut.
    let (alarming, text) = match alarming.char_indices().nth(columns.saturating_sub(1)) {
        Some((end, _)) => (&alarming[..end], ""),
        None => (alarming, text),
    };
    let both = format!("{alarming}, {text}");
    let rest = first_facts(&both, columns).strip_prefix(alarming).unwrap_or_default();
    format!("{}{rest}", colours.red(alarming))
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// A writer for log lines that clears the live line first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AboveLiveLine;

fn print_above(text: &[u8]) {
    error_output::print(error_output::above_live_line(text));
}

impl Write for AboveLiveLine {
    /// Each log line comes whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        print_above(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for AboveLiveLine {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_width_is_the_usual_one() {
        assert_eq!([None, Some(0), Some(50)].map(columns_or_usual), [80, 80, 50]);
    }

    #[test]
    fn what_alarms_comes_first_and_is_cut_if_it_must_be() {
        let line = |columns, colours| {
            coloured_facts("REFUSED 7: full, wait", "1 joined, 2 waiting", columns, colours)
        };
        assert_eq!(line(80, Colours::None), "REFUSED 7: full, wait, 1 joined, 2 waiting");
        assert_eq!(line(80, Colours::Ansi), "\x1b[1;31mREFUSED 7: full, wait\x1b[0m, 1 joined, 2 waiting");
        assert_eq!(line(40, Colours::None), "REFUSED 7: full, wait, 1 joined");
        assert_eq!(line(22, Colours::None), "REFUSED 7: full, wait");
        assert_eq!(line(21, Colours::Ansi), "\x1b[1;31mREFUSED 7: full, wai\x1b[0m");
        assert_eq!(coloured_facts("", "1 joined, 2 waiting", 12, Colours::Ansi), "1 joined");
    }

    #[test]
    fn a_live_line_ends_between_two_facts() {
        let line = "290 joined, 120 waiting, line reached 170, rate 60 a minute";
        assert_eq!(first_facts(line, 60), line);
        assert_eq!(first_facts(line, 59), "290 joined, 120 waiting, line reached 170");
        assert_eq!(first_facts(line, 40), "290 joined, 120 waiting");
        assert_eq!(first_facts(line, 5), "290 joined", "at least one");
        assert_eq!(first_facts("", 5), "");
    }
}
