use anyhow::{Result, bail};
use operator::{Command, Reply};
use waitroom::Room as State;

use crate::arguments::Room;
use crate::commands::send;
use crate::printer::say;

/// Changes the room, and says what changed from what to what.
pub(crate) fn run(room: &Room, command: &Command) -> Result<()> {
    let Reply::Changed { before, after } = send(room, command)? else {
        bail!("the room {} answered something else; is it of another version?", room.name);
    };
    if room.json {
        return Ok(say(&serde_json::json!({ "before": before, "after": after }).to_string())?);
    }
    let mut changes = changes(&before, &after).peekable();
    if changes.peek().is_none() {
        return Ok(say("nothing to change: it is so already")?);
    }
    changes.try_for_each(|change| Ok(say(&change)?))
}

fn changes(before: &State, after: &State) -> impl Iterator<Item = String> {
    let rates = (before.settings.rate.to_string(), after.settings.rate.to_string());
    let messages = (quoted(before), quoted(after));
    let states = (state(before).to_owned(), state(after).to_owned());
    let stretches = (before.stretch.to_string(), after.stretch.to_string());
    [("rate", rates), ("message", messages), ("polls stretched by", stretches), ("room", states)]
        .into_iter()
        .filter(|(_, (before, after))| before != after)
        .map(|(what, (before, after))| format!("{what}: {before} -> {after}"))
}

fn quoted(room: &State) -> String {
    format!("{:?}", room.settings.message.as_str())
}

pub(crate) fn state(room: &State) -> &'static str {
    match (room.open, room.paused) {
        (false, _) => "off",
        (true, true) => "paused",
        (true, false) => "on",
    }
}
