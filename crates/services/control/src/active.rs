//! A limit of active visitors: what the operator sees of it, and what contradicts it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use waitroom::ports::PortResult;
use waitroom::{ActiveCount, Room, Timestamp};

use crate::store::OperatorLedger;

/// How many are in the shop, in a room with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveStatus {
    /// How many may be.
    pub limit: u32,
    #[serde(flatten)]
    pub count: ActiveCount,
}

impl ActiveStatus {
    /// Whether no guard reports, or one has not for two minutes. Then nobody knows who has left the shop.
    pub fn misses_guard(&self, now: Timestamp) -> bool {
        self.count.misses_guard(now, Duration::from_mins(1))
    }
}

pub(crate) async fn count(
    ledger: &impl OperatorLedger,
    room: &Room,
    now: Timestamp,
) -> PortResult<Option<ActiveStatus>> {
    let Some(limit) = room.active_limit() else { return Ok(None) };
    let (count, _) = ledger.active(*limit, room.settings.lifetimes, now).await?;
    Ok(Some(ActiveStatus { limit: limit.visitors, count }))
}

/// Why guards need no report key. Completes the sentence "the room ...".
pub(crate) fn counts_nobody(room: &Room) -> Option<String> {
    room.settings.active.is_none().then(|| {
        "has no limit of active visitors, so its guards report nothing; set active_visitors in its file first, and deploy the room \
         or start it again"
            .into()
    })
}
