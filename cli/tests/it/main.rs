//! The `beekeeper` command, as a built program.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails"
)]

mod agreement;
mod config;
mod crowd;
mod demonstration;
mod distribution;
mod doctor;
mod edge;
mod guard;
mod help;
mod history;
mod hosting;
mod init;
mod keys;
mod list;
mod local;
mod log;
mod manners;
mod mistyped;
mod narrow;
mod numbers;
mod orders;
mod page;
mod readme;
#[cfg(target_os = "linux")]
mod refusals;
mod rehearse;
mod report;
mod restore;
mod setup;
mod simulate;
mod stock;
mod stopped;
mod straight_in;
mod support;
mod throttle;
mod watch;
