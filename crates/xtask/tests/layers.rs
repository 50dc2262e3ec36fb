//! Dependencies between the crates point one way, and the domain knows no world.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Each crate, and which of the others it may use. `waitroom` uses none, and nothing uses an outer layer.
const MAY_USE: &[(&str, &[&str])] = &[
    ("waitroom", &[]),
    ("operator", &["waitroom"]),
    ("page", &["waitroom"]),
    ("poll", &["waitroom"]),
    ("producer", &["waitroom"]),
    ("trigger", &["waitroom"]),
    ("consumer", &["waitroom"]),
    ("throttle", &["waitroom"]),
    // Adapters.
    ("clock", &["waitroom"]),
    ("probe", &["waitroom"]),
    ("embedded", &["waitroom"]),
    ("aws", &["waitroom", "clock"]),
    // Programs.
    (
        "server",
        &[
            "waitroom", "clock", "operator", "page", "poll", "producer", "trigger", "consumer", "throttle",
            "embedded",
        ],
    ),
    (
        "functions",
        &["waitroom", "clock", "probe", "page", "producer", "trigger", "consumer", "throttle", "aws"],
    ),
    ("cloud", &["waitroom", "clock", "probe", "page", "throttle", "aws"]),
    ("beekeeper", &["waitroom", "clock", "operator", "probe", "page", "embedded", "server", "cloud"]),
    // Testing.
    ("port_contracts", &["waitroom"]),
    ("http_contract", &[]),
    ("fault_simulation", &["waitroom", "clock", "producer", "trigger", "consumer", "throttle", "embedded"]),
    ("emulators", &[]),
    ("frozen_names", &[]),
    ("stack_template", &["cloud", "emulators"]),
    ("deployed_rooms", &["waitroom", "clock", "aws", "http_contract", "emulators"]),
    ("xtask", &["emulators"]),
];

/// What the domain is made of besides: no runtime, no network, no store, no SDK.
const DOMAIN: &[&str] = &["aws-lc-rs", "base64", "rand", "serde", "serde_json", "thiserror", "toml", "url"];

/// The crates of this workspace and what they depend on, tests aside.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let uses = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies.filter(|used| used["kind"].is_null()).map(|used| text(&used["name"])).collect()
    };
    packages.iter().map(|package| (text(&package["name"]), uses(package))).collect()
}

#[test]
fn crates_use_only_what_lies_further_in() {
    let dependencies = dependencies();
    let known: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    assert_eq!(
        dependencies.keys().collect::<Vec<_>>(),
        known.keys().collect::<Vec<_>>(),
        "a new crate needs its place in this table"
    );
    for (name, uses) in &dependencies {
        for used in uses.iter().filter(|used| dependencies.contains_key(*used)) {
            assert!(known[name.as_str()].contains(&used.as_str()), "{name} may not use {used}");
        }
    }
}

#[test]
fn the_domain_knows_no_world() {
    for used in &dependencies()["waitroom"] {
        assert!(DOMAIN.contains(&used.as_str()), "waitroom may not use {used}: is it pure?");
    }
}
