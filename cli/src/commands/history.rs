//! `beekeeper history`: who changed what, when, from what to what.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use operator::{Order, Reply};
use waitroom::AuditEntry;

use crate::arguments::History;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(history: &History, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&history.which).await?;
        let entries = entries(&room, history.limit).await?;
        if entries.is_empty() && !json {
            note(&format!("no orders yet for {}", room.name));
        }
        for entry in &entries {
            say(&if json { serde_json::to_string(entry)? } else { line(entry) })?;
        }
        Ok(())
    })
}

/// The latest entries, oldest first.
pub(crate) async fn entries(room: &RoomHandle, most: u16) -> Result<Vec<AuditEntry>> {
    match room.send(Order::History { most }).await? {
        Reply::History { entries } => Ok(entries),
        _ => Err(room.unexpected()),
    }
}

fn line(entry: &AuditEntry) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(entry.at.as_millis());
    let at = humantime::format_rfc3339_seconds(at).to_string();
    let (day, time) = at.trim_end_matches('Z').split_once('T').unwrap_or((&at, ""));
    let undone = if entry.undoes.is_some() { " (undo)" } else { "" };
    format!("{day} {time} UTC  {:<10} {}{undone}", entry.who, entry.change)
}

#[cfg(test)]
mod tests {
    use waitroom::{AuditedChange, Author, Rate, Timestamp};

    use super::*;

    #[test]
    fn a_line_has_its_time_and_who() {
        let mut entry = AuditEntry {
            number: 3,
            at: Timestamp::from_millis(1_774_000_000_123),
            who: Author::new("anna"),
            change: AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX },
            undoes: None,
        };
        assert_eq!(line(&entry), "2026-03-20 09:46:40 UTC  anna       rate: 1 -> 270000");
        entry.undoes = Some(2);
        entry.who = Author::new("arn:aws:iam::123456789012:user/anna");
        assert_eq!(
            line(&entry),
            "2026-03-20 09:46:40 UTC  arn:aws:iam::123456789012:user/anna rate: 1 -> 270000 (undo)"
        );
    }
}
