//! `beekeeper history`: who changed what, when, from what to what; or how the line was, minute by minute.

use anyhow::Result;
use control::{HistoryLine, OperatedRoom, minute_line};
use serde::Serialize;
use waitroom::MinuteCount;

use crate::arguments::History;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(history: &History, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find_to_read(&history.which).await?.room;
        if history.minutes {
            let since = room.transport.now() - history.since;
            let minutes = MinuteCount::from_records(&room.minutes(since).await?, since);
            if json {
                return say_json(&minutes);
            }
            let busy: Vec<_> = minutes.iter().filter(|minute| !minute.is_idle()).collect();
            if busy.is_empty() {
                let nobody = format!("nobody came to {} in this time", room.name);
                note(&format!("{nobody}; a minute is recorded when it ends"));
            }
            return busy.into_iter().try_for_each(|minute| Ok(say(&minute_line(minute))?));
        }
        let changes = changes(&room, history.limit).await?;
        if json {
            return say_json(&changes);
        }
        if changes.is_empty() {
            note(&format!("no orders yet for {}", room.name));
        }
        changes.iter().try_for_each(|change| Ok(say(&change.line())?))
    })
}

/// The latest changes, oldest first.
async fn changes(room: &OperatedRoom, most: u16) -> Result<Vec<HistoryLine>> {
    let mut changes = room.history(most).await?;
    Ok(changes.split_off(changes.len().saturating_sub(most.into())))
}

fn say_json(lines: &[impl Serialize]) -> Result<()> {
    lines.iter().try_for_each(|line| Ok(say(&serde_json::to_string(line)?)?))
}
