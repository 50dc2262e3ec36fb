//! A line of a room's history, for `history` and `report`.

use anyhow::Result;
use control::AlarmChange;
use serde::{Deserialize, Serialize};
use waitroom::{AuditEntry, Timestamp};

use crate::room::RoomHandle;
use crate::wording::change;

/// An order or a decision of the throttle, or an alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum HistoryLine {
    Entry(AuditEntry),
    Alarm(AlarmChange),
}

impl HistoryLine {
    /// The latest entries and alarms, at most so many of each, oldest first.
    pub(crate) async fn of(room: &RoomHandle, most: u16) -> Result<Vec<Self>> {
        let entries = room.entries(most).await?.into_iter().map(Self::Entry);
        let alarms = room.alarm_changes(most).await?.into_iter().map(Self::Alarm);
        Ok(in_order(entries.chain(alarms).collect()))
    }

    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Entry(entry) => entry.at,
            Self::Alarm(alarm) => alarm.at,
        }
    }

    pub(crate) fn who(&self) -> &str {
        match self {
            Self::Entry(entry) => entry.who.as_str(),
            Self::Alarm(alarm) => alarm.who.as_str(),
        }
    }

    /// What happened, in a few words.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Entry(entry) => change(entry),
            Self::Alarm(AlarmChange { alarm, from, to, .. }) => {
                format!("alarm {alarm}: {} -> {}", from.as_str(), to.as_str())
            }
        }
    }

    pub(crate) fn line(&self) -> String {
        format!("{}  {:<10} {}", self.at(), self.who(), self.what())
    }
}

/// Stable, so that entries of the same instant stay in order.
fn in_order(mut lines: Vec<HistoryLine>) -> Vec<HistoryLine> {
    lines.sort_by_key(HistoryLine::at);
    lines
}

#[cfg(test)]
mod tests {
    use control::AlarmState;
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
        let shown = in_order(vec![order(1), order(3), alarm]);
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
