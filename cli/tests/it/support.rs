//! Runs the built program: its port, its control socket, its terminal.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use http_contract::{Order, RoomUnderTest};
use rexpect::session::{PtySession, spawn_command};
use serde_json::Value;
use tempfile::TempDir;
use waitroom::Notice;

const BEEKEEPER: &str = env!("CARGO_BIN_EXE_beekeeper");

/// A local room that is stopped when this is dropped.
pub(crate) struct Local {
    process: Child,
    output: BufReader<ChildStdout>,
    errors: Option<ChildStderr>,
    pub(crate) directory: TempDir,
    pub(crate) url: String,
    /// What it printed up to how it is stopped.
    pub(crate) greeting: String,
    shop: String,
    metrics: Option<String>,
}

impl Local {
    pub(crate) fn start(extra: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), extra)
    }

    pub(crate) fn start_in(directory: TempDir, extra: &[&str]) -> Self {
        let mut command = Command::new(BEEKEEPER);
        command.args(["local", "--data"]).arg(directory.path());
        Self::started(command, directory, extra)
    }

    /// A room that may open only so many files, connections among them.
    pub(crate) fn start_with_files(files: u32, extra: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\""), BEEKEEPER]);
        command.args(["local", "--data"]).arg(directory.path());
        Self::started(command, directory, extra)
    }

    /// A room that outlives the connection over which it was started.
    pub(crate) fn start_with_nohup() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("nohup");
        command.args([BEEKEEPER, "local", "--data"]).arg(directory.path());
        Self::started(command, directory, &[])
    }

    /// A room on a file system of 12 MB that only its process sees: see [`disk`](Self::disk). With a user namespace this does
    /// not need root.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_on_small_disk(extra: &[&str]) -> Self {
        const MOUNT: &str = "mount -t tmpfs -o size=12m tmpfs \"$0\" && exec \"$@\"";

        let directory = tempfile::tempdir().unwrap();
        let mut command = emulators::unshared().unwrap();
        command.args(["sh", "-c", MOUNT]).arg(directory.path());
        command.args([BEEKEEPER, "local", "--data"]).arg(directory.path());
        Self::started(command, directory, extra)
    }

    /// Where other processes find the small disk of a room.
    #[cfg(target_os = "linux")]
    pub(crate) fn disk(&self) -> std::path::PathBuf {
        format!("/proc/{}/root{}", self.process.id(), self.directory.path().display()).into()
    }

    /// A room of this name in the data directory of a user.
    pub(crate) fn start_at_home(home: &Home, name: &str) -> Self {
        Self::start_at_home_with(home, name, &[])
    }

    pub(crate) fn start_at_home_with(home: &Home, name: &str, extra: &[&str]) -> Self {
        Self::started(home.command(&["local", name]), tempfile::tempdir().unwrap(), extra)
    }

    fn started(mut command: Command, directory: TempDir, extra: &[&str]) -> Self {
        let mut process = command
            .args(if extra.iter().any(|flag| ["--listen", "--port"].contains(flag)) {
                &[][..]
            } else {
                &["--listen", "0"]
            })
            .args(if extra.contains(&"--minute") { &[][..] } else { &["--minute", "2s"] })
            // Most tests count who joins.
            .args(if extra.contains(&"--visitors") { &[][..] } else { &["--visitors", "0"] })
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let errors = process.stderr.take();
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(output.read_line(&mut greeting).unwrap() > 0, "{greeting}");
        }
        let named_if_any = |what: &str| {
            let line = greeting.lines().find_map(|line| line.trim().strip_prefix(what));
            line.map(|line| line.trim().to_owned())
        };
        let named = |what: &str| named_if_any(what).unwrap_or_else(|| panic!("{what} in {greeting}"));
        let url = named("waiting room").trim_end_matches("/beekeeper").replace("localhost", "127.0.0.1");
        let (shop, metrics) = (named("shop"), named_if_any("metrics"));
        Self { process, output, errors, directory, url, greeting, shop, metrics }
    }

    /// The base URL of `/metrics`, of a room that was started with `--metrics`.
    pub(crate) fn monitor(&self) -> &str {
        self.metrics.as_deref().unwrap().trim_end_matches("/metrics")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        operate(self.directory.path(), arguments)
    }

    pub(crate) fn status(&self) -> Value {
        let output = self.command(&["status", "--local", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    }

    /// The lines that the room logs, as they come. Each is waited for, up to twenty seconds.
    pub(crate) fn log(&mut self) -> impl Iterator<Item = String> + use<> {
        let errors = BufReader::new(self.errors.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            errors.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        std::iter::from_fn(move || lines.recv_timeout(Duration::from_secs(20)).ok())
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.process, name);
    }

    /// Stops the room with Ctrl-C. Returns its directory and what it printed.
    pub(crate) fn interrupt(mut self) -> (TempDir, String) {
        self.signal("-INT");
        let mut farewell = String::new();
        self.output.read_to_string(&mut farewell).unwrap();
        assert!(self.process.wait().unwrap().success());
        let nowhere = tempfile::tempdir().unwrap();
        (std::mem::replace(&mut self.directory, nowhere), farewell)
    }
}

/// Sends a process a signal like `-STOP`.
pub(crate) fn signal(process: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &process.id().to_string()]).status().unwrap().success());
}

