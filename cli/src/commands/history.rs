//! `beekeeper history`: who changed what, when, from what to what; or how the line was, minute by minute.

use anyhow::Result;
use operator::AlarmChange;
use serde::Serialize;
use waitroom::{AuditEntry, MinuteCount, Timestamp};

use crate::arguments::History;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;
use crate::wording::{change, time};

pub(crate) fn run(history: &History, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&history.which).await?;
        if history.minutes {
            let since = room.now() - history.since;
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

/// A line of the history: an order or a decision of the throttle, or an alarm.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum HistoryLine {
    Entry(AuditEntry),
    Alarm(AlarmChange),
}

/// The latest changes, oldest first.
async fn changes(room: &RoomHandle, most: u16) -> Result<Vec<HistoryLine>> {
    let entries = room.entries(most).await?.into_iter().map(HistoryLine::Entry);
    let alarms = room.alarm_changes(most).await?.into_iter().map(HistoryLine::Alarm);
    Ok(latest(entries.chain(alarms).collect(), most.into()))
}

fn latest(mut changes: Vec<HistoryLine>, most: usize) -> Vec<HistoryLine> {
    // Stable, so that entries of the same instant stay in order.
    changes.sort_by_key(HistoryLine::at);
    changes.split_off(changes.len().saturating_sub(most))
}

impl HistoryLine {
    fn at(&self) -> Timestamp {
        match self {
            Self::Entry(entry) => entry.at,
            Self::Alarm(alarm) => alarm.at,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Entry(entry) => entry_line(entry),
            Self::Alarm(AlarmChange { at, who, alarm, from, to, .. }) => {
                format!("{at}  {who:<10} alarm {alarm}: {} -> {}", from.as_str(), to.as_str())
            }
        }
    }
}

fn say_json(lines: &[impl Serialize]) -> Result<()> {
    lines.iter().try_for_each(|line| Ok(say(&serde_json::to_string(line)?)?))
}

fn entry_line(entry: &AuditEntry) -> String {
    format!("{}  {:<10} {}", entry.at, entry.who, change(entry))
}

fn minute_line(minute: &MinuteCount) -> String {
    let MinuteCount { at, joined, released, waiting, rate, longest_wait } = minute;
    let rate = rate.map_or_else(|| "nobody released".into(), |rate| format!("rate {rate}"));
    let longest = longest_wait.map(|wait| format!(", longest wait {}", time(wait))).unwrap_or_default();
    format!("{at}  {joined} joined, {released} released, {waiting} waiting, {rate}{longest}")
}

#[cfg(test)]
mod tests {
    use operator::AlarmState;
    use waitroom::{AuditedChange, Author, Rate};

    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_774_000_000_123);

    #[test]
    fn an_entry_has_its_time_and_who() {
        let mut entry = AuditEntry {
            number: 3,
            at: AT,
            who: Author::new("anna"),
            change: AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX },
            undoes: None,
        };
        assert_eq!(entry_line(&entry), "2026-03-20 09:46:40 UTC  anna       rate: 1 -> 270000");
        entry.undoes = Some(2);
        entry.who = Author::new("arn:aws:iam::123456789012:user/anna");
        assert_eq!(
            entry_line(&entry),
            "2026-03-20 09:46:40 UTC  arn:aws:iam::123456789012:user/anna rate: 1 -> 270000 (undo)"
        );
    }

    #[test]
    fn an_alarm_is_between_the_orders_around_it() {
        let order = |seconds| {
            HistoryLine::Entry(AuditEntry {
                number: seconds,
                at: Timestamp::from_millis(1000 * seconds),
                who: Author::new("anna"),
                change: AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX },
                undoes: None,
            })
        };
        let alarm = HistoryLine::Alarm(AlarmChange {
            at: Timestamp::from_millis(2000),
            who: AlarmChange::author(),
            alarm: "LineStalledAlarm".into(),
            from: AlarmState::Quiet,
            to: AlarmState::Ringing,
            reason: "Threshold Crossed".into(),
        });
        let expected = r#"{"what":"alarm","at":2000,"who":"CloudWatch","alarm":"LineStalledAlarm","from":"quiet","to":"ringing","reason":"Threshold Crossed"}"#;
        assert_eq!(serde_json::to_string(&alarm).unwrap(), expected);
        let shown = latest(vec![order(0), order(1), order(3), alarm], 3);
        let lines: Vec<_> = shown.iter().map(HistoryLine::line).collect();
        assert_eq!(
            lines,
            [
                "1970-01-01 00:00:01 UTC  anna       rate: 1 -> 270000",
                "1970-01-01 00:00:02 UTC  CloudWatch alarm LineStalledAlarm: quiet -> ringing",
                "1970-01-01 00:00:03 UTC  anna       rate: 1 -> 270000",
            ]
        );
    }

    #[test]
    fn a_minute_has_its_time_and_counts() {
        let rate = Some(Rate::new(600).unwrap());
        let busy =
            MinuteCount { at: AT, joined: 812, released: 600, waiting: 9332, rate, longest_wait: Some(930) };
        assert_eq!(
            minute_line(&busy),
            "2026-03-20 09:46:40 UTC  812 joined, 600 released, 9332 waiting, rate 600, longest wait 15 min"
        );
        let paused = MinuteCount { released: 0, rate: None, longest_wait: None, ..busy };
        assert_eq!(
            minute_line(&paused),
            "2026-03-20 09:46:40 UTC  812 joined, 0 released, 9332 waiting, nobody released"
        );
    }
}
