#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that finds something else fails"
)]

mod documents;
mod edge;
mod need;
mod polls;
