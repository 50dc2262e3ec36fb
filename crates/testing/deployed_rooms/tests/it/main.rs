//! The plays. As many at the same time as there are processors: most of each is waiting for minutes, and orders are to be
//! in force within seconds.

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
