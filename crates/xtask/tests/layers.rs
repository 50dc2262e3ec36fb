//! Checks that dependencies between crates point one way, and that the domain needs no runtime, network or store.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Each crate, with the crates that it may use.
const MAY_USE: &[(&str, &str)] = &[
    ("pass", ""),
    ("waitroom", "pass"),
    ("guard", "pass roots"),
    ("config", "waitroom"),
    ("control", "waitroom pass clock document"),
    // What services answer with, for a person.
    ("document", "waitroom page"),
    ("report", "waitroom control document"),
    ("doctor", "waitroom pass config clock control document page probe throttle"),
    // Which rooms there are, and where.
    ("rooms", "waitroom config control document embedded page"),
    // The nginx of a shop's machine.
    ("setup", "waitroom doctor document emulators"),
    ("page", "waitroom"),
    ("poll", "waitroom"),
    ("producer", "waitroom pass"),
    // A room over HTTP, wherever it runs.
    ("routes", "waitroom pass poll producer"),
    ("trigger", "waitroom"),
    ("consumer", "waitroom"),
    ("throttle", "waitroom"),
    // Adapters.
    ("clock", "waitroom"),
    ("probe", "waitroom roots"),
    // Whom TLS clients trust.
    ("roots", ""),
    ("embedded", "waitroom pass"),
    ("memory", "waitroom pass"),
    ("aws", "waitroom pass clock guard"),
    // Programs.
    (
        "server",
        "waitroom pass clock control page poll routes producer trigger consumer throttle embedded guard",
    ),
    (
        "functions",
        "waitroom config clock probe page pass producer routes trigger consumer throttle aws guard roots",
    ),
    // What a room on AWS bears and costs. It needs no SDK, so every build may use it.
    ("aws_model", "waitroom config page"),
    // A room and its crowd on a virtual clock.
    ("simulation", "waitroom pass config page trigger consumer throttle memory aws_model document"),
    ("rehearsal", "waitroom pass config control document page aws_model simulation roots"),
    ("cloud", "waitroom config clock control doctor document probe page throttle aws aws_model roots"),
    (
        "beekeeper",
        "waitroom pass config clock control doctor document probe page rehearsal report rooms embedded server \
         setup guard cloud aws_model simulation roots",
    ),
    // Testing.
    ("port_contracts", "waitroom pass"),
    ("http_contract", "waitroom control"),
    (
        "fault_simulation",
        "waitroom pass clock page producer trigger consumer throttle embedded memory simulation emulators",
    ),
    ("emulators", ""),
    ("connectors", "pass emulators"),
    ("frozen_names", ""),
    ("installed", ""),
    ("stack_template", "cloud emulators"),
    ("deployed_rooms", "waitroom aws_model clock control aws http_contract emulators"),
    ("xtask", "emulators"),
];

/// The dependencies that the domain may have: no runtime, no network, no store, no SDK.
const DOMAIN: &[&str] = &["pass", "rand", "serde", "thiserror", "url"];

/// The crates of this workspace, as Cargo describes them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// What a crate depends on, except in its tests.
fn used_by(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().unwrap().iter().filter(|used| used["kind"].is_null())
}

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    packages().iter().map(|package| (name(package), used_by(package).map(name).collect())).collect()
}

#[test]
fn crates_use_only_inner_crates() {
    let dependencies = dependencies();
    let known: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    assert_eq!(
        dependencies.keys().collect::<Vec<_>>(),
        known.keys().collect::<Vec<_>>(),
        "a new crate needs its place in this table"
    );
    for (name, uses) in &dependencies {
        for used in uses.iter().filter(|used| dependencies.contains_key(*used)) {
            assert!(known[name.as_str()].split(' ').any(|inner| inner == used), "{name} may not use {used}");
        }
    }
}

#[test]
fn the_domain_has_only_pure_dependencies() {
    for used in &dependencies()["waitroom"] {
        assert!(DOMAIN.contains(&used.as_str()), "waitroom may not use {used}: is it pure?");
    }
}

#[test]
fn only_tests_use_what_is_for_tests() {
    let is_for_tests = |used: &&Value| used["features"].as_array().unwrap().contains(&"fixtures".into());
    for package in packages() {
        let used = used_by(&package).find(is_for_tests);
        assert_eq!(used, None, "{}: a fixture belongs under [dev-dependencies]", package["name"]);
    }
    let for_tests =
        |package: &Value| package["dependencies"].as_array().unwrap().iter().any(|used| is_for_tests(&used));
    assert!(packages().iter().any(for_tests), "the feature has another name");
}

/// The root of `crates/` must stay short enough to read at a glance, like the picture in ARCHITECTURE.md.
#[test]
fn the_root_of_crates_is_short() {
    let entries = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap().count();
    assert!(entries <= 16, "{entries} entries in crates/: put the new crate into a group");
}
