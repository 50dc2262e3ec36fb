//! Exit codes, which `beekeeper --help` and docs/cli.md document.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use control::{ControlError, SocketError};

use crate::room::advice_for;

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
    #[cfg_attr(not(feature = "aws"), allow(dead_code, reason = "only AWS denies"))]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    advice: Option<String>,
}

impl Failure {
    /// Ctrl-C at a question, before anything was started.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted; nothing was changed")
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), advice: None }
    }

    pub(crate) fn advising(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Adds another way out to the advice.
    pub(crate) fn or_advising(self, other: &str) -> Self {
        let advice = self.advice.map_or_else(|| other.to_owned(), |advice| format!("{advice}; or {other}"));
        Self { advice: Some(advice), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// The exit code for an error.
pub(crate) fn exit(error: &anyhow::Error) -> Exit {
    if let Some(failure) = find::<Failure>(error) {
        return failure.exit;
    }
    if let Some(unreached) = find::<SocketError>(error) {
        return if unreached.is_nobody() { Exit::Missing } else { Exit::Failed };
    }
    #[cfg(feature = "aws")]
    if let Some(cloud_error) = find::<cloud::CloudError>(error) {
        return of_cloud(cloud_error.kind());
    }
    Exit::Failed
}

/// The exit code for an error from AWS.
#[cfg(feature = "aws")]
fn of_cloud(kind: cloud::CloudErrorKind) -> Exit {
    use cloud::CloudErrorKind as Kind;

    match kind {
        Kind::NotFound => Exit::Missing,
        Kind::BadCredentials | Kind::ExpiredCredentials | Kind::AccessDenied | Kind::RegionDisabled => {
            Exit::Denied
        }
        Kind::LimitReached | Kind::TooManyRequests | Kind::NameTaken | Kind::Other => Exit::Failed,
    }
}

pub(crate) fn advice(error: &anyhow::Error) -> Option<String> {
    if let Some(failure) = find::<Failure>(error) {
        return failure.advice.clone();
    }
    if let Some(unreached) = find::<SocketError>(error) {
        return Some(advice_for(unreached));
    }
    #[cfg(feature = "aws")]
    if let Some(cloud_error) = find::<cloud::CloudError>(error) {
        return cloud_error.advice().map(ToOwned::to_owned);
    }
    None
}

fn find<E: Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    error.chain().find_map(|cause| match cause.downcast_ref() {
        // It shows itself as the error that it holds.
        Some(ControlError::Unreached(held)) => held.downcast_ref(),
        _ => cause.downcast_ref(),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn an_error_ends_as_its_innermost_failure_says() {
        let missing = Failure::new(Exit::Missing, "there is no room sale").advising("name another");
        let error = Err::<(), _>(missing).context("could not show the room").unwrap_err();
        assert_eq!(exit(&error), Exit::Missing);
        assert_eq!(advice(&error).as_deref(), Some("name another"));
        assert_eq!(format!("{error:#}"), "could not show the room: there is no room sale");
        assert_eq!((exit(&anyhow!("disk full")), advice(&anyhow!("disk full"))), (Exit::Failed, None));
    }

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
