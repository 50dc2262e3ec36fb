//! `cargo xtask test`: all tests, the quick ones, or those of one crate.

use std::env;
use std::process::Command;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use emulators::WITHOUT_TOOLS;
use emulators::thirds::THIRD;

use crate::lint::lint_beside_others;
use crate::process::{cargo, run, run_beside_others};
use crate::release;
use crate::site;
use crate::test_build::{FunctionPackages, build_beekeeper, cargo_test};
use crate::test_programs::TestPrograms;

/// The modules with the plays, the tests on deployed rooms: all of them, and those that measure a time.
const PLAYS: &str = "plays::";
const TIMED_PLAYS: &str = "timed_plays::";

/// How many of them run at once. Each spends most of its time waiting for real minutes, so these are more than processors.
const PLAYS_AT_ONCE: &str = "4";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct TestArguments {
    /// Leave out what needs an emulator, a browser or minutes of simulated faults
    #[arg(long, conflicts_with = "part")]
    quick: bool,
    /// All random runs and interruptions, not today's third of them
    #[arg(long, conflicts_with = "quick")]
    all: bool,
    /// What `cargo xtask lint` checks too, while the last tests wait
    #[arg(long, conflicts_with_all = ["quick", "part"])]
    lint: bool,
    /// Deploy the package that `cargo xtask package` makes, and not that of the dev profile
    #[arg(long, requires = "part")]
    release: bool,
    /// Only the tests of this crate; `site` for those of the page, `deployed` for those on deployed rooms, `release` for what people download
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
            None => everything(self.all, self.lint),
            Some("release") => installed(filter),
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
    tests.env(WITHOUT_TOOLS, "1");
    let programs = TestPrograms::build(tests)?;
    beside_each_other(&[&|| programs.run_side_by_side(&[]), &|| programs.run_computing(&[])])?;
    programs.run_timed(&[])
}

fn everything(all: bool, lint: bool) -> Result<()> {
    let third = if all { None } else { Some(third_of_today()?) };
    if let Some(third) = &third {
        eprintln!(
            "Of random runs and interruptions, a third: {THIRD}={third}. All of them: cargo xtask test --all"
        );
    }
    let packages = FunctionPackages::build()?;
    let tests = || limited(cargo_test(&packages), third.as_deref());

    // First, because it leaves a `beekeeper` without AWS in the build directory.
    run(cargo().args(["test", "--locked", "--workspace", "--test", "without_aws"]))?;
    let programs = TestPrograms::build(tests())?;

    beside_each_other(&[
        &|| {
            whatever_waits(&programs, &packages, &tests)?;
            whatever_measures(&programs, lint)
        },
        // It takes what the others leave of the processors.
        &|| programs.run_computing(&["--include-ignored"]),
    ])
}

fn whatever_waits(
    programs: &TestPrograms,
    packages: &FunctionPackages,
    tests: &(dyn Fn() -> Command + Sync),
) -> Result<()> {
    beside_each_other(&[
        &|| {
            programs.run_side_by_side(&["--include-ignored"])?;
            run_beside_others("examples in the documentation", tests().arg("--doc"))
        },
        &|| site::test_beside_others(packages),
        // Most plays wait for real minutes, and measure none of them.
        &|| {
            let untimed = ["--skip", TIMED_PLAYS, "--test-threads", PLAYS_AT_ONCE];
            programs.run_plays(&[&["--ignored", "--nocapture"][..], &untimed].concat())
        },
    ])
}

/// Last, because these measure how soon something happens. They mostly wait.
fn whatever_measures(programs: &TestPrograms, lint: bool) -> Result<()> {
    beside_each_other(&[
        &|| programs.run_timed(&["--include-ignored"]),
        &|| programs.run_plays(&["--ignored", "--nocapture", TIMED_PLAYS, "--test-threads", PLAYS_AT_ONCE]),
        &|| if lint { lint_beside_others() } else { Ok(()) },
    ])
}

/// Runs all of them at the same time. One that fails does not end the others.
fn beside_each_other(parts: &[&(dyn Fn() -> Result<()> + Sync)]) -> Result<()> {
    let failed: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = parts.iter().map(|part| scope.spawn(part)).collect();
        let ended =
            running.into_iter().map(|part| part.join().unwrap_or_else(|_| Err(anyhow!("it panicked"))));
        ended.filter_map(Result::err).map(|error| format!("{error:#}")).collect()
    });
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// Another third of the cases each day. The variable, if it's set, repeats one.
fn third_of_today() -> Result<String> {
    let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / (24 * 60 * 60);
    Ok(env::var(THIRD).unwrap_or_else(|_| (days % 3).to_string()))
}

fn limited(mut tests: Command, third: Option<&str>) -> Command {
    match third {
        Some(third) => tests.env(THIRD, third),
        None => tests.env_remove(THIRD),
    };
    tests
}

/// Writes the fixtures that are missing: once for whatever is newly stored, before it is released.
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
        // One of its tests deploys a room with the function package.
        "cloud" => drop(FunctionPackages::build()?),
        _ => {}
    }
    run(test.args(filter).args(["--", "--include-ignored"]))
}

fn deployed(packages: &FunctionPackages, filter: Option<&str>) -> Result<()> {
    build_beekeeper(packages)?;
    if let Some(filter) = filter {
        return plays(cargo_test(packages), filter, &[]);
    }
    plays(cargo_test(packages), PLAYS, &["--skip", TIMED_PLAYS])?;
    plays(cargo_test(packages), TIMED_PLAYS, &[])
}

/// What people download, installed on this machine and in containers.
fn installed(filter: Option<&str>) -> Result<()> {
    release::for_tests()?;
    let mut tests = cargo();
    tests.args(["test", "--locked", "--package", "installed", "--features", "installed/release-files"]);
    run(tests.args(filter))
}

fn plays(mut tests: Command, filter: &str, but_not: &[&str]) -> Result<()> {
    // Another crate has a test program of this name, which ran with the others.
    tests.args(["--test", "deployed", filter]);
    run(tests.args(["--", "--ignored", "--nocapture", "--test-threads", PLAYS_AT_ONCE]).args(but_not))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use emulators::workspace::root;

    use super::*;

    /// A filter that no test matches would pass.
    #[test]
    fn the_plays_are_in_modules_of_these_names() {
        let tests =
            fs::read_to_string(root().join("crates/testing/deployed_rooms/tests/it/main.rs")).unwrap();
        for module in [PLAYS, TIMED_PLAYS] {
            assert!(tests.contains(&format!("\nmod {} {{", module.trim_end_matches(':'))), "{module}");
        }
    }
}
