use std::time::Duration;

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
    let in_force = after.changes_valve_from(&before);
    if json {
        return Ok(say(&json!({ "before": before, "after": after, "in_force": in_force }).to_string())?);
    }
    let notice = in_force.map(|from| from.since(room.now()));
    say_changes(changes(&before, &after, notice))
}

/// Prints one change a line.
pub(crate) fn say_changes(changes: impl Iterator<Item = String>) -> Result<()> {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return Ok(say("nothing changed: already set")?);
    }
    changes.try_for_each(|change| Ok(say(&change)?))
}

/// `notice` is the time until the change of the valve is in force.
fn changes(before: &Room, after: &Room, notice: Option<Duration>) -> impl Iterator<Item = String> {
    // Rounded up, so that nobody looks too early.
    let in_force =
        notice.map(|notice| format!(", in force in {} s", notice.as_millis().div_ceil(1000).max(1)));
    let in_force = in_force.unwrap_or_default();
    let rates = (before.settings.rate.to_string(), after.settings.rate.to_string());
    let messages = (quoted(before), quoted(after));
    let states = (before.state.to_string(), after.state.to_string());
    let stretches = (before.stretch.to_string(), after.stretch.to_string());
    [
        ("rate", rates, true),
        ("message", messages, false),
        ("stretch", stretches, false),
        ("room", states, true),
    ]
    .into_iter()
    .filter(|(_, (before, after), _)| before != after)
    .map(move |(what, (before, after), is_of_valve)| {
        let in_force = if is_of_valve { in_force.as_str() } else { "" };
        format!("{what}: {before} -> {after}{in_force}")
    })
}

fn quoted(room: &Room) -> String {
    format!("{:?}", room.settings.message.as_str())
}
