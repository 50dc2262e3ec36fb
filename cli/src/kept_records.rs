//! What a report is made of: all that a room keeps of its events.

use std::time::Duration;

use anyhow::Result;
use control::{ControlError, OperatedRoom};
use report::KeptRecords;
use waitroom::AuditEntry;

use crate::ending;

/// Reads what the room keeps of so long a time up to now.
pub(crate) async fn kept_records(room: &OperatedRoom, back: Duration) -> Result<KeptRecords> {
    let now = room.transport.now();
    let since = now - back;
    // The records first: an order after them is of no minute that is reported.
    let minutes = room.minutes(since).await?;
    let status = room.status().await?;
    let lines = room.history(AuditEntry::KEPT).await?;
    // A report without this number is better than none.
    let entered = room.transport.entered(since - Duration::from_mins(1)).await;
    let entered = entered.map_err(|error| with_advice(&ControlError::from(error).into()));
    let (rough, stopped_at) = (room.transport.is_far(), status.stopped_at);
    Ok(KeptRecords { room: status.room, rough, since, now, stopped_at, minutes, lines, entered })
}

/// The error, and what to do about it, without a full stop.
fn with_advice(error: &anyhow::Error) -> String {
    let advice = ending::advice(error).map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{error:#}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{Exit, Failure};

    #[test]
    fn why_a_number_is_missing_says_what_to_do() {
        let denied = Failure::new(Exit::Denied, "AccessDenied").advising("you need the permission");
        let denied = anyhow::Error::new(denied).context("could not read the metric Entered");
        let told = "could not read the metric Entered: AccessDenied; you need the permission";
        assert_eq!(with_advice(&denied), told);
    }
}
