use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ActiveLimit, Message, Mode, Oversubscription, Rate, RoomId, Title, WebUrl};

/// What the operator decides about a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub room: RoomId,
    pub title: Title,
    pub shop: WebUrl,
    /// The URL that the throttle measures, if not the shop's.
    pub health: Option<WebUrl>,
    pub rate: Rate,
    pub message: Message,
    #[serde(default)]
    pub mode: Mode,
    /// By how much more than the rate may be released, so that as many come.
    #[serde(default)]
    pub oversubscribe: Option<Oversubscription>,
    /// How many may be in the shop at once.
    #[serde(default)]
    pub active: Option<ActiveLimit>,
    /// Whether an edge is in front of the room, which says to everybody how the line stands.
    #[serde(default)]
    pub edge: bool,
    pub lifetimes: Lifetimes,
}

/// How long admissions and passes are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// How long an admitted visitor can come back for a new pass.
    pub admission: Duration,
    /// How long the shop accepts a pass.
    pub pass: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self { admission: hour, pass: hour }
    }
}

impl Settings {
    /// A room with defaults for everything that can be left out.
    pub fn new(room: RoomId, title: Title, shop: WebUrl, rate: Rate) -> Self {
        Self {
            room,
            title,
            shop,
            health: None,
            rate,
            message: Message::default(),
            mode: Mode::default(),
            oversubscribe: None,
            active: None,
            edge: false,
            lifetimes: Lifetimes::default(),
        }
    }

    /// What the throttle measures, and whoever else asks how the shop is.
    pub fn measured(&self) -> &WebUrl {
        self.health.as_ref().unwrap_or(&self.shop)
    }

    /// These settings for a room that ran with others before. What orders change stays as it is there, its rate for one: nobody may
    /// lower or raise it by deploying or starting the room again.
    #[must_use]
    pub fn with_orders_of(self, before: &Self) -> Self {
        Self { rate: before.rate, message: before.message.clone(), mode: before.mode, ..self }
    }
}
