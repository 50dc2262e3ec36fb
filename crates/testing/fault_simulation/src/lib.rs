//! A whole room on a simulated clock, in bad weather, on a disk that forgets what was not synced.
//!
//! The handlers and the store are the real ones. Simulated are time, the storage medium, and the faults
//! between a handler and its ports. A run follows from its seed alone, so whatever goes wrong goes wrong
//! again.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a simulation that cannot go on fails the test that runs it"
)]

mod book;
mod clock;
mod disk;
mod faults;
mod shop;
mod world;

pub use book::{Audit, Book};
pub use clock::SimClock;
pub use disk::SimDisk;
pub use faults::{Call, Faults, Sky, Weathered};
pub use shop::{Health, SimShop};
pub use world::World;
