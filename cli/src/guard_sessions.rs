//! Where a guard keeps its sessions: in its own file, or in a table that several guards share.

use guard::{FileSessions, LiveSession, LiveSessions, OneSession, Opening, SessionsFault};

use crate::aws::deployed::SharedSessions;

pub(crate) enum GuardSessions {
    File(FileSessions),
    Shared(SharedSessions),
}

impl LiveSessions for GuardSessions {
    async fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Result<Opening, SessionsFault> {
        match self {
            Self::File(sessions) => sessions.open(subject, session, rule, now).await,
            Self::Shared(sessions) => sessions.open(subject, session, rule, now).await,
        }
    }

    async fn keep(&self, subject: &str, session: LiveSession, now: u64) -> Result<bool, SessionsFault> {
        match self {
            Self::File(sessions) => sessions.keep(subject, session, now).await,
            Self::Shared(sessions) => sessions.keep(subject, session, now).await,
        }
    }

    fn count(&self, now: u64) -> Option<usize> {
        match self {
            Self::File(sessions) => sessions.count(now),
            Self::Shared(sessions) => sessions.count(now),
        }
    }
}
