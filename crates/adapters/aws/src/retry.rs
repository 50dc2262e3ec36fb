//! Decides whether a failed call is retried, and which error the handlers get.

use std::error::Error;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use waitroom::ports::{Fault, PortError, PortResult};
use waitroom::{causes, with_causes};

const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(25);

/// Error codes of requests that were rejected because of too much load. Nothing was done.
const BUSY: &[&str] = &[
    "InternalServerErrorThrottled",
    "LimitExceededException",
    "OverLimit",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "TransactionConflictException",
];

/// The failure of a call after all attempts.
#[derive(Debug)]
pub(crate) struct CallError<E> {
    pub(crate) fault: Fault,
    pub(crate) error: SdkError<E, HttpResponse>,
}

impl<E: Error + ProvideErrorMetadata + 'static> CallError<E> {
    pub(crate) fn new(error: SdkError<E, HttpResponse>) -> Self {
        Self { fault: fault(&error), error }
    }

    /// `attempt` completes the sentence "could not …".
    pub(crate) fn into_port_error(self, attempt: &'static str) -> PortError {
        PortError::new(attempt, self.fault, describe(&self.error))
    }
}

/// Makes a call up to three times, until it succeeds.
///
/// The call must be idempotent. If one attempt may have had an effect, the result is `Unsure`, whatever later attempts
/// return. Calls are boxed because the SDK's futures are large.
pub(crate) async fn with_retries<T, E, F>(call: impl Fn() -> F) -> Result<T, CallError<E>>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    with_retries_judged_by(call, fault).await
}

/// The same, for whoever only wants to know what was attempted, and why it failed.
pub(crate) async fn call<T, E, F>(attempt: &'static str, call: impl Fn() -> F) -> PortResult<T>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    with_retries(call).await.map_err(|failure| failure.into_port_error(attempt))
}

/// The same, for a call with an error that is an answer, such as that something isn't there: `None` then.
pub(crate) async fn call_unless<T, E, F>(
    attempt: &'static str,
    call: impl Fn() -> F,
    is_answer: impl FnOnce(&E) -> bool,
) -> PortResult<Option<T>>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    match with_retries(call).await {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) => {
            let is_answer = failure.error.as_service_error().is_some_and(is_answer);
            if is_answer { Ok(None) } else { Err(failure.into_port_error(attempt)) }
        }
    }
}

/// For a call that must not be carried out twice: it isn't made again once it may have had an effect. `judge` is [`fault`], unless the
/// error code alone does not determine the fault.
pub(crate) async fn with_retries_until_unsure<T, E, F>(
    call: impl Fn() -> F,
    judge: impl Fn(&SdkError<E, HttpResponse>) -> Fault,
) -> Result<T, CallError<E>>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    let until_unsure = |error: &SdkError<E, HttpResponse>| match judge(error) {
        Fault::Unsure => Fault::Broken,
        known => known,
    };
    let called = with_retries_judged_by(call, until_unsure).await;
    called.map_err(|CallError { error, .. }| CallError { fault: judge(&error), error })
}

/// As [`with_retries`], for calls whose error code alone does not determine the fault.
pub(crate) async fn with_retries_judged_by<T, E, F>(
    call: impl Fn() -> F,
    judge: impl Fn(&SdkError<E, HttpResponse>) -> Fault,
) -> Result<T, CallError<E>>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    let mut unsure = false;
    let mut attempt = 1;
    loop {
        let mut failure = match Box::pin(call()).await {
            Ok(done) => return Ok(done),
            Err(error) => CallError { fault: judge(&error), error },
        };
        unsure |= failure.fault == Fault::Unsure;
        if failure.fault == Fault::Broken || attempt == ATTEMPTS {
            if unsure {
                failure.fault = Fault::Unsure;
            }
            return Err(failure);
        }
        // Between half and all of the pause, so that callers that failed together do not retry together.
        let pause = FIRST_PAUSE * 2u32.pow(attempt);
        tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
        attempt += 1;
    }
}

