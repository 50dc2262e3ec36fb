//! A room as a newcomer runs it: the real binary, its real port, its real control socket.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use conformance::{Order, Room};
use tempfile::TempDir;

const BEEKEEPER: &str = env!("CARGO_BIN_EXE_beekeeper");

/// A room that runs until the test is done with it.
pub(crate) struct Local {
    process: Child,
    output: BufReader<ChildStdout>,
    pub(crate) directory: TempDir,
    pub(crate) url: String,
    shop: String,
}

impl Local {
    pub(crate) fn start(extra: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), extra)
    }

    pub(crate) fn start_in(directory: TempDir, extra: &[&str]) -> Self {
        let mut process = Command::new(BEEKEEPER)
            .args(["local", "--data"])
            .arg(directory.path())
            .args(if extra.contains(&"--port") { &[][..] } else { &["--port", "0"] })
            .args(if extra.contains(&"--minute") { &[][..] } else { &["--minute", "2s"] })
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

    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        operate(self.directory.path(), arguments)
    }

    /// Ctrl-C, and what the room says to it.
    pub(crate) fn interrupt(mut self) -> (TempDir, String) {
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
            Order::Reset => vec!["reset", "--local", "--yes"],
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

pub(crate) fn operate(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(BEEKEEPER).args(arguments).arg("--data").arg(directory).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
