use emulators::DynamoDbLocal;
use serde_json::{Value, json};

use crate::boto::Boto;
use crate::table;

fn put(count: usize) -> Value {
    let put = |number| json!({ "PutRequest": { "Item": { "id": { "S": format!("item {number}") } } } });
    json!({ "RequestItems": { "ledger": (0..count).map(put).collect::<Vec<_>>() } })
}

#[test]
#[ignore = "needs DynamoDB Local: cargo xtask test emulators"]
fn dynamodb_is_as_strict_as_amazon_wrote_it() {
    let dynamodb = DynamoDbLocal::start().unwrap();
    let mut aws = Boto::new(dynamodb.environment());
    table::make(&mut aws, "ledger");

    let written = aws.call("dynamodb", "batch_write_item", put(25)).unwrap();
    assert_eq!(written["UnprocessedItems"], json!({}));
    assert_eq!(aws.call("dynamodb", "batch_write_item", put(26)), Err("ValidationException".to_owned()));
    let wrong = json!({ "TableName": "ledger", "Item": { "id": { "N": "1" } } });
    assert_eq!(aws.call("dynamodb", "put_item", wrong), Err("ValidationException".to_owned()));
}
