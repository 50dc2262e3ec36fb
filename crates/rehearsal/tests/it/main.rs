//! The plays. Each room is deployed once; all play at the same time, since most of each is waiting for minutes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails, and what was measured is worth reading"
)]

mod choices;
mod conforming;
mod crowded;
mod first_event;
mod lifecycle;
mod operating;
mod roles;
