//! A real process on a real disk: kill -9 at any moment, and a disk that is really full.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use embedded::EmbeddedStore;
use futures_executor::block_on;
use rand::RngExt;
use redb::{ReadableDatabase, ReadableTableMetadata};
use waitroom::ports::{Admissions, StatusBoard};
use waitroom::{Admission, AdmittedBy, Place, Rate, Room, Settings, Token};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");

/// Killed when the test is done with it, however that ends.
struct Victim {
    process: Child,
    lines: Receiver<String>,
}

impl Victim {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            // A line that the kill cut short was not said.
            let whole = output.lines().map_while(Result::ok);
            whole.for_each(|line| drop(sender.send(line)));
        });
        Self { process, lines }
    }

    /// Waits until the victim has said `count` lines that begin like this, and returns all that it said.
    fn wait_for(&self, beginning: &str, mut count: usize) -> Vec<String> {
        let mut said = Vec::new();
        let deadline = Instant::now() + Duration::from_mins(1);
        while count > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no line with {beginning}"));
            count -= usize::from(line.starts_with(beginning));
            said.push(line);
        }
        said
    }

    fn kill(mut self) -> (Vec<String>, String) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut complaints = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        (self.lines.iter().collect(), complaints)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn open(directory: &Path) -> EmbeddedStore {
    let settings = Settings::new(
        "x".parse().unwrap(),
        "X".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::MIN,
    );
    let unused = Room::new(settings, "http://localhost".parse().unwrap(), "zz99".parse().unwrap());
    EmbeddedStore::open(directory, unused, Default::default).unwrap()
}

#[test]
fn nobody_is_lost_and_nobody_counted_twice_under_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut rng = rand::rng();
    let mut joined: Vec<Token> = Vec::new();
    let mut admitted: HashMap<Token, Admission> = HashMap::new();
    for _ in 0..10 {
        let victim = Victim::start(Command::new(VICTIM).arg(directory.path()));
        let mut lines = victim.wait_for("joined", 1);
        thread::sleep(Duration::from_millis(rng.random_range(0..1500)));
        lines.extend(victim.kill().0);
        let places = lines.iter().filter_map(|line| line.strip_prefix("joined ")?.parse::<Place>().ok());
        joined.extend(places.map(|place| place.token));

        let store = open(directory.path());
        for token in &joined {
            let found = block_on(store.admission(*token)).unwrap();
            if let Some(before) = admitted.get(token) {
                assert_eq!(found.as_ref(), Some(before), "an admission that was there is gone or another");
            }
            admitted.extend(found.map(|admission| (*token, admission)));
        }
        store.close();
    }

    let drained = Command::new(VICTIM).arg(directory.path()).arg("drain").status().unwrap();
    assert!(drained.success());
    let store = open(directory.path());
    let mut by_plan: HashMap<u64, u32> = HashMap::new();
    for token in &joined {
        let admission = block_on(store.admission(*token)).unwrap();
        match admission.expect("whoever got a redirect is admitted in the end").by {
            AdmittedBy::Slice(slice) => *by_plan.entry(slice.plan).or_default() += 1,
            AdmittedBy::Door => panic!("the room was never off"),
        }
    }
    assert!(by_plan.values().all(|&released| released <= 6000), "above plan: {by_plan:?}");
    assert!(joined.len() > 1000, "only {} visitors", joined.len());
    let counted = block_on(store.progress()).unwrap().released;
    store.close();
    let file = redb::Database::open(directory.path().join("room.redb")).unwrap();
    let visitors = redb::TableDefinition::<[u8; 16], &[u8]>::new("admission");
    let in_ledger = file.begin_read().unwrap().open_table(visitors).unwrap().len().unwrap();
    println!("{} joined, {counted} counted as released in {} windows", joined.len(), by_plan.len());
    // Consumers that were killed no longer told of their last two seconds: fewer, but never more.
    assert!(counted > 0 && counted <= in_ledger, "{counted} counted, {in_ledger} in the ledger");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_really_full() {
    let directory = tempfile::tempdir().unwrap();
    // A file system of twelve megabytes that only the victim sees, without being root.
    let mount = "mount -t tmpfs -o size=12m tmpfs \"$1\" && exec \"$2\" \"$1\"";
    let victim = Victim::start(
        Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", mount, "sh"])
            .arg(directory.path())
            .arg(VICTIM),
    );
    victim.wait_for("joined", 100);

    let ballast = format!("/proc/{}/root{}/ballast", victim.process.id(), directory.path().display());
    let mut file = fs::File::create(&ballast).expect(
        "the victim's file system can be reached: this needs user namespaces (sysctl kernel.unprivileged_userns_clone=1) or root",
    );
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    victim.wait_for("busy", 300);
    let said = victim.wait_for("busy", 300);
    let seen = said.iter().filter(|line| *line == "busy, and seen").count();
    assert!(seen > 100, "whoever has a place is still looked up: {seen} of 300");

    fs::remove_file(&ballast).unwrap();
    victim.wait_for("joined", 100);

    let (_, complaints) = victim.kill();
    let told = complaints.matches("the store cannot write (the disk is full: make room on it)").count();
    assert_eq!(told, 1, "one clear line for the operator:\n{complaints}");
    assert!(complaints.contains("the store can write again"), "{complaints}");
}
