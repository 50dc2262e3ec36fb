use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Requests that were refused in this minute and the one before, or in the latest two that AWS has counted. Or none yet, but the
/// room can store nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    pub requests: u64,
    /// When the first of them was, or one before it: since then there was no such time without any.
    pub since: Timestamp,
    /// Why the latest was refused, with every cause.
    pub reason: String,
}
