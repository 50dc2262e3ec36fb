//! Tests of a room on AWS as an operator deploys it, with LocalEmu in place of AWS. They deploy the real template
//! and the real function packages, with `sam build`, `sam deploy` and the shipped `samconfig.toml`.
//!
//! | | |
//! | --- | --- |
//! | [`sam`] | builds and deploys stacks |
//! | [`Stage`] | a deployed room: its operator's commands, its ledger, its functions |
//! | [`SamRoom`] | a room that `sam` deployed to LocalEmu, and whose functions can be killed |
//! | [`Operator`] | an operator with `beekeeper` and the permissions that the docs list |
//! | [`trial`] | the same in a real AWS account: `cargo xtask try-aws` |
//! | [`JoinedCrowd`] | visitors who join a room over HTTP, and what happened to each |
//!
//! The tests are in `tests/it/plays` and `tests/it/timed_plays`. docs/emulators.md lists what LocalEmu cannot emulate.

#![allow(clippy::panic, reason = "an order that is not obeyed fails the test that gave it")]

mod crowd;
mod laptop;
mod operator_policies;
pub mod sam;
mod sam_room;
mod stage;
pub mod trial;

pub use crowd::{CrowdReport, JoinedCrowd};
pub use laptop::{Laptop, Operator, Running};
pub use rustix::process::Signal;
pub use sam_room::SamRoom;
pub use stage::{Stage, until};
