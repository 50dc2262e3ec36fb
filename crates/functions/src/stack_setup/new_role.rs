//! The role of the setup function, which CloudFormation creates shortly before it calls the function.

use std::error::Error;
use std::time::Duration;

use waitroom::ports::{Fault, PortError, PortResult};

const ATTEMPTS: u32 = 6;

/// Repeats a call that AWS denies, or is too busy for. For some seconds after a role was created or changed, not every service
/// knows what it allows.
pub async fn until_allowed<T, F>(pause: Duration, call: impl Fn() -> F) -> PortResult<T>
where
    F: Future<Output = PortResult<T>>,
{
    let mut attempt = 1;
    loop {
        match call().await {
            Err(error) if attempt < ATTEMPTS && may_pass(&error) => attempt += 1,
            done => return done,
        }
        tokio::time::sleep(pause).await;
    }
}

/// The adapters describe an error of AWS by its code first.
fn may_pass(error: &PortError) -> bool {
    let is_denied = error.source().is_some_and(|why| why.to_string().starts_with("AccessDenied"));
    is_denied || error.fault != Fault::Broken
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Makes a call that fails so often for this reason. Returns whether it succeeded, and how often it was made.
    async fn called(failures: u32, fault: Fault, why: &'static str) -> (bool, u32) {
        let calls = Cell::new(0);
        let call = || {
            calls.set(calls.get() + 1);
            let fails = calls.get() <= failures;
            async move { if fails { Err(PortError::new("read the room", fault, why)) } else { Ok(()) } }
        };
        let done = until_allowed(Duration::ZERO, call).await;
        (done.is_ok(), calls.get())
    }

    #[tokio::test]
    async fn only_a_failure_that_may_pass_is_repeated() {
        let denied = "AccessDeniedException: User: … is not authorized to perform: dynamodb:PutItem";
        assert_eq!(called(0, Fault::Broken, denied).await, (true, 1));
        assert_eq!(called(2, Fault::Broken, denied).await, (true, 3));
        assert_eq!(called(100, Fault::Broken, denied).await, (false, 6));
        assert_eq!(called(2, Fault::Busy, "ThrottlingException: slow down").await, (true, 3));
        assert_eq!(called(100, Fault::Broken, "ValidationException: no").await, (false, 1));
    }
}
