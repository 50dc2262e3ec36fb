use std::env;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use testbed::DynamoDbLocal;

use crate::eventually;

const VICTIM: &str = "TESTBED_VICTIM";
const PATIENCE: Duration = Duration::from_mins(1);

fn listens(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

fn address(dynamodb: &DynamoDbLocal) -> String {
    dynamodb.endpoint().replace("http://", "")
}

#[test]
fn what_is_dropped_has_ended() {
    let dynamodb = DynamoDbLocal::start().unwrap();
    let address = address(&dynamodb);
    assert!(listens(&address));
    drop(dynamodb);
    assert!(!listens(&address));
}

/// This test in a process of its own is the one that is killed.
#[test]
fn nothing_outlives_a_test_process_that_is_killed() {
    if env::var_os(VICTIM).is_some() {
        let dynamodb = DynamoDbLocal::start().unwrap();
        println!("\nstarted {}", address(&dynamodb));
        thread::sleep(PATIENCE);
        return;
    }
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", "lifetime::nothing_outlives_a_test_process_that_is_killed", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.strip_prefix("started ")?.to_owned())).unwrap();
    assert!(listens(&address));
    victim.kill().unwrap();
    victim.wait().unwrap();
    eventually("DynamoDB Local is gone", PATIENCE, || !listens(&address));
}
