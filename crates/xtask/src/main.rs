//! What developers and CI run: `cargo xtask --help`.

mod bench;
mod deny;
mod deployed;
mod dist;
mod package;
mod site;

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use emulators::workspace::root;

/// What people who only run a room here do not build, and tests must not leave out.
const WITH_AWS: &str = "beekeeper/aws";

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What developers and CI run")]
struct XtaskArguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all tests
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test simulation\n  cargo xtask test site\n  cargo xtask test deployed"
    )]
    Test {
        /// Run only the tests of this crate, those of the page in `site`, or those of `deployed` rooms
        package: Option<String>,
    },
    /// Measure the store, the room on one machine, and the producer as a Lambda function
    #[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench producer")]
    Bench {
        /// Only this part
        #[arg(value_enum)]
        part: Option<bench::Part>,
    },
    /// Take a picture of the page in every state, into target/screenshots
    Screenshots,
    /// Build the Lambda functions and zip each, as target/lambda/<arch>/<function>.zip
    #[command(
        after_help = "Examples:\n  cargo xtask package\n  cargo xtask package --arch x86_64 producer consumer"
    )]
    Package(package::PackageArguments),
    /// Build a beekeeper that deploys rooms, with the functions inside, as target/dist/beekeeper
    #[command(after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --arch arm64 --arch x86_64")]
    Dist(dist::Dist),
    /// Check licences, sources and duplicates of all dependencies
    Deny,
}

fn main() -> ExitCode {
    match perform(XtaskArguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Test { package } => match package.as_deref() {
            None => {
                run(cargo().args(["test", "--locked", "--workspace", "--features", WITH_AWS]))?;
                // And the command as most build it; everything else is built already.
                run(cargo().args(["test", "--locked", "--workspace", "--test", "it", "without_aws"]))?;
                site::test()?;
                deployed::play()
            }
            Some("site") => site::test(),
            Some("deployed") => deployed::play(),
            Some("beekeeper") => {
                run(cargo().args(["test", "--locked", "--package", "beekeeper", "--features", WITH_AWS]))
            }
            Some(package) => run(cargo().args(["test", "--locked", "--package", package])),
        },
        Task::Screenshots => site::screenshots(),
        Task::Bench { part } => bench::run(part),
        Task::Package(package) => package.make().map(drop),
        Task::Dist(dist) => dist.make(),
        Task::Deny => deny::check(),
    }
}

fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root());
    cargo
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
