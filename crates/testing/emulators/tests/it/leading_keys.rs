use serde_json::{Value, json};

use crate::function::Function;
use crate::table;

/// A function that may read and write some items of a table, and may check others.
fn limited(name: &'static str) -> Function {
    let mut function = Function::new(name);
    table::make(&mut function.aws, name);
    for (action, key) in [
        ("GetItem", "mine/*"),
        ("BatchGetItem", "mine/*"),
        ("PutItem", "mine/*"),
        ("Scan", "mine/*"),
        ("ConditionCheckItem", "room"),
    ] {
        function.permit(
            action,
            &json!({
                "Effect": "Allow",
                "Action": format!("dynamodb:{action}"),
                "Resource": format!("arn:aws:dynamodb:us-east-1:000000000000:table/{name}"),
                "Condition": { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [key] } },
            }),
        );
    }
    function
}

fn call(function: &mut Function, operation: &str, parameters: &Value) -> Result<(), String> {
    let call =
        json!({ "do": "call", "service": "dynamodb", "operation": operation, "parameters": parameters });
    function.invoke(&call).map(drop)
}

fn denied() -> Result<(), String> {
    Err("AccessDenied".to_owned())
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_role_reaches_the_items_that_its_keys_name_and_no_others() {
    let mut function = limited("keys-single");
    let mut get = |key| call(&mut function, "get_item", &table::key("keys-single", key));
    assert_eq!(get("mine/1"), Ok(()));
    assert_eq!(get("yours/1"), denied());
    assert_eq!(get("room"), denied(), "it may be checked, and not read");
    let mut put = |key| call(&mut function, "put_item", &table::item("keys-single", key));
    assert_eq!(put("mine/1"), Ok(()));
    assert_eq!(put("yours/1"), denied());
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_batch_is_allowed_if_each_of_its_items_is() {
    let mut function = limited("keys-batch");
    let mut get = |keys: &[&str]| {
        let keys: Vec<_> = keys.iter().map(|key| json!({ "id": { "S": key } })).collect();
        let batch = json!({ "RequestItems": { "keys-batch": { "Keys": keys } } });
        call(&mut function, "batch_get_item", &batch)
    };
    assert_eq!(get(&["mine/1", "mine/2"]), Ok(()));
    assert_eq!(get(&["mine/1", "yours/1"]), denied());
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_transaction_is_allowed_if_each_of_its_items_is_with_its_own_action() {
    let mut function = limited("keys-transaction");
    let mut write = |items: &[(&str, Value)]| {
        let items: Vec<_> = items.iter().map(|(action, item)| json!({ *action: item })).collect();
        call(&mut function, "transact_write_items", &json!({ "TransactItems": items }))
    };
    let put = |key| ("Put", table::item("keys-transaction", key));
    let delete = |key| ("Delete", table::key("keys-transaction", key));
    let absent = |key| {
        let mut check = table::key("keys-transaction", key);
        check["ConditionExpression"] = "attribute_not_exists(id)".into();
        ("ConditionCheck", check)
    };
    assert_eq!(write(&[put("mine/1"), absent("room")]), Ok(()));
    assert_eq!(write(&[put("mine/2"), put("room")]), denied(), "of the room only a check");
    assert_eq!(write(&[put("mine/2"), absent("mine/3")]), denied(), "and a check of nothing else");
    assert_eq!(write(&[put("mine/2"), delete("mine/1")]), denied(), "no item may be deleted");
}

/// AWS would allow the scan, because `ForAllValues` is true for an empty set of values. So no role of ours may
/// scan.
#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_scan_which_names_no_items_is_denied_where_keys_are_asked_for() {
    let mut function = limited("keys-scan");
    assert_eq!(call(&mut function, "scan", &json!({ "TableName": "keys-scan" })), denied());
}
