//! What only watches a room may be late, or refuse to answer, and the room's status is still known.

use std::time::Duration;

use tokio::time::timeout;

use crate::CloudError;

/// The room itself has answered before this begins, so more would only keep its operator from that answer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What was read, or why it isn't known.
pub(crate) async fn soon<T>(read: impl Future<Output = Result<T, CloudError>>) -> Result<T, String> {
    within(LONGEST_WAIT, read).await
}

/// The same for what takes many calls.
pub(crate) async fn within<T>(
    longest: Duration,
    read: impl Future<Output = Result<T, CloudError>>,
) -> Result<T, String> {
    match timeout(longest, read).await {
        Ok(read) => read.map_err(|error| format!("{error}: {}", error.reason())),
        Err(_) => Err(format!("AWS hasn't answered within {} seconds", longest.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::CloudErrorKind;

    #[tokio::test(start_paused = true)]
    async fn whoever_is_late_or_refuses_keeps_nobody_waiting() {
        assert_eq!(soon(ready(Ok(1))).await, Ok(1));
        let denied = CloudError::new(CloudErrorKind::AccessDenied, "read the alarms", "AccessDenied");
        assert_eq!(
            soon::<()>(ready(Err(denied))).await,
            Err("could not read the alarms: AccessDenied".into())
        );
        let late = soon::<()>(pending()).await;
        assert_eq!(late, Err("AWS hasn't answered within 10 seconds".into()));
    }
}
