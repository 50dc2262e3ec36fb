//! `beekeeper history`: who changed what, when, from what to what; or how the line was, minute by minute.

use anyhow::Result;
use control::{HistoryLine, OperatedRoom, minute_line};
use serde::Serialize;
use waitroom::{MinuteCount, with_causes};

use crate::arguments::History;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(history: &History, json: bool) -> Result<()> {
    // First read all of it: whoever prints into a pager may look at that for long, and no room starts while its file is read.
    let (lines, nobody) = block_on(read(history, json))?;
    if lines.is_empty() && !json {
        note(&nobody);
    }
    lines.iter().try_for_each(|line| Ok(say(line)?))
}

/// The lines, and what to say if there are none.
async fn read(history: &History, json: bool) -> Result<(Vec<String>, String)> {
    let room = RoomHandle::find_to_read(&history.which).await?.room;
    if !history.minutes {
        let changes = changes(&room, history.limit).await?;
        let lines = if json { as_json(&changes)? } else { changes.iter().map(HistoryLine::line).collect() };
        return Ok((lines, format!("no orders yet for {}", room.name)));
    }
    let since = room.transport.now() - history.since;
    let minutes = MinuteCount::from_records(&room.minutes(since).await?, since);
    let busy = || minutes.iter().filter(|minute| !minute.is_idle());
    let lines = if json { as_json(&minutes)? } else { busy().map(minute_line).collect() };
    Ok((lines, format!("nobody came to {} in this time; a minute is recorded when it ends", room.name)))
}

/// The latest changes, oldest first.
async fn changes(room: &OperatedRoom, most: u16) -> Result<Vec<HistoryLine>> {
    let (mut changes, missing) = room.history(most).await?;
    if let Some(error) = missing {
        note(&format!("when alarms rang isn't known: {}", with_causes(error.as_ref())));
    }
    Ok(changes.split_off(changes.len().saturating_sub(most.into())))
}

fn as_json(lines: &[impl Serialize]) -> Result<Vec<String>> {
    lines.iter().map(|line| Ok(serde_json::to_string(line)?)).collect()
}
