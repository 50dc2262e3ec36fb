//! Results go to standard output, everything else to standard error. Colours and moving lines only go to a terminal.

use std::io::{self, IsTerminal, Write};

use crate::exit::{self, Exit};

use tracing_subscriber::fmt::MakeWriter;

pub(crate) fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Prints text for the person at the terminal that is not part of the result.
pub(crate) fn note(text: &str) {
    // Standard error may be closed.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Prints such a text above a live line.
pub(crate) fn note_above(text: &str) {
    drop(writeln!(AboveLiveLine.make_writer(), "{text}"));
}

pub(crate) fn write(data: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(data)
}

/// Prints an error with its advice, as text or as one line of JSON.
pub(crate) fn complain(error: &anyhow::Error, json: bool) {
    let exit = exit::exit(error);
    complain_as(&format!("{error:#}"), exit::advice(error), exit, json);
}

/// Prints the error for an invalid command line.
pub(crate) fn complain_about_usage(error: &clap::Error) {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default().trim();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    complain_as(
        first.strip_prefix("error: ").unwrap_or(first),
        tip.or(Some("see: beekeeper help")),
        Exit::Usage,
        true,
    );
}

fn complain_as(error: &str, advice: Option<&str>, exit: Exit, json: bool) {
    if !json {
        note(&format!("error: {error}"));
        advice.inspect(|advice| note(&format!("hint: {advice}")));
        return;
    }
    let mut object = serde_json::json!({ "error": error, "kind": exit.kind() });
    if let Some(advice) = advice {
        object["advice"] = advice.into();
    }
    note(&object.to_string());
}

/// Whether the program that reads our output has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A line at the bottom of a terminal that is rewritten in place.
pub(crate) struct LiveLine {
    shown: bool,
}

impl LiveLine {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, text: &str) {
        if self.shown {
            // A closed terminal must not stop the room.
            drop(write!(io::stderr().lock(), "\r\x1b[K{text}"));
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// A writer for log lines that clears the live line first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AboveLiveLine;

impl<'a> MakeWriter<'a> for AboveLiveLine {
    type Writer = io::Stderr;

    fn make_writer(&'a self) -> io::Stderr {
        let mut stderr = io::stderr();
        if stderr.is_terminal() {
            drop(stderr.write_all(b"\r\x1b[K"));
        }
        stderr
    }
}
