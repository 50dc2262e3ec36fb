use serde_json::{Value, json};

use crate::boto::Boto;

/// A table with the key `id`.
pub(crate) fn make(aws: &mut Boto, name: &str) {
    let table = json!({
        "TableName": name,
        "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
        "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "S" }],
        "BillingMode": "PAY_PER_REQUEST",
    });
    aws.call("dynamodb", "create_table", table).unwrap();
}

/// Names an item.
pub(crate) fn key(table: &str, key: &str) -> Value {
    json!({ "TableName": table, "Key": { "id": { "S": key } } })
}

/// An item with nothing but its key.
pub(crate) fn item(table: &str, key: &str) -> Value {
    json!({ "TableName": table, "Item": { "id": { "S": key } } })
}
