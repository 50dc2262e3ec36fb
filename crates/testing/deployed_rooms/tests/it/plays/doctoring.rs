//! `beekeeper doctor` before and after a deployment, with the permissions that the docs list.

use deployed_rooms::Operator;
use emulators::{LocalEmu, Options, boto3};
use http_contract::Client;
use serde_json::Value;

/// Puts a message into the queue of dead letters of the room `sale`.
const BURY: &str = "import boto3
sqs = boto3.client('sqs')
for url in sqs.list_queues(QueueNamePrefix='beekeeper-sale-DeadLetters')['QueueUrls']:
    sqs.send_message(QueueUrl=url, MessageBody='not a visitor')";

/// What the doctor said, and its exit code.
struct Diagnosis(i32, Value);

impl Diagnosis {
    fn of(operator: &Operator, more: &[&str]) -> Self {
        let output = operator.run(&[&["doctor", "sale", "--json"], more].concat()).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        println!("{said}");
        Self(output.status.code().unwrap(), report)
    }

    /// The results of each check of this name.
    fn results(&self, name: &str) -> String {
        let checks = self.1["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
        checks.map(|check| check["result"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    /// What the last check of this name found.
    fn found(&self, name: &str) -> &str {
        let checks = self.1["checks"].as_array().unwrap().iter();
        checks.rev().find(|check| check["name"] == name).unwrap()["found"].as_str().unwrap()
    }
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_doctor_examines_a_room_before_and_after_it_is_deployed() {
    let aws: &'static LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let mut operator = Operator::new(aws, "doctor").unwrap();
    assert_eq!(operator.run(&["doctor", "sale"]).unwrap().status.code(), Some(3), "it is not configured");
    operator.profile("sale", "Sale").unwrap();
    operator.configure_more("sale", "alarm_email = \"anna@shop.example\"\n").unwrap();

    let before = Diagnosis::of(&operator, &["--visitors", "150k"]);
    assert_eq!((before.0, &before.1["deployed"]), (1, &Value::Bool(false)), "no server answers at the shop");
    assert_eq!((before.results("credentials"), before.results("stack")), ("ok".into(), "not-checked".into()));
    assert!(before.found("stack").starts_with("the room is not deployed yet"), "{}", before.1);
    assert!(before.results("limits").starts_with("ok warning"), "150,000 people at 60 a minute");
    assert_eq!((before.results("shop"), before.results("page")), ("problem".into(), String::new()));

    let deployed = operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    let client = Client::new(&aws.stage(deployed["urls"]["stage"].as_str().unwrap()), "sale");
    client.join();
    let after = Diagnosis::of(&operator, &[]);
    for name in ["credentials", "stack", "room", "page", "keys", "clock", "cookies", "dead-letters"] {
        assert_eq!(after.results(name), "ok", "{name}: {}", after.1);
    }
    assert!(after.found("stack").contains("of this version, as it is configured"), "{}", after.1);
    assert!(after.results("certificate").starts_with("not-checked"), "the room has none here");
    // LocalEmu names the topic as it likes, so the operator may not ask it who confirmed.
    assert!(after.results("alarms").ends_with("not-checked"), "{}", after.1);
    assert!(
        after.found("alarms").starts_with("not known whether anna@shop.example gets them"),
        "{}",
        after.1
    );
    assert_eq!((after.0, &after.1["deployed"]), (1, &Value::Bool(true)), "because of the shop");

    let buried = boto3().unwrap().args(["-c", BURY]).envs(aws.environment()).output().unwrap();
    assert!(buried.status.success(), "{buried:?}");
    operator.configure_more("sale", "pass_minutes = 7\n").unwrap();
    let later = Diagnosis::of(&operator, &[]);
    assert_eq!((later.results("dead-letters"), later.results("stack")), ("warning".into(), "problem".into()));
    assert!(later.found("dead-letters").starts_with("1 message in the line"), "{}", later.1);
    assert!(later.found("stack").ends_with("pass_minutes: 60 -> 7"), "{}", later.1);

    operator.deny("cloudwatch:DescribeAlarms").unwrap();
    let partly = Diagnosis::of(&operator, &[]);
    assert_eq!((partly.0, partly.results("alarms")), (1, "problem not-checked".into()), "{}", partly.1);
    assert!(partly.1["checks"].to_string().contains("\"could not read the alarms of "), "{}", partly.1);
    assert_eq!(partly.results("dead-letters"), "warning", "{}", partly.1);
    for name in ["room", "page", "keys", "clock"] {
        assert_eq!(partly.results(name), "ok", "{name} needs another permission: {}", partly.1);
    }
    operator.take_policy().unwrap();
    let denied = Diagnosis::of(&operator, &[]);
    assert_eq!((denied.0, &denied.1["deployed"]), (1, &Value::Bool(false)));
    for name in ["stack", "limits", "room"] {
        assert_eq!(denied.results(name), "problem", "{name}: {}", denied.1);
    }
    for name in ["alarms", "dead-letters"] {
        assert_eq!(denied.results(name), "not-checked", "{name}: {}", denied.1);
    }

    operator.forget_keys();
    let signed_out = Diagnosis::of(&operator, &[]);
    assert_eq!((signed_out.0, signed_out.results("credentials")), (4, "problem".into()));
    assert_eq!(signed_out.results("shop"), "problem", "it is examined all the same");
}
