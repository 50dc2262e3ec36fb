use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use emulators::{DynamoDbLocal, LocalEmu, Options};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use crate::eventually;
use crate::function::Function;

const VICTIM: &str = "TESTBED_VICTIM";
const PATIENCE: Duration = Duration::from_mins(1);

fn listens(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

fn address(dynamodb: &DynamoDbLocal) -> String {
    dynamodb.endpoint().replace("http://", "")
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test emulators"]
fn what_is_dropped_has_ended_and_so_have_its_functions() {
    let aws = LocalEmu::start(Options { enforce_iam: false }).unwrap();
    let mut function = Function::of(&aws, "dropped");
    let queue = json!({ "QueueName": "line" });
    let call = json!({ "do": "call", "service": "sqs", "operation": "create_queue", "parameters": queue });
    let answer = function.invoke(&call).expect("nothing is forbidden where IAM is not enforced");
    let pid = i32::try_from(answer["pid"].as_i64().unwrap()).ok().and_then(Pid::from_raw).unwrap();
    assert!(test_kill_process(pid).is_ok());
    drop(aws);
    eventually("the function is gone", PATIENCE, || test_kill_process(pid).is_err());
}

/// The test starts itself in a second process, and kills that process.
#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test emulators"]
fn nothing_outlives_a_test_process_that_is_killed() {
    if env::var_os(VICTIM).is_some() {
        let dynamodb = DynamoDbLocal::start().unwrap();
        writeln!(io::stdout(), "\nstarted {}", address(&dynamodb)).unwrap();
        thread::sleep(PATIENCE);
        return;
    }
    let mut victim = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "lifetime::nothing_outlives_a_test_process_that_is_killed",
            "--include-ignored",
            "--nocapture",
        ])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.strip_prefix("started ")?.to_owned()));
    let address = address.expect("it started DynamoDB Local");
    assert!(listens(&address));
    victim.kill().unwrap();
    victim.wait().unwrap();
    eventually("DynamoDB Local is gone", PATIENCE, || !listens(&address));
}
