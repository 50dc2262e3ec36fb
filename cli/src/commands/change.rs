use anyhow::Result;
use operator::{Order, Reply};
use serde_json::json;
use waitroom::Room;

use crate::arguments::Which;
use crate::printer::say;
use crate::room::RoomHandle;
use crate::runtime::block_on;

/// Sends an order, and shows each change as `before -> after`.
pub(crate) fn run(which: &Which, json: bool, command: Order) -> Result<()> {
    block_on(async { order(&RoomHandle::find(which).await?, json, command).await })
}

pub(crate) async fn order(room: &RoomHandle, json: bool, command: Order) -> Result<()> {
    let Reply::Changed { before, after } = room.send(command).await? else {
        return Err(room.unexpected());
    };
    if json {
        return Ok(say(&json!({ "before": before, "after": after }).to_string())?);
    }
    say_changes(changes(&before, &after))
}

/// Prints one change a line.
pub(crate) fn say_changes(changes: impl Iterator<Item = String>) -> Result<()> {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return Ok(say("nothing changed: already set")?);
    }
    changes.try_for_each(|change| Ok(say(&change)?))
}

fn changes(before: &Room, after: &Room) -> impl Iterator<Item = String> {
    let rates = (before.settings.rate.to_string(), after.settings.rate.to_string());
    let messages = (quoted(before), quoted(after));
    let states = (before.state.to_string(), after.state.to_string());
    let stretches = (before.stretch.to_string(), after.stretch.to_string());
    [("rate", rates), ("message", messages), ("stretch", stretches), ("room", states)]
        .into_iter()
        .filter(|(_, (before, after))| before != after)
        .map(|(what, (before, after))| format!("{what}: {before} -> {after}"))
}

fn quoted(room: &Room) -> String {
    format!("{:?}", room.settings.message.as_str())
}
