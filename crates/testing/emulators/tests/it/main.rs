//! Tests of the emulators.

#![allow(clippy::unwrap_used, reason = "a test that finds something else fails")]

mod boto;
mod distributions;
mod dynamodb;
mod edge;
mod edge_stack;
mod function;
mod function_urls;
mod functions;
mod leading_keys;
mod lifetime;
mod schedule;
mod table;
mod transactions;

use std::thread;
use std::time::{Duration, Instant};

/// Repeats the check until it is true.
fn eventually(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within {patience:?}");
        thread::sleep(Duration::from_millis(100));
    }
}
