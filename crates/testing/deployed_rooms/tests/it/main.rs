//! Tests of rooms deployed to LocalEmu.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails, and what was measured is worth reading"
)]

/// `cargo xtask test` selects these tests by this name, and runs them last and on their own.
mod plays {
    mod after_quiet;
    mod authorizing;
    mod choices;
    mod crowded;
    mod doctoring;
    mod first_event;
    mod interrupted;
    mod lifecycle;
    mod operating;
    mod piping;
    mod rehearsing;
    mod roles;
    mod trying;
    mod updating;
}
