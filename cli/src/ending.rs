//! How a command ends that failed: its exit code, and what the person can do.

use std::error::Error;

use control::{ControlError, SocketError};
use document::Refusal;
use rooms::UnknownRoom;

use crate::aws::errors::exit_of;
use crate::exit::{Exit, Failure};
use crate::printer::complain_as;
use crate::unreached;

/// Prints an error with its advice, as text or as one line of JSON.
pub(crate) fn complain(error: &anyhow::Error, json: bool) {
    let told = format!("{error:#}");
    complain_as(&told, advice(error).as_deref(), exit(error), may_be_done(error.as_ref()), json);
}

/// Whether it isn't known if an order was carried out.
fn may_be_done(error: &(dyn Error + 'static)) -> bool {
    find::<SocketError>(error).is_some_and(|error| error.may_be_done)
        || matches!(find::<ControlError>(error), Some(ControlError::Unsure { .. }))
}

/// The exit code for an error.
pub(crate) fn exit(error: &anyhow::Error) -> Exit {
    let error: &(dyn Error + 'static) = error.as_ref();
    if let Some(failure) = find::<Failure>(error) {
        return failure.exit;
    }
    if let Some(error) = find::<SocketError>(error) {
        return if error.is_nobody() { Exit::Missing } else { Exit::Failed };
    }
    if find::<UnknownRoom>(error).is_some() {
        return Exit::Missing;
    }
    find_by(error, exit_of).map_or(Exit::Failed, |(exit, _)| exit)
}

pub(crate) fn advice(error: &anyhow::Error) -> Option<String> {
    advice_for(error.as_ref())
}

/// The advice for an error of a room, wherever it was met.
pub(crate) fn advice_for(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(failure) = find::<Failure>(error) {
        return failure.advice.clone();
    }
    if let Some(refusal) = find::<Refusal>(error) {
        return refusal.advice.clone();
    }
    if let Some(unknown) = find::<UnknownRoom>(error) {
        return Some(unknown.advice());
    }
    if let Some(error) = find::<SocketError>(error) {
        return Some(unreached::advice_for(error));
    }
    if may_be_done(error) {
        return Some(unreached::LOOK_FIRST.into());
    }
    find_by(error, exit_of).and_then(|(_, advice)| advice).map(ToOwned::to_owned)
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    find_by(error, |cause| cause.downcast_ref())
}

fn find_by<'a, T>(
    error: &'a (dyn Error + 'static),
    find: impl Fn(&'a (dyn Error + 'static)) -> Option<T>,
) -> Option<T> {
    anyhow::Chain::new(error).find_map(|cause| match cause.downcast_ref() {
        // It shows itself as the error that it holds.
        Some(ControlError::Unreached(held)) => find(held.as_ref()),
        _ => find(cause),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn whoever_cannot_know_whether_an_order_was_carried_out_is_told_where_to_look() {
        let unsure = || ControlError::Unsure { room: "sale".parse().unwrap(), why: "w".into() };
        let error = Err::<(), _>(unsure()).context("could not take the room over").unwrap_err();
        assert_eq!((exit(&error), advice(&error).as_deref()), (Exit::Failed, Some(unreached::LOOK_FIRST)));
        assert!(may_be_done(error.as_ref()));
        let refused = ControlError::Refused { room: "sale".parse().unwrap(), why: "w".into() };
        assert!(!may_be_done(&refused) && advice_for(&refused).is_none());
    }

    #[test]
    fn an_error_ends_as_its_innermost_failure_says() {
        let missing = Failure::new(Exit::Missing, "there is no room sale").advising("name another");
        let error = Err::<(), _>(missing).context("could not show the room").unwrap_err();
        assert_eq!(exit(&error), Exit::Missing);
        assert_eq!(advice(&error).as_deref(), Some("name another"));
        assert_eq!(format!("{error:#}"), "could not show the room: there is no room sale");
        assert_eq!((exit(&anyhow!("disk full")), advice(&anyhow!("disk full"))), (Exit::Failed, None));
    }
}
