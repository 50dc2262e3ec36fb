use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Rate;

/// At most so many visitors in the shop at once, and how long their sessions last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveLimit {
    pub visitors: u32,
    /// How long a visitor may do nothing before their session ends.
    pub idle: Duration,
    /// How long a session lasts at most.
    pub session: Duration,
}

impl ActiveLimit {
    pub const DEFAULT_IDLE: Duration = Duration::from_mins(20);
    pub const DEFAULT_SESSION: Duration = Duration::from_hours(2);
    /// Sessions and admissions last no longer in such a room, so that guards and stores remember all that counts.
    pub const LONGEST: Duration = Duration::from_hours(12);
    /// The largest limit: what a room at the highest rate lets in in an hour.
    pub const MAX: u32 = 60 * Rate::MAX.get();
}
