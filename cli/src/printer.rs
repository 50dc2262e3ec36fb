//! Data goes to stdout, talk to stderr; colour and moving lines only to a terminal.

use std::io::{self, IsTerminal, Write};

use crate::exit::{self, Exit};

use tracing_subscriber::fmt::MakeWriter;

pub(crate) fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// What is no result: for the person, not for the script.
pub(crate) fn note(text: &str) {
    // Nobody may be listening.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

pub(crate) fn write(data: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(data)
}

/// Says what went wrong and what can be done: as text, or as one line of JSON.
pub(crate) fn complain(error: &anyhow::Error, json: bool) {
    let exit = exit::exit(error);
    complain_as(&format!("{error:#}"), exit::advice(error), exit, json);
}

/// The same for a command line that makes no sense.
pub(crate) fn complain_about_usage(error: &clap::Error) {
    let text = error.render().to_string();
    let said = text.split("\n\n").next().unwrap_or_default().trim();
    complain_as(said.strip_prefix("error: ").unwrap_or(said), Some("see: beekeeper help"), Exit::Usage, true);
}

fn complain_as(error: &str, advice: Option<&str>, exit: Exit, json: bool) {
    if !json {
        note(&format!("error: {error}"));
        advice.inspect(|advice| note(&format!("hint: {advice}")));
        return;
    }
    let mut told = serde_json::json!({ "error": error, "kind": exit.kind() });
    if let Some(advice) = advice {
        told["advice"] = advice.into();
    }
    note(&told.to_string());
}

/// Whoever reads our output may stop reading it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// One line at the bottom of a terminal that is written over and over.
pub(crate) struct LiveLine {
    shown: bool,
}

impl LiveLine {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, text: &str) {
        if self.shown {
            // A terminal that went away is not worth dying for.
            drop(write!(io::stderr().lock(), "\r\x1b[K{text}"));
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// Log lines push the live line down instead of running into it.
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
