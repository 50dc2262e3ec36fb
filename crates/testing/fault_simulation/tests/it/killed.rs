//! A real process on a real disk: kill -9 at random times, and a full disk.

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
use waitroom::{Admission, AdmittedBy, Place, Token, fixture};

const KILLED_ROOM: &str = env!("CARGO_BIN_EXE_killed_room");

/// A running room. Killed on drop.
struct RoomProcess {
    process: Child,
    lines: Receiver<String>,
}

impl RoomProcess {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            // A line that the kill cut off does not count.
            let complete = output.lines().map_while(Result::ok);
            complete.for_each(|line| drop(sender.send(line)));
        });
        Self { process, lines }
    }

    /// Waits until the room has printed `count` lines with this prefix, and returns all lines until then.
    fn wait_for(&self, prefix: &str, mut count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let deadline = Instant::now() + Duration::from_mins(1);
        while count > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no line begins with {prefix}"));
            count -= usize::from(line.starts_with(prefix));
            lines.push(line);
        }
        lines
    }

    fn kill(mut self) -> (Vec<String>, String) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.lines.iter().collect(), log)
    }
}

impl Drop for RoomProcess {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, fixture::room(1), Default::default).unwrap()
}

#[test]
fn nobody_is_lost_or_counted_twice_under_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut rng = rand::rng();
    let mut joined: Vec<Token> = Vec::new();
    let mut admitted: HashMap<Token, Admission> = HashMap::new();
    for _ in 0..10 {
        let room = RoomProcess::start(Command::new(KILLED_ROOM).arg(directory.path()));
        let mut lines = room.wait_for("joined", 1);
        thread::sleep(Duration::from_millis(rng.random_range(0..1500)));
        lines.extend(room.kill().0);
        let places = lines.iter().filter_map(|line| line.strip_prefix("joined ")?.parse::<Place>().ok());
        joined.extend(places.map(|place| place.token));

        let store = open(directory.path());
        for token in &joined {
            let found = block_on(store.admission(*token)).unwrap();
            if let Some(before) = admitted.get(token) {
                assert_eq!(found.as_ref(), Some(before), "an admission was lost or changed");
            }
            admitted.extend(found.map(|admission| (*token, admission)));
        }
        store.close();
    }

    let drained = Command::new(KILLED_ROOM).arg(directory.path()).arg("drain").status().unwrap();
    assert!(drained.success());
    let store = open(directory.path());
    let mut by_plan: HashMap<u64, u32> = HashMap::new();
    for token in &joined {
        let admission = block_on(store.admission(*token)).unwrap();
        match admission.expect("every visitor who was redirected is admitted in the end").by {
            AdmittedBy::Slice(slice) => *by_plan.entry(slice.plan).or_default() += 1,
            AdmittedBy::Door | AdmittedBy::Permit => panic!("nobody went straight in"),
        }
    }
    assert!(by_plan.values().all(|&released| released <= 6000), "above plan: {by_plan:?}");
    assert!(joined.len() > 100, "only {} visitors", joined.len());
    let counted = block_on(store.progress()).unwrap().released;
    store.close();
    let file = redb::Database::open(directory.path().join("room.redb")).unwrap();
    let visitors = redb::TableDefinition::<[u8; 16], &[u8]>::new("admission");
    let in_ledger = file.begin_read().unwrap().open_table(visitors).unwrap().len().unwrap();
    println!("{} joined, {counted} counted as released in {} windows", joined.len(), by_plan.len());
    // Killed consumers did not record their last two seconds. So the count may be lower than the ledger, never higher.
    assert!(counted > 0 && counted <= in_ledger, "{counted} counted, {in_ledger} in the ledger");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_once_and_recovered_from() {
    let directory = tempfile::tempdir().unwrap();
    // A file system of 12 MB that only the room's process sees. With a user namespace this does not need root.
    let mount = "mount -t tmpfs -o size=12m tmpfs \"$1\" && exec \"$2\" \"$1\"";
    let room = RoomProcess::start(
        emulators::unshared().unwrap().args(["sh", "-c", mount, "sh"]).arg(directory.path()).arg(KILLED_ROOM),
    );
    room.wait_for("joined", 100);

    let ballast = format!("/proc/{}/root{}/ballast", room.process.id(), directory.path().display());
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    room.wait_for("busy", 300);
    let lines = room.wait_for("busy", 300);
    let looked_up = lines.iter().filter(|line| *line == "busy, lookup ok").count();
    assert!(looked_up > 100, "visitors who have a place are still looked up: {looked_up} of 300");

    fs::remove_file(&ballast).unwrap();
    room.wait_for("joined", 100);

    let (_, log) = room.kill();
    let named = format!(
        "the store cannot write (the disk of {} is full: free some space",
        directory.path().display()
    );
    let reported = log.matches(&named).count();
    assert_eq!(reported, 1, "one line for the operator:\n{log}");
    assert!(log.contains("the store can write again"), "{log}");
}
