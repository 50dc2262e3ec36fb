use std::time::Duration;

use serde_json::json;

use crate::eventually;
use crate::function::Function;

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_schedule_of_one_minute_calls_a_function() {
    let mut function = Function::new("scheduled");
    let rule = json!({ "Name": "minute", "ScheduleExpression": "rate(1 minute)" });
    let rule = function.aws.call("events", "put_rule", rule).unwrap();
    let permission = json!({
        "FunctionName": function.name,
        "StatementId": "minute",
        "Action": "lambda:InvokeFunction",
        "Principal": "events.amazonaws.com",
        "SourceArn": rule["RuleArn"],
    });
    function.aws.call("lambda", "add_permission", permission).unwrap();
    let target =
        json!({ "Id": "function", "Arn": function.arn, "Input": json!({ "note": "on time" }).to_string() });
    function.aws.call("events", "put_targets", json!({ "Rule": "minute", "Targets": [target] })).unwrap();
    eventually("the schedule fires", Duration::from_mins(3), || function.log().contains("done on time"));
}
