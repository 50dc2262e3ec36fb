//! How many visitors one window releases.
//!
//! A [`Plan`] covers one [`Window`] of time under one change of the valve. It consists of slices, one for each consumer, and
//! a slice consists of batches that are released at fixed instants.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Rate, Timestamp};

/// A time of releasing, from `start` up to but not including `end`: about a minute, or less if the valve changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Window {
    /// Whether a wrong clock planned it: it begins too far in the future. `valve_from` is the change of the valve under which it was
    /// planned, and `minute` the time that the rate is meant for.
    pub fn is_of_wrong_clock(self, valve_from: Timestamp, now: Timestamp, minute: Duration) -> bool {
        // An opening is planned two and a half minutes ahead, and any other window a minute.
        let minutes = if self.start == valve_from { 3 } else { 2 };
        self.start > now + minutes * minute
    }
}

/// How many visitors one window releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Plans are numbered in sequence, so that of two concurrent triggers only one can write the next plan.
    pub number: u64,
    pub window: Window,
    /// When the windows before are no longer ahead of their rate, if nobody is released in between. The first batch leaves
    /// then, or with the window if that is later or they are ahead by less than a visitor, and at the latest a minute after
    /// the window's start.
    #[serde(default)]
    pub releases_from: Timestamp,
    /// For how many milliseconds of this rate the windows before were ahead when they ended, so long before `releases_from`.
    /// If this plan is withdrawn, the next one still makes up for it, at its own rate. A plan that needs permits doesn't wait for it,
    /// and leaves it to the one after it.
    #[serde(default)]
    pub ahead: u64,
    /// How many visitors a minute this window releases.
    pub rate: Rate,
    /// The most visitors that this window releases.
    pub quota: u32,
    /// Identifies the change of the valve under which the window was planned. The window ends at the next change.
    #[serde(default)]
    pub valve_from: Timestamp,
    /// Whether the visitors whom it releases need permits, which the doors give to newcomers as well. Then it may release fewer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_permits: bool,
    /// When it was made. Every change of the valve that was in force by then has a plan, or releases nobody.
    #[serde(default)]
    pub made_at: Timestamp,
    /// The latest change of the valve that had a plan when this one was made, and was not withdrawn by then.
    #[serde(default)]
    pub planned_before: Timestamp,
}
