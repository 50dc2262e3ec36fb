//! The numbers that matter most.

use control::{AlarmState, HistoryLine};
use serde::{Deserialize, Serialize};
use waitroom::{MinuteCount, Timestamp, Turnout};

use super::minutes::{MINUTE, ReportedMinute, endings, lost_in_resets};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportSummary {
    pub joined: u64,
    pub released: u64,
    /// How many of them came for their pass; none if no minute counted them.
    #[serde(default)]
    pub entered: Option<u64>,
    /// The most who waited at the end of a minute, and when.
    pub longest_line: u64,
    pub longest_line_at: Option<Timestamp>,
    /// In seconds.
    pub longest_wait: Option<u64>,
    pub longest_wait_at: Option<Timestamp>,
    /// The end of the first minute after the longest line in which nobody waited any more.
    pub drained_at: Option<Timestamp>,
    /// How many still waited when the room ended; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned_away: Option<u64>,
    /// How many waited when the line was reset; none if nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_in_resets: Option<u64>,
    pub throttled_minutes: u64,
    /// Orders by people that changed something.
    pub orders: u64,
    /// How often an alarm began to ring.
    pub alarms: u64,
    /// How many came of those who were let in, if fewer did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turnout: Option<ReportedTurnout>,
    /// What the line would have been; none if the room did not observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedSummary>,
}

/// How many came of those whom the room let in, and what it did about the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedTurnout {
    pub came: u64,
    pub released: u64,
    /// By how many a minute the rate was raised at most to make up for the others, and in how many minutes it was.
    pub most_surplus: u32,
    pub surplus_minutes: u64,
}

impl ReportedTurnout {
    /// Whoever was released just before `made` may still come. Minutes in which nobody counted who came say nothing. None unless fewer
    /// came.
    fn of(minutes: &[ReportedMinute], made: Timestamp) -> Option<Self> {
        let counted = || minutes.iter().filter(|minute| minute.count.entered.is_some());
        let had_time = |minute: &&ReportedMinute| minute.count.at <= Turnout::counted_at(made, MINUTE).end;
        let released = counted().filter(had_time).map(|minute| minute.count.released).sum();
        let came = counted().filter_map(|minute| minute.count.entered).sum();
        let surplus = || minutes.iter().map(|minute| minute.surplus).filter(|surplus| *surplus > 0);
        (came < released).then(|| Self {
            came,
            released,
            most_surplus: surplus().max().unwrap_or_default(),
            surplus_minutes: count(surplus()),
        })
    }
}

/// What the line would have been while the room observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedSummary {
    /// How many came.
    pub came: u64,
    /// How many of them would have waited.
    pub waited: u64,
    pub longest_line: u64,
    /// When the minute ended.
    pub longest_line_at: Timestamp,
    /// In seconds.
    pub longest_wait: u64,
    pub longest_wait_at: Timestamp,
    /// The most who came within a minute: at this rate, nobody would have waited longer than a minute.
    pub busiest: u64,
    pub busiest_at: Timestamp,
}

impl ObservedSummary {
    fn of(counts: impl Iterator<Item = MinuteCount>) -> Option<Self> {
        let observed = counts.filter_map(|minute| Some((minute, minute.observed?)));
        observed.fold(None, |summary, (MinuteCount { at, joined, .. }, line)| {
            let mut all = summary.unwrap_or(Self {
                came: 0,
                waited: 0,
                longest_line: 0,
                longest_line_at: at,
                longest_wait: 0,
                longest_wait_at: at,
                busiest: 0,
                busiest_at: at,
            });
            (all.came, all.waited) = (all.came + joined, all.waited + line.waited);
            for (most, when, value) in [
                (&mut all.longest_line, &mut all.longest_line_at, line.longest_line),
                (&mut all.longest_wait, &mut all.longest_wait_at, line.longest_wait),
                (&mut all.busiest, &mut all.busiest_at, line.busiest),
            ] {
                if value > *most {
                    (*most, *when) = (value, at);
                }
            }
            Some(all)
        })
    }
}

impl ReportSummary {
    /// `minutes` are those that count, in a report that was `made` then.
    pub(crate) fn of(minutes: &[ReportedMinute], lines: &[HistoryLine], made: Timestamp) -> Self {
        let counts = || minutes.iter().map(|minute| minute.count);
        let line = counts()
            .filter(|minute| minute.waiting > 0)
            .reduce(|a, b| if b.waiting > a.waiting { b } else { a });
        let waits = counts().filter_map(|minute| Some((minute.longest_wait?, minute.at)));
        let wait = waits.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let drained =
            line.and_then(|line| counts().find(|minute| minute.at > line.at && minute.waiting == 0));
        // Those who wait in an ended room count in the minute of its end only.
        let ended = endings(minutes, lines).into_iter().flat_map(|ending| &minutes[ending]);
        let is_order = |line: &&HistoryLine| matches!(line, HistoryLine::Entry(entry) if entry.change.is_order() && entry.change.is_change());
        let rang = |line: &&HistoryLine| matches!(line, HistoryLine::Alarm(alarm) if alarm.to == AlarmState::Ringing);
        Self {
            joined: counts().map(|minute| minute.joined).sum(),
            released: counts().map(|minute| minute.released).sum(),
            entered: counts().filter_map(|minute| minute.entered).reduce(|a, b| a + b),
            longest_line: line.map_or(0, |line| line.waiting),
            longest_line_at: line.map(|line| line.at),
            longest_wait: wait.map(|(wait, _)| wait),
            longest_wait_at: wait.map(|(_, at)| at),
            drained_at: drained.map(|minute| minute.at),
            turned_away: ended.map(|minute| minute.count.waiting).reduce(|a, b| a + b),
            lost_in_resets: Some(lost_in_resets(minutes, lines)).filter(|lost| *lost > 0),
            throttled_minutes: count(minutes.iter().filter(|minute| minute.throttled)),
            orders: count(lines.iter().filter(is_order)),
            alarms: count(lines.iter().filter(rang)),
            turnout: ReportedTurnout::of(minutes, made),
            observed: ObservedSummary::of(counts()),
        }
    }
}

fn count<T>(all: impl Iterator<Item = T>) -> u64 {
    u64::try_from(all.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use control::HistoryLine;
    use waitroom::{AuditEntry, AuditedChange, Author, Rate};

    use super::*;

    #[test]
    fn an_order_counts_as_one_unless_nobody_gave_it_to_the_room() {
        let changes = [
            AuditedChange::Rate { from: Rate::MIN, to: Rate::MAX },
            AuditedChange::KeyRotation { from: "kid".into() },
            AuditedChange::GuardKey { to: "5e".into() },
            // Those below are none: nothing changed, the throttle and the room did it, or it's about one visitor.
            AuditedChange::Rate { from: Rate::MAX, to: Rate::MAX },
            AuditedChange::Throttle { from: Rate::MAX, to: Rate::MIN },
            AuditedChange::SoldOut { stock: 7 },
            AuditedChange::LetIn { ticket: 7, code: "7K3M-Q01X".parse().unwrap() },
        ];
        let entry = |(number, change)| {
            AuditEntry::beside_room(number, Timestamp::default(), Author::new("anna"), change)
        };
        let lines: Vec<_> = (1..).zip(changes).map(entry).map(HistoryLine::Entry).collect();
        let summary = ReportSummary::of(&[], &lines, Timestamp::default());
        assert_eq!(summary.orders, 3);
    }
}
