//! What a shop's guard and a room with a limit of active visitors tell each other.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{PassError, is_word, random_text, sha256_hex};

/// Whom a guard counts in its shop: everything that it knows, so that a report that is lost is made up for by the next one.
///
/// It is sent by `POST` to [`GuardReport::PATH`] below the room's URL, with the room's [report key](ReportKey) in the header [`GuardReport::KEY`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    /// Which guard this is, for as long as it has its sessions: one that has lost them is another.
    pub guard: GuardName,
    /// When it was made, in milliseconds since 1970 by the guard's clock.
    pub made: u64,
    /// For how many seconds after it was signed a pass opens a session here.
    pub pass: u64,
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

impl GuardReport {
    pub const PATH: &str = "/guard";
    /// The header with the report key. Not `Authorization`: there an edge on AWS shows the room's function that it may ask.
    pub const KEY: &str = "beekeeper-key";
    /// The header with the hash of the body, SHA-256 in hexadecimal digits. An edge on AWS passes on no body without it.
    pub const BODY_HASH: &str = "x-amz-content-sha256";
}

/// What a guard shows a room, so that nobody else reports. The room keeps only its digest.
#[derive(Clone)]
pub struct ReportKey(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportKeyError {
    #[error("it is empty")]
    Empty,
    #[error("a report key is one line of letters, digits, - and _")]
    NotOneLine,
}

/// The digest of a report key: 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReportKeyDigest(String);

impl ReportKey {
    pub fn generate() -> Result<Self, PassError> {
        random_text().map(Self)
    }

    /// 43 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> ReportKeyDigest {
        ReportKeyDigest(sha256_hex(self.0.as_bytes()))
    }
}

impl ReportKeyDigest {
    /// As it was stored.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the key. How long the comparison takes tells only of its digest.
    pub fn is_of(&self, key: &str) -> bool {
        sha256_hex(key.as_bytes()) == self.0
    }

    /// Its first characters, by which an operator tells two keys apart.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or_default()
    }
}

impl FromStr for ReportKey {
    type Err = ReportKeyError;

    /// As a file has it: with an end of line.
    fn from_str(text: &str) -> Result<Self, ReportKeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ReportKeyError::Empty);
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        plain.then(|| Self(text.into())).ok_or(ReportKeyError::NotOneLine)
    }
}

impl fmt::Debug for ReportKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportKey(…)")
    }
}

impl GuardName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GuardName {
    type Error = GuardNameError;

    fn try_from(text: String) -> Result<Self, GuardNameError> {
        let valid = (16..=64).contains(&text.len()) && is_word(&text);
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
        let report = GuardReport {
            guard,
            made: 1_800_000_000_000,
            pass: 300,
            live: 17,
            opened: BTreeMap::from([(4711, 20)]),
        };
        let text = json!({
            "guard": "0123456789abcdef", "made": 1_800_000_000_000_u64, "pass": 300, "live": 17, "opened": { "4711": 20 },
        });
        assert_eq!(serde_json::to_value(&report).unwrap(), text);
        assert_eq!(serde_json::from_str::<GuardReport>(&text.to_string()).unwrap(), report);
    }

    #[test]
    fn a_report_key_is_one_line_of_a_file() {
        let key = ReportKey::generate().unwrap();
        let read: ReportKey = format!("{}\r\n", key.as_str()).parse().unwrap();
        assert_eq!(read.digest(), key.digest());
        assert_eq!("\n \n".parse::<ReportKey>().unwrap_err(), ReportKeyError::Empty);
        for wrong in ["two lines\nof it", "a\tb", "schlüssel"] {
            assert_eq!(wrong.parse::<ReportKey>().unwrap_err(), ReportKeyError::NotOneLine, "{wrong}");
        }
    }

    #[test]
    fn a_room_knows_a_report_key_by_its_digest() {
        let (key, other) = (ReportKey::generate().unwrap(), ReportKey::generate().unwrap());
        assert!(key.digest().is_of(key.as_str()));
        assert!(!key.digest().is_of(other.as_str()) && !key.digest().is_of(""));
        assert_eq!(
            (key.as_str().len(), key.digest().short().len(), format!("{key:?}").as_str()),
            (43, 8, "ReportKey(…)")
        );
    }

    #[test]
    fn a_guards_name_can_stand_anywhere() {
        for wrong in ["", "short", "0123456789abcde.", &"a".repeat(65)] {
            assert_eq!(GuardName::try_from(wrong.to_owned()), Err(GuardNameError), "{wrong}");
        }
    }
}
