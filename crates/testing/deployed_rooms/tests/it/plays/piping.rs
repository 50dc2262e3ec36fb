//! A pipeline deploys a room from the files of `beekeeper deploy --emit`, with the commands of docs/pipelines.md.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use deployed_rooms::Operator;
use emulators::{Venv, console, workspace};
use http_contract::{Client, IN_FORCE};
use serde_json::Value;

use super::lifecycle::account;

const DOC: &str = "docs/pipelines.md";

/// The commands of a section of the document, of which the lines that call AWS's command line run as they are. Version 1 of that reads
/// the region from another variable.
fn commands(section: &str) -> String {
    let text = fs::read_to_string(workspace::root().join(DOC)).unwrap();
    let at = text.find(section).unwrap_or_else(|| panic!("{DOC} has no {section:?}"));
    let blocks = console::blocks(&text[at..]);
    let block = blocks.iter().find(|block| block.language == "text").unwrap();
    let lines = block.text.lines().filter(|line| !line.starts_with("beekeeper "));
    let lines = lines.map(|line| line.replace("AWS_REGION=eu-central-1", "AWS_DEFAULT_REGION=us-east-1"));
    lines.fold(String::from("set -e\n"), |all, line| all + &line + "\n")
}

/// The commands that deploy the room. PyPI has only version 1 of AWS's command line, which reads no file of parameters.
fn deploy(room: &Path) -> String {
    let parameters: Value = serde_json::from_slice(&fs::read(room.join("parameters.json")).unwrap()).unwrap();
    let parameters = parameters["Parameters"].as_object().unwrap().iter();
    let pairs: Vec<_> =
        parameters.map(|(name, value)| format!("'{name}={}'", value.as_str().unwrap())).collect();
    let (commands, file) = (commands("## CloudFormation"), "file://room/parameters.json");
    assert!(commands.contains(file), "{commands}");
    commands.replace(file, &pairs.join(" "))
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_pipeline_creates_updates_and_removes_a_room() {
    let aws = account();
    let tools = Venv::with("aws-cli", &["awscli==1.46.3"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let operator = Operator::new(aws, "operator").unwrap();
    operator.profile("spring-sale", "Sale").unwrap();
    let before = operator.listing().unwrap();
    let first = commands("## CloudFormation");
    let region = first.lines().find(|line| line.starts_with("export ")).unwrap();
    let runs = |script: &str| {
        let mut shell = Command::new("sh");
        let path = format!("{}:{}", tools.bin().display(), std::env::var("PATH").unwrap());
        shell.args(["-c", &format!("{region}\n{script}")]).current_dir(folder.path());
        shell.envs(aws.environment()).env("PATH", path);
        let output = shell.env_remove("AWS_DEFAULT_REGION").output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    runs("aws s3 mb s3://my-artefacts");
    let room = folder.path().join("room");
    let emit = |room: &Path| {
        let room = room.to_str().unwrap();
        let emit = ["deploy", "spring-sale", "--emit", room, "--bucket", "my-artefacts", "--json"];
        operator.done_offline(&emit).unwrap()
    };
    let emitted = emit(&room);
    assert_eq!(emitted["files"].as_array().unwrap().len(), 4, "{emitted}");
    runs(&deploy(&room));

    let status = operator.done(&["status", "spring-sale", "--json"]).unwrap();
    assert_eq!(status["room"]["state"], "on", "{status}");
    let listed = operator.done(&["list", "--json"]).unwrap();
    assert_eq!(listed[0]["aws"]["deployed"], "unknown", "its file has no account yet: {listed}");
    let describe = "aws cloudformation describe-stacks --stack-name beekeeper-spring-sale --output json";
    let stack: Value = serde_json::from_str(&runs(describe)).unwrap();
    let outputs = stack["Stacks"][0]["Outputs"].as_array().unwrap();
    let stage = outputs.iter().find(|output| output["OutputKey"] == "StageUrl").unwrap();
    let client = Client::new(&aws.stage(stage["OutputValue"].as_str().unwrap()), "spring-sale");
    operator.done(&["pause", "spring-sale", "--json"]).unwrap();
    thread::sleep(IN_FORCE);
    let place = client.join();
    let epoch = client.get_with("/polling", &place).json()["epoch"].clone();
    let examined = operator.run(&["doctor", "spring-sale", "--json"]).unwrap();
    let examined: Value = serde_json::from_slice(&examined.stdout).unwrap();
    let stack = examined["checks"].as_array().unwrap().iter().find(|check| check["name"] == "stack").unwrap();
    assert_eq!(stack["result"], "ok", "{stack}");

    // An update, with a page of the operator's own.
    let page = folder.path().join("page");
    fs::create_dir(&page).unwrap();
    fs::write(page.join("page.toml"), "accent = \"#123456\"\n").unwrap();
    operator.profile("spring-sale", "Another Title").unwrap();
    operator.configure_more("spring-sale", &format!("page = {page:?}\n")).unwrap();
    let emitted = emit(&room);
    assert_eq!(emitted["files"].as_array().unwrap().len(), 6, "{emitted}");
    runs(&deploy(&room));
    runs(&commands("## A page of your own"));
    let shown = client.get("/wait/index.html").body;
    assert!(shown.contains("Another Title") && shown.contains("#123456"), "{shown}");
    let still = client.get_with("/polling", &place).json();
    assert_eq!((&still["epoch"], still.get("join")), (&epoch, None), "{still}");

    runs(&commands("## Remove the room"));
    runs("aws s3 rb --force s3://my-artefacts");
    assert_eq!(operator.listing().unwrap(), before);
}
