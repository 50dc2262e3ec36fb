//! Tests of rooms deployed to LocalEmu. As many tests run at once as there are processors, because each spends most
//! of its minutes waiting.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails, and what was measured is worth reading"
)]

/// `cargo xtask test` selects these tests by this name, and runs them last and on their own.
mod plays {
    mod choices;
    mod conforming;
    mod crowded;
    mod first_event;
    mod lifecycle;
    mod operating;
    mod roles;
}
