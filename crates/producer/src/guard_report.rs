//! `POST /guard`: a guard of the shop says whom it counts there, and learns how long sessions last.

use pass::{GuardReport, SessionRules};
use waitroom::ports::{Clock, GuardReports, RoomReader, TokenSource};
use waitroom::{ActiveLimit, KeptReport};

use crate::error::ProducerError;
use crate::{Producer, ProducerStore};

/// The longest report that is read: one with every window of a day.
pub const LONGEST_REPORT: usize = 64 << 10;

/// What a guard is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportAnswer {
    Kept(SessionRules),
    /// It is no report.
    Unreadable,
    /// The guard does not show the room's report key, or the room has none.
    Unknown,
    /// The room counts no active visitors.
    NotCounted,
    /// It was made too long ago, or the clocks differ.
    Late,
}

impl ReportAnswer {
    pub fn status(self) -> u16 {
        match self {
            Self::Kept(_) => 200,
            Self::Unreadable => 400,
            Self::Unknown => 401,
            Self::NotCounted => 404,
            Self::Late => 409,
        }
    }

    /// The rules as JSON, or why there are none.
    pub fn body(self) -> String {
        let error = |text: &str| format!("{{\"error\":\"{text}\"}}");
        match self {
            Self::Kept(rules) => serde_json::to_string(&rules).unwrap_or_default(),
            Self::Unreadable => error("this is not a guard's report"),
            Self::Unknown => {
                error("the report key is not this room's; beekeeper keys guard prints a new one")
            }
            Self::NotCounted => {
                error("this room counts no active visitors; it has no setting active_visitors")
            }
            Self::Late => error(
                "this report was made more than 30 seconds ago, or will be; are the clocks of guard and room right?",
            ),
        }
    }
}

impl<S: ProducerStore, C: Clock, T: TokenSource> Producer<S, C, T> {
    /// Takes a guard's report. `key` is the header [`GuardReport::KEY`] of its request, and `body` is awaited only if that is the
    /// room's key: nobody without it makes the room read anything.
    pub async fn take_report(
        &self,
        key: Option<&str>,
        body: impl Future<Output: AsRef<[u8]>>,
    ) -> Result<ReportAnswer, ProducerError> {
        let room = self.store.ledger().room().await?;
        if room.settings.active.is_none() {
            return Ok(ReportAnswer::NotCounted);
        }
        let is_known = |key| room.report_key.as_ref().is_some_and(|known| known.is_of(key));
        if !key.is_some_and(is_known) {
            return Ok(ReportAnswer::Unknown);
        }
        let body = body.await;
        // Again, because a guard may send its report slowly.
        let room = self.store.ledger().room().await?;
        let Some(limit) = room.settings.active else { return Ok(ReportAnswer::NotCounted) };
        let is_sound = |report: &GuardReport| report.pass <= ActiveLimit::LONGEST_PASS.as_secs();
        let report = serde_json::from_slice::<GuardReport>(body.as_ref()).ok().filter(is_sound);
        let Some(report) = report else { return Ok(ReportAnswer::Unreadable) };
        let received = self.clock.now();
        if received.as_millis().abs_diff(report.made) > 1000 * SessionRules::LONGEST_WAY {
            return Ok(ReportAnswer::Late);
        }
        self.store.ledger().keep_report(KeptReport { report, received }).await?;
        Ok(ReportAnswer::Kept(limit.session_rules(room.settings.lifetimes)))
    }
}
