//! Data goes to stdout, talk to stderr; colour and moving lines only to a terminal.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::fmt::MakeWriter;

pub(crate) fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
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