impl Local {
    /// Kills the room with kill -9. Returns its directory.
    pub(crate) fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl RoomUnderTest for Local {
    fn base(&self) -> String {
        self.url.clone()
    }

    fn name(&self) -> String {
        "demo".into()
    }

    fn shop(&self) -> String {
        self.shop.clone()
    }

    fn order(&self, order: Order) {
        let (command, value) = match &order {
            Order::Status => ("status", None),
            Order::On => ("on", None),
            Order::OpenAt { at } => ("on", Some(format!("--at={}", at.to_string().replace(" UTC", "Z")))),
            Order::Off => ("off", Some("--yes".into())),
            Order::Pause => ("pause", None),
            // The command draws an epoch itself.
            Order::Reset { .. } => ("reset", Some("--yes".into())),
            Order::SetRate { rate } => ("set-rate", Some(rate.to_string())),
            Order::Release { visitors } => ("release", Some(visitors.to_string())),
            Order::Stretch { factor } => ("stretch", Some(factor.to_string())),
            Order::Undo { .. } => ("undo", None),
            Order::History { .. } | Order::Minutes { .. } => ("history", None),
            Order::Mode { mode } => ("mode", Some(mode.to_string())),
            Order::Find { code } => ("find", Some(code.to_string())),
            Order::Admit { code } => ("admit", Some(code.digits().to_lowercase())),
            Order::Message { text } => ("message", Some(text.to_string())),
            Order::Close { .. } => ("close", Some("--yes".into())),
            Order::End { .. } => ("end", Some("--yes".into())),
            Order::CloseAt { .. }
            | Order::CloseAfter { .. }
            | Order::CloseNever
            | Order::EndAt { .. }
            | Order::EndNever
            | Order::Rehearse { .. }
            | Order::Keys
            | Order::RotateKeys
            | Order::RotateKeysAhead { .. }
            | Order::DropKey { .. }
            | Order::GuardKey { .. } => {
                unreachable!("no contract orders this")
            }
        };
        let mut arguments: Vec<_> = [command, "--local"].into_iter().chain(value.as_deref()).collect();
        let told = match &order {
            Order::Close { notice, .. } | Order::End { notice } => notice.clone(),
            _ => None,
        };
        let told = told
            .map(|Notice { text, link }| [format!("--message={text}"), format!("--link={}", link.unwrap())]);
        arguments.extend(told.iter().flatten().map(String::as_str));
        let asks = matches!(
            order,
            Order::SetRate { .. }
                | Order::Release { .. }
                | Order::On
                | Order::OpenAt { .. }
                | Order::Mode { .. }
        );
        if asks {
            arguments.push("--yes");
        }
        let output = self.command(&arguments);
        assert!(output.status.success(), "{order:?}: {}", text(&output.stderr));
        // An order that follows another at once takes its turn.
        let said = text(&output.stdout);
        if let Some((_, after)) = said.split_once("in force in ") {
            let seconds = after.split(' ').next().unwrap().parse().unwrap();
            std::thread::sleep(Duration::from_secs(seconds) + Duration::from_millis(100));
        }
    }

    fn minute(&self) -> Duration {
        Duration::from_secs(2)
    }
}

/// A home directory of its own, and an environment without AWS variables.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BEEKEEPER);
        let ours = |name: &str| name.starts_with("AWS_") || name == "NO_COLOR";
        for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        command.args(arguments).env("HOME", self.0.path()).env("XDG_CONFIG_HOME", self.0.path());
        command.env_remove("XDG_DATA_HOME");
        command
    }

    /// Without a terminal.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// In a terminal of 100 by 30, without colours.
    pub(crate) fn person(&self, arguments: &[&str]) -> PtySession {
        self.person_at(100, arguments)
    }

    /// In a terminal of so many columns.
    pub(crate) fn person_at(&self, columns: u16, arguments: &[&str]) -> PtySession {
        let sized = format!("stty cols {columns} rows 30 && exec \"$0\" \"$@\"");
        let command = self.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &sized, BEEKEEPER]).args(arguments);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("TERM", "xterm-256color").env("NO_COLOR", "1");
        spawn_command(shell, Some(20_000)).unwrap()
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command that must fail, and returns its exit code and its error.
    pub(crate) fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert_eq!(text(&output.stdout), "", "{arguments:?}: results are for standard output");
        (output.status.code().unwrap(), self.masked(&text(&output.stderr)))
    }

    pub(crate) fn config_file(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(format!("beekeeper/{name}.toml"))
    }

    pub(crate) fn write(&self, name: &str, config: &str) {
        std::fs::create_dir_all(self.config_file(name).parent().unwrap()).unwrap();
        std::fs::write(self.config_file(name), config).unwrap();
    }

    /// Replaces this home directory by `~`.
    pub(crate) fn masked(&self, said: &str) -> String {
        said.replace(self.0.path().to_str().unwrap(), "~")
    }
}

