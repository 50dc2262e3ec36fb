//! A line of a room's history.

use document::words::time;
use serde::{Deserialize, Serialize};
use waitroom::{AuditEntry, MinuteCount, Timestamp};

use crate::AlarmChange;

/// An order or a decision of the throttle, or an alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HistoryLine {
    Entry(AuditEntry),
    Alarm(AlarmChange),
}

impl HistoryLine {
    /// The entries and the alarms, oldest first.
    pub(crate) fn merged(entries: Vec<AuditEntry>, alarms: Vec<AlarmChange>) -> Vec<Self> {
        let entries = entries.into_iter().map(Self::Entry);
        let mut lines: Vec<_> = entries.chain(alarms.into_iter().map(Self::Alarm)).collect();
        // Stable, so that entries of the same instant stay in order.
        lines.sort_by_key(Self::at);
        lines
    }

    pub fn at(&self) -> Timestamp {
        match self {
            Self::Entry(entry) => entry.at,
            Self::Alarm(alarm) => alarm.at,
        }
    }

    pub fn who(&self) -> &str {
        match self {
            Self::Entry(entry) => entry.who.as_str(),
            Self::Alarm(alarm) => alarm.who.as_str(),
        }
    }

    /// What happened, in a few words.
    pub fn what(&self) -> String {
        match self {
            Self::Entry(entry) => entry_text(entry),
            Self::Alarm(AlarmChange { alarm, from, to, .. }) => {
                format!("alarm {alarm}: {} -> {}", from.as_str(), to.as_str())
            }
        }
    }

    pub fn line(&self) -> String {
        format!("{}  {:<10} {}", self.at(), self.who(), self.what())
    }
}

/// What an entry of the audit trail says: the change, and whether it was an undo.
pub fn entry_text(entry: &AuditEntry) -> String {
    let undone = if entry.undoes.is_some() { " (undo)" } else { "" };
    format!("{}{undone}", entry.change)
}

/// How the line was in a minute.
pub fn minute_line(minute: &MinuteCount) -> String {
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
    use waitroom::{AuditedChange, Author, Rate};

    use super::*;
    use crate::AlarmState;

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
        assert_eq!(
            HistoryLine::Entry(entry.clone()).line(),
            "2026-03-20 09:46:40 UTC  anna       rate: 1 -> 270000"
        );
        entry.undoes = Some(2);
        entry.who = Author::new("arn:aws:iam::123456789012:user/anna");
        assert_eq!(
            HistoryLine::Entry(entry.clone()).line(),
            "2026-03-20 09:46:40 UTC  arn:aws:iam::123456789012:user/anna rate: 1 -> 270000 (undo)"
        );
    }

    #[test]
    fn an_alarm_is_between_the_orders_around_it() {
        let order = |seconds| AuditEntry {
            number: seconds,
            at: Timestamp::from_millis(1000 * seconds),
            who: Author::new("anna"),
            change: AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX },
            undoes: None,
        };
        let alarm = AlarmChange {
            at: Timestamp::from_millis(2000),
            who: AlarmChange::author(),
            alarm: "LineStalledAlarm".into(),
            from: AlarmState::Quiet,
            to: AlarmState::Ringing,
            reason: "Threshold Crossed".into(),
        };
        let expected = r#"{"what":"alarm","at":2000,"who":"CloudWatch","alarm":"LineStalledAlarm","from":"quiet","to":"ringing","reason":"Threshold Crossed"}"#;
        assert_eq!(serde_json::to_string(&HistoryLine::Alarm(alarm.clone())).unwrap(), expected);
        let shown = HistoryLine::merged(vec![order(1), order(3)], vec![alarm]);
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
}
