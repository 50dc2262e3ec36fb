//! Benchmarks of the embedded store alone: `cargo bench -p embedded`.
//!
//! Each run also measures how long a sync of the disk takes and prints it, because a durable join takes at least one
//! sync. The tables in `docs/decisions/` come from this benchmark.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a benchmark prints and may panic"
)]

use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use embedded::EmbeddedStore;
use futures_executor::block_on;
use futures_util::future::{join_all, try_join_all};
use port_contracts::visitor::{admission, visitor};
use waitroom::ports::{Admissions, LineBack, LineFront, LineLength};
use waitroom::{Timestamp, fixture};

const MILLION: u64 = 1_000_000;
const CROWD: u64 = 10 * MILLION;

fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, fixture::room(300), Timestamp::default).unwrap()
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--crowd") => crowd(Path::new(&arguments[2])),
        Some("--reopen") => reopen(Path::new(&arguments[2])),
        Some("--join-until-killed") => join_until_killed(Path::new(&arguments[2])),
        _ => all(),
    }
}

fn all() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let sync = disk(directory.path());
    joins(sync);
    admissions();
    polls();
    // In a process of its own, because memory that the other benchmarks freed would hide how much this one needs.
    let itself = std::env::current_exe().unwrap();
    assert!(Command::new(itself).arg("--crowd").arg(directory.path()).status().unwrap().success());
}

/// The median time of one sync of the disk.
fn disk(directory: &Path) -> Duration {
    let mut file = File::create(directory.join("synced")).unwrap();
    let mut syncs: Vec<_> = (0..500)
        .map(|_| {
            file.write_all(&[7; 4096]).unwrap();
            timed(|| file.sync_data().unwrap())
        })
        .collect();
    syncs.sort_unstable();
    row("disk: 4 KiB and fdatasync", &format!("{:?} median, {:?} p99", syncs[250], syncs[495]));
    syncs[250]
}

fn joins(sync: Duration) {
    for at_once in [1, 16, 256, 4096] {
        let directory = tempfile::tempdir_in(".").unwrap();
        let store = open(directory.path());
        let next = AtomicU64::new(1);
        let rounds = 20_000 / at_once.max(20);
        let took = timed(|| {
            for _ in 0..rounds {
                let joining = (0..at_once).map(|_| store.join(visitor(next.fetch_add(1, Ordering::Relaxed))));
                block_on(try_join_all(joining)).unwrap();
            }
        });
        let joins = f64::from(rounds * at_once);
        let per_sync = joins / took.as_secs_f64() * sync.as_secs_f64();
        let per_second =
            format!("{:>9.0}/s, {per_sync:.2} in the time of one sync", joins / took.as_secs_f64());
        row(&format!("durable joins, {at_once} at once"), &per_second);
        store.close();
    }
}

fn admissions() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let store = open(directory.path());
    fill(&store, 1..200_001);
    let batches = 2000;
    let took = timed(|| {
        for _ in 0..batches {
            block_on(async {
                let batch = store.receive(10, Duration::ZERO).await.unwrap();
                let admitted = batch.iter().map(|delivery| {
                    let place = delivery.visitor.as_ref().unwrap();
                    store.admit(place.token, admission(place.ticket.get(), 1))
                });
                join_all(admitted).await;
                store.remove(batch.into_iter().map(|delivery| delivery.receipt).collect()).await.unwrap();
            });
        }
    });
    let per_second = f64::from(batches * 10) / took.as_secs_f64();
    row(
        "admissions, batch after batch, 200,000 in line",
        &format!("{per_second:>9.0}/s, written and removed"),
    );
    store.close();
}

/// A poll reads the visitor's admission and the line's status.
fn polls() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let store = open(directory.path());
    let admitted = 200_000;
    for chunk in (1..=admitted).collect::<Vec<_>>().chunks(4096) {
        let chunk = chunk.iter().map(|&n| store.admit(visitor(n).token, admission(n, 1)));
        block_on(try_join_all(chunk)).unwrap();
    }
    for threads in [1u64, 2] {
        let each = 400_000;
        let took = timed(|| {
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let store = &store;
                    scope.spawn(move || {
                        for n in 0..each {
                            // Half of the tokens are admitted.
                            let token = visitor(1 + (n * 7919 + thread) % (2 * admitted)).token;
                            std::hint::black_box((block_on(store.admission(token)).unwrap(), store.status()));
                        }
                    });
                }
            });
        });
        #[expect(clippy::cast_precision_loss, reason = "a few hundred thousand")]
        let per_second = (threads * each) as f64 / took.as_secs_f64();
        row(&format!("polls, {threads} thread(s), 200,000 admitted"), &format!("{per_second:>9.0}/s"));
    }
    store.close();
}

/// Whether joining gets slower as the file grows, and what a crowd takes.
fn crowd(directory: &Path) {
    let store = open(directory);
    let before = resident();
    let each_million: Vec<_> = (0..CROWD / MILLION)
        .map(|million| timed(|| fill(&store, million * MILLION + 1..(million + 1) * MILLION + 1)))
        .collect();
    let (all, slowest) = (each_million.iter().sum::<Duration>(), each_million.iter().max().unwrap());
    let (first, last) = (each_million[0], each_million[each_million.len() - 1]);
    let figure =
        format!("{all:.1?}: the first million {first:.1?}, the last {last:.1?}, the slowest {slowest:.1?}");
    row("ten million join, 4,096 at once", &figure);
    row("… resident per visitor, after they joined", &per_visitor(resident().saturating_sub(before)));
    store.close();
    row("… on disk per visitor", &per_visitor(directory.join("room.redb").metadata().unwrap().len()));

    let itself = std::env::current_exe().unwrap();
    let reopened = |what: &str| {
        let output = Command::new(&itself).arg("--reopen").arg(directory).output().unwrap();
        print!("{}", String::from_utf8(output.stdout).unwrap().replace("WHAT", what));
    };
    reopened("closed");
    let mut joining = Command::new(&itself)
        .arg("--join-until-killed")
        .arg(directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    joining.kill().unwrap();
    joining.wait().unwrap();
    reopened("killed");
}

fn reopen(directory: &Path) {
    let before = resident();
    let mut store = None;
    let took = timed(|| store = Some(open(directory)));
    let store = store.unwrap();
    let waiting = block_on(store.waiting()).unwrap();
    row(&format!("… opened after it was WHAT, {waiting} waiting"), &format!("{took:.1?}"));
    block_on(store.receive(10, Duration::ZERO)).unwrap();
    row("… resident per visitor then", &per_visitor(resident().saturating_sub(before)));
}

fn join_until_killed(directory: &Path) {
    let store = open(directory);
    for n in CROWD + 1.. {
        block_on(store.join(visitor(n))).unwrap();
    }
}

fn fill(store: &EmbeddedStore, visitors: Range<u64>) {
    for first in visitors.clone().step_by(4096) {
        let joining = (first..(first + 4096).min(visitors.end)).map(|n| store.join(visitor(n)));
        block_on(try_join_all(joining)).unwrap();
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// This process's resident memory in bytes, or 0 without /proc.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|kilobytes| kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn per_visitor(bytes: u64) -> String {
    format!("{} bytes", bytes / CROWD)
}

fn row(what: &str, figure: &str) {
    println!("{what:<50}  {figure}");
}
