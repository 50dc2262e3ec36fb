//! A Debian that is booted in a container of systemd's, with the network of this machine or with one of its own.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use emulators::workspace;
use tempfile::TempDir;

/// Of the tests beside each other, one fetches.
static FETCHING: Mutex<()> = Mutex::new(());

const PATIENCE: Duration = Duration::from_mins(1);

const ROOT: &str = "this test boots a Debian, so it needs root, mmdebstrap, Debian's keys and systemd-nspawn: \
    sudo apt install mmdebstrap debian-archive-keyring systemd-container";

pub(crate) struct Container {
    machine: Child,
    /// The process number of its init.
    init: u32,
    folder: TempDir,
}

impl Container {
    /// A fresh Debian that has finished to boot.
    pub(crate) fn boot() -> Self {
        Self::start(&debian("debian", &[]), &[])
    }

    /// The same with Debian's nginx and what its owner works with. Its network is its own, so it has the ports 80 and 443.
    pub(crate) fn boot_with_nginx() -> Self {
        const PACKAGES: [&str; 5] = ["nginx-light", "sudo", "curl", "openssl", "ca-certificates"];

        Self::start(&debian("debian-nginx", &PACKAGES), &["--private-network"])
    }

    fn start(archive: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("debian");
        fs::create_dir(&root).unwrap();
        let unpacked = Command::new("tar").arg("xf").arg(archive).arg("-C").arg(&root).status().unwrap();
        assert!(unpacked.success());
        let mut nspawn = Command::new("systemd-nspawn");
        nspawn.args(["--quiet", "--register=no", "--keep-unit", "--boot"]).args(arguments);
        nspawn.arg("--directory").arg(&root);
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
        self.inside().args(["sh", "-c", line]).stdin(Stdio::null()).output().unwrap()
    }

    /// The beginning of a command inside.
    fn inside(&self) -> Command {
        let mut enter = self.enter(&["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup"]);
        enter.args(["env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]);
        enter.args(["DEBIAN_FRONTEND=noninteractive", "LANG=C.UTF-8"]);
        enter
    }

    /// The beginning of a command of this machine's, with the network of the container.
    pub(crate) fn in_its_network(&self) -> Command {
        self.enter(&["--net"])
    }

    fn enter(&self, namespaces: &[&str]) -> Command {
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &self.init.to_string()]).args(namespaces).arg("--");
        enter
    }

    /// Types a line at a terminal, as a user of this name. When the screen shows the first text of the answer, the second
    /// is typed. Returns what the screen showed.
    pub(crate) fn type_line(&self, user: &str, line: &str, (question, keys): (&str, &str)) -> String {
        let mut terminal = self.inside();
        terminal.args(["script", "--quiet", "--return", "--flush", "--command"]);
        terminal
            .arg(format!("stty cols 132 rows 40; exec runuser --login {user} --session-command '{line}'"));
        terminal.arg("/dev/null").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut terminal = terminal.spawn().unwrap();
        let (mut keyboard, mut output) = (terminal.stdin.take().unwrap(), terminal.stdout.take().unwrap());
        let (mut shown, mut is_answered, mut part) = (Vec::new(), false, [0; 4096]);
        loop {
            let read = output.read(&mut part).unwrap();
            if read == 0 {
                break;
            }
            shown.extend_from_slice(&part[..read]);
            if !is_answered && String::from_utf8_lossy(&shown).contains(question) {
                is_answered = true;
                keyboard.write_all(keys.as_bytes()).unwrap();
            }
        }
        let shown = on_screen(&String::from_utf8_lossy(&shown));
        assert!(terminal.wait().unwrap().success(), "{line}\n{shown}\n{}", self.journal());
        shown
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

/// A small Debian with systemd and these packages, as a tar archive of this name. It is fetched once.
fn debian(name: &str, packages: &[&str]) -> PathBuf {
    let archive = workspace::tools().join(name).with_extension("tar");
    let _alone = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if !archive.exists() {
        let new = archive.with_extension("new.tar");
        let all = [&["systemd", "systemd-sysv", "dbus", "adduser"], packages].concat().join(",");
        let mut fetch = Command::new("mmdebstrap");
        fetch.args(["--variant=minbase", &format!("--include={all}"), "bookworm"]);
        let fetched = fetch.arg(&new).status().unwrap_or_else(|error| panic!("{error}: {ROOT}"));
        assert!(fetched.success());
        fs::rename(&new, &archive).unwrap();
    }
    archive
}

/// What is left on the screen: without what was erased in a line, and without colours.
fn on_screen(shown: &str) -> String {
    let line = |line: &str| {
        let line = line.rsplit("\x1b[K").next().unwrap_or_default().trim_end_matches('\r');
        let mut parts = line.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        // An escape sequence ends with a letter.
        let after = |part: &str| {
            part.split_once(|end: char| end.is_ascii_alphabetic()).map(|(_, text)| text.to_owned())
        };
        format!("{}\n", parts.filter_map(after).fold(first, |text, part| text + &part))
    };
    shown.lines().map(line).collect()
}

/// Copies a file of the release into the container.
pub(crate) fn copy(file: &Path, container: &Container, to: &str) {
    fs::copy(file, container.root().join(to.trim_start_matches('/')))
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask release`", file.display()));
}
