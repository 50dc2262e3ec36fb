//! What a report is made of: all that a room keeps of its events.

use std::error::Error;
use std::time::Duration;

use control::{Advise, ControlError, HistoryLine, OperatedRoom};
use waitroom::{AuditEntry, MinuteRecord, Room, Timestamp, with_causes};

use super::entered::set_entered;
use super::minutes::{ReportedMinute, reported, set_states};

/// What a room keeps of its events, so far back.
#[derive(Clone, Debug)]
pub struct KeptRecords {
    pub room: Room,
    /// Whether joined and waiting are counted only roughly.
    pub rough: bool,
    pub since: Timestamp,
    pub now: Timestamp,
    pub stopped_at: Option<Timestamp>,
    /// From `since` on, after the record before it.
    pub minutes: Vec<MinuteRecord>,
    /// Orders and alarms, oldest first.
    pub lines: Vec<HistoryLine>,
    /// How many came for their pass, by minutes of the clock, from a minute before `since` on; none if the records of the minutes
    /// say so. Or why nobody knows, without a full stop.
    pub entered: Result<Option<Vec<(Timestamp, u64)>>, String>,
}

impl KeptRecords {
    /// Reads what the room keeps of so long a time up to now.
    pub async fn read(room: &OperatedRoom, back: Duration, advise: Advise) -> Result<Self, ControlError> {
        let now = room.transport.now();
        let since = now - back;
        // The records first: an order after them is of no minute that is reported.
        let minutes = room.minutes(since).await?;
        let status = room.status().await?;
        let (lines, missing) = room.history(AuditEntry::KEPT).await?;
        if let Some(error) = missing {
            return Err(error.into());
        }
        // A report without this number is better than none.
        let entered = room.transport.entered(since - Duration::from_mins(1)).await;
        let entered = entered.map_err(|error| with_advice(error.as_ref(), advise));
        let (rough, stopped_at) = (room.transport.is_far(), status.stopped_at);
        Ok(Self { room: status.room, rough, since, now, stopped_at, minutes, lines, entered })
    }

    /// The minutes, with what the orders and the metric say of them.
    pub(crate) fn reported(&self) -> Vec<ReportedMinute> {
        let mut minutes = reported(&self.minutes, self.since, &self.lines, self.room.settings.rate);
        if self.room.settings.oversubscribe.is_none() {
            for minute in &mut minutes {
                minute.surplus = 0;
            }
        }
        set_states(&mut minutes, &self.lines, self.room.state);
        if let Ok(Some(entries)) = &self.entered {
            set_entered(&mut minutes, entries);
        }
        minutes
    }
}

/// The error, and what to do about it, without a full stop.
fn with_advice(error: &(dyn Error + 'static), advise: Advise) -> String {
    let remedy = advise(error).map(|remedy| format!("; {remedy}")).unwrap_or_default();
    format!("{}{remedy}", with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_number_is_missing_says_what_to_do() {
        let told = |advise| with_advice(&std::fmt::Error, advise);
        let error = std::fmt::Error.to_string();
        assert_eq!(
            told(|_| Some("you need the permission".into())),
            format!("{error}; you need the permission")
        );
        assert_eq!(told(|_| None), error);
    }
}
