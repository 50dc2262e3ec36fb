//! Tests of rooms deployed to LocalEmu.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that finds something else fails, and what was measured is worth reading"
)]

/// `cargo xtask test` selects these by their module, and runs them beside other tests. They may take long, and nothing in them
/// depends on how long.
mod plays {
    mod authorizing;
    mod choices;
    mod doctoring;
    mod edged;
    mod first_event;
    mod interrupted;
    mod lifecycle;
    mod operating;
    mod piping;
    mod roles;
    mod updating;
}

/// These measure how soon something happens, or when. They run last and on their own.
mod timed_plays {
    mod after_quiet;
    mod crowded;
    mod rehearsing;
    mod trying;
}
