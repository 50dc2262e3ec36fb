//! One live session at a time for each visitor.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use parking_lot::Mutex;
use pass::Verifier;

use crate::{Exchange, SessionId};

/// What happens when a visitor with a session arrives with a new pass in another browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OneSession {
    /// The new session ends the one before. Nobody is locked out by a session that they cannot use any more.
    #[default]
    Newest,
    /// The new one is refused until the one before has ended, except in the browser that opened that one.
    First,
}

/// A visitor's live session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSession {
    pub id: SessionId,
    /// The mark: an older pass, or one of the same second, opens nothing any more. It never falls.
    pub pass: u64,
    /// None if the store had lost the session and its cookie brought it back, or if an older guard wrote it.
    pub exchange: Option<Exchange>,
    /// When its pass was first exchanged. A repeat does not move it.
    pub opened: u64,
    /// The session is over from this second on, unless it is kept until later.
    pub until: u64,
    /// The [window](pass::Claims::window) that released its visitor. None in a room that does not count the active ones, and if a cookie
    /// brought the session back.
    pub window: Option<u64>,
    /// From this second on it is over because the shop said so, however long it is kept.
    pub ended: Option<u64>,
}

/// What a guard tells a room that counts its active visitors: all of it at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// How many sessions are live.
    pub live: u64,
    /// How many subjects have opened a session lately, whether it is live or not, by their window.
    pub opened: BTreeMap<u64, u64>,
}

/// What became of an attempt to open a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Opened,
    /// So is this one, with the pass of the session that it replaces.
    Repeated,
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
/// In a store that several guards share, each call is one conditional write, and a repeat is another one. `SharedSessions` of the
/// crate `aws` does that in a table of `DynamoDB`.
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

    /// The shop has ended this session: it is over [`LiveSession::FAREWELL`] seconds later, and nothing prolongs it. Nothing happens if it
    /// was ended before, if another one of the same subject was opened after it, or if the store does not know it.
    fn end(
        &self,
        subject: &str,
        id: SessionId,
        now: u64,
    ) -> impl Future<Output = Result<(), SessionsFault>> + Send;

    /// The sessions that are live, and those that were opened in the last so many seconds. None if that is not known, and then the
    /// guard can tell neither monitoring nor a room how many visitors are in the shop.
    fn counts(&self, _now: u64, _last: u64) -> Option<SessionCounts> {
        None
    }

    /// Whether the subject had a session here and has none any more. Where [`LiveSessions::counts`] is known, a room that counts the active
    /// visitors relies on it.
    fn has_ended(&self, _subject: &str, _now: u64) -> bool {
        false
    }
}

impl LiveSession {
    /// For so many seconds a pass may be exchanged again: a browser may repeat a request whose answer it never got.
    pub const REPEAT: u64 = 3;

    /// So many seconds after the shop ended a session it is over. Until then its visitor gets what their last page needs: its style, its
    /// images.
    pub const FAREWELL: u64 = 30;

    pub fn is_live(&self, now: u64) -> bool {
        now < self.until && self.ended.is_none_or(|ended| now < ended)
    }

    /// Whether it is over, or will be whatever its visitor does.
    pub fn has_ended(&self, now: u64) -> bool {
        self.ended.is_some() || !self.is_live(now)
    }

    /// Whether this session may be opened after `before`.
    ///
    /// A pass is exchanged once. Its own browser may repeat that for a moment after the first time.
    pub fn may_follow(&self, before: &Self, rule: OneSession, now: u64) -> Opening {
        if self.repeats(before, now) {
            Opening::Repeated
        } else if self.pass <= before.pass && !self.outdoes_a_wrong_clock(before, now) {
            Opening::Used
        } else if rule == OneSession::First && !before.has_ended(now) && !self.is_of_browser(before) {
            Opening::Taken
        } else {
            Opening::Opened
        }
    }

