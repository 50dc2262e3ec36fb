use serde::Deserialize;
use waitroom::{Epoch, LineStatus, RehearsalMark, RoomState, Timestamp};

/// A poll's answer, as far as it decides what a browser does. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Polled {
    Enter,
    /// Without a valid place in this room.
    Join {
        epoch: Epoch,
        stretch: f64,
    },
    /// Too late: nobody new can join, or nobody is let in any more.
    TurnedAway {
        is_over: bool,
        stretch: f64,
    },
    Wait(ToldWaiting),
}

/// What those hear who wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToldWaiting {
    pub epoch: Epoch,
    pub line: LineStatus,
    /// Not above 0 if the room is open, or does not open by itself.
    pub opens_in: f64,
    pub stretch: f64,
    /// Whether an edge says to everybody how the line stands.
    pub has_edge: bool,
}

/// A poll's answer, as a room of this or an earlier version writes it.
#[derive(Clone, Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are the fields of the answer")]
pub struct PollText {
    allow: bool,
    /// When the admission ends.
    pub until: Option<Timestamp>,
    pub rehearsal: Option<RehearsalMark>,
    epoch: Option<Epoch>,
    #[serde(default)]
    join: bool,
    #[serde(default)]
    late: bool,
    /// A text, because later versions may have other states.
    state: Option<String>,
    opens: Option<Timestamp>,
    stretch: Option<f64>,
    #[serde(default)]
    edge: bool,
    /// When the room said so.
    at: Option<Timestamp>,
    #[serde(flatten)]
    pub line: Option<LineStatus>,
}

impl PollText {
    /// `room_now` is the time by the room's clock. None if something is missing.
    pub fn polled(&self, room_now: Timestamp) -> Option<Polled> {
        if self.allow {
            return Some(Polled::Enter);
        }
        let (epoch, stretch) = (self.epoch?, self.stretch.unwrap_or(1.0));
        let is_over = self.state.as_deref() == Some(RoomState::Ended.as_str());
        if self.late || is_over {
            return Some(Polled::TurnedAway { is_over, stretch });
        }
        if self.join {
            return Some(Polled::Join { epoch, stretch });
        }
        let opens_in = self.opens.map_or(0.0, |opens| opens.since(room_now).as_secs_f64() * 1000.0);
        Some(Polled::Wait(ToldWaiting { epoch, line: self.line?, opens_in, stretch, has_edge: self.edge }))
    }

    /// How old what an edge says is. Nobody believes one that doesn't tell.
    pub fn age(&self, room_now: Timestamp) -> f64 {
        self.at.map_or(f64::INFINITY, |at| room_now.since(at).as_secs_f64() * 1000.0)
    }
}
