//! An operator rehearses an event in a deployed room, with the permissions that the docs list.

use deployed_rooms::Operator;
use emulators::{LocalEmu, Options};
use serde_json::{Value, json};

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn visitors_rehearse_in_a_deployed_room() {
    let aws: &'static LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let operator = Operator::new(aws, "operator").unwrap();
    operator.profile("sale", "Sale").unwrap();
    operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    let raised = operator.run(&["set-rate", "sale", "600", "--yes"]).unwrap();
    assert!(raised.status.success(), "{raised:?}");

    let unasked = operator.run(&["rehearse", "sale", "--visitors", "20"]).unwrap();
    let asks = String::from_utf8_lossy(&unasked.stderr).into_owned();
    assert_eq!(unasked.status.code(), Some(6), "{asks}");
    assert!(asks.contains("this costs about $0.0"), "{asks}");

    let visitors = ["--visitors", "20", "--arrivals", "10s", "--at-most", "5m"];
    let rehearse = [&["rehearse", "sale", "--yes", "--json"][..], &visitors].concat();
    let output = operator.run(&rehearse).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert!(output.status.success(), "{said}{report}");
    assert_eq!((&report["ends"]["entered"], &report["order"]["allowed"]), (&json!(20), &Value::Null));

    let status = operator.done(&["status", "sale", "--json"]).unwrap();
    assert_eq!((&status["room"]["rehearsal"], &status["line"]["waiting"]), (&Value::Null, &json!(0)));
    operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
}
