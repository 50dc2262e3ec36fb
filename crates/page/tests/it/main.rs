//! The page's arithmetic and its decisions in Rust, compared with the page's own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod line;
mod visitor;
