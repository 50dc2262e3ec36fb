//! What the room promises, on simulated time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails"
)]

mod door;
mod faults;
mod killed;
mod release;
mod schedules;
mod storage;
mod throttling;
