//! A table with the key `id`: strongly consistent reads, and conditional writes.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, Put, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use waitroom::ports::{Fault, PortError, PortResult};

use crate::expressions::Statement;
use crate::items::{Item, ItemError, missing};
use crate::keys::Key;
use crate::retry::{CallError, call, fault, with_retries, with_retries_judged_by, with_retries_until_unsure};

#[derive(Clone, Debug)]
pub(crate) struct Table {
    client: Client,
    name: String,
}

/// The key of an item. It may have a visitor's token in it, so nothing shows it.
pub(crate) struct ItemId(String);

impl From<Key> for ItemId {
    fn from(key: Key) -> Self {
        Self(key.id())
    }
}

impl From<&str> for ItemId {
    fn from(subject: &str) -> Self {
        Self(subject.to_owned())
    }
}

/// The result of a conditional write.
#[derive(Debug)]
pub(crate) enum Written {
    /// Done. For an update: the new values of the attributes that it changed.
    Done(Item),
    /// The condition failed. The existing item, if the table returned it.
    Refused(Option<Item>),
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Put(Item, Statement),
    Update(Key, Statement),
}

/// The most keys that DynamoDB accepts in one read.
const MAX_KEYS: usize = 100;
/// How many requests more than needed a batch read makes until it has all items.
const MAX_READS: usize = 5;

impl Table {
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    pub(crate) async fn get(
        &self,
        attempt: &'static str,
        key: impl Into<ItemId>,
    ) -> PortResult<Option<Item>> {
        self.get_item(attempt, key, true).await
    }

    /// An item as it is now or was a moment ago, which costs half.
    pub(crate) async fn get_a_copy(&self, attempt: &'static str, key: Key) -> PortResult<Option<Item>> {
        self.get_item(attempt, key, false).await
    }

    async fn get_item(
        &self,
        attempt: &'static str,
        key: impl Into<ItemId>,
        is_consistent: bool,
    ) -> PortResult<Option<Item>> {
        let request = self.client.get_item().table_name(&self.name).set_key(Some(primary(key)));
        let request = request.consistent_read(is_consistent);
        Ok(call(attempt, || request.clone().send()).await?.item)
    }

    /// An item, decoded.
    pub(crate) async fn read<T>(
        &self,
        attempt: &'static str,
        key: Key,
        decode: impl FnOnce(&Item) -> Result<T, ItemError>,
    ) -> PortResult<Option<T>> {
        let item = self.get(attempt, key).await?;
        item.map(|item| decode(&item)).transpose().map_err(PortError::broken(attempt))
    }

    /// The same of an item that every room has.
    pub(crate) async fn read_existing<T>(
        &self,
        attempt: &'static str,
        key: Key,
        decode: impl FnOnce(&Item) -> Result<T, ItemError>,
    ) -> PortResult<T> {
        self.read(attempt, key, decode).await?.ok_or_else(|| missing(attempt, key))
    }

    /// The items that exist, by id. For at most 100 keys.
    pub(crate) async fn get_all(
        &self,
        attempt: &'static str,
        keys: impl IntoIterator<Item = Key>,
    ) -> PortResult<HashMap<String, Item>> {
        let mut wanted: Vec<_> = keys.into_iter().map(primary).collect();
        let mut found = HashMap::new();
        for _ in 0..MAX_READS + wanted.len() / MAX_KEYS {
            if wanted.is_empty() {
                return Ok(found);
            }
            let rest = wanted.split_off(wanted.len().min(MAX_KEYS));
            let keys = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let keys = keys.map_err(PortError::broken(attempt))?;
            let request = self.client.batch_get_item().request_items(&self.name, keys);
            let mut answer = call(attempt, || request.clone().send()).await?;
            let items = answer.responses.as_mut().and_then(|tables| tables.remove(&self.name));
            for item in items.unwrap_or_default() {
                if let Some(AttributeValue::S(id)) = item.get("id") {
                    found.insert(id.clone(), item);
                }
            }
            let left = answer.unprocessed_keys.and_then(|mut tables| tables.remove(&self.name));
            wanted = left.map(|left| left.keys).unwrap_or_default();
            wanted.extend(rest);
        }
        Err(PortError::new(attempt, Fault::Busy, "the table is throttled and did not return all items"))
    }

