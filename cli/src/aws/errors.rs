//! What an error from AWS means for a command.

use std::error::Error;

use crate::exit::Exit;

/// How a command exits that this error from AWS ended, and what to do.
pub(crate) fn exit_of<'a>(error: &'a (dyn Error + 'static)) -> Option<(Exit, Option<&'a str>)> {
    use cloud::CloudErrorKind as Kind;

    let error: &cloud::CloudError = error.downcast_ref()?;
    let exit = match error.kind() {
        Kind::NotFound => Exit::Missing,
        Kind::BadCredentials | Kind::ExpiredCredentials | Kind::AccessDenied | Kind::RegionDisabled => {
            Exit::Denied
        }
        Kind::LimitReached | Kind::TooManyRequests | Kind::NameTaken | Kind::Other => Exit::Failed,
    };
    Some((exit, error.advice()))
}
