//! The keys that sign passes, for a person and for scripts. `now` is in seconds since 1970, as all times of keys are.

use pass::{KeyRecord, KeyState, PublishedKey};
use serde_json::{Value, json};
use waitroom::{RoomId, Timestamp};

pub fn key_line(key: &PublishedKey, now: u64) -> String {
    let time = |seconds: u64| Timestamp::from_millis(seconds.saturating_mul(1000));
    let since = key.since.map_or_else(|| "unknown".into(), |since| time(since).to_string());
    let state = match key.state(now) {
        KeyState::Next => format!("signs from {}", time(key.signs_from)),
        KeyState::Signing => "signing".into(),
        KeyState::Retired => "replaced".into(),
    };
    let until = key.published_until.map(|until| format!(", published until {}", time(until)));
    format!("{}  since {since}  {state}{}", key.jwk.kid(), until.unwrap_or_default())
}

/// When the room makes another key, if it is to.
pub fn other_key(record: &KeyRecord, room: &RoomId, now: u64) -> Option<String> {
    if record.is_asked_for_another() {
        let minutes = record.lead_time().as_secs() / 60;
        return Some(format!(
            "another key was asked for; the room makes it when it signs the next pass, and signs with it {minutes} minutes later"
        ));
    }
    let none = || format!("no key signs for {room}; the room makes one when it signs the next pass");
    record.signing(now).is_none().then(none)
}

/// Times are in milliseconds since 1970, as in all JSON of this program.
pub fn key_json(key: &PublishedKey, now: u64) -> Value {
    let millis = |seconds: u64| seconds.saturating_mul(1000);
    json!({
        "id": key.jwk.kid(),
        "state": key.state(now),
        "since": key.since.map(millis),
        "signs_from": millis(key.signs_from),
        "published_until": key.published_until.map(millis),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pass::PrivateKey;

    use super::*;

    fn record() -> KeyRecord {
        let mut record = KeyRecord::default();
        for at in [1_774_000_000, 1_774_003_600] {
            record.publish(PrivateKey::generate().unwrap().public().unwrap(), Duration::from_hours(1), at);
        }
        record
    }

    #[test]
    fn a_key_has_its_id_since_when_and_state() {
        let record = record();
        let lines = |now: u64| -> Vec<String> {
            record.keys().iter().map(|key| key_line(key, now).replace(key.jwk.kid(), "ID")).collect()
        };
        assert_eq!(
            lines(1_774_003_700),
            [
                "ID  since 2026-03-20 09:46:40 UTC  signing, published until 2026-03-20 11:53:40 UTC",
                "ID  since 2026-03-20 10:46:40 UTC  signs from 2026-03-20 10:52:40 UTC",
            ]
        );
        assert_eq!(
            lines(1_774_004_000),
            [
                "ID  since 2026-03-20 09:46:40 UTC  replaced, published until 2026-03-20 11:53:40 UTC",
                "ID  since 2026-03-20 10:46:40 UTC  signing",
            ]
        );
    }

    #[test]
    fn a_key_has_this_json() {
        let record = record();
        let [old, _] = record.keys() else { panic!("two keys") };
        let expected = json!({
            "id": old.jwk.kid(), "state": "retired", "since": 1_774_000_000_000_u64,
            "signs_from": 1_774_000_000_000_u64, "published_until": 1_774_007_620_000_u64,
        });
        assert_eq!(key_json(old, 1_774_004_000), expected);
    }
}
