use serde::{Deserialize, Serialize};

use crate::{Rate, Room};

/// How far the line has come in this epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineProgress {
    /// The ticket that the line has reached: the highest [estimate](crate::ReachEstimate) of a slice.
    #[serde(rename = "served")]
    pub reached: u64,
    /// Visitors with lower tickets were [overtaken](crate::overtaken_before).
    #[serde(default, rename = "passed")]
    pub overtaken: u64,
    /// How many visitors were released.
    pub released: u64,
    /// How many places from their turn visitors leave the line: the latest [estimate](crate::DisorderEstimate) of the first
    /// slice.
    #[serde(default)]
    pub disorder: u64,
}

/// The part of the progress that tells visitors where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineReach {
    pub reached: u64,
    pub overtaken: u64,
    pub disorder: u64,
}

impl LineProgress {
    pub fn reach(&self) -> LineReach {
        LineReach { reached: self.reached, overtaken: self.overtaken, disorder: self.disorder }
    }
}

/// What polls publish about the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineStatus {
    #[serde(rename = "served")]
    pub reached: u64,
    #[serde(default, rename = "passed")]
    pub overtaken: u64,
    /// How many places from their turn visitors leave the line.
    #[serde(default)]
    pub disorder: u64,
    pub waiting: u64,
    /// At how many a minute the line moves: the rate in force, or what a full shop leaves of it.
    pub rate: Rate,
    /// Whether the throttle or a full shop makes the line move slower than the operator wants.
    pub slow: bool,
    /// How many more are let in before the room ends, if it has a [stock](crate::Stock).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

impl LineStatus {
    pub fn of(room: &Room, reach: LineReach, waiting: u64, left: Option<u32>) -> Self {
        let LineReach { reached, overtaken, disorder } = reach;
        Self {
            reached,
            overtaken,
            disorder,
            waiting,
            rate: room.pace_of_line(),
            slow: room.moves_slower(),
            left,
        }
    }
}
