//! `install.sh`, run as somebody would.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use emulators::workspace;
use tempfile::TempDir;

use crate::releases::Releases;

/// What the script calls, besides what downloads.
pub(crate) const TOOLS: [&str; 13] = [
    "uname",
    "sha256sum",
    "tar",
    "gzip",
    "cut",
    "mktemp",
    "mkdir",
    "rm",
    "mv",
    "chmod",
    "tail",
    "grep",
    "cat",
];

/// Somebody's home, and the programs that they have.
pub(crate) struct Machine {
    folder: TempDir,
    shell: PathBuf,
    arguments: Vec<String>,
}

impl Machine {
    /// With a downloader, or none, and the other tools that the script needs.
    pub(crate) fn with(downloaders: &[&str]) -> Self {
        Self::in_shell("sh", downloaders)
    }

    /// The same, with this shell.
    pub(crate) fn in_shell(shell: &str, downloaders: &[&str]) -> Self {
        let machine = Self::bare(&on_path(shell), &[]);
        for tool in TOOLS.iter().chain(downloaders) {
            machine.give(tool, &on_path(tool));
        }
        machine
    }

    /// With this shell, which is started with these arguments, and no tools.
    pub(crate) fn bare(shell: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tools")).unwrap();
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Self { folder, shell: shell.to_owned(), arguments }
    }

    pub(crate) fn give(&self, tool: &str, program: &Path) {
        symlink(program, self.folder.path().join("tools").join(tool)).unwrap();
    }

    pub(crate) fn take(&self, tool: &str) {
        fs::remove_file(self.folder.path().join("tools").join(tool)).unwrap();
    }

    /// A tool that only says this.
    pub(crate) fn give_saying(&self, tool: &str, said: &str) {
        self.take(tool);
        let path = self.folder.path().join("tools").join(tool);
        write_program(&path, &format!("#!/bin/sh\necho '{said}'\n"));
    }

    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Where the program is installed, unless told otherwise.
    pub(crate) fn program(&self) -> PathBuf {
        self.home().join(".local/bin/beekeeper")
    }

    /// Puts a program there.
    pub(crate) fn has_installed(&self, program: &str) {
        fs::create_dir_all(self.home().join(".local/bin")).unwrap();
        write_program(&self.program(), program);
    }

    /// What the installed program says of its version.
    pub(crate) fn version(&self) -> Option<String> {
        version_of(&self.program())
    }

    /// The files beside the program, which it may be alone with.
    pub(crate) fn beside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home().join(".local/bin")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The command that installs from these releases.
    pub(crate) fn command(&self, script: &Path, releases: &Releases, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.shell);
        command.args(&self.arguments).arg(script).args(["--base-url", &releases.url()]).args(arguments);
        command.env_clear().env("HOME", self.home()).env("PATH", self.home().join("tools"));
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn install(&self, releases: &Releases, arguments: &[&str]) -> Said {
        Said::of(self.command(&script(), releases, arguments).output().unwrap())
    }

    /// Starts to install, in a process group of its own.
    pub(crate) fn begin(&self, releases: &Releases) -> Child {
        let mut command = self.command(&script(), releases, &[]);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// What the script said, and whether it went well.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) well: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { well: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }
}

pub(crate) fn script() -> PathBuf {
    workspace::root().join("infra/release/install.sh")
}

/// A program of this machine.
pub(crate) fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is needed: on Debian and Ubuntu, install the package that has it"))
}

pub(crate) fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

/// Another process writes it. A program can't be started while a fork of this one still has it open.
fn write_program(path: &Path, program: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"printf '%s' "$2" >"$1" && chmod 755 "$1""#, "sh"]).arg(path).arg(program);
    assert!(shell.status().unwrap().success());
}
