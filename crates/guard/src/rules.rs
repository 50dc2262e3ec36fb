use std::time::Duration;

use crate::{Bypass, OneSession, WhenUnreachable};

/// What the shop's operator decides.
#[derive(Clone, Debug)]
pub struct GuardRules {
    /// The room's URL without a slash at the end. It is the issuer of its passes, and its door is below it.
    pub room: String,
    /// The room's short name, the audience of its passes.
    pub name: String,
    /// Whether visitors reach the shop by https. Only a test on this machine may do without.
    pub https: bool,
    pub times: GuardTimes,
    pub one_session: OneSession,
    /// Whether a pass opens the shop only to the browser that was sent for it.
    pub binds: bool,
    pub bypass: Bypass,
    pub unreachable: WhenUnreachable,
}

/// How long things last, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardTimes {
    /// How old a pass may be when it is exchanged. The room may say less, by the pass's own end.
    pub pass: Duration,
    /// How long a visitor may do nothing. A session that is used lives on, until the full minute after this.
    pub idle: Duration,
    /// How long a session lasts at most, however active the visitor is.
    pub session: Duration,
}

impl Default for GuardTimes {
    fn default() -> Self {
        Self { pass: Duration::from_mins(5), idle: Duration::from_mins(20), session: Duration::from_hours(2) }
    }
}

impl GuardRules {
    /// The rules for this room, with defaults for everything that can be left out. A slash at the end of the URL is removed.
    pub fn new(room: &str, name: &str) -> Self {
        Self {
            room: room.trim_end_matches('/').into(),
            name: name.into(),
            https: true,
            times: GuardTimes::default(),
            one_session: OneSession::default(),
            binds: false,
            bypass: Bypass::default(),
            unreachable: WhenUnreachable::default(),
        }
    }

    /// Where the room publishes its keys.
    pub fn keys_url(&self) -> String {
        format!("{}/.well-known/jwks.json", self.room)
    }

    pub(crate) fn door(&self) -> String {
        format!("{}/beekeeper", self.room)
    }
}
