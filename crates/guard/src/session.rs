use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use pass::{PassError, ProofKey, Prover, random_text};

use crate::bytes::{self, Bytes};

/// The guard's own key. It makes sessions that nobody can write or change. Guards in front of one shop share it.
///
/// Whoever has it can make sessions. It is never printed.
#[derive(Debug)]
pub struct SessionKey(Prover);

/// A text that is no [`SessionKey`].
#[derive(Debug, thiserror::Error)]
#[error(
    "a session key is one line of 43 characters; copy it from another guard of this shop, or make a new one, which ends all sessions"
)]
pub struct SessionKeyError;

/// One session of a visitor: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(Bytes);

/// The cookie that a session was found in, `NAME=VALUE`.
///
/// Whoever has it has the session. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCookie(String);

/// What the cookie of a visitor who was let in says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) subject: String,
    pub(crate) number: Option<u64>,
    pub(crate) opened: u64,
}

impl SessionKey {
    /// A new key: 43 characters, one line of a file.
    pub fn generate() -> Result<String, PassError> {
        random_text()
    }

    /// Fails if this is not a key as [`SessionKey::generate`] makes it.
    pub fn new(text: &str) -> Result<Self, SessionKeyError> {
        // The form of a proof key is a JSON string.
        let key = serde_json::from_value::<ProofKey>(text.trim().into()).ok();
        key.and_then(|key| key.prover().ok()).map(Self).ok_or(SessionKeyError)
    }

    /// A proof of one room is none of another, although guards may share the key.
    fn proven_text(room: &str, session: &str) -> String {
        format!("session {room} {session}")
    }
}

impl SessionCookie {
    pub(crate) fn new(name: &str, value: &str) -> Self {
        Self(format!("{name}={value}"))
    }

    /// Whether it is this text, byte for byte. Then a web server may, for a moment, answer everybody who has this text alike.
    pub fn is(&self, text: &[u8]) -> bool {
        self.0.as_bytes() == text
    }
}

impl fmt::Debug for SessionCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionCookie(…)")
    }
}

impl SessionId {
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bytes::encode(self.0))
    }
}

/// Only the beginning, so that a log gives nobody's session away.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

impl FromStr for SessionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        bytes::decode(text).map(Self).ok_or(())
    }
}

impl Session {
    /// The cookie's value: `session.ID.SUBJECT.NUMBER.OPENED.PROOF`.
    pub(crate) fn seal(&self, key: &SessionKey, room: &str) -> String {
        let number = self.number.map(|number| number.to_string()).unwrap_or_default();
        let text = format!("session.{}.{}.{number}.{}", self.id, self.subject, self.opened);
        let proof = key.0.prove(&SessionKey::proven_text(room, &text));
        format!("{text}.{proof}")
    }

    /// The first session in these cookies that the guard wrote, and that has not lasted longer than this; and the value that says so.
    pub(crate) fn find<'a>(
        mut cookies: impl Iterator<Item = &'a str>,
        key: &SessionKey,
        room: &str,
        longest: Duration,
        now: u64,
    ) -> Option<(Self, &'a str)> {
        let lasts = |session: &Self| now < session.end(longest);
        cookies.find_map(|value| Some((Self::unseal(value, key, room).filter(lasts)?, value)))
    }

    /// When it ends, however active the visitor is.
    pub(crate) fn end(&self, longest: Duration) -> u64 {
        self.opened.saturating_add(longest.as_secs())
    }

    /// The session in a cookie, if the guard wrote it.
    pub(crate) fn unseal(value: &str, key: &SessionKey, room: &str) -> Option<Self> {
        const LONGEST: usize = 400;
        if value.len() > LONGEST {
            return None;
        }
        let (text, proof) = value.rsplit_once('.')?;
        if !key.0.is_proven(&SessionKey::proven_text(room, text), proof) {
            return None;
        }
        let mut parts = text.split('.');
        let (Some("session"), Some(id), Some(subject), Some(number), Some(opened), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
        Some(Self { id: id.parse().ok()?, subject: subject.into(), number, opened: opened.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session() -> Session {
        Session {
            id: SessionId::from_bytes([7; 16]),
            subject: "ab".repeat(32),
            number: Some(4711),
            opened: 1_800_000_000,
        }
    }

    fn key() -> SessionKey {
        SessionKey::new(&SessionKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_session_is_read_as_it_was_written() {
        let key = key();
        for session in [session(), Session { number: None, ..session() }] {
            assert_eq!(Session::unseal(&session.seal(&key, "sale"), &key, "sale"), Some(session));
        }
        assert!(session().seal(&key, "sale").len() < 250, "every request carries it");
        let shown = format!("{key:?} {:?} {:?}", session().id, SessionCookie::new("guard", "070707"));
        assert!(!shown.contains("070707"), "nobody's session is in a log");
    }

    #[test]
    fn another_key_and_another_room_are_refused() {
        let (ours, theirs) = (key(), key());
        let value = session().seal(&ours, "sale");
        assert_eq!(Session::unseal(&value, &theirs, "sale"), None);
        assert_eq!(Session::unseal(&value, &ours, "other"), None);
        for damaged in ["", "AAAA", "not base64!"] {
            let error = SessionKey::new(damaged).unwrap_err().to_string();
            assert!(error.starts_with("a session key is one line of 43 characters"), "{damaged}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_session_with_any_changed_character_is_refused(at in 0..200_usize, to in "[ -~]") {
            let key = key();
            let value = session().seal(&key, "sale");
            let at = at % value.len();
            let changed = format!("{}{to}{}", &value[..at], &value[at + 1..]);
            // The last character of base64 has bits that count for nothing; the decoder refuses them.
            prop_assert_eq!(Session::unseal(&changed, &key, "sale").is_some(), changed == value);
        }

        #[test]
        fn nothing_else_is_a_session(value in prop_oneof![".*", "session(\\.[a-zA-Z0-9_-]{0,64}){0,8}"]) {
            prop_assert_eq!(Session::unseal(&value, &key(), "sale"), None);
        }
    }
}
