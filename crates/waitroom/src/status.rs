use serde::{Deserialize, Serialize};

use crate::{Rate, Room};

/// How far the line has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineProgress {
    /// The ticket that the line has reached: the highest, over batches, of a batch's lowest ticket, so that
    /// one message that strayed forward does not make thousands believe they were passed.
    pub served: u64,
    /// How many visitors the line has released in this epoch.
    pub released: u64,
}

/// What everybody who waits is told about the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineStatus {
    pub served: u64,
    pub waiting: u64,
    /// The rate in force.
    pub rate: Rate,
    /// Whether the throttle holds it down: for a moment, the line moves slower than the operator wants.
    pub slow: bool,
}

impl LineStatus {
    pub fn of(room: &Room, served: u64, waiting: u64) -> Self {
        Self { served, waiting, rate: room.rate(), slow: room.is_slowed() }
    }
}
