//! What AWS's own tools think of the template, and whether `sam build` builds it.

use std::fs;
use std::process::Command;

use testbed::{Venv, workspace};

/// Neither tool needs AWS; both want to know for which region they speak.
const REGION: (&str, &str) = ("AWS_DEFAULT_REGION", "eu-central-1");

fn tools() -> Venv {
    Venv::with("sam", &["aws-sam-cli==1.170.0", "cfn-lint==1.58.0"]).unwrap()
}

fn sam() -> Command {
    let mut sam = tools().command("sam");
    sam.envs([REGION, ("SAM_CLI_TELEMETRY", "0")]);
    sam
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}");
}

#[test]
fn cfn_lint_finds_nothing() {
    succeeds(tools().command("cfn-lint").envs([REGION]).arg(templates::path()));
}

#[test]
fn sam_validate_finds_nothing() {
    succeeds(sam().arg("validate").current_dir(workspace::root()));
}

#[test]
fn sam_build_takes_the_packages_of_either_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("infra")).unwrap();
    for file in ["samconfig.toml", "infra/template.yaml", "infra/Makefile"] {
        fs::copy(workspace::root().join(file), root.join(file)).unwrap();
    }
    let zip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('bootstrap', sys.argv[2])";
    let python = tools().python();
    for architecture in ["arm64", "x86_64"] {
        let packages = root.join("target/lambda").join(architecture);
        fs::create_dir_all(&packages).unwrap();
        for function in ["producer", "trigger", "consumer", "throttle", "caretaker"] {
            let package = packages.join(format!("{function}.zip"));
            let content = format!("{function} for {architecture}");
            succeeds(Command::new(&python).args(["-c", zip]).arg(package).arg(content));
        }
        let overrides = format!("Architecture={architecture}");
        succeeds(sam().arg("build").args(["--parameter-overrides", &overrides]).current_dir(root));
        for function in ["Producer", "Trigger", "Consumer", "Throttle", "Caretaker"] {
            let built = root.join(".aws-sam/build").join(function).join("bootstrap");
            let expected = format!("{} for {architecture}", function.to_lowercase());
            assert_eq!(fs::read_to_string(built).unwrap(), expected);
        }
    }
}
