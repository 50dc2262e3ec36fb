//! The line: an SQS queue, a second queue for the dead letters, and in the table the counter of tickets.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};
use futures_util::future;
use waitroom::ports::{
    Delivery, Fault, LineBack, LineFront, LineLength, PortError, PortResult, Receipt, TicketCounter,
};
use waitroom::{BATCH, IssuedTickets, Place, Timestamp};

use crate::config::LINE_TIMEOUT;
use crate::expressions;
use crate::items::{Reader, decode_tickets, missing};
use crate::keys::Key;
use crate::ledger_clock::LedgerClock;
use crate::queues::LineQueues;
use crate::retry::{CallError, call};
use crate::table::{Table, Written};

/// A handle to a room's line. Clones share its connections.
#[derive(Clone, Debug)]
pub struct AwsLine {
    pub(crate) queues: LineQueues,
    /// For the counter of tickets.
    pub(crate) table: Table,
    pub(crate) clock: LedgerClock,
}

/// SQS keeps when each message was sent, also after it was received and not removed.
const JOINED_AT: MessageSystemAttributeName = MessageSystemAttributeName::SentTimestamp;

fn delivery(message: Message) -> Option<Delivery> {
    let receipt = Receipt(message.receipt_handle?);
    let sent = message.attributes.as_ref().and_then(|found| found.get(&JOINED_AT)?.parse().ok());
    let body = message.body.unwrap_or_default();
    let visitor = body.parse().map_err(|_| body);
    Some(Delivery { receipt, visitor, joined: sent.map(Timestamp::from_millis) })
}

/// Makes one call for each ten.
async fn in_batches<'a, F: Future<Output = PortResult<()>>>(
    receipts: &'a [Receipt],
    call: impl Fn(&'a [Receipt]) -> F,
) -> PortResult<()> {
    future::join_all(receipts.chunks(BATCH as usize).map(call)).await.into_iter().collect()
}

impl TicketCounter for AwsLine {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        let attempt = "reserve ticket numbers";
        match self.table.update(attempt, Key::Tickets, expressions::lease(count, self.clock.now())).await? {
            Written::Done(counter) => {
                let last = Reader::of_update(Key::Tickets, &counter)
                    .number("last")
                    .map_err(PortError::broken(attempt))?;
                Ok(last.saturating_sub(count.into()) + 1)
            }
            Written::Refused(_) => Err(missing(attempt, Key::Tickets)),
        }
    }
}

impl LineBack for AwsLine {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.queues.send("put a visitor in line", &self.queues.url, &visitor.to_string()).await
    }
}

impl LineFront for AwsLine {
    /// One attempt: a consumer calls this in a loop anyway, and checks the time before each call.
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        // Both conversions succeed: at most ten messages, and at most twenty seconds, which is SQS's limit.
        let most = i32::try_from(most.min(BATCH)).unwrap_or(1);
        let wait = i32::try_from(patience.as_secs().min(20)).unwrap_or(0);
        let client = &self.queues.client;
        let usual = client.config().timeout_config().and_then(TimeoutConfig::operation_attempt_timeout);
        let longer = patience + usual.unwrap_or(LINE_TIMEOUT);
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(longer).build();
        let request = client
            .receive_message()
            .queue_url(&self.queues.url)
            .message_system_attribute_names(JOINED_AT)
            .max_number_of_messages(most)
            .wait_time_seconds(wait)
            .customize()
            .config_override(Builder::new().timeout_config(timeouts));
        let failed = |error| CallError::new(error).into_port_error("receive visitors from the line");
        let answer = Box::pin(request.send()).await.map_err(failed)?;
        Ok(answer.messages.unwrap_or_default().into_iter().filter_map(delivery).collect())
    }

    async fn keep(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        let keep = |batch| self.queues.hide("keep visitors out of the line", batch, Delivery::HIDDEN_FOR);
        in_batches(&receipts, keep).await
    }

    async fn hand_back(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        let hand_back = |batch| self.queues.hide("hand visitors back to the line", batch, Duration::ZERO);
        in_batches(&receipts, hand_back).await
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        in_batches(&receipts, |batch| self.queues.delete("remove visitors from the line", batch)).await
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        let attempt = "move a message to the dead letters";
        self.queues.send(attempt, &self.queues.dead_letters, &body).await?;
        self.queues.delete(attempt, &[receipt]).await
    }
}

impl LineLength for AwsLine {
    /// The counter of tickets has numbers that no visitor got.
    async fn joined(&self) -> PortResult<Option<u64>> {
        Ok(None)
    }

    /// Visitors who were received and not yet removed count as waiting.
    async fn waiting(&self) -> PortResult<u64> {
        let counts = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let request = self.queues.client.get_queue_attributes().queue_url(&self.queues.url);
        let request = request.set_attribute_names(Some(counts.to_vec()));
        let attempt = "count the waiting visitors";
        let answer = call(attempt, || request.clone().send()).await?;
        let attributes = answer.attributes.unwrap_or_default();
        counts.iter().try_fold(0u64, |sum, count| {
            let number = attributes.get(count).and_then(|number| number.parse::<u64>().ok());
            let no_count =
                || PortError::new(attempt, Fault::Broken, format!("the response of SQS has no {count}"));
            number.map(|number| sum.saturating_add(number)).ok_or_else(no_count)
        })
    }

    async fn issued(&self) -> PortResult<IssuedTickets> {
        self.table.read_existing("read the ticket counter", Key::Tickets, decode_tickets).await
    }
}
