use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{install, workspace};

/// LocalEmu starts on 3.12, but its first call to Lambda fails.
const OLDEST: (u32, u32) = (3, 13);

const NAMES: [&str; 3] = ["python3.13", "python3", "python"];

const GET_PYTHON: &str = "Python 3.13 or newer is needed, with its venv module. Looked for $TESTBED_PYTHON, \
    or python3.13, python3 and python on the PATH, and in pyenv and uv. Install one, for example with `uv python \
    install 3.13`, or set TESTBED_PYTHON=/path/to/python3.13";

/// A Python environment under the build directory, for tools from PyPI.
#[derive(Clone, Debug)]
pub struct Venv(PathBuf);

impl Venv {
    /// The environment of this name, with these requirements in pip's notation (`cfn-lint==1.58.0`). It is created on demand,
    /// and again when the requirements change.
    pub fn with(name: &str, requirements: &[&str]) -> Result<Self> {
        let requirements = requirements.join("\n");
        let folder = workspace::tools().join(name);
        let intact = |folder: &Path| python_in(folder).exists();
        install::once(&folder, &requirements, intact, |folder| make(folder, &requirements))?;
        Ok(Self(folder))
    }

    /// The compiler and linker of programs for Linux that run everywhere.
    pub fn zig() -> Result<Self> {
        Self::with("zig", &["cargo-zigbuild==0.24.1", "ziglang==0.17.1"])
    }

    /// AWS's tools for templates: `sam` and `cfn-lint`.
    pub fn sam() -> Result<Self> {
        Self::with("sam", &["aws-sam-cli==1.170.0", "cfn-lint==1.58.0"])
    }

    pub fn python(&self) -> PathBuf {
        python_in(&self.0)
    }

    /// The folder of the environment's programs.
    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    /// One of its programs: `venv.command("cfn-lint")`.
    pub fn command(&self, program: &str) -> Command {
        Command::new(self.bin().join(program))
    }
}

fn make(folder: &Path, requirements: &str) -> Result<()> {
    let python = find_python().context(GET_PYTHON)?;
    install::run(Command::new(python).args(["-m", "venv"]).arg(folder), GET_PYTHON)?;
    let list = folder.join("requirements.txt");
    fs::write(&list, requirements)?;
    let mut pip = Command::new(python_in(folder));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"]).arg(list);
    install::run(&mut pip, GET_PYTHON)
}

fn python_in(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// The first Python that runs and is new enough. A name on the PATH may be a shim without a Python behind it.
fn find_python() -> Option<PathBuf> {
    let candidates = match env::var_os("TESTBED_PYTHON") {
        Some(named) => vec![named.into()],
        None => NAMES.iter().map(PathBuf::from).chain(pyenv_versions()).chain(uv_python()).collect(),
    };
    candidates.into_iter().find(|python| version(python).is_some_and(|version| version >= OLDEST))
}

fn version(python: &Path) -> Option<(u32, u32)> {
    let tell = "import sys, venv, ensurepip; print(*sys.version_info[:2])";
    let said = output(Command::new(python).args(["-c", tell]))?;
    let (major, minor) = said.split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn pyenv_versions() -> Vec<PathBuf> {
    let root = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".pyenv")))
        .unwrap_or_default();
    let versions = fs::read_dir(root.join("versions")).into_iter().flatten().flatten();
    versions.map(|version| python_in(&version.path())).collect()
}

fn uv_python() -> Option<PathBuf> {
    output(Command::new("uv").args(["python", "find", ">=3.13"])).map(PathBuf::from)
}

/// The output of a command, if it can be run and succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
