//! The ledger's table: reads that see every write before them, and writes on conditions.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, Put, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use waitroom::ports::{Fault, PortError, PortResult};

use crate::expressions::Statement;
use crate::items::{Item, text};
use crate::keys::Key;
use crate::retry::{CallError, fault, persistently, persistently_judged};

#[derive(Clone, Debug)]
pub(crate) struct Table {
    client: Client,
    name: String,
}

/// What became of a conditional write.
#[derive(Debug)]
pub(crate) enum Written {
    /// Done; the attributes that an update has changed, as they are now.
    Done(Item),
    /// The condition did not hold; the item that is there, if the ledger said.
    Refused(Option<Item>),
}

/// One write of several that are done together or not at all.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Put(Item, Statement),
    Update(Key, Statement),
}

/// Where a batch read asks again for what it did not get.
const ROUNDS: u32 = 5;

impl Table {
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    pub(crate) async fn get(&self, attempt: &'static str, key: Key) -> PortResult<Option<Item>> {
        let request = self.client.get_item().table_name(&self.name).set_key(Some(primary(key)));
        let request = request.consistent_read(true);
        let answer = persistently(|| request.clone().send()).await;
        answer.map(|answer| answer.item).map_err(|trouble| trouble.while_trying_to(attempt))
    }

    /// Those of the items that exist, by id; a hundred at most.
    pub(crate) async fn get_all(
        &self,
        attempt: &'static str,
        keys: impl IntoIterator<Item = Key>,
    ) -> PortResult<HashMap<String, Item>> {
        let mut wanted: Vec<_> = keys.into_iter().map(primary).collect();
        let mut found = HashMap::new();
        for _ in 0..ROUNDS {
            if wanted.is_empty() {
                return Ok(found);
            }
            let keys = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let keys = keys.map_err(|error| malformed(attempt, error))?;
            let request = self.client.batch_get_item().request_items(&self.name, keys);
            let answer = persistently(|| request.clone().send()).await;
            let mut answer = answer.map_err(|trouble| trouble.while_trying_to(attempt))?;
            let items = answer.responses.as_mut().and_then(|tables| tables.remove(&self.name));
            for item in items.unwrap_or_default() {
                if let Some(AttributeValue::S(id)) = item.get("id") {
                    found.insert(id.clone(), item);
                }
            }
            let left = answer.unprocessed_keys.and_then(|mut tables| tables.remove(&self.name));
            wanted = left.map(|left| left.keys).unwrap_or_default();
        }
        Err(PortError::new(attempt, Fault::Busy, "the ledger is throttled and left out some of the items"))
    }

    /// Puts a whole item, on a condition.
    pub(crate) async fn put(
        &self,
        attempt: &'static str,
        item: Item,
        when: Statement,
    ) -> PortResult<Written> {
        let request = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item))
            .set_condition_expression(when.condition())
            .set_expression_attribute_names(when.names())
            .set_expression_attribute_values(when.values())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match persistently(|| request.clone().send()).await {
            Ok(_) => Ok(Written::Done(Item::new())),
            Err(CallError { error: SdkError::ServiceError(answer), .. })
                if answer.err().is_conditional_check_failed_exception() =>
            {
                Ok(Written::Refused(answer.into_err().into_old_item()))
            }
            Err(trouble) => Err(trouble.while_trying_to(attempt)),
        }
    }

    pub(crate) async fn update(
        &self,
        attempt: &'static str,
        key: Key,
        statement: Statement,
    ) -> PortResult<Written> {
        let request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(primary(key)))
            .set_condition_expression(statement.condition())
            .set_expression_attribute_names(statement.names())
            .set_expression_attribute_values(statement.values())
            .update_expression(statement.update)
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match persistently(|| request.clone().send()).await {
            Ok(answer) => Ok(Written::Done(answer.attributes.unwrap_or_default())),
            Err(CallError { error: SdkError::ServiceError(answer), .. })
                if answer.err().is_conditional_check_failed_exception() =>
            {
                Ok(Written::Refused(answer.into_err().into_old_item()))
            }
            Err(trouble) => Err(trouble.while_trying_to(attempt)),
        }
    }

    /// Does all of the writes, or none of them if a condition does not hold; says which.
    pub(crate) async fn write_together(&self, attempt: &'static str, writes: Vec<Write>) -> PortResult<bool> {
        let writes: Result<Vec<_>, _> = writes.into_iter().map(|write| self.transacted(write)).collect();
        let writes = writes.map_err(|error| malformed(attempt, error))?;
        // One token for all attempts: a second one that finds the first done is told so, not refused.
        let token = format!("{:032x}", rand::random::<u128>());
        let request = self.client.transact_write_items().set_transact_items(Some(writes));
        let request = request.client_request_token(token);
        match persistently_judged(|| request.clone().send(), cancellation).await {
            Ok(_) => Ok(true),
            Err(trouble) if condition_failed(&trouble.error) => Ok(false),
            Err(trouble) => Err(trouble.while_trying_to(attempt)),
        }
    }

    fn transacted(&self, write: Write) -> Result<TransactWriteItem, BuildError> {
        let item = TransactWriteItem::builder();
        Ok(match write {
            Write::Put(whole, when) => {
                let put = Put::builder()
                    .table_name(&self.name)
                    .set_item(Some(whole))
                    .set_condition_expression(when.condition())
                    .set_expression_attribute_names(when.names())
                    .set_expression_attribute_values(when.values());
                item.put(put.build()?).build()
            }
            Write::Update(key, statement) => {
                let update = Update::builder()
                    .table_name(&self.name)
                    .set_key(Some(primary(key)))
                    .set_condition_expression(statement.condition())
                    .set_expression_attribute_names(statement.names())
                    .set_expression_attribute_values(statement.values())
                    .update_expression(statement.update);
                item.update(update.build()?).build()
            }
        })
    }
}

fn primary(key: Key) -> HashMap<String, AttributeValue> {
    HashMap::from([("id".to_owned(), text(&key.id()))])
}

fn malformed(attempt: &'static str, error: BuildError) -> PortError {
    PortError::new(attempt, Fault::Broken, error)
}

/// Why a transaction was cancelled, write by write.
fn reasons(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Vec<&str> {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code()).collect()
        }
        _ => Vec::new(),
    }
}

fn condition_failed(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> bool {
    reasons(error).contains(&"ConditionalCheckFailed")
}

/// A transaction that met another, or that was too much at once, was not done and may be soon.
fn cancellation(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Fault {
    let passing = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => Fault::Unsure,
        _ if condition_failed(error) => Fault::Broken,
        _ if reasons(error).iter().any(|reason| passing.contains(reason)) => Fault::Busy,
        _ => fault(error),
    }
}

/// The item that stood in the way of a conditional write.
trait OldItem {
    fn into_old_item(self) -> Option<Item>;
}

macro_rules! old_item {
    ($($error:ty),*) => {$(
        impl OldItem for $error {
            fn into_old_item(self) -> Option<Item> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => failed.item,
                    _ => None,
                }
            }
        }
    )*};
}

old_item!(
    aws_sdk_dynamodb::operation::put_item::PutItemError,
    aws_sdk_dynamodb::operation::update_item::UpdateItemError
);