/// A web server where every path redirects to `/sale`, and `/sale` answers. Returns its URL.
pub(crate) fn website() -> String {
    web_server(|path| if path == "/sale" { "200 OK" } else { "301 Moved\r\nLocation: /sale" })
}

/// A web server that answers each path with a status and perhaps headers. Returns its URL.
pub(crate) fn web_server(answer: impl Fn(&str) -> &'static str + Send + 'static) -> String {
    web_server_with_bodies(move |path| (answer(path), String::new()))
}

/// The same, with a body.
pub(crate) fn web_server_with_bodies(
    answer: impl Fn(&str) -> (&'static str, String) + Send + 'static,
) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for visitor in listener.incoming() {
            let mut visitor = visitor.unwrap();
            let request = BufReader::new(visitor.try_clone().unwrap()).lines();
            let request: Vec<_> = request.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let path = request.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
            let (status, body) = answer(path);
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            drop(visitor.write_all(answer.as_bytes()));
        }
    });
    url
}

/// Tries up to three times what holds a real room to instants that are hundredths of a second apart, because its minute is so
/// short. A busy machine may sleep through one: up to ten tries in which this process did are not counted. A mistake that shows in
/// every run fails all of them.
pub(crate) fn even_on_a_busy_machine(test: fn()) {
    let (mut failed, mut overslept) = (0, 0);
    while failed < 3 {
        let sleeper = Sleeper::start();
        if std::panic::catch_unwind(test).is_ok() {
            return;
        }
        if overslept < 10 && sleeper.overslept() > Duration::from_millis(10) {
            overslept += 1;
        } else {
            failed += 1;
        }
    }
    panic!("it failed three times, as told above");
}

/// Takes naps beside a test, and knows by how much the longest was too long: whatever else the machine runs may sleep so long too.
pub(crate) struct Sleeper(Arc<Mutex<Duration>>);

impl Sleeper {
    const NAP: Duration = Duration::from_millis(5);

    /// Naps until this is dropped.
    pub(crate) fn start() -> Self {
        let longest = Arc::new(Mutex::new(Duration::ZERO));
        let naps = Arc::downgrade(&longest);
        std::thread::spawn(move || {
            while let Some(longest) = naps.upgrade() {
                let begun = Instant::now();
                std::thread::sleep(Self::NAP);
                let late = begun.elapsed().saturating_sub(Self::NAP);
                let mut longest = longest.lock().unwrap();
                *longest = late.max(*longest);
            }
        });
        Self(longest)
    }

    pub(crate) fn overslept(&self) -> Duration {
        // A nap that is under way counts too.
        std::thread::sleep(4 * Self::NAP);
        *self.0.lock().unwrap()
    }
}

/// Waits up to two minutes: whoever is in a batch that a busy machine misses is delivered again after half a minute.
pub(crate) fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    awaited(what, is_so, |is_so| *is_so);
}

/// The same for what is looked at. Returns it as it should be.
pub(crate) fn awaited<T: Debug>(what: &str, mut look: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let seen = look();
        if is_so(&seen) {
            return seen;
        }
        assert!(begun.elapsed() < Duration::from_mins(2), "{what}: not within two minutes, but {seen:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub(crate) fn operate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(BEEKEEPER).args(arguments).arg("--data").arg(directory).output().unwrap()
}

/// The status of an answer with its head, as curl prints it.
pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// A header of such an answer.
pub(crate) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_end())
}

/// The output of a program whose reader is gone.
pub(crate) fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
