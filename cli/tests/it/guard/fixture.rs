//! A guard as a process, and a room whose passes it verifies.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use http_contract::{Client, HttpAnswer, RoomUnderTest};
use tempfile::TempDir;

use crate::support::{Local, eventually, text};

/// A guard that is stopped when this is dropped.
pub(crate) struct Guard {
    process: Child,
    output: BufReader<ChildStdout>,
    pub(super) directory: TempDir,
    pub(super) listens: String,
    pub(super) metrics: String,
    /// What it said when it had started.
    pub(super) greeting: String,
}

impl Guard {
    /// The guard of this room's shop.
    pub(super) fn of(room: &Local, extra: &[&str]) -> Self {
        Self::start(&issuer(room), tempfile::tempdir().unwrap(), extra)
    }

    pub(crate) fn start(room: &str, directory: TempDir, extra: &[&str]) -> Self {
        Self::started(Command::new(env!("CARGO_BIN_EXE_beekeeper")), room, directory, extra)
    }

    pub(super) fn started(mut command: Command, room: &str, directory: TempDir, extra: &[&str]) -> Self {
        command.args(["guard", "demo", "--listen", "0", "--metrics", "0", "--room", room, "--data"]);
        command.arg(directory.path()).args(extra).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(output.read_line(&mut greeting).unwrap() > 0, "{greeting}");
        }
        let named = |what: &str| {
            let line = greeting.lines().find_map(|line| line.trim().strip_prefix(what));
            line.unwrap_or_else(|| panic!("{what} in {greeting}")).trim().to_owned()
        };
        let listens = named("nginx").trim_end_matches("/auth-request").to_owned();
        let metrics = named("metrics").trim_end_matches("/metrics").to_owned();
        Self { process, output, directory, listens, metrics, greeting }
    }

    /// What the guard tells Traefik about a request.
    pub(super) fn asked(&self, target: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        self.asked_at("/forward-auth", target, headers)
    }

    pub(super) fn asked_at(&self, path: &str, target: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        let forwarded = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", target)];
        Client::new(&self.listens, "demo").send("GET", path, &[&forwarded, headers].concat())
    }

    pub(crate) fn port(&self) -> u16 {
        self.listens.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Kills the guard: it can do nothing about it. Returns its directory.
    pub(super) fn kill(mut self) -> TempDir {
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }

    /// Stops the guard with SIGTERM. Returns its directory.
    pub(super) fn terminate(mut self) -> TempDir {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut farewell = String::new();
        self.output.read_to_string(&mut farewell).unwrap();
        assert!(self.process.wait().unwrap().success());
        assert_eq!(farewell, "\nstopped; the sessions are kept\n");
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The room's URL, as its passes have it.
pub(super) fn issuer(room: &Local) -> String {
    room.base().replace("127.0.0.1", "localhost")
}

/// A room that sends everybody to the shop. Nobody has to wait for a test.
pub(super) fn room() -> Local {
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let client = Client::new(&room.base(), "demo");
    let invented = client.invented_place();
    let off = room.command(&["off", "--local", "--yes"]);
    assert!(off.status.success(), "{}", text(&off.stderr));
    let sent = || client.get_with("/beekeeper", &invented);
    eventually("the room is off", || sent().location().starts_with(&room.shop()));
    room
}

/// A pass from the room's door.
pub(super) fn pass(room: &Local) -> String {
    let answer = Client::new(&room.base(), "demo").get("/beekeeper");
    let (_, pass) = answer.location().split_once("?bk_pass=").unwrap_or_else(|| panic!("{answer:?}"));
    pass.to_owned()
}

/// The `Cookie` header of a browser that got this answer.
pub(super) fn cookie(answer: &HttpAnswer) -> String {
    answer.header("set-cookie").unwrap_or_else(|| panic!("{answer:?}")).split(';').next().unwrap().into()
}
