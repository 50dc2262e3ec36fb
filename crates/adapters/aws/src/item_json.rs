#![allow(clippy::panic, reason = "tests alone have it, and one that finds something else fails")]

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use waitroom::Room;

use crate::items::Item;
use crate::room_item::encode_status;

/// What the operator's changes write into the status with this digit, as DynamoDB returns it.
pub fn status_json(digit: u8, room: &Room) -> Value {
    item_json(&encode_status(digit, room))
}

/// As DynamoDB writes an item in JSON.
pub(crate) fn item_json(item: &Item) -> Value {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        other => panic!("no item has {other:?}"),
    };
    item.iter().map(|(name, found)| (name.clone(), value(found))).collect()
}
