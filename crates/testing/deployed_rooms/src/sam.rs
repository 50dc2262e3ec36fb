//! `sam build` and `sam deploy`, used as `samconfig.toml` describes.

use std::collections::BTreeMap;
use std::env::consts;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use emulators::{LocalEmu, Venv, boto3, workspace};

/// Prints the outputs of a stack. `sam list` takes several times as long.
const OUTPUTS: &str = "
import json, sys, boto3
stacks = boto3.client('cloudformation').describe_stacks(StackName=sys.argv[1])['Stacks']
print(json.dumps({output['OutputKey']: output['OutputValue'] for output in stacks[0].get('Outputs', [])}))
";

/// The room's template as `sam build` writes it, for this machine's architecture. It is built only once.
pub fn built() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let make = || zipped(&build("template.yaml", "../target/lambda")?);
    let built = BUILT.get_or_init(|| make().map_err(|error| format!("{error:#}")));
    built.as_deref().map_err(|error| anyhow!("{error}"))
}

/// Names the package that `sam build` has unpacked for each function. `sam deploy` would zip the folder of each of them at every
/// deployment, which takes longer than all the rest of it. For the authorizer it still does.
fn zipped(template: &Path) -> Result<PathBuf> {
    let package = package()?;
    let text = fs::read_to_string(template)?;
    let code = |line: &str| match line.split_once("CodeUri: ") {
        Some((indent, _)) => format!("{indent}CodeUri: {}\n", package.display()),
        None => format!("{line}\n"),
    };
    let zipped = template.with_file_name("zipped.yaml");
    fs::write(&zipped, text.lines().map(code).collect::<String>())?;
    Ok(zipped)
}

/// The template of the Lambda authorizer, in the same way, with the package unpacked beside it.
pub fn built_authorizer() -> Result<PathBuf> {
    build("authorizers/lambda.yaml", "../../target/lambda")
}

/// Builds a template of `infra/` that names its package by this relative path.
fn build(template: &str, packages_in: &str) -> Result<PathBuf> {
    package()?;
    let packages = workspace::test_packages();
    let source = workspace::root().join("infra").join(template);
    let folder = workspace::target().join("deployed-rooms").join(source.file_stem().unwrap_or_default());
    fs::create_dir_all(&folder)?;
    // The shipped template, with the test package in place of its own.
    let text = fs::read_to_string(source)?;
    let named = text.replace(packages_in, &packages.to_string_lossy());
    if named == text {
        bail!("{template} does not name {packages_in}");
    }
    fs::write(folder.join("template.yaml"), named)?;
    let mut build = sam()?;
    build.args(["build", "--parameter-overrides", &format!("Architecture={}", architecture())]);
    // By default `sam` looks for this file beside the template.
    build.arg("--config-file").arg(workspace::root().join("samconfig.toml"));
    build.arg("--template-file").arg(folder.join("template.yaml"));
    run(build.arg("--build-dir").arg(folder.join("build")))?;
    Ok(folder.join("build/template.yaml"))
}

/// The package with all functions, for this machine's architecture.
fn package() -> Result<PathBuf> {
    let package = workspace::test_packages().join(architecture()).join("functions.zip");
    if !package.exists() {
        bail!("{} is missing; run cargo xtask test deployed", package.display());
    }
    Ok(package)
}

/// The architecture for which this machine's functions are built, by Lambda's name.
pub fn architecture() -> &'static str {
    if consts::ARCH == "aarch64" { "arm64" } else { consts::ARCH }
}

/// Creates or updates a stack, and returns its outputs.
pub fn deploy(
    aws: &LocalEmu,
    stack: &str,
    template: &Path,
    parameters: &[(&str, &str)],
) -> Result<BTreeMap<String, String>> {
    // Stacks share the bucket that `sam` creates for packages.
    let _turn = aws.turn();
    let mut deploy = sam()?;
    deploy.envs(aws.environment()).args(["deploy", "--no-confirm-changeset", "--stack-name", stack]);
    // By default `sam` looks for this file beside the template.
    deploy.arg("--config-file").arg(workspace::root().join("samconfig.toml"));
    deploy.arg("--template-file").arg(template).arg("--parameter-overrides");
    deploy.arg(format!("Architecture={}", architecture()));
    deploy.args(parameters.iter().map(|(name, value)| format!("{name}=\"{value}\"")));
    let room = parameters.iter().find(|(name, _)| *name == "Room").map_or(stack, |(_, room)| room);
    deploy.args(["--tags", &format!("beekeeper:room={room}")]);
    run(&mut deploy).with_context(|| format!("LocalEmu's log is {}", aws.log().display()))?;

    let outputs = run(boto3()?.envs(aws.environment()).args(["-c", OUTPUTS, stack]))?;
    Ok(serde_json::from_str(&outputs)?)
}

/// Writes a copy of the template in which `from` is replaced by `to`. The copy is in the same folder, because a
/// template refers to its packages by relative paths.
pub fn changed(template: &Path, from: &str, to: &str) -> Result<PathBuf> {
    let text = fs::read_to_string(template)?;
    if !text.contains(from) {
        bail!("{from} is not in {}", template.display());
    }
    let changed = template.with_file_name("changed.yaml");
    fs::write(&changed, text.replace(from, to))?;
    Ok(changed)
}

fn sam() -> Result<Command> {
    let mut sam = Venv::sam()?.command("sam");
    sam.current_dir(workspace::root());
    sam.envs([("SAM_CLI_TELEMETRY", "0"), ("AWS_DEFAULT_REGION", "us-east-1")]);
    Ok(sam)
}

/// Runs a command and returns its output.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("could not start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?}: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(said)
}
