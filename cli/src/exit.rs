//! Exit codes, which `beekeeper --help` and docs/cli.md document.

use std::io;
use std::process::ExitCode;

use document::Refusal;

/// Scripts rely on these codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The command line is invalid.
    Usage = 2,
    /// The room, its configuration file or its stack does not exist.
    Missing = 3,
    /// AWS denied access.
    #[cfg_attr(not(feature = "aws"), allow(dead_code, reason = "without AWS, nobody denies"))]
    Denied = 4,
    /// Ctrl-C. The message says what has been done: nothing, a part, or that AWS continues.
    Interrupted = 5,
    /// A question was answered with no, or could not be asked.
    Declined = 6,
}

impl Exit {
    /// The exit's name in the output of `--json`.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Missing => "missing",
            Self::Denied => "denied",
            Self::Interrupted => "interrupted",
            Self::Declined => "declined",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with an exit code, and perhaps with advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// Ctrl-C at a question, before anything was started.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted; nothing was changed")
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), advice: None }
    }

    pub(crate) fn of(exit: Exit, refusal: Refusal) -> Self {
        Self { exit, message: refusal.to_string(), advice: refusal.advice }
    }

    pub(crate) fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Whether it failed at a file that belongs to another user.
pub(crate) fn may_not_use_files(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_that_help_and_docs_name() {
        let help = include_str!("arguments.rs");
        let docs = include_str!("../../docs/cli.md");
        for (code, exit) in [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Missing,
            Exit::Denied,
            Exit::Interrupted,
            Exit::Declined,
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(usize::from(exit as u8), code);
            assert!(docs.contains(&format!("| {code} | `{}` |", exit.kind())), "{exit:?} in docs/cli.md");
            assert!(help.contains(&format!("\n  {code}  ")), "{exit:?} in --help");
        }
    }
}
