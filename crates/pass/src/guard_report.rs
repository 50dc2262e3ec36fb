//! What a shop's guard and a room with a limit of active visitors tell each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Whom a guard counts in its shop: everything that it knows, so that a report that is lost is made up for by the next one.
///
/// It is sent by `POST` to the room's door, with the room's report key as a bearer token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    /// Which guard this is, for as long as it has its sessions: one that has lost them is another.
    pub guard: GuardName,
    /// When it was made, in milliseconds since 1970 by the guard's clock.
    pub made: u64,
    /// How many sessions are live.
    pub live: u64,
    /// How many of the room's visitors have opened a session here, whether it is live or not, by the [window](crate::Claims::window)
    /// that released them. Those of [`SessionRules::counted`] at least.
    pub opened: BTreeMap<u64, u64>,
}

/// 16 to 64 letters, digits, hyphens and underscores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GuardName(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a guard's name is 16 to 64 letters, digits, hyphens and underscores")]
pub struct GuardNameError;

/// The room's answer to a report: how long sessions last, in seconds. The room's operator says so in one place for all guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRules {
    /// How long a visitor may do nothing.
    pub idle: u64,
    /// How long a session lasts at most.
    pub session: u64,
    /// For how long after a session was opened a report has to count it.
    pub counted: u64,
}

impl SessionRules {
    /// How many seconds a guard waits after a report before it sends the next one.
    pub const REPORTED_EVERY: u64 = 10;
    /// How many seconds old a report may be when the room gets it. The room refuses an older one with status 409.
    pub const LONGEST_WAY: u64 = 30;
    /// The parameter of `GET /beekeeper` by which a guard sends back a visitor whose session has ended: the subject of their pass. The
    /// room then gives them a new place, because their admission is used up.
    pub const AGAIN: &str = "again";
}

impl GuardName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GuardName {
    type Error = GuardNameError;

    fn try_from(text: String) -> Result<Self, GuardNameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let valid = (16..=64).contains(&text.len()) && text.bytes().all(allowed);
        valid.then_some(Self(text)).ok_or(GuardNameError)
    }
}

impl From<GuardName> for String {
    fn from(name: GuardName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_json() {
        let guard = GuardName::try_from("0123456789abcdef".to_owned()).unwrap();
        let report =
            GuardReport { guard, made: 1_800_000_000_000, live: 17, opened: BTreeMap::from([(4711, 20)]) };
        let text = json!({
            "guard": "0123456789abcdef", "made": 1_800_000_000_000_u64, "live": 17, "opened": { "4711": 20 },
        });
        assert_eq!(serde_json::to_value(&report).unwrap(), text);
        assert_eq!(serde_json::from_str::<GuardReport>(&text.to_string()).unwrap(), report);
    }

    #[test]
    fn a_guards_name_can_stand_anywhere() {
        for wrong in ["", "short", "0123456789abcde.", &"a".repeat(65)] {
            assert_eq!(GuardName::try_from(wrong.to_owned()), Err(GuardNameError), "{wrong}");
        }
    }
}
