//! Runs the test programs of the workspace side by side. Cargo runs one after the other, and most of ours wait: for a minute of
//! a room, for an emulator, for a server that starts.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use emulators::workspace::{root, target};
use parking_lot::Mutex;
use serde::Deserialize;

/// How many programs run at once, and how many tests of each. Emulators answer too late if more of them are asked at once.
const PROGRAMS: usize = 2;
const TESTS: &str = "2";

/// The tests of the command do little but wait, so more of them run at once.
const COMMAND: &str = "cli";
const TESTS_OF_COMMAND: &str = "8";

/// The programs in these folders wait for minutes. They start first, so that none of them is left alone at the end.
const FIRST: [&str; 2] = [COMMAND, "crates/testing/emulators"];

/// The environment variable that says how many tests of a program run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// A line of `cargo test --message-format=json`.
#[derive(Debug, Deserialize)]
struct BuildMessage {
    manifest_path: Option<PathBuf>,
    target: Option<BuildTarget>,
    profile: Option<BuildProfile>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct BuildTarget {
    name: String,
}

#[derive(Debug, Deserialize)]
struct BuildProfile {
    test: bool,
}

#[derive(Debug)]
struct TestProgram {
    /// The folder of its package and its target, such as `cli command`.
    name: String,
    path: PathBuf,
    /// Cargo runs tests in the folder of their package.
    folder: PathBuf,
}

/// Builds the tests with this `cargo test`, and runs all of their programs with these arguments and the command's environment.
/// One that fails does not end the others.
pub(crate) fn run_side_by_side(mut cargo_test: Command, arguments: &[&str]) -> Result<()> {
    let programs = build(&mut cargo_test)?;
    let all = programs.len();
    ensure!(all > 0, "{cargo_test:?} built no test");
    let environment: Vec<_> =
        cargo_test.get_envs().map(|(name, value)| (name.to_owned(), value.map(OsString::from))).collect();
    let (waiting, failed) = (Mutex::new(programs.into_iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().next();
    let work = || {
        while let Some(program) = next() {
            match program.run(arguments, &environment) {
                Ok(true) => {}
                Ok(false) => failed.lock().push(program.name),
                Err(error) => failed.lock().push(format!("{} ({error:#})", program.name)),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..PROGRAMS {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner();
    ensure!(failed.is_empty(), "{} of {all} test programs failed: {}", failed.len(), failed.join(", "));
    Ok(())
}

/// The test programs, in the order in which they start.
fn build(cargo_test: &mut Command) -> Result<Vec<TestProgram>> {
    cargo_test.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let built = cargo_test.stderr(Stdio::inherit()).output().context("could not start cargo")?;
    ensure!(built.status.success(), "{cargo_test:?} failed: {}", built.status);
    let messages = String::from_utf8(built.stdout)?;
    let mut programs: Vec<_> = messages.lines().filter_map(TestProgram::of_message).collect();
    programs
        .sort_by_key(|program| FIRST.iter().position(|first| program.is_in(first)).unwrap_or(FIRST.len()));
    Ok(programs)
}

impl TestProgram {
    /// The test program that cargo says it has built, if this message does.
    fn of_message(line: &str) -> Option<Self> {
        let message: BuildMessage = serde_json::from_str(line).ok()?;
        let path = message.executable.filter(|_| message.profile.is_some_and(|profile| profile.test))?;
        let folder = message.manifest_path?.parent()?.to_owned();
        let package = folder.strip_prefix(root()).ok()?.display();
        Some(Self { name: format!("{package} {}", message.target?.name), path, folder })
    }

    fn is_in(&self, folder: &str) -> bool {
        self.folder == root().join(folder)
    }

    /// Runs it, and prints all that it said once it has ended. Until then that is in a file below `target`. Returns whether
    /// it passed.
    fn run(&self, arguments: &[&str], environment: &[(OsString, Option<OsString>)]) -> Result<bool> {
        let folder = target().join("test-output");
        fs::create_dir_all(&folder)?;
        let log = folder.join(self.name.replace([' ', '/'], "-")).with_extension("log");
        let output = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let mut program = Command::new(&self.path);
        program.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        for (name, value) in environment {
            match value {
                Some(value) => program.env(name, value),
                None => program.env_remove(name),
            };
        }
        if env::var_os(THREADS).is_none() {
            program.env(THREADS, if self.is_in(COMMAND) { TESTS_OF_COMMAND } else { TESTS });
        }
        let begun = Instant::now();
        let status = program.stdout(output.try_clone()?).stderr(output).status();
        let status = status.with_context(|| format!("could not start {}", self.path.display()))?;
        let took = begun.elapsed();
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "     Running {} ({took:.1?})", self.name)?;
        stdout.write_all(&fs::read(&log)?)?;
        if !status.success() {
            writeln!(stdout, "      Failed {}: {status}; what it said is in {}", self.name, log.display())?;
        }
        Ok(status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_test_that_cargo_built_and_not_what_it_tests() {
        let message = |folder: &str, is_test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": root().join(folder).join("Cargo.toml"),
                "target": {"kind": ["test"], "name": "command"},
                "profile": {"opt_level": "0", "test": is_test},
                "executable": "/target/debug/deps/command-0123",
            })
            .to_string()
        };
        let program = TestProgram::of_message(&message("cli", true)).unwrap();
        assert_eq!((program.name.as_str(), &program.folder), ("cli command", &root().join("cli")));
        assert!(TestProgram::of_message(&message("cli", false)).is_none());
        assert!(TestProgram::of_message("{\"reason\":\"build-finished\",\"success\":true}").is_none());
    }
}
