//! What developers and CI run: `cargo xtask --help`.

mod bench;
mod deny;
mod dist;
mod package;
mod site;

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use testbed::workspace::root;

/// What people who only run a room here do not build, and tests must not leave out.
const WITH_AWS: &str = "beekeeper/aws";

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What developers and CI run")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all tests
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test simulation\n  cargo xtask test site"
    )]
    Test {
        /// Run only the tests of this crate, or those of the page in `site`
        package: Option<String>,
    },
    /// Measure the store, the room on one machine, and the producer as a Lambda function
    #[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench producer")]
    Bench {
        /// Only this part
        #[arg(value_enum)]
        part: Option<bench::Part>,
    },
    /// Deploy the room to what stands in for AWS, and play it through; takes about ten minutes
    Rehearse,
    /// Take a picture of the page in every state, into target/screenshots
    Screenshots,
    /// Build the Lambda functions and zip each, as target/lambda/<arch>/<function>.zip
    #[command(
        after_help = "Examples:\n  cargo xtask package\n  cargo xtask package --arch x86_64 producer consumer"
    )]
    Package(package::Package),
    /// Build a beekeeper that deploys rooms, with the functions inside, as target/dist/beekeeper
    #[command(after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --arch arm64 --arch x86_64")]
    Dist(dist::Dist),
    /// Check licences, sources and duplicates of all dependencies
    Deny,
}

fn main() -> ExitCode {
    match perform(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Test { package: None } => {
            run(cargo().args(["test", "--locked", "--workspace", "--features", WITH_AWS]))?;
            // And the command as most build it; everything else is built already.
            run(cargo().args(["test", "--locked", "--workspace", "--test", "it", "without_aws"]))?;
            site::test()
        }
        Task::Test { package: Some(package) } if package == "site" => site::test(),
        Task::Test { package: Some(package) } => {
            let mut test = cargo();
            test.args(["test", "--locked", "--package", &package]);
            if package == "beekeeper" {
                test.args(["--features", WITH_AWS]);
            }
            run(&mut test)
        }
        Task::Rehearse => {
            dist::Dist::to_try()?.make()?;
            let plays = ["--package", "rehearsal", "--package", "cloud", "--", "--ignored", "--nocapture"];
            run(cargo().args(["test", "--locked"]).args(plays))
        }
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
