use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use waitroom::{AuditEntry, MinuteRecord, RoomId, Timestamp};

use super::entered::set_entered;
use super::minutes::{ReportedMinute, busy, last_event, reported};
use super::summary::ReportSummary;
use crate::history_line::HistoryLine;
use crate::room::RoomHandle;

/// How long before the first minute and after the last one orders belong to an event.
const AROUND: Duration = Duration::from_hours(1);

/// Why nobody is known to have come for their pass.
const NO_ENTRIES: &str = "CloudWatch has no metric Entered of this time: nobody came, or the room has to be deployed again by \
                          this version of beekeeper";

/// What the report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReportRange {
    /// The busy minutes up to the last one.
    LastEvent,
    /// A time up to now.
    Since,
    /// All that the room still keeps.
    Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventReport {
    /// The version of this format.
    pub(crate) format: u8,
    pub(crate) room: RoomId,
    pub(crate) title: String,
    /// When the report was made.
    pub(crate) made: Timestamp,
    pub(crate) range: ReportRange,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// Whether joined and waiting are counted only roughly, as on AWS.
    pub(crate) rough: bool,
    /// Whether the audit trail no longer has the first orders of this time.
    pub(crate) orders_missing: bool,
    /// Why nobody knows who came for their pass, if it could have been known.
    #[serde(default)]
    pub(crate) entered_missing: Option<String>,
    pub(crate) summary: ReportSummary,
    pub(crate) minutes: Vec<ReportedMinute>,
    pub(crate) orders: Vec<HistoryLine>,
}

impl EventReport {
    pub(crate) const FORMAT: u8 = 1;

    /// The report about the last event, or about the time `since`.
    pub(crate) async fn of(room: &RoomHandle, since: Option<Duration>) -> Result<Self> {
        let range = since.map_or(ReportRange::LastEvent, |_| ReportRange::Since);
        Self::made(room, range, since.unwrap_or(MinuteRecord::KEPT)).await
    }

    /// The report about all that the room still keeps.
    #[cfg(feature = "aws")]
    pub(crate) async fn of_all(room: &RoomHandle) -> Result<Self> {
        Self::made(room, ReportRange::Kept, MinuteRecord::KEPT).await
    }

    async fn made(room: &RoomHandle, range: ReportRange, since: Duration) -> Result<Self> {
        let now = room.now();
        let since = now - since;
        // The records first: an order after them is of no minute that is reported.
        let records = room.minutes(since).await?;
        let settings = room.status().await?.room.settings;
        let all = HistoryLine::of(room, AuditEntry::KEPT).await?;
        let mut minutes = reported(&records, since, &all, settings.rate);
        // A report without this number is better than none.
        let entered_missing = match room.entered(since - Duration::from_mins(1)).await {
            Ok(None) => None,
            Ok(Some(entries)) => {
                set_entered(&mut minutes, &entries);
                entries.is_empty().then(|| NO_ENTRIES.to_owned())
            }
            Err(error) => Some(format!("{error:#}")),
        };
        let event = last_event(&minutes);
        let (first, last) = match (range, event) {
            (ReportRange::LastEvent, Some((first, last))) => (first, last),
            _ => (since, now),
        };
        let minutes = busy(&minutes).into_iter().filter(|minute| {
            // With the one before the first and the one after the last.
            (first - Duration::from_mins(2)..=last + Duration::from_mins(2)).contains(&minute.count.at)
        });
        let minutes: Vec<_> = minutes.collect();
        let around = if range == ReportRange::LastEvent { AROUND } else { Duration::ZERO };
        let within = first - around..=last + around;
        let is_oldest_known =
            all.iter().any(|line| matches!(line, HistoryLine::Entry(entry) if entry.number == 1));
        let oldest = all.iter().find(|line| matches!(line, HistoryLine::Entry(_))).map(HistoryLine::at);
        let orders_missing = !is_oldest_known && oldest.is_some_and(|oldest| oldest > first);
        let orders: Vec<_> = all.into_iter().filter(|line| within.contains(&line.at())).collect();
        Ok(Self {
            format: Self::FORMAT,
            room: room.name.clone(),
            title: settings.title.to_string(),
            made: now,
            range,
            // The first minute's record was written when it ended.
            from: if range == ReportRange::LastEvent { first - Duration::from_mins(1) } else { first },
            to: last,
            rough: room.is_far(),
            orders_missing,
            entered_missing,
            summary: ReportSummary::of(&minutes, &orders),
            minutes,
            orders,
        })
    }

    /// Whether nobody came in this time.
    pub(crate) fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }
}
