//! `beekeeper keys`: the keys that sign passes.

use std::time::Duration;

use anyhow::{Result, anyhow};
use control::{Consequence, OperatedRoom, Order, Reply};
use pass::{KeyRecord, KeyState, PublishedKey};
use serde_json::{Value, json};
use waitroom::Timestamp;

use crate::arguments::{DropKey, KeysCommand, ManageKeys, Which};
use crate::ask;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(keys: &ManageKeys, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        match &keys.command {
            KeysCommand::List(list) => show(&list.which, Order::Keys, json).await,
            KeysCommand::Rotate(rotate) => show(&rotate.which, rotate_order(rotate.lead_time), json).await,
            KeysCommand::Drop(key) => drop_key(key, json, yes).await,
        }
    })
}

/// A room of an earlier version knows only the usual lead time.
fn rotate_order(lead_time: Duration) -> Order {
    match u32::try_from(lead_time.as_secs()) {
        Ok(seconds) if lead_time > KeyRecord::LEAD_TIME => Order::RotateKeysAhead { seconds },
        _ => Order::RotateKeys,
    }
}

/// Sends the order, and shows the keys after it.
async fn show(which: &Which, order: Order, json: bool) -> Result<()> {
    let room = RoomHandle::find(which).await?.room;
    let record = keys_after(&room, order).await?;
    print(&room, &record, json)
}

async fn drop_key(key: &DropKey, json: bool, yes: bool) -> Result<()> {
    let room = RoomHandle::find(&key.which).await?.room;
    let record = keys_after(&room, Order::Keys).await?;
    let found = record.find(&key.id).map_err(|refusal| anyhow!("the room {} {refusal}", room.name))?;
    let id = found.jwk.kid().to_owned();
    if !yes {
        let consequence = Consequence::of_dropping(found, &room.name, room.transport.now().as_secs());
        ask::confirm(&consequence.told, &consequence.question)?;
    }
    let record = keys_after(&room, Order::DropKey { id }).await?;
    print(&room, &record, json)
}

async fn keys_after(room: &OperatedRoom, order: Order) -> Result<KeyRecord> {
    match room.execute(order).await? {
        Reply::Keys { record } => Ok(record),
        _ => Err(room.unexpected().into()),
    }
}

fn print(room: &OperatedRoom, record: &KeyRecord, json: bool) -> Result<()> {
    let now = room.transport.now().as_secs();
    if json {
        return record.keys().iter().try_for_each(|key| Ok(say(&key_json(key, now).to_string())?));
    }
    for key in record.keys() {
        say(&key_line(key, now))?;
    }
    if record.is_asked_for_another() {
        note(&format!(
            "another key was asked for; the room makes it when it signs the next pass, and signs with it {} minutes later",
            record.lead_time().as_secs() / 60
        ));
    } else if record.signing(now).is_none() {
        note(&format!("no key signs for {}; the room makes one when it signs the next pass", room.name));
    }
    Ok(())
}

fn key_line(key: &PublishedKey, now: u64) -> String {
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

/// Times are in milliseconds since 1970, as in all JSON of this program.
fn key_json(key: &PublishedKey, now: u64) -> Value {
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
