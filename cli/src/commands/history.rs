//! `beekeeper history`: who changed what, when, from what to what; or how the line was, minute by minute.

use anyhow::Result;
use control::{HistoryLine, OperatedRoom};
use document::words::time;
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

fn minute_line(minute: &MinuteCount) -> String {
    let MinuteCount { at, joined, released, waiting, rate, longest_wait, rehearsal, entered: _, observed } =
        minute;
    let rate = rate.map_or_else(|| "nobody released".into(), |rate| format!("rate {rate}"));
    let longest = longest_wait.map(|wait| format!(", longest wait {}", time(wait))).unwrap_or_default();
    let rehearsal = if *rehearsal { ", rehearsal" } else { "" };
    let observed = observed.map(|line| format!(", {} would have waited", line.waited)).unwrap_or_default();
    format!(
        "{at}  {joined} joined, {released} released, {waiting} waiting, {rate}{longest}{observed}{rehearsal}"
    )
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, Timestamp};

    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_774_000_000_123);

    #[test]
    fn a_minute_has_its_time_and_counts() {
        let rate = Some(Rate::new(600).unwrap());
        let busy = MinuteCount {
            at: AT,
            joined: 812,
            released: 600,
            entered: None,
            waiting: 9332,
            rate,
            longest_wait: Some(930),
            rehearsal: false,
            observed: None,
        };
        assert_eq!(
            minute_line(&busy),
            "2026-03-20 09:46:40 UTC  812 joined, 600 released, 9332 waiting, rate 600, longest wait 15 min"
        );
        let paused = MinuteCount { released: 0, rate: None, longest_wait: None, ..busy };
        assert_eq!(
            minute_line(&paused),
            "2026-03-20 09:46:40 UTC  812 joined, 0 released, 9332 waiting, nobody released"
        );
        let rehearsed = MinuteCount { rehearsal: true, ..paused };
        assert!(minute_line(&rehearsed).ends_with(", nobody released, rehearsal"));
    }
}
