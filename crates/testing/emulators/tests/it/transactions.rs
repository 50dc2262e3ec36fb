use std::thread;

use emulators::LocalEmu;
use serde_json::{Value, json};

use crate::boto::Boto;
use crate::table;

const AT_ONCE: usize = 4;
const WRITES: usize = 25;

fn boto() -> Boto {
    Boto::new(LocalEmu::shared().unwrap().environment())
}

fn add(table: &str, key: &str) -> Value {
    let mut add = table::key(table, key);
    add["UpdateExpression"] = "ADD held :one".into();
    add["ExpressionAttributeValues"] = json!({ ":one": { "N": "1" } });
    add
}

fn held(aws: &mut Boto, table: &str, key: &str) -> Value {
    let mut get = table::key(table, key);
    get["ConsistentRead"] = true.into();
    aws.call("dynamodb", "get_item", get).unwrap()["Item"]["held"]["N"].take()
}

/// A transaction that writes a new item, increments a counter, deletes an item, and fails at a
/// condition check at its end.
fn failing(table: &str) -> Value {
    let mut impossible = table::key(table, "there");
    impossible["ConditionExpression"] = "attribute_not_exists(id)".into();
    json!({ "TransactItems": [
        { "Put": table::item(table, "new") },
        { "Update": add(table, "counted") },
        { "Delete": table::key(table, "deleted") },
        { "ConditionCheck": impossible },
    ] })
}

fn furnished(table: &str) -> Boto {
    let mut aws = boto();
    table::make(&mut aws, table);
    for key in ["counted", "deleted", "there"] {
        aws.call("dynamodb", "update_item", add(table, key)).unwrap();
    }
    aws
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_transaction_that_fails_takes_back_what_it_wrote() {
    let table = "takes-back";
    let mut aws = furnished(table);
    let cancelled = Err("TransactionCanceledException".to_owned());
    assert_eq!(aws.call("dynamodb", "transact_write_items", failing(table)), cancelled);
    let new = aws.call("dynamodb", "get_item", table::key(table, "new")).unwrap();
    assert_eq!(new.get("Item"), None);
    assert_eq!(held(&mut aws, table, "counted"), "1");
    assert_eq!(held(&mut aws, table, "deleted"), "1");
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn what_others_write_while_transactions_fail_stays_written() {
    let table = "meanwhile";
    let mut aws = furnished(table);
    thread::scope(|scope| {
        for writer in 0..AT_ONCE {
            scope.spawn(move || {
                let mut aws = boto();
                for number in 0..WRITES {
                    aws.call("dynamodb", "transact_write_items", failing(table)).unwrap_err();
                    let written = table::item(table, &format!("{writer}/{number}"));
                    aws.call("dynamodb", "put_item", written).unwrap();
                    aws.call("dynamodb", "update_item", add(table, "sum")).unwrap();
                }
            });
        }
    });
    let all = AT_ONCE * WRITES;
    assert_eq!(held(&mut aws, table, "sum"), all.to_string());
    let scan = json!({ "TableName": table, "ConsistentRead": true });
    let count = aws.call("dynamodb", "scan", scan).unwrap()["Count"].take();
    assert_eq!(count, all + ["counted", "deleted", "there", "sum"].len());
}
