use std::fs;
use std::time::Duration;

use emulators::LocalEmu;
use serde_json::json;

use crate::eventually;
use crate::function::Function;

const PATIENCE: Duration = Duration::from_mins(1);

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn it_answers_and_fails_and_keeps_its_process() {
    let mut function = Function::new("answers");
    let answer = function.invoke(&json!({})).unwrap();
    assert_eq!(answer["arn"], "arn:aws:lambda:us-east-1:000000000000:function:answers");
    assert_eq!(answer["name"], "answers");
    assert_eq!(answer["memory"], "128");
    assert_eq!(answer["greeting"], "hello");
    let left = answer["left"].as_i64().unwrap();
    assert!((0..=100_000).contains(&left), "{left} ms until its deadline");

    assert_eq!(function.invoke(&json!({ "do": "fail" })), Err("ValueError".to_owned()));
    assert_eq!(function.invoke(&json!({})).unwrap()["pid"], answer["pid"]);
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn one_that_dies_or_takes_too_long_works_at_the_next_call() {
    let mut function = Function::new("dies");
    let first = function.invoke(&json!({})).unwrap();
    assert_eq!(function.invoke(&json!({ "do": "die" })), Err("Runtime.ExitError".to_owned()));
    let second = function.invoke(&json!({})).unwrap();
    assert_ne!(first["pid"], second["pid"]);
    let asleep = json!({ "do": "sleep", "seconds": 100, "note": "too late" });
    assert_eq!(function.invoke(&asleep), Err("Sandbox.Timedout".to_owned()));
    let third = function.invoke(&json!({})).unwrap();
    assert_ne!(second["pid"], third["pid"]);
    assert_eq!(function.log().matches("done").count(), 3);
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn invocations_that_nobody_waits_for_run_beside_each_other() {
    let mut function = Function::new("meets");
    let place = tempfile::tempdir().unwrap();
    let meet = json!({ "do": "meet", "place": place.path(), "count": 3, "note": "met" });
    (0..3).for_each(|_| function.send(&meet));
    eventually("all three have met", PATIENCE, || function.log().matches("done met").count() == 3);
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_changed_environment_reaches_it_and_lets_an_invocation_under_way_finish() {
    let mut function = Function::new("changes");
    assert_eq!(function.invoke(&json!({})).unwrap()["greeting"], "hello");
    let place = tempfile::tempdir().unwrap();
    function.send(&json!({ "do": "meet", "place": place.path(), "count": 2, "note": "met" }));
    eventually("it waits there", PATIENCE, || fs::read_dir(place.path()).unwrap().count() == 1);

    let environment = json!({ "Variables": { "GREETING": "bye" } });
    let update = json!({ "FunctionName": function.name, "Environment": environment });
    function.aws.call("lambda", "update_function_configuration", update).unwrap();
    eventually("it says bye", PATIENCE, || function.invoke(&json!({})).unwrap()["greeting"] == "bye");

    fs::write(place.path().join("the other"), "").unwrap();
    eventually("they have met", PATIENCE, || function.log().contains("done met"));
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn it_may_do_what_its_role_may() {
    let mut function = Function::new("may");
    let create = |queue: &str| {
        let queue = json!({ "QueueName": queue });
        json!({ "do": "call", "service": "sqs", "operation": "create_queue", "parameters": queue })
    };
    assert_eq!(function.invoke(&create("line")), Err("AccessDenied".to_owned()));
    function.allow("sqs:CreateQueue", "arn:aws:sqs:us-east-1:000000000000:line");
    assert!(function.invoke(&create("line")).is_ok());
    assert_eq!(function.invoke(&create("other")), Err("AccessDenied".to_owned()));
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn what_it_writes_is_in_its_log_and_in_cloudwatch() {
    let mut function = Function::new("writes");
    function.allow("logs:*", "*");
    function.invoke(&json!({ "note": "a note" })).unwrap();
    assert_eq!(LocalEmu::shared().unwrap().function_log("writes").unwrap(), "done a note\n");
    eventually("CloudWatch has it", PATIENCE, || {
        let filter = json!({ "logGroupName": "/aws/lambda/writes", "filterPattern": "note" });
        let found = function.aws.call("logs", "filter_log_events", filter);
        found.is_ok_and(|found| found["events"][0]["message"] == "done a note\n")
    });
}
