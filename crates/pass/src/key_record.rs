//! Which keys a room publishes, and when it signs with which.
//!
//! ```text
//! key 1   ── signs ─────────────────────┐── published ──┐ gone
//! key 2          published ─ LEAD_TIME ─┘── signs ──────────────
//! ```
//!
//! At every instant at most one key signs. A new key is published [`LEAD_TIME`](KeyRecord::LEAD_TIME) before it signs, so that
//! everybody who keeps the published keys for a while has read it by then, or longer if the operator asked for that. The key
//! before it stays published until the last pass that it has signed has expired.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Jwk, Jwks};

/// The published keys, and the number of the key that the operator asked for. It has no private key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Increases with every write.
    pub version: u64,
    /// The number of the newest key that was ever published. Numbers begin at 1.
    made: u64,
    /// The number of the key that the operator asked for. It is made when this is larger than `made`.
    asked: u64,
    /// How many seconds before it signs that key is published, if the operator wants more than the usual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lead_seconds: Option<u64>,
    /// The published keys, oldest first.
    keys: Vec<PublishedKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedKey {
    pub number: u64,
    pub jwk: Jwk,
    /// When it was published. `None` for the key of a room that did not record it then.
    pub since: Option<u64>,
    pub signs_from: u64,
    /// From when on another key signs.
    pub signs_until: Option<u64>,
    /// From when on it need not be published.
    pub published_until: Option<u64>,
}

/// What a room does with one of its published keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyState {
    /// It will sign.
    Next,
    Signing,
    /// It has signed passes that may still be valid.
    Retired,
}

/// Why an order about the keys is refused. Completes the sentence "the room …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    #[error("has no keys yet; it makes its first when it starts, or when its first visitor comes")]
    NoKeys,
    #[error("is changing to another key already; `beekeeper keys list` shows when it signs with it")]
    Rotating,
    #[error("publishes no key whose id begins with {0}; `beekeeper keys list` shows all")]
    Unknown(String),
    #[error("publishes several keys whose ids begin with {0}; give more of the id")]
    Ambiguous(String),
}

impl PublishedKey {
    fn signs(&self, now: u64) -> bool {
        self.signs_from <= now && self.signs_until.is_none_or(|until| now < until)
    }

    pub fn state(&self, now: u64) -> KeyState {
        if self.signs(now) {
            KeyState::Signing
        } else if now < self.signs_from {
            KeyState::Next
        } else {
            KeyState::Retired
        }
    }
}

impl KeyRecord {
    /// A key is published this long before it signs: shops may keep the published keys for five minutes, and their clocks may
    /// be a little off.
    pub const LEAD_TIME: Duration = Duration::from_mins(6);
    /// How much longer than the last pass a key stays published: for clocks that are off, and for a producer that learns
    /// of a change a few seconds later.
    const SLACK: Duration = Duration::from_mins(1);

    /// The record of a room that has published these keys without one.
    pub fn before_records(published: &Jwks) -> Self {
        let Some(jwk) = published.keys.first().cloned() else { return Self::default() };
        let key = PublishedKey {
            number: 1,
            jwk,
            since: None,
            signs_from: 0,
            signs_until: None,
            published_until: None,
        };
        Self { version: 0, made: 1, asked: 1, lead_seconds: None, keys: vec![key] }
    }

    pub fn keys(&self) -> &[PublishedKey] {
        &self.keys
    }

    /// The public keys, as the room serves them.
    pub fn jwks(&self) -> Jwks {
        Jwks { keys: self.keys.iter().map(|key| key.jwk.clone()).collect() }
    }

    pub fn signing(&self, now: u64) -> Option<&PublishedKey> {
        self.keys.iter().find(|key| key.signs(now))
    }

    /// Whether the operator asked for a key that is not yet made.
    pub fn is_asked_for_another(&self) -> bool {
        self.asked > self.made
    }

    /// How long before it signs the key that the operator asked for is published.
    pub fn lead_time(&self) -> Duration {
        self.lead_seconds.map_or(Self::LEAD_TIME, Duration::from_secs).max(Self::LEAD_TIME)
    }

