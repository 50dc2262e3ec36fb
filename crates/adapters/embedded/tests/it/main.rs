//! The embedded store against the ports' contracts, and what it promises beyond them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that finds something else fails"
)]

mod contracts;
mod fixture;
mod room;
mod support;
mod sweeping;
