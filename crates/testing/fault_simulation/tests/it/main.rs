//! The room's guarantees under faults, on simulated time, and on a real process that is killed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail by panicking"
)]

mod active;
mod clock;
mod closing;
mod door;
mod extra;
mod faults;
mod help;
mod keys;
mod killed;
mod numbers;
mod observe;
mod openings;
mod orders;
mod receipts;
mod release;
mod schedules;
mod sequence;
mod stock;
mod storage;
mod straight_in;
mod throttle_table;
mod throttling;
mod turnout;