    /// Whether the mark was set by a clock that was ahead, and set back since. It would refuse every pass until that time comes again, and
    /// the door and the guard would send the visitor back and forth. So another pass counts that the door has just made, after the
    /// last exchange. The mark stays, for the pass that set it; another one of the wrong time may open once more when that time comes.
    fn outdoes_a_wrong_clock(&self, before: &Self, now: u64) -> bool {
        let ahead = now.saturating_add(Verifier::LEEWAY);
        let is_another =
            self.exchange.zip(before.exchange).is_some_and(|(ours, theirs)| ours.pass != theirs.pass);
        let is_new = now < self.pass.saturating_add(Verifier::LEEWAY);
        let is_later = ahead < before.opened || before.opened < self.pass;
        ahead < before.pass && is_another && is_new && is_later
    }

    /// The first exchange counts, also if a clock was set back since. What the shop has ended stays ended.
    fn repeats(&self, before: &Self, now: u64) -> bool {
        self.exchange.is_some()
            && before.ended.is_none()
            && self.exchange == before.exchange
            && now.abs_diff(before.opened) < Self::REPEAT
    }

    fn is_of_browser(&self, before: &Self) -> bool {
        self.exchange.zip(before.exchange).is_some_and(|(ours, theirs)| ours.is_of_browser(&theirs))
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
    pub(crate) const REMEMBERED: u64 = 24 * 60 * 60;

    pub(crate) fn open_now(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Opening {
        let mut live = self.0.lock();
        let Some(before) = live.sessions.get_mut(subject) else {
            live.insert(subject, session, now);
            return Opening::Opened;
        };
        let opening = session.may_follow(before, rule, now);
        let session = LiveSession { pass: before.pass.max(session.pass), ..session };
        match opening {
            Opening::Opened => *before = session,
            Opening::Repeated => *before = LiveSession { opened: before.opened, ..session },
            Opening::Used | Opening::Taken => {}
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

    /// False if there was nothing to change.
    pub(crate) fn end_now(&self, subject: &str, id: SessionId, now: u64) -> bool {
        let mut live = self.0.lock();
        let known = live.sessions.get_mut(subject);
        let Some(session) = known.filter(|known| known.id == id && known.ended.is_none()) else {
            return false;
        };
        session.ended = Some(now.saturating_add(LiveSession::FAREWELL));
        true
    }

    /// Puts back what was stored. The mark stays where an earlier line had it.
    pub(crate) fn restore(&self, subject: &str, mut session: LiveSession) {
        let mut live = self.0.lock();
        session.pass =
            live.sessions.get(subject).map_or(session.pass, |before| before.pass.max(session.pass));
        live.sessions.insert(subject.into(), session);
    }

    pub(crate) fn get(&self, subject: &str) -> Option<LiveSession> {
        self.0.lock().sessions.get(subject).copied()
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

    async fn end(&self, subject: &str, id: SessionId, now: u64) -> Result<(), SessionsFault> {
        self.end_now(subject, id, now);
        Ok(())
    }

    fn counts(&self, now: u64, last: u64) -> Option<SessionCounts> {
        let mut counts = SessionCounts::default();
        for session in self.0.lock().sessions.values() {
            counts.live += u64::from(session.is_live(now));
            if let Some(window) = session.window
                && now.saturating_sub(session.opened) <= last
            {
                *counts.opened.entry(window).or_default() += 1;
            }
        }
        Some(counts)
    }

    fn has_ended(&self, subject: &str, now: u64) -> bool {
        self.get(subject).is_some_and(|session| session.has_ended(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fingerprint;

    const NOW: u64 = 1_800_000_000;

    /// A session in a browser that the guard cannot tell. All passes of one second are one pass.
    fn session(id: u8, pass: u64, opened: u64) -> LiveSession {
        let exchange = Some(Exchange { pass: fingerprint(pass), browser: None });
        let id = SessionId::from_bytes([id; 16]);
        LiveSession { id, pass, exchange, opened, until: opened + 1200, window: None, ended: None }
    }

    fn fingerprint(of: u64) -> Fingerprint {
        Fingerprint::from_bytes(u128::from(of).to_be_bytes())
    }

    fn in_browser(browser: u64, session: LiveSession) -> LiveSession {
        let exchange =
            session.exchange.map(|known| Exchange { browser: Some(fingerprint(browser)), ..known });
        LiveSession { exchange, ..session }
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
        assert_eq!(store.counts(NOW + 61, 0).unwrap().live, 2);
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
            assert_eq!(open(NOW, NOW + 2), Opening::Repeated, "the browser repeats its request");
            assert_eq!(open(NOW, NOW + 3), Opening::Used, "three seconds after the first time");
            assert_eq!(open(NOW - 1, NOW + 5), Opening::Used);
            assert_eq!(open(NOW, NOW + 1_000_000), Opening::Used, "also after the session");
        }
    }

    #[test]
    fn only_the_same_pass_is_repeated_and_only_by_its_browser() {
        for rule in [OneSession::Newest, OneSession::First] {
            let store = MemorySessions::default();
            let open = |session, now| store.open_now("a", session, rule, now);
            let first = in_browser(1, session(1, NOW, NOW));
            assert_eq!(open(first, NOW), Opening::Opened);
            let friend = in_browser(2, session(2, NOW, NOW + 1));
            assert_eq!(open(friend, NOW + 1), Opening::Used, "another browser");
            assert_eq!(open(session(2, NOW, NOW + 1), NOW + 1), Opening::Used, "a browser without a cookie");
            let other = Some(Exchange { pass: fingerprint(7), ..first.exchange.unwrap() });
            let other = LiveSession { exchange: other, ..first };
            assert_eq!(open(other, NOW + 1), Opening::Used, "another pass of that second");
            let repeat = in_browser(1, session(3, NOW, NOW + 2));
            assert_eq!(open(repeat, NOW + 2), Opening::Repeated);
            assert_eq!(store.keep_now("a", first, NOW + 2), Keeping::Refused, "one session at a time");
            assert_eq!(open(repeat, NOW + 3), Opening::Used, "a repeat does not begin the time anew");
            assert_eq!(open(repeat, NOW - 3600), Opening::Used, "nor does a clock that is set back");
        }
    }

    /// As after a start before NTP: visitors came, and then the clock was set back by an hour.
    #[test]
    fn the_mark_of_a_clock_that_was_ahead_keeps_nobody_out() {
        for rule in [OneSession::Newest, OneSession::First] {
            let store = MemorySessions::default();
            let open = |session, now| store.open_now("a", session, rule, now);
            let ahead = in_browser(1, session(1, NOW + 3600, NOW + 3600));
            assert_eq!(open(ahead, NOW + 3600), Opening::Opened);
            assert_eq!(open(ahead, NOW), Opening::Used, "the same pass");
            let [before, first, second] =
                [NOW - 30, NOW, NOW + 5].map(|pass| in_browser(1, session(2, pass, pass.max(NOW))));
            assert_eq!(open(before, NOW), Opening::Used, "perhaps before the clock went wrong");
            assert_eq!(open(first, NOW), Opening::Opened);
            assert_eq!(open(second, NOW + 5), Opening::Opened);
            for again in [first, second, in_browser(2, first), in_browser(2, second)] {
                assert_eq!(open(again, NOW + 9), Opening::Used);
            }
            assert_eq!(open(ahead, NOW + 3600), Opening::Used, "the mark is right again");
            let later = in_browser(1, session(3, NOW + 3601, NOW + 3601));
            assert_eq!(open(later, NOW + 3601), Opening::Opened);
        }
        let ahead = session(1, NOW + 31, NOW + 31);
        let follows = |before| session(2, NOW, NOW).may_follow(&before, OneSession::Newest, NOW);
        assert_eq!(follows(ahead), Opening::Opened);
        assert_eq!(
            follows(LiveSession { pass: NOW + 30, ..ahead }),
            Opening::Used,
            "clocks differ by as much"
        );
        assert_eq!(follows(LiveSession { exchange: None, ..ahead }), Opening::Used, "perhaps the same pass");
    }

    #[test]
    fn the_first_session_is_replaced_by_its_own_browser_only() {
        let open =
            |before, session: LiveSession| session.may_follow(&before, OneSession::First, session.opened);
        let (first, later) = (session(1, NOW, NOW), session(2, NOW + 60, NOW + 60));
        assert_eq!(open(in_browser(1, first), in_browser(1, later)), Opening::Opened, "its cookie was lost");
        assert_eq!(open(in_browser(1, first), in_browser(2, later)), Opening::Taken);
        assert_eq!(open(in_browser(1, first), later), Opening::Taken);
        assert_eq!(open(first, later), Opening::Taken, "nobody knows whose browsers these are");
    }

    #[test]
    fn what_an_older_guard_wrote_repeats_nothing() {
        let before = LiveSession { exchange: None, ..session(1, NOW, NOW) };
        for session in [session(2, NOW, NOW), LiveSession { exchange: None, ..session(2, NOW, NOW) }] {
            assert_eq!(session.may_follow(&before, OneSession::Newest, NOW + 1), Opening::Used);
        }
        assert_eq!(session(2, NOW + 1, NOW).may_follow(&before, OneSession::Newest, NOW), Opening::Opened);
    }

    #[test]
    fn a_session_that_the_store_lost_comes_back_with_its_cookie() {
        let store = MemorySessions::default();
        assert_ne!(store.keep_now("a", session(1, NOW, NOW), NOW + 30), Keeping::Refused);
        assert_eq!(store.keep_now("a", session(2, NOW, NOW), NOW + 31), Keeping::Refused);
    }

    #[test]
    fn what_the_shop_has_ended_is_over_half_a_minute_later_whatever_its_visitor_does() {
        for rule in [OneSession::Newest, OneSession::First] {
            let store = MemorySessions::default();
            let (first, friend) =
                (in_browser(1, session(1, NOW, NOW)), in_browser(2, session(2, NOW + 3, NOW + 3)));
            assert!(!store.end_now("a", first.id, NOW + 1), "the store does not know it");
            assert!(!store.has_ended("a", NOW));
            store.open_now("a", first, rule, NOW);
            assert!(!store.end_now("a", friend.id, NOW + 1), "another session");
            assert!(!store.has_ended("a", NOW + 1));
            assert!(store.end_now("a", first.id, NOW + 1));
            assert!(store.has_ended("a", NOW + 1), "already");
            assert!(!store.end_now("a", first.id, NOW + 10), "a second word does not move it");
            let kept =
                |until, now| store.keep_now("a", LiveSession { until, ..first }, now) != Keeping::Refused;
            assert!(kept(NOW + 2000, NOW + 30) && !kept(NOW + 3000, NOW + 31));
            assert_eq!(store.open_now("a", first, rule, NOW + 2), Opening::Used, "a repeat does not undo it");
            assert_eq!(store.open_now("a", friend, rule, NOW + 3), Opening::Opened, "nobody is in its way");
            assert!(!store.has_ended("a", NOW + 31));
        }
    }

    #[test]
    fn live_sessions_and_those_of_each_window_are_counted_at_one_instant() {
        let store = MemorySessions::default();
        let open = |subject, id, window, at| {
            let session = LiveSession { window, ..session(id, at, at) };
            assert_eq!(store.open_now(subject, session, OneSession::Newest, at), Opening::Opened);
        };
        open("early", 1, Some(7), NOW);
        open("idle", 2, Some(7), NOW + 1);
        open("twice", 3, Some(7), NOW + 2);
        open("twice", 4, Some(7), NOW + 1000);
        open("later", 5, Some(8), NOW + 1000);
        open("off", 6, None, NOW + 1000);
        let ended = SessionId::from_bytes([5; 16]);
        let counts = |now| store.counts(now, 1200).unwrap();
        let of =
            |live, opened: &[(u64, u64)]| SessionCounts { live, opened: opened.iter().copied().collect() };
        assert_eq!(counts(NOW + 1000), of(5, &[(7, 3), (8, 1)]), "each subject once");
        assert!(store.end_now("later", ended, NOW + 1000));
        assert_eq!(counts(NOW + 1030), of(4, &[(7, 3), (8, 1)]), "it is over, and was opened nevertheless");
        assert_eq!(counts(NOW + 1200), of(3, &[(7, 3), (8, 1)]));
        assert_eq!(counts(NOW + 1201), of(2, &[(7, 2), (8, 1)]), "one was opened too long ago");
        assert_eq!(counts(NOW + 100_000), SessionCounts::default());
        assert_eq!(
            counts(0).opened,
            of(0, &[(7, 3), (8, 1)]).opened,
            "a clock that was set back loses nobody"
        );
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
