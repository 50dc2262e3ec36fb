//! `beekeeper local`, from outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails"
)]

mod crowd;
mod local;
mod page;
mod readme;
mod support;
mod throttle;
