//! `beekeeper local`, as a newcomer runs it: the real binary, its real port, its real control socket.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that finds something else fails")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use conformance::{Client, Order, Room};
use tempfile::TempDir;

const BEEKEEPER: &str = env!("CARGO_BIN_EXE_beekeeper");

/// A room that runs until the test is done with it.
struct Local {
    process: Child,
    output: BufReader<ChildStdout>,
    directory: TempDir,
    url: String,
    shop: String,
}

impl Local {
    fn start(extra: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), extra)
    }

    fn start_in(directory: TempDir, extra: &[&str]) -> Self {
        let mut process = Command::new(BEEKEEPER)
            .args(["local", "--port", "0", "--minute", "2s", "--data"])
            .arg(directory.path())
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(output.read_line(&mut greeting).unwrap() > 0, "{greeting}");
        }
        let named = |what: &str| {
            let line = greeting.lines().find_map(|line| line.trim().strip_prefix(what));
            line.unwrap_or_else(|| panic!("{what} in {greeting}")).trim().to_owned()
        };
        let url = named("waiting room").trim_end_matches("/beekeeper").replace("localhost", "127.0.0.1");
        let shop = named("shop");
        Self { process, output, directory, url, shop }
    }

    fn command(&self, arguments: &[&str]) -> Output {
        operate(self.directory.path(), arguments)
    }

    /// Ctrl-C, and what the room says to it.
    fn interrupt(mut self) -> (TempDir, String) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut farewell = String::new();
        self.output.read_to_string(&mut farewell).unwrap();
        assert!(self.process.wait().unwrap().success());
        let nowhere = tempfile::tempdir().unwrap();
        (std::mem::replace(&mut self.directory, nowhere), farewell)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Room for Local {
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
        let rate;
        let arguments = match &order {
            Order::On => vec!["on", "--local"],
            Order::Off => vec!["off", "--local"],
            Order::Pause => vec!["pause", "--local"],
            Order::SetRate(per_minute) => {
                rate = per_minute.to_string();
                vec!["set-rate", "--local", &rate]
            }
            Order::Message(text) => vec!["message", "--local", text],
        };
        let output = self.command(&arguments);
        assert!(output.status.success(), "{order:?}: {}", text(&output.stderr));
    }

    fn minute(&self) -> Duration {
        Duration::from_secs(2)
    }
}

fn operate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(BEEKEEPER).args(arguments).arg("--data").arg(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn conforms() {
    conformance::check(&Local::start(&["--rate", "3000"]));
}

#[test]
fn goes_on_where_it_was() {
    let room = Local::start(&["--rate", "7"]);
    room.order(Order::Pause);
    let client = Client::new(&room.base(), "demo");
    let place = client.cookie(&client.get("/beekeeper"));
    let (directory, farewell) = room.interrupt();
    let kept = format!(
        "stopped. 1 waiting, every place is kept in {}; the same command goes on from here",
        directory.path().display()
    );
    assert_eq!(farewell.trim(), kept);
    assert!(!directory.path().join("control.sock").exists(), "nothing is left behind but the room");

    let room = Local::start_in(directory, &[]);
    let client = Client::new(&room.base(), "demo");
    let poll = client.get_with("/polling", &place).json();
    assert_eq!((&poll["paused"], &poll["rate"], &poll["waiting"]), (&true.into(), &7.into(), &1.into()));
    room.order(Order::On);
    for _ in 0..100 {
        if client.get_with("/polling", &place).json()["allow"] == true {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("whoever waited before the restart is admitted after it");
}

#[test]
fn the_operator_is_told_what_changed() {
    let room = Local::start(&["--rate", "60"]);
    let said = |arguments: &[&str]| text(&room.command(arguments).stdout);
    assert_eq!(said(&["set-rate", "--local", "600"]), "rate: 60 -> 600\n");
    assert_eq!(said(&["set-rate", "--local", "600"]), "nothing to change: it is so already\n");
    assert_eq!(said(&["message", "--local", "Back soon"]), "message: \"\" -> \"Back soon\"\n");
    assert_eq!(said(&["pause", "--local"]), "room: on -> paused\n");
    assert_eq!(said(&["off", "--local"]), "room: paused -> off\n");
    assert_eq!(said(&["on", "--local"]), "room: off -> on\n");
    let status = said(&["status", "--local"]);
    assert!(status.starts_with("The demonstration room (demo), on\nwaiting        0\n"), "{status}");
    let json: serde_json::Value = serde_json::from_str(&said(&["status", "--local", "--json"])).unwrap();
    assert_eq!((&json["line"]["rate"], &json["room"]["open"]), (&600.into(), &true.into()));
}

#[test]
fn mistakes_are_explained() {
    let complaint = |output: Output| {
        assert!(!output.status.success());
        text(&output.stderr).lines().next().unwrap_or_default().to_owned()
    };
    let nowhere = tempfile::tempdir().unwrap();
    let expected = format!(
        "error: could not reach the room demo: no room runs in {}; start it with: beekeeper local --name demo",
        nowhere.path().display()
    );
    assert_eq!(complaint(operate(nowhere.path(), &["status", "--local"])), expected);

    let room = Local::start(&[]);
    let port = room.url.rsplit(':').next().unwrap();
    let second = operate(nowhere.path(), &["local", "--port", port]);
    let expected = format!(
        "error: could not listen on 127.0.0.1:{port}; choose another port with --port, or any free one with --port 0: Address already in use (os error 98)"
    );
    assert_eq!(complaint(second), expected);

    let path = room.directory.path();
    let expected = format!(
        "error: the room in {} is open in another process; stop that one, or choose another directory",
        path.display()
    );
    assert_eq!(complaint(operate(path, &["local", "--port", "0"])), expected);

    for (arguments, expected) in [
        (["local", "--rate", "0"], "a rate is a whole number of visitors a minute, from 1 to 270000"),
        (["local", "--origin", "shop.example"], "not a URL (relative URL without a base)"),
        (["local", "--name", "My Room"], "a room's name is 1 to 30 lower-case letters"),
        (["local", "--minute", "2m"], "a minute takes from 1s to 60s"),
    ] {
        let output = operate(nowhere.path(), &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn only_its_user_may_operate_it() {
    use std::os::unix::fs::PermissionsExt;

    let room = Local::start(&[]);
    let socket = room.directory.path().join("control.sock").metadata().unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
}