    /// The number of the next key that is made.
    pub fn next_number(&self) -> u64 {
        self.made.saturating_add(1)
    }

    /// Whether the private key with this number may still be needed.
    pub fn needs(&self, number: u64) -> bool {
        number >= self.made || self.keys.iter().any(|key| key.number == number)
    }

    /// Publishes the next key. It signs at once if no other key does, and otherwise after its [lead time](Self::lead_time).
    /// `pass_lifetime` is how long passes are valid that the key before it signs.
    pub fn publish(&mut self, jwk: Jwk, pass_lifetime: Duration, now: u64) {
        let lead_time = if self.signing(now).is_some() { self.lead_time().as_secs() } else { 0 };
        self.lead_seconds = None;
        let signs_from = now.saturating_add(lead_time);
        self.retire_all(pass_lifetime, signs_from);
        self.made = self.next_number();
        self.asked = self.asked.max(self.made);
        let (number, since) = (self.made, Some(now));
        self.keys.push(PublishedKey {
            number,
            jwk,
            since,
            signs_from,
            signs_until: None,
            published_until: None,
        });
    }

    /// Signs no longer with any key, because the private key is lost. What it has signed stays valid.
    pub fn retire_all(&mut self, pass_lifetime: Duration, at: u64) {
        let published_until = at.saturating_add((pass_lifetime + Self::SLACK).as_secs());
        for key in self.keys.iter_mut().filter(|key| key.signs_until.is_none_or(|until| until > at)) {
            key.signs_until = Some(at.max(key.signs_from));
            key.published_until = Some(published_until);
        }
    }

