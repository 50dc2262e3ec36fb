//! `cargo xtask try-aws` tries a room on LocalEmu, except for what LocalEmu lacks. One of its steps is the HTTP contract.

use std::fs;
use std::process::Command;

use deployed_rooms::sam;
use emulators::{LocalEmu, workspace};
use serde_json::json;

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_is_tried_and_nothing_is_left() {
    let aws = LocalEmu::shared().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let request = json!({
        "room": "aws-trial", "region": "us-east-1", "visitors": 40, "email": "operator@shop.example",
        "beekeeper": workspace::target().join("debug/beekeeper"), "architecture": sam::architecture(),
        "folder": folder.path(), "only_remove": false, "yes": true,
    });
    let mut try_room = Command::new(env!("CARGO_BIN_EXE_try_aws"));
    let output = try_room.arg(request.to_string()).envs(aws.environment()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let transcript = fs::read_to_string(written.path()).unwrap();
    assert!(said.contains(&transcript), "{transcript}");
    assert_eq!(transcript.matches("**Shown**").count(), 6, "{transcript}");
    assert_eq!(transcript.matches("**Skipped**").count(), 5, "{transcript}");
    assert!(transcript.ends_with("\nNothing failed.\n"), "{transcript}");
}
