use std::sync::Arc;

use pass::KeyRecord;
use serde::{Deserialize, Serialize};
use waitroom::ports::PortError;
use waitroom::{AuditEntry, Epoch, MinuteRecord, Room, with_causes};

use crate::status::Status;

/// How a room replies to an [`Order`](crate::Order). In JSON: `{"reply": "failed", "error": "…"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    Status(Box<Status>),
    /// `lost_places` is how many waited in the epoch before.
    Reset {
        lost_places: u64,
        before: Epoch,
        after: Epoch,
    },
    /// The room before and after the order.
    Changed {
        before: Box<Room>,
        after: Box<Room>,
    },
    /// Oldest first.
    History {
        entries: Vec<AuditEntry>,
    },
    /// Oldest first, after the record before the first minute.
    Minutes {
        records: Vec<MinuteRecord>,
    },
    /// The keys after the order.
    Keys {
        record: KeyRecord,
    },
    Failed {
        error: String,
    },
}

impl Reply {
    /// How a change of the room is answered.
    pub(crate) fn changed((before, after): (Arc<Room>, Arc<Room>)) -> Self {
        let [before, after] = [before, after].map(|room| Box::new(Arc::unwrap_or_clone(room)));
        Self::Changed { before, after }
    }
}

impl From<PortError> for Reply {
    fn from(error: PortError) -> Self {
        Self::Failed { error: with_causes(&error) }
    }
}
