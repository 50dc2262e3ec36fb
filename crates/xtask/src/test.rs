//! `cargo xtask test`: all tests, the quick ones, or those of one crate.

use std::env;

use anyhow::{Result, bail};
use clap::Args;
use emulators::WITHOUT_TOOLS;

use crate::process::{cargo, run};
use crate::site;
use crate::test_build::{FunctionPackages, build_beekeeper, cargo_test};

/// The module with the tests on deployed rooms.
const PLAYS: &str = "plays::";

/// How many of them run at once. Each spends most of its time waiting for real minutes, so these are more than processors.
const PLAYS_AT_ONCE: &str = "4";

/// The environment variable that says how many tests of a program run at once.
const THREADS: &str = "RUST_TEST_THREADS";

#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Leave out what needs an emulator, a browser or minutes of simulated faults
    #[arg(long, conflicts_with = "part")]
    quick: bool,
    /// Deploy the packages that `cargo xtask package` makes, and not those of the dev profile
    #[arg(long, requires = "part")]
    release: bool,
    /// Only the tests of this crate; `site` for those of the page, `deployed` for those on deployed rooms
    part: Option<String>,
    /// Only tests whose name contains this
    #[arg(requires = "part")]
    filter: Option<String>,
}

impl TestArguments {
    pub(crate) fn run(&self) -> Result<()> {
        let filter = self.filter.as_deref();
        match self.part.as_deref() {
            None if self.quick => quick(),
            None => everything(),
            Some("site") => site::test(&FunctionPackages::none(), filter),
            Some("deployed" | "deployed_rooms") if self.release => {
                deployed(&FunctionPackages::release()?, filter)
            }
            Some("deployed" | "deployed_rooms") => deployed(&FunctionPackages::build()?, filter),
            Some(_) if self.release => bail!("--release is for `cargo xtask test deployed`"),
            Some(name) => one_crate(name, filter),
        }
    }
}

/// Every test that is not marked `#[ignore]`.
fn quick() -> Result<()> {
    let mut tests = cargo_test(&FunctionPackages::none());
    if env::var_os(THREADS).is_none() {
        // The longest tests wait most of their time.
        tests.env(THREADS, "8");
    }
    run(tests.env(WITHOUT_TOOLS, "1"))
}

fn everything() -> Result<()> {
    let packages = FunctionPackages::build()?;
    // Runs first, because it leaves a `beekeeper` without AWS in the build directory.
    run(cargo().args(["test", "--locked", "--workspace", "--test", "without_aws"]))?;
    run(cargo_test(&packages).args(["--", "--include-ignored", "--skip", PLAYS]))?;
    site::test(&packages, None)?;
    // Run last, when nothing else runs or compiles, because these tests measure how soon an order is in force.
    deployed(&packages, None)
}

/// Writes the fixtures that are missing: once for each format, before it is released.
pub(crate) fn fixtures() -> Result<()> {
    let tests = ["test", "--locked", "--package", "aws", "--package", "embedded", "no_fixture_is_lost"];
    run(cargo().args(tests).env("BEEKEEPER_WRITE_FIXTURES", "1"))
}

/// Tests one crate, with the features of this crate only. The first run compiles some dependencies again. Later runs
/// compile only what the crate uses.
fn one_crate(name: &str, filter: Option<&str>) -> Result<()> {
    let mut test = cargo();
    test.args(["test", "--locked", "--package", name]);
    match name {
        "beekeeper" => drop(test.args(["--features", "aws"])),
        // One of its tests deploys a room with the function packages.
        "cloud" => drop(FunctionPackages::build()?),
        _ => {}
    }
    run(test.args(filter).args(["--", "--include-ignored"]))
}

fn deployed(packages: &FunctionPackages, filter: Option<&str>) -> Result<()> {
    build_beekeeper(packages)?;
    run(cargo_test(packages).args(["--test", "deployed"]).args(filter).args([
        "--",
        "--ignored",
        "--nocapture",
        "--test-threads",
        PLAYS_AT_ONCE,
    ]))
}
