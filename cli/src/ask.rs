//! Questions to the person at the terminal. Without a terminal, nothing is asked.

mod line_editor;
mod text;

use std::io::{self, IsTerminal};

use anyhow::Result;
use inquire::{Confirm, InquireError, Select};

use crate::exit::{Exit, Failure};
use crate::printer::note;

pub(crate) use text::TextQuestion;

pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows the consequence of a command, and asks whether to go ahead.
pub(crate) fn confirm(consequence: &str, question: &str) -> Result<()> {
    if !can_ask() {
        return Err(unasked(consequence).into());
    }
    note(&format!("{consequence}."));
    let goes_on = answer(Confirm::new(question).with_default(false).prompt())?;
    if goes_on { Ok(()) } else { Err(declined().into()) }
}

/// Asks for one of several choices.
pub(crate) fn which<T: std::fmt::Display>(question: &str, ways: Vec<T>) -> Result<T> {
    answer(Select::new(question, ways).without_filtering().without_help_message().prompt())
}

pub(crate) fn unasked(consequence: &str) -> Failure {
    let needs_yes = format!("without a terminal, this needs --yes: {consequence}");
    Failure::new(Exit::Declined, needs_yes).advising("nothing was changed; to go ahead, add --yes")
}

pub(crate) fn declined() -> Failure {
    Failure::new(Exit::Declined, "nothing was changed")
}

/// Ctrl-C and Escape end the command, not only the question.
pub(crate) fn answer<T>(given: Result<T, InquireError>) -> Result<T> {
    match given {
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => {
            Err(Failure::interrupted().into())
        }
        given => Ok(given?),
    }
}
