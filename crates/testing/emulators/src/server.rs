//! A server that a test starts, and that never outlives it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use crate::workspace;

/// The shell becomes the server and leaves a watcher behind. The watcher reads a pipe from the test process. When that
/// process ends, in whatever way, the pipe closes and the watcher kills the whole process group.
const WATCHED: &str = r#"exec 3<&0; { cat <&3 >/dev/null; kill -9 0; } & exec "$@" 3<&- </dev/null"#;

const GRACE: Duration = Duration::from_secs(5);
const A_DAY: Duration = Duration::from_hours(24);

/// A command that [`EmulatorServer::start`] takes.
pub(crate) fn watched(program: impl AsRef<OsStr>) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", WATCHED, "sh"]).arg(program);
    shell
}

/// A running server with its own folder. Dropping it stops the server and removes the folder. When a test fails the folder is
/// kept for its logs.
#[derive(Debug)]
pub(crate) struct EmulatorServer {
    child: Child,
    folder: TempDir,
}

impl EmulatorServer {
    /// Starts the server and waits until it is ready. The folder must come from [`folder`].
    pub(crate) fn start(
        command: &mut Command,
        folder: TempDir,
        patience: Duration,
        is_ready: impl Fn() -> bool,
    ) -> Result<Self> {
        let log = File::create(log_in(folder.path()))?;
        let child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("could not start /bin/sh")?;
        let mut server = Self { child, folder };
        let deadline = Instant::now() + patience;
        while !is_ready() {
            if let Some(status) = server.child.try_wait()? {
                bail!("it ended, {status}: {}", server.keep_log());
            }
            if Instant::now() > deadline {
                bail!("it did not answer within {} s: {}", patience.as_secs(), server.keep_log());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self) -> PathBuf {
        log_in(self.folder())
    }

    /// Keeps the folder, and returns the path and the last lines of the log for an error message.
    fn keep_log(&mut self) -> String {
        self.folder.disable_cleanup(true);
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(20)..].join("\n");
        format!("see {}, which ends\n{end}", self.log().display())
    }

    fn stop(&mut self) -> Result<()> {
        let server = Pid::from_child(&self.child);
        if self.child.try_wait()?.is_none() {
            kill_process(server, Signal::TERM)?;
        }
        let deadline = Instant::now() + GRACE;
        while self.child.try_wait()?.is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        // The watcher is still in the group, so no other group can have this number yet.
        kill_process_group(server, Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for EmulatorServer {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("could not stop {}: {error}", self.child.id());
        }
        if thread::panicking() {
            eprintln!("the emulator's log: {}", self.log().display());
            self.folder.disable_cleanup(true);
        }
    }
}

/// A folder for one run of a server. Folders of failed tests and of shared servers are removed after a day.
pub(crate) fn folder(name: &str) -> Result<TempDir> {
    let runs = workspace::target().join("testbed");
    fs::create_dir_all(&runs).with_context(|| format!("could not create {}", runs.display()))?;
    let is_old = |path: &Path| {
        let made = path.metadata().and_then(|metadata| metadata.modified()).ok();
        made.and_then(|made| SystemTime::now().duration_since(made).ok()).is_some_and(|age| age > A_DAY)
    };
    for run in fs::read_dir(&runs)?.flatten().filter(|run| is_old(&run.path())) {
        // Another test process may be removing it too.
        let _ = fs::remove_dir_all(run.path());
    }
    Ok(tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(runs)?)
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("log")
}
