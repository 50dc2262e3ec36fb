//! The commands that developers and CI run; `cargo xtask --help` lists them.

mod arch;
mod bench;
mod deny;
mod dist;
mod lint;
mod order;
mod package;
mod pictures;
mod platform;
mod process;
mod release;
mod site;
mod test;
mod test_build;
mod test_programs;
mod try_aws;
mod zig;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What developers and CI run")]
struct XtaskArguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run the tests: all of them, the quick ones, or those of one crate
    #[command(after_help = "Examples:\n  \
            cargo xtask test                        everything, with a third of the random runs and interruptions\n  \
            cargo xtask test --all                  everything, with all of them\n  \
            cargo xtask test --quick                no emulator, no browser; under two minutes once compiled\n  \
            cargo xtask test consumer               one crate, including what needs an emulator\n  \
            cargo xtask test waitroom plan::tests   those whose name contains this\n  \
            cargo xtask test site                   the page\n  \
            cargo xtask test deployed lifecycle     rooms deployed to an emulator of AWS\n  \
            cargo xtask test release                what people download, built and installed; needs root\n\n\
            Tools that are missing are installed under target/tools. docs/testing.md has more.")]
    Test(test::TestArguments),
    /// Measure the rules, the store, the room on one machine, the guard of a shop, a simulated crowd, and the producer as a
    /// Lambda function, in one table
    #[command(
        after_help = "Examples:\n  cargo xtask bench            all, and the table in target/bench/table.md\n  cargo xtask bench producer\n  cargo xtask bench room --compare HEAD~1   this room beside that of the commit before"
    )]
    Bench {
        /// Only this part
        #[arg(value_enum)]
        part: Option<bench::Part>,
        /// Also measure the room of this other revision, in turns, such as HEAD~1 or a tag
        #[arg(long, value_name = "REVISION")]
        compare: Option<String>,
    },
    /// Print the tables of docs/order.md: simulated rooms over a line that is out of order
    Order {
        /// How many seeds each row is made of. The same number gives the same tables
        #[arg(long, default_value_t = 5)]
        seeds: u64,
    },
    /// Put the page's modules together, as site/built/wait.min.js
    Page,
    /// Take a picture of the page in every state, into target/screenshots; and make the pictures of the documents, in docs/images
    Screenshots,
    /// Write the new fixtures that are missing: what is stored, as this version stores it
    Fixtures,
    /// Build and zip the program of the Lambda functions, as target/lambda/<arch>/functions.zip
    #[command(after_help = "Examples:\n  cargo xtask package\n  cargo xtask package --arch x86_64")]
    Package(package::PackageArguments),
    /// Build a beekeeper that deploys rooms, with the functions inside, as target/dist/beekeeper
    #[command(after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --arch arm64 --arch x86_64")]
    Dist(dist::Dist),
    /// Build everything that people download, into target/release-files
    #[command(after_help = "Examples:\n  \
            cargo xtask release                                   archives, Debian packages, image, and what goes with them\n  \
            cargo xtask release --platform aarch64-apple-darwin   one archive; on macOS, those of macOS\n  \
            cargo xtask release --complete                        checksums, formula and notes for the files that there are\n\n\
            Needs Linux, Python 3.13, dpkg-deb and buildah. The same commit with the same compiler, dpkg and buildah gives the same files.")]
    Release(release::ReleaseArguments),
    /// Try a room in your AWS account: deploy it, play with it, measure, remove it
    #[command(after_help = "Examples:\n  \
            cargo xtask try-aws --region us-east-1 --email me@example.com\n  \
            cargo xtask try-aws --region us-east-1 --email me@example.com --only-remove\n\n\
            It takes about an hour and a half. Before it creates anything, it says what that costs, and asks. Credentials come from the\n\
            environment or from AWS_PROFILE, and must be able to create roles. docs/testing.md says what it shows.")]
    TryAws(try_aws::TryAws),
    /// Check the formatting, the lints, and the dependencies
    Lint,
    /// Check the licences, sources and duplicates of all dependencies; a part of `lint`
    Deny {
        /// Check for known security problems instead; the list of them is downloaded
        #[arg(long)]
        advisories: bool,
    },
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
        Task::Test(test) => test.run(),
        Task::Page => site::bundle(),
        Task::Screenshots => site::screenshots(),
        Task::Fixtures => test::fixtures(),
        Task::Order { seeds } => order::print(seeds),
        Task::Bench { part, compare } => bench::run(part, compare.as_deref()),
        Task::Package(package) => package.make().map(drop),
        Task::Dist(dist) => dist.make(),
        Task::Release(release) => release.make(),
        Task::TryAws(try_room) => try_room.run(),
        Task::Lint => lint::lint(),
        Task::Deny { advisories: true } => deny::check_advisories(),
        Task::Deny { advisories: false } => deny::check(),
    }
}