/// What the caller may assume about a call that failed.
pub(crate) fn fault<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Fault {
    match error {
        // Not sent: parameters or credentials are missing.
        SdkError::ConstructionFailure(_) => Fault::Broken,
        SdkError::DispatchFailure(failure) if failure.is_user() => Fault::Broken,
        SdkError::DispatchFailure(failure) => {
            let refused = failure.as_connector_error().is_some_and(|error| was_refused(error));
            if refused { Fault::Busy } else { Fault::Unsure }
        }
        SdkError::ServiceError(answer) => {
            let code = answer.err().code().unwrap_or_default();
            // SQS prefixes its codes, as in com.amazonaws.sqs#OverLimit.
            let code = code.rsplit('#').next().unwrap_or(code);
            match answer.raw().status().as_u16() {
                _ if BUSY.contains(&code) => Fault::Busy,
                429 => Fault::Busy,
                500.. => Fault::Unsure,
                _ => Fault::Broken,
            }
        }
        // A timeout, or an unreadable response.
        _ => Fault::Unsure,
    }
}

/// Whether no connection was made, so that the request was never sent.
fn was_refused(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|error| {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(
            kind,
            Some(ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable)
        )
    })
}

/// AWS's error with advice, or the reason why there was no response.
fn describe<E: Error + ProvideErrorMetadata + 'static>(error: &SdkError<E, HttpResponse>) -> String {
    let SdkError::ServiceError(answer) = error else {
        return with_causes(error);
    };
    let (code, message) = (answer.err().code().unwrap_or("an error"), answer.err().message().unwrap_or(""));
    let code = code.rsplit('#').next().unwrap_or(code);
    let advice = match code {
        "AccessDenied" | "AccessDeniedException" => {
            "; if this is a role of the room, deploy the stack again; if it is you, see docs/operator-policy.md"
        }
        "ResourceNotFoundException" | "QueueDoesNotExist" => {
            "; check that the stack is deployed in this region"
        }
        _ => "",
    };
    format!("{code}: {message}{advice}")
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::io;

    use aws_sdk_dynamodb::config::http::HttpResponse;
    use aws_sdk_dynamodb::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_dynamodb::operation::get_item::GetItemError;

    use super::*;

    type GetItem = SdkError<GetItemError, HttpResponse>;

    fn answered(status: u16, code: &str) -> GetItem {
        let metadata = ErrorMetadata::builder().code(code).message("that is so").build();
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        SdkError::service_error(GetItemError::generic(metadata), response)
    }

    fn connection(kind: ErrorKind) -> GetItem {
        SdkError::dispatch_failure(ConnectorError::io(io::Error::from(kind).into()))
    }

    #[test]
    fn failures_are_classified() {
        let unreadable = HttpResponse::new(200.try_into().unwrap(), "".into());
        let table = [
            (answered(400, "ProvisionedThroughputExceededException"), Fault::Busy),
            (answered(400, "ThrottlingException"), Fault::Busy),
            (answered(400, "TransactionConflictException"), Fault::Busy),
            (answered(403, "com.amazonaws.sqs#OverLimit"), Fault::Busy),
            (answered(429, "TooManyRequestsException"), Fault::Busy),
            (answered(503, "ThrottlingException"), Fault::Busy),
            (answered(500, "InternalServerError"), Fault::Unsure),
            (answered(503, "ServiceUnavailable"), Fault::Unsure),
            (answered(400, "AccessDeniedException"), Fault::Broken),
            (answered(400, "ValidationException"), Fault::Broken),
            (answered(400, "ResourceNotFoundException"), Fault::Broken),
            (answered(400, "UnrecognizedClientException"), Fault::Broken),
            (connection(ErrorKind::ConnectionRefused), Fault::Busy),
            (connection(ErrorKind::HostUnreachable), Fault::Busy),
            (connection(ErrorKind::ConnectionReset), Fault::Unsure),
            (connection(ErrorKind::UnexpectedEof), Fault::Unsure),
            (SdkError::dispatch_failure(ConnectorError::timeout("late".into())), Fault::Unsure),
            (SdkError::dispatch_failure(ConnectorError::user("nonsense".into())), Fault::Broken),
            (SdkError::timeout_error("late"), Fault::Unsure),
            (SdkError::construction_failure("no table"), Fault::Broken),
            (SdkError::response_error("not JSON", unreadable), Fault::Unsure),
        ];
        for (error, expected) in table {
            assert_eq!(fault(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn errors_of_aws_are_passed_on_with_advice() {
        let denied = CallError::new(answered(400, "AccessDeniedException")).into_port_error("read the room");
        assert_eq!(denied.to_string(), "could not read the room");
        let source = Error::source(&denied).unwrap().to_string();
        let advice = "if this is a role of the room, deploy the stack again; if it is you, see docs/operator-policy.md";
        assert_eq!(source, format!("AccessDeniedException: that is so; {advice}"));
        let refused =
            CallError::new(connection(ErrorKind::ConnectionRefused)).into_port_error("read the room");
        let source = Error::source(&refused).unwrap().to_string();
        assert!(source.ends_with("connection refused"), "{source}");
    }

    /// Makes a call that fails with these failures in turn and then succeeds. Returns the final fault and the number of
    /// calls.
    async fn called(failures: Vec<GetItem>) -> (Result<(), Fault>, usize) {
        let (calls, failures) = (Cell::new(0), RefCell::new(failures.into_iter()));
        let done = with_retries(failing(&calls, &failures)).await.map_err(|failure| failure.fault);
        (done, calls.get())
    }

    /// The same, of a call that must not be carried out twice.
    async fn called_until_unsure(failures: Vec<GetItem>) -> (Result<(), Fault>, usize) {
        let (calls, failures) = (Cell::new(0), RefCell::new(failures.into_iter()));
        let done = with_retries_until_unsure(failing(&calls, &failures), fault).await;
        (done.map_err(|failure| failure.fault), calls.get())
    }

    fn failing<'a>(
        calls: &'a Cell<usize>,
        failures: &'a RefCell<std::vec::IntoIter<GetItem>>,
    ) -> impl Fn() -> std::future::Ready<Result<(), GetItem>> + 'a {
        || {
            calls.set(calls.get() + 1);
            std::future::ready(failures.borrow_mut().next().map_or(Ok(()), Err))
        }
    }

    fn throttled() -> GetItem {
        answered(400, "ThrottlingException")
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_made_up_to_three_times_unless_it_is_broken() {
        assert_eq!(called(vec![]).await, (Ok(()), 1));
        assert_eq!(called(vec![throttled(), throttled()]).await, (Ok(()), 3));
        assert_eq!(called(vec![throttled(), throttled(), throttled()]).await, (Err(Fault::Busy), 3));
        assert_eq!(called(vec![answered(400, "ValidationException")]).await, (Err(Fault::Broken), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_must_not_be_done_twice_is_tried_again_only_if_it_was_not_done() {
        assert_eq!(called_until_unsure(vec![throttled(), throttled()]).await, (Ok(()), 3));
        let late = || SdkError::timeout_error("late");
        assert_eq!(called_until_unsure(vec![throttled(), late()]).await, (Err(Fault::Unsure), 2));
        assert_eq!(called_until_unsure(vec![late()]).await, (Err(Fault::Unsure), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_result_is_unsure_if_any_attempt_was_unsure() {
        let late = || SdkError::timeout_error("late");
        assert_eq!(called(vec![late(), throttled(), throttled()]).await, (Err(Fault::Unsure), 3));
        let denied = answered(400, "AccessDeniedException");
        assert_eq!(called(vec![late(), denied]).await, (Err(Fault::Unsure), 2));
        assert_eq!(called(vec![late(), throttled()]).await, (Ok(()), 3));
    }
}
