//! One live session at a time for each visitor.

use std::collections::HashMap;
use std::error::Error;

use parking_lot::Mutex;

use crate::SessionId;

/// What happens when a visitor with a session arrives with a new pass in another browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OneSession {
    /// The new session ends the one before. Nobody is locked out by a session that they cannot use any more.
    #[default]
    Newest,
    /// The new one is refused until the one before has ended.
    First,
}

/// A visitor's live session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSession {
    pub id: SessionId,
    /// When the pass that opened it was signed. An older pass, or the same one, opens nothing any more.
    pub pass: u64,
    pub opened: u64,
    /// The session is over from this second on, unless it is kept until later.
    pub until: u64,
}

/// What became of an attempt to open a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Opened,
    /// The pass was exchanged before.
    Used,
    /// There is a live session, and the first one counts.
    Taken,
}

/// Why the live sessions cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempt} the visitor's session")]
pub struct SessionsFault {
    pub attempt: &'static str,
    pub source: Box<dyn Error + Send + Sync>,
}

/// The live sessions, at most one for each subject.
///
/// In a store that several guards share, both calls are one conditional write. `SharedSessions` of the crate `aws` does that in
/// a table of `DynamoDB`.
pub trait LiveSessions: Send + Sync {
    /// Opens a session, if [`LiveSession::may_follow`] the one that is there.
    fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> impl Future<Output = Result<Opening, SessionsFault>> + Send;

    /// Lets a session live until [`LiveSession::until`], which moves on at most once a minute. False if it has ended, or
    /// another one of the same subject was opened after it.
    ///
    /// Each request calls this. A store on another machine may repeat its last answer for a minute.
    ///
    /// If the store knows no session of the subject, this one becomes it: the store may have been lost, and the visitor's
    /// cookie proves the session.
    fn keep(
        &self,
        subject: &str,
        session: LiveSession,
        now: u64,
    ) -> impl Future<Output = Result<bool, SessionsFault>> + Send;

    /// How many sessions are live, for monitoring. None if that is not known.
    fn count(&self, _now: u64) -> Option<usize> {
        None
    }
}

impl LiveSession {
    /// For so many seconds a pass may be exchanged again: a browser may repeat a request whose answer it never got.
    pub const REPEAT: u64 = 3;

    pub fn is_live(&self, now: u64) -> bool {
        now < self.until
    }

    /// Whether this session may be opened after `before`.
    pub fn may_follow(&self, before: &Self, rule: OneSession, now: u64) -> Opening {
        if now < before.opened.saturating_add(Self::REPEAT) {
            Opening::Opened
        } else if self.pass <= before.pass {
            Opening::Used
        } else if rule == OneSession::First && before.is_live(now) {
            Opening::Taken
        } else {
            Opening::Opened
        }
    }
}

/// What became of an attempt to keep a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    Unchanged,
    Changed,
    Refused,
}

/// Sessions in the memory of one process. When it ends, nobody loses a session, because the cookie proves it. Only ended
/// sessions and used passes are forgotten.
#[derive(Debug, Default)]
pub struct MemorySessions(Mutex<Live>);

#[derive(Debug, Default)]
struct Live {
    sessions: HashMap<Box<str>, LiveSession>,
    /// How many there were after old ones were last removed.
    cleaned: usize,
}

impl MemorySessions {
    /// How long a session is remembered after its end, because its pass may still be good.
    const REMEMBERED: u64 = 24 * 60 * 60;

    pub(crate) fn open_now(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Opening {
        let mut live = self.0.lock();
        let opening = live
            .sessions
            .get(subject)
            .map_or(Opening::Opened, |before| session.may_follow(before, rule, now));
        if opening == Opening::Opened {
            live.insert(subject, session, now);
        }
        opening
    }

    pub(crate) fn keep_now(&self, subject: &str, session: LiveSession, now: u64) -> Keeping {
        let mut live = self.0.lock();
        match live.sessions.get_mut(subject) {
            Some(before) if before.id != session.id || !before.is_live(now) => Keeping::Refused,
            Some(before) if session.until <= before.until => Keeping::Unchanged,
            Some(before) => {
                before.until = session.until;
                Keeping::Changed
            }
            None => {
                live.insert(subject, session, now);
                Keeping::Changed
            }
        }
    }

    /// Puts back what was stored.
    pub(crate) fn restore(&self, subject: &str, session: LiveSession) {
        self.0.lock().sessions.insert(subject.into(), session);
    }

    pub(crate) fn all(&self) -> Vec<(Box<str>, LiveSession)> {
        self.0.lock().sessions.iter().map(|(subject, session)| (subject.clone(), *session)).collect()
    }
}

impl Live {
    /// Removes old sessions when there are twice as many as after the last time, so that it costs little in all.
    fn insert(&mut self, subject: &str, session: LiveSession, now: u64) {
        if self.sessions.len() >= (2 * self.cleaned).max(1024) {
            self.sessions.retain(|_, session| now < session.until.saturating_add(MemorySessions::REMEMBERED));
            self.cleaned = self.sessions.len();
        }
        self.sessions.insert(subject.into(), session);
    }
}

impl LiveSessions for MemorySessions {
    async fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Result<Opening, SessionsFault> {
        Ok(self.open_now(subject, session, rule, now))
    }

