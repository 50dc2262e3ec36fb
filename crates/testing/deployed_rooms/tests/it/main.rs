//! Rooms on LocalEmu, deployed and played through. As many tests run at once as there are processors: most of each is waiting
//! for minutes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails, and what was measured is worth reading"
)]

/// A name by which `cargo xtask test` runs these last, and on their own.
mod plays {
    mod choices;
    mod conforming;
    mod crowded;
    mod first_event;
    mod lifecycle;
    mod operating;
    mod roles;
}
