//! The guard with a room's keys, virtual time and browsers that keep cookies.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that finds something else fails; clippy knows only functions with #[test]"
)]

mod active_visitors;
mod attacks;
mod authorizer;
mod binding;
mod circles;
mod fixture;
mod frozen;
mod layer;
mod slow_room;
mod unreachable;
mod walk;