    async fn keep(&self, subject: &str, session: LiveSession, now: u64) -> Result<bool, SessionsFault> {
        Ok(self.keep_now(subject, session, now) != Keeping::Refused)
    }

    fn count(&self, now: u64) -> Option<usize> {
        Some(self.0.lock().sessions.values().filter(|session| session.is_live(now)).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn session(id: u8, pass: u64, opened: u64) -> LiveSession {
        LiveSession { id: SessionId::from_bytes([id; 16]), pass, opened, until: opened + 1200 }
    }

    #[test]
    fn the_newest_session_ends_the_one_before() {
        let store = MemorySessions::default();
        let (first, second) = (session(1, NOW, NOW), session(2, NOW + 60, NOW + 60));
        assert_eq!(store.open_now("a", first, OneSession::Newest, NOW), Opening::Opened);
        assert_ne!(store.keep_now("a", first, NOW + 59), Keeping::Refused);
        assert_eq!(store.open_now("a", second, OneSession::Newest, NOW + 60), Opening::Opened);
        assert_eq!(store.keep_now("a", first, NOW + 61), Keeping::Refused, "it was ended");
        assert_ne!(store.keep_now("a", second, NOW + 61), Keeping::Refused);
        assert_eq!(store.open_now("b", first, OneSession::Newest, NOW), Opening::Opened, "another visitor");
        assert_eq!(store.count(NOW + 61), Some(2));
    }

    #[test]
    fn the_first_session_keeps_others_out_until_it_ends() {
        let store = MemorySessions::default();
        let rule = OneSession::First;
        let first = session(1, NOW, NOW);
        assert_eq!(store.open_now("a", first, rule, NOW), Opening::Opened);
        assert_eq!(store.open_now("a", session(2, NOW + 60, NOW + 60), rule, NOW + 60), Opening::Taken);
        assert_ne!(
            store.keep_now("a", LiveSession { until: NOW + 1800, ..first }, NOW + 600),
            Keeping::Refused
        );
        assert_eq!(store.open_now("a", session(2, NOW + 1200, NOW + 1200), rule, NOW + 1799), Opening::Taken);
        assert_eq!(
            store.open_now("a", session(2, NOW + 1200, NOW + 1800), rule, NOW + 1800),
            Opening::Opened
        );
        assert_eq!(store.keep_now("a", first, NOW + 1801), Keeping::Refused, "its cookie cannot come back");
    }

    #[test]
    fn a_pass_opens_one_session_and_an_older_one_none() {
        for rule in [OneSession::Newest, OneSession::First] {
            let store = MemorySessions::default();
            let open = |pass, now| store.open_now("a", session(9, pass, now), rule, now);
            assert_eq!(open(NOW, NOW), Opening::Opened);
            assert_eq!(open(NOW, NOW + 2), Opening::Opened, "the browser repeats its request");
            assert_eq!(open(NOW, NOW + 5), Opening::Used);
            assert_eq!(open(NOW - 1, NOW + 5), Opening::Used);
            assert_eq!(open(NOW, NOW + 1_000_000), Opening::Used, "also after the session");
        }
    }

    #[test]
    fn a_session_that_the_store_lost_comes_back_with_its_cookie() {
        let store = MemorySessions::default();
        assert_ne!(store.keep_now("a", session(1, NOW, NOW), NOW + 30), Keeping::Refused);
        assert_eq!(store.keep_now("a", session(2, NOW, NOW), NOW + 31), Keeping::Refused);
    }

    #[test]
    fn old_sessions_are_forgotten() {
        let store = MemorySessions::default();
        for visitor in 0..5_000_u64 {
            store.open_now(&visitor.to_string(), session(1, NOW, NOW), OneSession::Newest, NOW);
        }
        assert_eq!(store.all().len(), 5_000);
        let later = NOW + 1200 + MemorySessions::REMEMBERED;
        for visitor in 5_000..20_000_u64 {
            store.open_now(&visitor.to_string(), session(1, later, later), OneSession::Newest, later);
        }
        assert!(store.all().len() <= 16_384, "{}", store.all().len());
    }
}
