//! Runs the ports' contracts on the embedded store, and tests what it guarantees beyond them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that finds something else fails"
)]

mod audit;
mod backup;
mod contracts;
mod fixture;
mod history;
mod restore;
mod room;
mod support;
mod sweeping;
