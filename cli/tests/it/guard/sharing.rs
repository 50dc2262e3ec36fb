//! Several guards in front of one shop.

use std::fs;
use std::process::Command;
use std::time::Duration;

use emulators::{LocalEmu, boto3};
use http_contract::{Client, RoomUnderTest};

use super::fixture::{Guard, cookie, issuer};
use crate::support::{Local, text};

/// Creates the table that docs/guard.md describes, and prints its ARN.
const TABLE: &str = "
import boto3
table = boto3.client('dynamodb').create_table(
    TableName='spring-sale-sessions',
    AttributeDefinitions=[{'AttributeName': 'id', 'AttributeType': 'S'}],
    KeySchema=[{'AttributeName': 'id', 'KeyType': 'HASH'}],
    BillingMode='PAY_PER_REQUEST')
print(table['TableDescription']['TableArn'])
";

#[test]
#[ignore = "needs LocalEmu: cargo xtask test beekeeper"]
fn two_guards_share_their_sessions() {
    let aws = LocalEmu::shared().unwrap();
    let created = boto3().unwrap().envs(aws.environment()).args(["-c", TABLE]).output().unwrap();
    assert!(created.status.success(), "{}", text(&created.stderr));
    let table = text(&created.stdout).trim().to_owned();
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let guard = |directory, table: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.envs(aws.environment());
        Guard::started(command, &issuer(&room), directory, &["--sessions-table", table])
    };
    let here = guard(tempfile::tempdir().unwrap(), &table);
    let other = tempfile::tempdir().unwrap();
    fs::copy(here.directory.path().join("session.key"), other.path().join("session.key")).unwrap();
    let there = guard(other, &table);

    let door = Client::new(&room.base(), "demo");
    let place = door.cookie(&door.get("/beekeeper"));
    let pass = || door.wait_for_pass(&place);
    let first = cookie(&here.asked(&format!("/?bk_pass={}", pass()), &[]));
    assert_eq!(there.asked("/", &[("Cookie", &first)]).status, 200, "known at the other guard");
    // A pass that was signed in a later second.
    std::thread::sleep(Duration::from_secs(4));
    let second = cookie(&there.asked(&format!("/?bk_pass={}", pass()), &[]));
    assert_eq!(here.asked("/", &[("Cookie", &second)]).status, 200);
    assert_eq!(here.asked("/", &[("Cookie", &first)]).status, 302, "the newest session ended it");

    let wrong = table.replace("spring-sale", "autumn-sale");
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.envs(aws.environment()).args([
        "guard",
        "demo",
        "--listen",
        "0",
        "--room",
        &issuer(&room),
        "--data",
    ]);
    let refused =
        command.arg(tempfile::tempdir().unwrap().path()).args(["--sessions-table", &wrong]).output().unwrap();
    let said = text(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("autumn-sale") && said.contains("docs/guard.md"),
        "{said}"
    );
}
