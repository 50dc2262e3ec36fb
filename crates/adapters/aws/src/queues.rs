use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
};
use waitroom::ports::{Fault, PortError, PortResult, Receipt};

use crate::config::{LINE_TIMEOUT, timeouts};
use crate::retry::call;

/// The queues of a room: its line, and its dead letters.
#[derive(Clone, Debug)]
pub(crate) struct LineQueues {
    pub(crate) client: Client,
    pub(crate) url: String,
    pub(crate) dead_letters: String,
}

impl LineQueues {
    pub(crate) fn new(config: &SdkConfig, url: String, dead_letters: String) -> Self {
        // Those of an operator's machine are longer already.
        let given = config.timeout_config();
        let longer = given.filter(|given| given.operation_attempt_timeout() > Some(LINE_TIMEOUT)).cloned();
        let timeouts = longer.unwrap_or_else(|| timeouts(LINE_TIMEOUT));
        let config = Builder::from(config).timeout_config(timeouts);
        Self { client: Client::from_conf(config.build()), url, dead_letters }
    }

    pub(crate) async fn send(&self, attempt: &'static str, to: &str, body: &str) -> PortResult<()> {
        let request = self.client.send_message().queue_url(to).message_body(body);
        call(attempt, || request.clone().send()).await.map(drop)
    }

    /// Deletes up to ten messages.
    pub(crate) async fn delete(&self, attempt: &'static str, receipts: &[Receipt]) -> PortResult<()> {
        let entries = receipts.iter().enumerate().map(|(n, receipt)| {
            DeleteMessageBatchRequestEntry::builder().id(n.to_string()).receipt_handle(&receipt.0).build()
        });
        let entries = entries.collect::<Result<_, _>>().map_err(PortError::broken(attempt))?;
        let request = self.client.delete_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = call(attempt, || request.clone().send()).await?;
        all_done(attempt, &answer.failed)
    }

    /// Hides up to ten messages for this long from now on. They must have been received.
    pub(crate) async fn hide(
        &self,
        attempt: &'static str,
        receipts: &[Receipt],
        time: Duration,
    ) -> PortResult<()> {
        let seconds = i32::try_from(time.as_secs()).unwrap_or(i32::MAX);
        let entries = receipts.iter().enumerate().map(|(n, receipt)| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(n.to_string())
                .receipt_handle(&receipt.0)
                .visibility_timeout(seconds)
                .build()
        });
        let entries = entries.collect::<Result<_, _>>().map_err(PortError::broken(attempt))?;
        let request =
            self.client.change_message_visibility_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = call(attempt, || request.clone().send()).await?;
        all_done(attempt, &answer.failed)
    }
}

/// What SQS says of a message that is deleted or that nobody has received. Neither is an error.
const GONE: &[&str] = &["ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"];

/// Fails if one of a batch's messages did.
fn all_done(attempt: &'static str, failed: &[BatchResultErrorEntry]) -> PortResult<()> {
    let is_gone = |failed: &BatchResultErrorEntry| {
        // Emulators add the name of a namespace, or of an exception.
        let code = failed.code.rsplit('.').next().unwrap_or(&failed.code);
        GONE.contains(&code.trim_end_matches("Exception"))
    };
    match failed.iter().find(|failed| !is_gone(failed)) {
        None => Ok(()),
        Some(failed) => {
            let fault = if failed.sender_fault { Fault::Broken } else { Fault::Unsure };
            let message = failed.message.as_deref().unwrap_or_default();
            Err(PortError::new(attempt, fault, format!("{}: {message}", failed.code)))
        }
    }
}