    /// Removes the keys whose last pass has expired. Returns whether there were any.
    pub fn prune(&mut self, now: u64) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| key.published_until.is_none_or(|until| now < until));
        self.keys.len() < before
    }

    /// Asks for another key, which is published so long before it signs, and no shorter than
    /// [`LEAD_TIME`](Self::LEAD_TIME). Whoever signs passes makes it.
    pub fn rotate(&mut self, lead_time: Duration, now: u64) -> Result<(), KeyRefusal> {
        if self.keys.is_empty() {
            return Err(KeyRefusal::NoKeys);
        }
        if self.is_asked_for_another() || self.keys.iter().any(|key| key.state(now) == KeyState::Next) {
            return Err(KeyRefusal::Rotating);
        }
        self.asked = self.next_number();
        self.lead_seconds = Some(lead_time.as_secs()).filter(|seconds| *seconds > Self::LEAD_TIME.as_secs());
        Ok(())
    }

    /// The key whose id begins with `id`. One id in 64 begins with a hyphen, which a command line takes for a flag's, so it may
    /// be left out.
    pub fn find(&self, id: &str) -> Result<&PublishedKey, KeyRefusal> {
        let mut found = self.keys.iter().filter(|key| {
            let kid = key.jwk.kid();
            kid.starts_with(id) || kid.trim_start_matches('-').starts_with(id)
        });
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(KeyRefusal::Ambiguous(id.into())),
            (None, _) => Err(KeyRefusal::Unknown(id.into())),
        }
    }

    /// Unpublishes a key at once, and returns its id. Passes that it has signed are refused by everybody who reads the
    /// published keys again. If it was the one that signs, the next key signs at once; if there is none, whoever signs the
    /// next pass makes one.
    pub fn remove(&mut self, id: &str, now: u64) -> Result<String, KeyRefusal> {
        let key = self.find(id)?;
        let (removed, state) = (key.clone(), key.state(now));
        self.keys.retain(|key| key.number != removed.number);
        match state {
            KeyState::Signing => {
                for next in self.keys.iter_mut().filter(|key| key.state(now) == KeyState::Next) {
                    next.signs_from = now;
                }
            }
            // The key before it goes on.
            KeyState::Next => {
                for before in &mut self.keys {
                    if before.signs_until == Some(removed.signs_from) {
                        (before.signs_until, before.published_until) = (None, None);
                    }
                }
            }
            KeyState::Retired => {}
        }
        Ok(removed.jwk.kid().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const LEAD_TIME: u64 = KeyRecord::LEAD_TIME.as_secs();
    /// How long after it has stopped signing a key is published.
    const KEPT: u64 = 3600 + 60;

    fn jwk(name: u8) -> Jwk {
        Jwk::new(&[name; 4], &[1, 0, 1])
    }

    fn kid(name: u8) -> String {
        jwk(name).kid().to_owned()
    }

    /// A room whose key 1 has signed since 1000.
    fn record() -> KeyRecord {
        let mut record = KeyRecord::default();
        record.publish(jwk(1), HOUR, 1000);
        record
    }

    fn states(record: &KeyRecord, now: u64) -> Vec<(u64, KeyState)> {
        record.keys().iter().map(|key| (key.number, key.state(now))).collect()
    }

    #[test]
    fn the_first_key_signs_at_once() {
        assert_eq!(record().signing(999), None);
        assert_eq!(record().signing(1000).unwrap().jwk, jwk(1));
        assert_eq!((record().next_number(), record().is_asked_for_another()), (2, false));
    }

    #[test]
    fn the_next_key_is_published_before_it_signs_and_the_one_before_until_its_passes_have_expired() {
        let mut record = record();
        record.rotate(Duration::ZERO, 2000).unwrap();
        assert!(record.is_asked_for_another());
        record.publish(jwk(2), HOUR, 2100);
        assert!(!record.is_asked_for_another());
        let signs = 2100 + LEAD_TIME;
        assert_eq!(states(&record, signs - 1), [(1, KeyState::Signing), (2, KeyState::Next)]);
        assert_eq!(states(&record, signs), [(1, KeyState::Retired), (2, KeyState::Signing)]);
        assert_eq!(record.jwks().keys, [jwk(1), jwk(2)]);
        assert!(!record.prune(signs + KEPT - 1));
        assert!(record.prune(signs + KEPT));
        assert_eq!(states(&record, signs + KEPT), [(2, KeyState::Signing)]);
    }

    #[test]
    fn the_operator_may_have_the_next_key_published_for_longer() {
        let two_hours = 2 * HOUR;
        let mut record = record();
        record.rotate(two_hours, 2000).unwrap();
        assert_eq!(record.lead_time(), two_hours);
        // The record is stored before a producer makes the key.
        let stored = serde_json::to_string(&record).unwrap();
        let mut record: KeyRecord = serde_json::from_str(&stored).unwrap();
        record.publish(jwk(2), HOUR, 2100);
        let signs = 2100 + two_hours.as_secs();
        assert_eq!(states(&record, signs - 1), [(1, KeyState::Signing), (2, KeyState::Next)]);
        assert_eq!(states(&record, signs), [(1, KeyState::Retired), (2, KeyState::Signing)]);
        assert!(!record.prune(signs + KEPT - 1) && record.prune(signs + KEPT));
        // The next one is asked for anew.
        record.rotate(Duration::ZERO, signs + KEPT).unwrap();
        assert_eq!(record.lead_time(), KeyRecord::LEAD_TIME, "never shorter");
    }

    #[test]
    fn a_key_that_replaces_a_lost_one_waits_for_nobody() {
        let mut record = record();
        record.rotate(2 * HOUR, 2000).unwrap();
        record.retire_all(HOUR, 2010);
        record.publish(jwk(2), HOUR, 2010);
        assert_eq!(record.signing(2010).unwrap().number, 2);
        record.publish(jwk(3), HOUR, 3000);
        assert_eq!(
            states(&record, 3000 + LEAD_TIME).last(),
            Some(&(3, KeyState::Signing)),
            "asked for no longer"
        );
    }

    #[test]
    fn a_room_changes_to_one_key_at_a_time() {
        assert_eq!(KeyRecord::default().rotate(Duration::ZERO, 0), Err(KeyRefusal::NoKeys));
        let mut record = record();
        record.rotate(Duration::ZERO, 2000).unwrap();
        assert_eq!(record.rotate(Duration::ZERO, 2001), Err(KeyRefusal::Rotating));
        record.publish(jwk(2), HOUR, 2002);
        assert_eq!(record.rotate(Duration::ZERO, 2002 + LEAD_TIME - 1), Err(KeyRefusal::Rotating));
        assert_eq!(record.rotate(Duration::ZERO, 2002 + LEAD_TIME), Ok(()));
    }

    #[test]
    fn a_removed_signing_key_leaves_the_next_one_or_none() {
        let mut only = record();
        assert_eq!(only.remove(&kid(1), 2000), Ok(kid(1)));
        assert_eq!((only.signing(2000), only.jwks().keys.len()), (None, 0));
        only.publish(jwk(2), HOUR, 2001);
        assert_eq!(states(&only, 2001), [(2, KeyState::Signing)], "nobody has to wait for it");

        let mut rotating = record();
        rotating.publish(jwk(2), HOUR, 2000);
        rotating.remove(&kid(1), 2010).unwrap();
        assert_eq!(states(&rotating, 2010), [(2, KeyState::Signing)]);

        let mut rotated = record();
        rotated.publish(jwk(2), HOUR, 2000);
        rotated.remove(&kid(2), 2000 + LEAD_TIME).unwrap();
        assert_eq!(states(&rotated, 2000 + LEAD_TIME), [(1, KeyState::Retired)], "it does not sign again");
        assert_eq!((rotated.signing(2000 + LEAD_TIME), rotated.next_number()), (None, 3));
    }

    #[test]
    fn a_removed_next_key_leaves_the_one_before_it() {
        let mut record = record();
        record.publish(jwk(2), HOUR, 2000);
        record.remove(&kid(2), 2010).unwrap();
        assert_eq!(states(&record, 2000 + LEAD_TIME), [(1, KeyState::Signing)]);
        assert!(!record.prune(u64::MAX) && !record.is_asked_for_another());
        record.rotate(Duration::ZERO, 3000).unwrap();
        assert_eq!(record.next_number(), 3, "a number is used once");
    }

    #[test]
    fn a_removed_retired_key_changes_nothing_else() {
        let mut record = record();
        record.publish(jwk(2), HOUR, 2000);
        record.remove(&kid(1), 2000 + LEAD_TIME).unwrap();
        assert_eq!(states(&record, 2000 + LEAD_TIME), [(2, KeyState::Signing)]);
    }

    #[test]
    fn a_key_is_named_by_the_beginning_of_its_id() {
        let mut record = record();
        record.publish(jwk(2), HOUR, 2000);
        assert_eq!(record.find(&kid(2)[..6]).unwrap().number, 2);
        assert_eq!(record.find("").unwrap_err(), KeyRefusal::Ambiguous(String::new()));
        assert_eq!(record.find("~").unwrap_err(), KeyRefusal::Unknown("~".into()));
    }

    #[test]
    fn a_lost_key_is_replaced_at_once_and_stays_published() {
        let mut record = record();
        record.publish(jwk(2), HOUR, 2000);
        record.retire_all(HOUR, 2010);
        assert_eq!(record.signing(2000 + LEAD_TIME), None, "neither is the next one used");
        record.publish(jwk(3), HOUR, 2010);
        assert_eq!(record.signing(2010).unwrap().number, 3);
        assert_eq!(record.jwks().keys.len(), 3);
        assert!(record.prune(2010 + KEPT) && record.keys().len() == 1);
    }

    #[test]
    fn a_room_from_before_records_signs_with_its_only_key() {
        let mut record = KeyRecord::before_records(&Jwks { keys: vec![jwk(1)] });
        assert_eq!(states(&record, 1), [(1, KeyState::Signing)]);
        assert_eq!((record.version, record.keys()[0].since), (0, None));
        record.rotate(Duration::ZERO, 1).unwrap();
        assert_eq!(KeyRecord::before_records(&Jwks::default()), KeyRecord::default());
    }

    #[test]
    fn a_record_has_this_json_and_reads_back() {
        let json = serde_json::to_value(record()).unwrap();
        let expected = serde_json::json!({
            "version": 0, "made": 1, "asked": 1,
            "keys": [{
                "number": 1, "jwk": jwk(1), "since": 1000, "signs_from": 1000,
                "signs_until": null, "published_until": null,
            }],
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<KeyRecord>(json).unwrap(), record());
    }
}
