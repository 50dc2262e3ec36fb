//! A whole room on a simulated clock, with injected faults, on a disk that loses what was not synced.
//!
//! The handlers and the store are the real ones. Time, the disk and the faults between a handler and its ports are
//! simulated. A run depends only on its seed, so every failure can be reproduced.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a simulation that cannot continue fails its test"
)]

mod disk;
mod faults;
mod observations;
mod order_tables;
mod sequence;
mod shop;
mod spread;
mod world;
mod world_store;

pub use disk::SimDisk;
pub use faults::{FaultInjector, FaultyPorts, InjectedFault, PortCall, every};
pub use observations::{Observations, SimOutcome};
pub use order_tables::{OrderRow, OrderTable};
pub use sequence::{Meanwhile, PollPace, SequenceReport, SequenceRun, SimCrowd};
pub use shop::{ShopHealth, SimShop};
pub use spread::Spread;
pub use world::World;
