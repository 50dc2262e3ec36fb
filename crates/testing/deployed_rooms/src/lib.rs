//! The room on AWS as an operator deploys it, with what stands in for AWS around it: the real template, by `sam build`
//! and `sam deploy` with the shipped `samconfig.toml`, and the real packages of the functions.
//!
//! | | |
//! | --- | --- |
//! | [`sam`] | builds and deploys stacks |
//! | [`SamRoom`] | a deployed room: its operator's hand, its ledger, its functions |
//! | [`Operator`] | somebody with `beekeeper` and the permissions that the docs name |
//! | [`Crowd`] | people who join it over HTTP, and what became of each |
//!
//! The plays are in `tests/it`. What LocalEmu cannot play is in docs/emulators.md.

#![allow(clippy::panic, reason = "an order that is not obeyed fails the test that gave it")]

mod crowd;
mod laptop;
pub mod sam;
mod sam_room;

pub use crowd::{Crowd, CrowdReport};
pub use laptop::Operator;
pub use rustix::process::Signal;
pub use sam_room::{SamRoom, until};
