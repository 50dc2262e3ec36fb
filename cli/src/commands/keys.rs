//! `beekeeper keys`: the keys that sign passes.

use anyhow::{Result, anyhow};
use control::{Consequence, ControlError, OperatedRoom, Order, Reply, key_json, key_line, other_key};
use pass::{KeyRecord, ReportKey};
use serde_json::json;

use super::change;
use crate::arguments::{DropKey, KeysCommand, ManageKeys, Which};
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(keys: &ManageKeys, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        match &keys.command {
            KeysCommand::List(which) => list(which, json).await,
            KeysCommand::Rotate(rotate) => {
                let room = change::find(&rotate.which).await?.room;
                change_keys(&room, Order::rotate_keys(rotate.lead_time), json).await
            }
            KeysCommand::Drop(key) => drop_key(key, json, yes).await,
            KeysCommand::Guard(which) => guard_key(which, json, yes).await,
        }
    })
}

async fn list(which: &Which, json: bool) -> Result<()> {
    let room = RoomHandle::find(which).await?.room;
    let record = keys_after(&room, Order::Keys).await?;
    print(&room, &record, json, |line| Ok(say(line)?))
}

/// Sends the order, and shows the keys after it.
async fn change_keys(room: &OperatedRoom, order: Order, json: bool) -> Result<()> {
    let record = change::unless_interrupted(room, keys_after(room, order)).await?;
    print(room, &record, json, change::answer)
}

async fn drop_key(key: &DropKey, json: bool, yes: bool) -> Result<()> {
    let room = change::find(&key.which).await?.room;
    let record = change::before_order(keys_after(&room, Order::Keys)).await?;
    let found = record.find(&key.id).map_err(|refusal| anyhow!("the room {} {refusal}", room.name))?;
    let id = found.jwk.kid().to_owned();
    if !yes {
        let consequence = Consequence::of_dropping(found, &room.name, room.transport.now().as_secs());
        ask::confirm(&consequence.told, &consequence.question)?;
    }
    change_keys(&room, Order::DropKey { id }, json).await
}

/// The key is made here, and the room learns its digest. So it passes nobody but whoever asked for it.
async fn guard_key(which: &Which, json: bool, yes: bool) -> Result<()> {
    let room = change::find(which).await?.room;
    let key = ReportKey::generate()?;
    let order = Order::GuardKey { digest: key.digest() };
    change::ask_before(&order, &room, yes).await?;
    change::unless_interrupted(&room, room.change(order)).await?;
    let told = if json { json!({ "report_key": key.as_str() }).to_string() } else { key.as_str().to_owned() };
    change::answer(&told).map_err(|error| {
        // Also if a pipe was closed: nobody else has the key.
        Failure::new(Exit::Failed, format!("{error:#}"))
            .advising("nobody has the new key, and the one before counts no more: run this again")
    })?;
    if !json {
        note("keep it like a password, and give every guard the same: beekeeper guard --report-key FILE");
    }
    Ok(())
}

async fn keys_after(room: &OperatedRoom, order: Order) -> Result<KeyRecord, ControlError> {
    match room.execute(order).await? {
        Reply::Keys { record } => Ok(record),
        _ => Err(room.unexpected()),
    }
}

fn print(
    room: &OperatedRoom,
    record: &KeyRecord,
    json: bool,
    say: impl Fn(&str) -> Result<()>,
) -> Result<()> {
    let now = room.transport.now().as_secs();
    if json {
        return record.keys().iter().try_for_each(|key| say(&key_json(key, now).to_string()));
    }
    for key in record.keys() {
        say(&key_line(key, now))?;
    }
    if let Some(told) = other_key(record, &room.name, now) {
        note(&told);
    }
    Ok(())
}
