//! Runs the test programs of the workspace side by side. Cargo runs one after the other, and most of ours wait: for a minute of
//! a room, for an emulator, for a server that starts.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use emulators::workspace::root;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::process::run_beside_others;

/// How many programs run at once, and how many tests of each. Emulators answer too late if more of them are asked at once.
const PROGRAMS: usize = 2;
const TESTS: &str = "2";

/// The tests of the command do little but wait, so more of them run at once.
const COMMAND: &str = "cli";
const TESTS_OF_COMMAND: &str = "8";

/// The programs in these folders take minutes. They start first, so that none of them is left alone at the end.
const FIRST: [&str; 2] = [COMMAND, "crates/testing/emulators"];

/// The program with the plays on deployed rooms.
const PROGRAM_OF_PLAYS: &str = "crates/testing/deployed_rooms deployed";

/// The program that holds the stores of AWS to fractions of a second, over an emulator. It fails beside browsers and plays that compute.
const TIMED_PROGRAM: &str = "crates/adapters/aws it";

/// The program that only computes, for minutes, on virtual time, but for one module. It takes what those leave of a processor that
/// measure time.
const COMPUTING_PROGRAM: &str = "crates/testing/fault_simulation it";
const KILLED: &str = "killed::";

/// A program and a module of it that hold a rehearsed room to a simulated one. They fail there too.
const TIMED_MODULE: [&str; 2] = ["cli command", "agreement::"];

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

/// The test programs of the workspace, in the order in which they start.
#[derive(Debug)]
pub(crate) struct TestPrograms {
    programs: Vec<TestProgram>,
    /// What the command that built them changes in the environment.
    environment: Vec<(OsString, Option<OsString>)>,
}

impl TestPrograms {
    /// Builds the tests with this `cargo test`.
    pub(crate) fn build(mut cargo_test: Command) -> Result<Self> {
        cargo_test.args(["--no-run", "--message-format=json-render-diagnostics"]);
        let built = cargo_test.stderr(Stdio::inherit()).output().context("could not start cargo")?;
        ensure!(built.status.success(), "{cargo_test:?} failed: {}", built.status);
        let messages = String::from_utf8(built.stdout)?;
        let mut programs: Vec<_> = messages.lines().filter_map(TestProgram::of_message).collect();
        ensure!(!programs.is_empty(), "{cargo_test:?} built no test");
        programs.sort_by_key(|program| {
            FIRST.iter().position(|first| program.is_in(first)).unwrap_or(FIRST.len())
        });
        let environment = cargo_test.get_envs();
        let environment =
            environment.map(|(name, value)| (name.to_owned(), value.map(OsString::from))).collect();
        Ok(Self { programs, environment })
    }

    /// Runs all but the plays, what measures time and what only computes, with these arguments. One that fails does not end the others.
    pub(crate) fn run_side_by_side(&self, arguments: &[&str]) -> Result<()> {
        let [_, timed] = TIMED_MODULE;
        let arguments = [arguments, &["--skip", timed]].concat();
        let others = [PROGRAM_OF_PLAYS, TIMED_PROGRAM, COMPUTING_PROGRAM];
        let is_among = |program: &&TestProgram| !others.contains(&&*program.name);
        let all: Vec<_> = self.programs.iter().filter(is_among).collect();
        let (waiting, failed) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
        let next = || waiting.lock().next();
        let work = || {
            while let Some(program) = next() {
                if let Err(error) = program.run(&arguments, &self.environment) {
                    failed.lock().push(format!("{error:#}"));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..PROGRAMS {
                scope.spawn(work);
            }
        });
        let (failed, all) = (failed.into_inner(), all.len());
        ensure!(failed.is_empty(), "of {all} test programs, {}", failed.join(", "));
        Ok(())
    }

    /// Runs the plays that these arguments select.
    pub(crate) fn run_plays(&self, arguments: &[&str]) -> Result<()> {
        self.run_one(PROGRAM_OF_PLAYS, arguments)
    }

    /// Runs what measures time. The modules mostly wait.
    pub(crate) fn run_timed(&self, arguments: &[&str]) -> Result<()> {
        let [program, module] = TIMED_MODULE;
        let of_module = [arguments, &[module]].concat();
        let killed = [arguments, &[KILLED]].concat();
        thread::scope(|scope| {
            let modules = scope.spawn(|| {
                self.run_one(COMPUTING_PROGRAM, &killed)?;
                self.run_one(program, &of_module)
            });
            let program = self.run_one(TIMED_PROGRAM, arguments);
            program.and(modules.join().unwrap_or_else(|_| bail!("a thread panicked")))
        })
    }

    /// Runs what only computes, whenever nothing else wants a processor.
    pub(crate) fn run_computing(&self, arguments: &[&str]) -> Result<()> {
        let program = self.named(COMPUTING_PROGRAM)?;
        let mut last = Command::new("nice");
        last.args(["-n", "19"]).arg(&program.path).env(THREADS, TESTS);
        let arguments = [arguments, &["--skip", KILLED]].concat();
        program.run_as("what only computes", last, &arguments, &self.environment)
    }

    fn run_one(&self, name: &str, arguments: &[&str]) -> Result<()> {
        self.named(name)?.run(arguments, &self.environment)
    }

    fn named(&self, name: &str) -> Result<&TestProgram> {
        let program = self.programs.iter().find(|program| program.name == name);
        program.with_context(|| format!("there is no program {name}"))
    }
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

    fn run(&self, arguments: &[&str], environment: &[(OsString, Option<OsString>)]) -> Result<()> {
        let mut program = Command::new(&self.path);
        if env::var_os(THREADS).is_none() {
            program.env(THREADS, if self.is_in(COMMAND) { TESTS_OF_COMMAND } else { TESTS });
        }
        self.run_as(&self.name, program, arguments, environment)
    }

    fn run_as(
        &self,
        name: &str,
        mut program: Command,
        arguments: &[&str],
        environment: &[(OsString, Option<OsString>)],
    ) -> Result<()> {
        program.args(arguments).current_dir(&self.folder);
        for (name, value) in environment {
            match value {
                Some(value) => program.env(name, value),
                None => program.env_remove(name),
            };
        }
        run_beside_others(name, &mut program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that no test matches would pass.
    #[test]
    fn the_modules_have_these_names() {
        let [_, timed] = TIMED_MODULE;
        for (folder, module) in [("cli", timed), ("crates/testing/fault_simulation", KILLED)] {
            let tests = std::fs::read_to_string(root().join(folder).join("tests/it/main.rs")).unwrap();
            assert!(tests.contains(&format!("\nmod {};", module.trim_end_matches(':'))), "{module}");
        }
    }

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
