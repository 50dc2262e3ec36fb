//! A Debian that is booted in a container of systemd's, with the network of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use emulators::workspace;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(1);

const ROOT: &str = "this test boots a Debian, so it needs root, mmdebstrap and systemd-nspawn: \
    sudo apt install mmdebstrap systemd-container";

pub(crate) struct Container {
    machine: Child,
    /// The process number of its init.
    init: u32,
    folder: TempDir,
}

impl Container {
    /// A fresh Debian that has finished to boot.
    pub(crate) fn boot() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("debian");
        fs::create_dir(&root).unwrap();
        let unpacked = Command::new("tar").arg("xf").arg(debian()).arg("-C").arg(&root).status().unwrap();
        assert!(unpacked.success());
        let mut nspawn = Command::new("systemd-nspawn");
        nspawn.args(["--quiet", "--register=no", "--keep-unit", "--boot", "--directory"]).arg(&root);
        let log = fs::File::create(folder.path().join("boot.log")).unwrap();
        let machine = nspawn.stdin(Stdio::null()).stdout(log).stderr(Stdio::null()).spawn();
        let machine = machine.unwrap_or_else(|error| panic!("{error}: {ROOT}"));
        let mut container = Self { machine, init: 0, folder };
        let begin = Instant::now();
        while !container.has_booted() {
            assert!(begin.elapsed() < PATIENCE, "{}: {ROOT}", container.boot_log());
            thread::sleep(Duration::from_millis(100));
        }
        container
    }

    fn has_booted(&mut self) -> bool {
        let children = format!("/proc/{0}/task/{0}/children", self.machine.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        let Some(init) = children.split_whitespace().next() else { return false };
        self.init = init.parse().unwrap();
        let state = self.try_run("systemctl is-system-running");
        matches!(String::from_utf8_lossy(&state.stdout).trim(), "running" | "degraded")
    }

    fn boot_log(&self) -> String {
        fs::read_to_string(self.folder.path().join("boot.log")).unwrap_or_default()
    }

    /// Where the container sees `/`.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("debian")
    }

    /// Runs a line of shell inside as root, and returns what it printed.
    pub(crate) fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{printed}{complaint}\n{}", self.journal());
        printed
    }

    pub(crate) fn try_run(&self, line: &str) -> Output {
        let mut enter = Command::new("nsenter");
        enter.args([
            "--target",
            &self.init.to_string(),
            "--mount",
            "--pid",
            "--uts",
            "--ipc",
            "--cgroup",
            "--",
        ]);
        enter.args(["env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]);
        enter.args(["DEBIAN_FRONTEND=noninteractive", "LANG=C.UTF-8", "sh", "-c", line]);
        enter.stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn journal(&self) -> String {
        let journal = self.try_run("journalctl --no-pager --lines 60 --unit 'beekeeper*'");
        String::from_utf8_lossy(&journal.stdout).into_owned()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.try_run("systemctl --no-block poweroff");
        let begin = Instant::now();
        while self.machine.try_wait().is_ok_and(|ended| ended.is_none()) {
            if begin.elapsed() > PATIENCE {
                let _ = self.machine.kill();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A small Debian with systemd, as a tar archive. It is fetched once.
fn debian() -> PathBuf {
    let archive = workspace::tools().join("debian.tar");
    if !archive.exists() {
        let new = archive.with_extension("new.tar");
        let mut fetch = Command::new("mmdebstrap");
        fetch.args(["--variant=minbase", "--include=systemd,systemd-sysv,dbus,adduser", "bookworm"]);
        let fetched = fetch.arg(&new).status().unwrap_or_else(|error| panic!("{error}: {ROOT}"));
        assert!(fetched.success());
        fs::rename(&new, &archive).unwrap();
    }
    archive
}

/// Copies a file of the release into the container.
pub(crate) fn copy(file: &Path, container: &Container, to: &str) {
    fs::copy(file, container.root().join(to.trim_start_matches('/')))
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask release`", file.display()));
}
