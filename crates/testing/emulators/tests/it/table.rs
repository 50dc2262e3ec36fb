use serde_json::{Value, json};

use crate::boto::Boto;

/// Creates a table with the key `id`.
pub(crate) fn make(aws: &mut Boto, name: &str) {
    let table = json!({
        "TableName": name,
        "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
        "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "S" }],
        "BillingMode": "PAY_PER_REQUEST",
    });
    aws.call("dynamodb", "create_table", table).unwrap();
}

/// The key of an item.
pub(crate) fn key(table: &str, key: &str) -> Value {
    json!({ "TableName": table, "Key": { "id": { "S": key } } })
}

/// An item with only its key.
pub(crate) fn item(table: &str, key: &str) -> Value {
    json!({ "TableName": table, "Item": { "id": { "S": key } } })
}
