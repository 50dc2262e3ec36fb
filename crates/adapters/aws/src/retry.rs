//! What becomes of a call that fails: whether it is made again, and what the handlers are told.

use std::error::Error;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use waitroom::ports::{Fault, PortError};

const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(25);

/// Refused because too much was asked at once; nothing was done.
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
    "AWS.SimpleQueueService.PurgeQueueInProgress",
    "PurgeQueueInProgress",
];

/// How a call failed after all attempts.
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
    pub(crate) fn while_trying_to(self, attempt: &'static str) -> PortError {
        PortError::new(attempt, self.fault, told(&self.error))
    }
}

/// Makes a call until it succeeds, three times at most.
///
/// Everything that is called this way may be done twice. What one attempt may have done stays unsure, whatever
/// the attempts after it are told. Calls are boxed because the SDK's futures are so large.
pub(crate) async fn persistently<T, E, F>(call: impl Fn() -> F) -> Result<T, CallError<E>>
where
    E: Error + ProvideErrorMetadata + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    persistently_judged(call, fault).await
}

/// The same, for calls whose failures mean more than their code says.
pub(crate) async fn persistently_judged<T, E, F>(
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
        let mut trouble = match Box::pin(call()).await {
            Ok(done) => return Ok(done),
            Err(error) => CallError { fault: judge(&error), error },
        };
        unsure |= trouble.fault == Fault::Unsure;
        if trouble.fault == Fault::Broken || attempt == ATTEMPTS {
            if unsure {
                trouble.fault = Fault::Unsure;
            }
            return Err(trouble);
        }
        // Between half and all of the pause, so that those who were refused together do not return together.
        let pause = FIRST_PAUSE * 2u32.pow(attempt);
        tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
        attempt += 1;
    }
}

/// What the caller may assume about a call that failed.
pub(crate) fn fault<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Fault {
    match error {
        // Not even sent: parameters or credentials are missing.
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
        // Timed out, or answered with something that cannot be read.
        _ => Fault::Unsure,
    }
}

/// Whether nobody was there to take the call: it was never sent.
fn was_refused(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        matches!(
            kind,
            Some(ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable)
        )
    })
}

/// An error and what caused it.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The error in words that help: what AWS said, or what kept it from saying anything.
fn told<E: Error + ProvideErrorMetadata + 'static>(error: &SdkError<E, HttpResponse>) -> String {
    let SdkError::ServiceError(answer) = error else {
        return chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ");
    };
    let (code, message) = (answer.err().code().unwrap_or("an error"), answer.err().message().unwrap_or(""));
    let code = code.rsplit('#').next().unwrap_or(code);
    let advice = match code {
        "AccessDenied" | "AccessDeniedException" => {
            "; deploy the stack again, its roles are not as they should be"
        }
        "ResourceNotFoundException" | "QueueDoesNotExist" => "; is the stack deployed, in this region?",
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
    fn every_failure_has_its_fault() {
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
    fn what_aws_said_is_passed_on_with_advice() {
        let denied = CallError::new(answered(400, "AccessDeniedException")).while_trying_to("read the room");
        assert_eq!(denied.to_string(), "could not read the room");
        let source = Error::source(&denied).unwrap().to_string();
        assert_eq!(
            source,
            "AccessDeniedException: that is so; deploy the stack again, its roles are not as they should be"
        );
        let refused =
            CallError::new(connection(ErrorKind::ConnectionRefused)).while_trying_to("read the room");
        let source = Error::source(&refused).unwrap().to_string();
        assert!(source.ends_with("connection refused"), "{source}");
    }

    /// Calls with these failures in turn, then with success; returns the fault at the end and the calls made.
    async fn called(failures: Vec<GetItem>) -> (Result<(), Fault>, usize) {
        let (calls, failures) = (Cell::new(0), RefCell::new(failures.into_iter()));
        let call = || {
            calls.set(calls.get() + 1);
            let failure = failures.borrow_mut().next();
            async { failure.map_or(Ok(()), Err) }
        };
        let done = persistently(call).await.map_err(|trouble| trouble.fault);
        (done, calls.get())
    }

    fn throttled() -> GetItem {
        answered(400, "ThrottlingException")
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_made_three_times_at_most_and_only_while_that_may_help() {
        assert_eq!(called(vec![]).await, (Ok(()), 1));
        assert_eq!(called(vec![throttled(), throttled()]).await, (Ok(()), 3));
        assert_eq!(called(vec![throttled(), throttled(), throttled()]).await, (Err(Fault::Busy), 3));
        assert_eq!(called(vec![answered(400, "ValidationException")]).await, (Err(Fault::Broken), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_done_stays_unsure_whatever_comes_after() {
        let late = || SdkError::timeout_error("late");
        assert_eq!(called(vec![late(), throttled(), throttled()]).await, (Err(Fault::Unsure), 3));
        let denied = answered(400, "AccessDeniedException");
        assert_eq!(called(vec![late(), denied]).await, (Err(Fault::Unsure), 2));
        assert_eq!(called(vec![late(), throttled()]).await, (Ok(()), 3));
    }
}
