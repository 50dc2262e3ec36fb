//! `beekeeper message`: sets the text that waiting visitors read.

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::change;
use crate::arguments::SetMessage;
use crate::exit::{self, Exit, Failure};

/// How to write a message. Without quotation marks, its first word is taken for the room's name.
const TIP: &str = "put the message in quotation marks: beekeeper message NAME \"More beer at noon\"";

pub(crate) fn run(message: &SetMessage, json: bool) -> Result<()> {
    change::run(&message.which, json, message.order()).map_err(|error| {
        match (exit::exit(&error), &message.which.name, exit::advice(&error)) {
            (Exit::Missing, Some(_), Some(advice)) => {
                let missing = Failure::new(Exit::Missing, format!("{error:#}"));
                missing.advising(format!("{advice}; or {TIP}")).into()
            }
            _ => error,
        }
    })
}

/// Adds the tip to the error for a command line on which a message has no quotation marks.
pub(crate) fn with_tip(
    mut error: clap::Error,
    mut command_line: impl Iterator<Item = String>,
) -> clap::Error {
    let is_message = command_line.find(|word| !word.starts_with('-')).is_some_and(|word| word == "message");
    let wrong = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let is_word = match error.kind() {
        ErrorKind::UnknownArgument => !wrong.starts_with('-'),
        ErrorKind::ValueValidation => wrong == "[NAME]",
        _ => false,
    };
    if is_message && is_word {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![TIP.into()]));
    }
    error
}
