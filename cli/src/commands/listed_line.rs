//! How a room does, in the list of all rooms.

use control::Status;
use document::words;
use waitroom::{RoomState, Timestamp};

/// The state of a room that runs, and how many wait.
pub(crate) struct ListedLine {
    pub(crate) state: RoomState,
    pub(crate) opens: Option<Timestamp>,
    pub(crate) waiting: u64,
}

impl ListedLine {
    pub(crate) fn of(status: &Status) -> Self {
        Self { state: status.room.state, opens: status.room.opens, waiting: status.line.waiting }
    }

    pub(crate) fn text(&self) -> String {
        let opens = self.opens.map(|opens| format!(", opens {}", words::at(opens))).unwrap_or_default();
        format!("{}{opens}, {} waiting", self.state, self.waiting)
    }
}

/// How it does on AWS.
pub(crate) enum Deployed {
    No,
    /// The line is none if it could not be read.
    #[cfg_attr(not(feature = "aws"), allow(dead_code, reason = "without AWS, no room is deployed"))]
    Yes(Option<ListedLine>),
    /// The account could not be asked.
    Unknown,
}