    /// Writes a whole item if a condition holds.
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
        written(attempt, with_retries(|| request.clone().send()).await, |_| Item::new())
    }

    pub(crate) async fn update(
        &self,
        attempt: &'static str,
        key: impl Into<ItemId>,
        statement: Statement,
    ) -> PortResult<Written> {
        let request = self.update_of(key, statement);
        written(attempt, with_retries(|| request.clone().send()).await, |answer| {
            answer.attributes.unwrap_or_default()
        })
    }

    /// The same for what adds to a number. Not again if it may have been added: rather it's missing.
    pub(crate) async fn update_once(
        &self,
        attempt: &'static str,
        key: impl Into<ItemId>,
        statement: Statement,
    ) -> PortResult<Written> {
        let request = self.update_of(key, statement);
        written(attempt, with_retries_until_unsure(|| request.clone().send(), fault).await, |answer| {
            answer.attributes.unwrap_or_default()
        })
    }

    /// The item that a refused write has found. DynamoDB Local does not return it, so it's read.
    pub(crate) async fn refused_by(
        &self,
        attempt: &'static str,
        key: impl Into<ItemId>,
        found: Option<Item>,
    ) -> PortResult<Option<Item>> {
        match found {
            Some(found) => Ok(Some(found)),
            None => self.get(attempt, key).await,
        }
    }

    fn update_of(&self, key: impl Into<ItemId>, statement: Statement) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(primary(key)))
            .set_condition_expression(statement.condition())
            .set_expression_attribute_names(statement.names())
            .set_expression_attribute_values(statement.values())
            .update_expression(statement.update)
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Makes all of the writes in one transaction. Returns false if a condition failed, so that nothing was written.
    pub(crate) async fn write_together(&self, attempt: &'static str, writes: Vec<Write>) -> PortResult<bool> {
        Ok(self.try_together(attempt, writes).await?.is_empty())
    }

    /// The same, and not again once it may have been done: for what says from when it's in force, which would be in the past then.
    pub(crate) async fn write_together_until_unsure(
        &self,
        attempt: &'static str,
        writes: Vec<Write>,
    ) -> PortResult<bool> {
        let request = self.transaction(attempt, writes)?;
        match with_retries_until_unsure(|| request.clone().send(), cancellation).await {
            Ok(_) => Ok(true),
            Err(failure) if condition_failed(&failure.error) => Ok(false),
            Err(failure) => Err(failure.into_port_error(attempt)),
        }
    }

    /// Makes all of the writes in one transaction. Returns which conditions failed, by the position of their writes: none if all
    /// was written.
    pub(crate) async fn try_together(
        &self,
        attempt: &'static str,
        writes: Vec<Write>,
    ) -> PortResult<Vec<usize>> {
        let request = self.transaction(attempt, writes)?;
        match with_retries_judged_by(|| request.clone().send(), cancellation).await {
            Ok(_) => Ok(Vec::new()),
            Err(failure) if condition_failed(&failure.error) => Ok(failed_conditions(&failure.error)),
            Err(failure) => Err(failure.into_port_error(attempt)),
        }
    }

    /// One token for all attempts: if an earlier attempt succeeded, a later one succeeds too, and changes nothing.
    fn transaction(
        &self,
        attempt: &'static str,
        writes: Vec<Write>,
    ) -> PortResult<TransactWriteItemsFluentBuilder> {
        let writes: Result<Vec<_>, _> = writes.into_iter().map(|write| self.transacted(write)).collect();
        let writes = writes.map_err(PortError::broken(attempt))?;
        let token = format!("{:032x}", rand::random::<u128>());
        let request = self.client.transact_write_items().set_transact_items(Some(writes));
        Ok(request.client_request_token(token))
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

fn primary(key: impl Into<ItemId>) -> HashMap<String, AttributeValue> {
    HashMap::from([("id".to_owned(), AttributeValue::S(key.into().0))])
}

/// The codes that say why each write of a transaction was cancelled.
fn reasons(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Vec<&str> {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons().iter().map(|reason| reason.code().unwrap_or_default()).collect()
        }
        _ => Vec::new(),
    }
}

/// The positions of the writes whose conditions failed.
fn failed_conditions(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Vec<usize> {
    let reasons = reasons(error).into_iter().enumerate();
    reasons.filter(|(_, code)| *code == "ConditionalCheckFailed").map(|(write, _)| write).collect()
}

fn condition_failed(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> bool {
    !failed_conditions(error).is_empty()
}

/// A transaction that conflicted with another, or that was throttled, was not done. A retry may succeed.
fn cancellation(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Fault {
    let temporary = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => Fault::Unsure,
        _ if condition_failed(error) => Fault::Broken,
        _ if reasons(error).iter().any(|reason| temporary.contains(reason)) => Fault::Busy,
        _ => fault(error),
    }
}

/// What became of a write, if its `answer` is one of the table: it was `done`, or its condition failed.
fn written<T, E: ConditionalWrite>(
    attempt: &'static str,
    answer: Result<T, CallError<E>>,
    done: impl FnOnce(T) -> Item,
) -> PortResult<Written> {
    match answer {
        Ok(answer) => Ok(Written::Done(done(answer))),
        Err(failure) => match failure.error {
            SdkError::ServiceError(answer) if answer.err().is_refusal() => {
                Ok(Written::Refused(answer.into_err().into_old_item()))
            }
            error => Err(CallError { error, ..failure }.into_port_error(attempt)),
        },
    }
}

/// The error of a write whose condition may fail.
trait ConditionalWrite: std::error::Error + ProvideErrorMetadata + 'static {
    fn is_refusal(&self) -> bool;
    /// The existing item that made the condition fail.
    fn into_old_item(self) -> Option<Item>;
}

macro_rules! conditional_write {
    ($($error:ty),*) => {$(
        impl ConditionalWrite for $error {
            fn is_refusal(&self) -> bool {
                self.is_conditional_check_failed_exception()
            }

            fn into_old_item(self) -> Option<Item> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => failed.item,
                    _ => None,
                }
            }
        }
    )*};
}

conditional_write!(
    aws_sdk_dynamodb::operation::put_item::PutItemError,
    aws_sdk_dynamodb::operation::update_item::UpdateItemError
);
