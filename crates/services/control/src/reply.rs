use std::error::Error;
use std::sync::Arc;

use pass::KeyRecord;
use serde::{Deserialize, Serialize};
use waitroom::ports::PortError;
use waitroom::{AuditEntry, Epoch, MinuteRecord, Room, with_causes};

use crate::helped_visitor::HelpedVisitor;
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
    /// A visitor who asked for help, after the order.
    Visitor {
        visitor: HelpedVisitor,
    },
    /// The keys after the order.
    Keys {
        record: KeyRecord,
    },
    /// `error` completes the sentence "the room …".
    Failed {
        error: String,
        /// Whether the order may have been carried out all the same. An earlier version does not say so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_be_done: bool,
    },
}

impl Reply {
    /// How a change of the room is answered.
    pub(crate) fn changed((before, after): (Arc<Room>, Arc<Room>)) -> Self {
        let [before, after] = [before, after].map(|room| Box::new(Arc::unwrap_or_clone(room)));
        Self::Changed { before, after }
    }

    /// The order was not carried out, for this reason.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), may_be_done: false }
    }

    /// Nobody knows whether the order was carried out.
    pub(crate) fn unsure(error: &PortError) -> Self {
        let cause = error.source().map(with_causes).unwrap_or_default();
        Self::Failed { error: format!("may have carried out the order, or not: {cause}"), may_be_done: true }
    }
}

impl From<PortError> for Reply {
    fn from(error: PortError) -> Self {
        Self::failed(with_causes(&error))
    }
}
