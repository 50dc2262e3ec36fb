//! Tells a room with a limit of active visitors how many are in the shop, and takes from its answer how long sessions last.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderValue;
use http::header::InvalidHeaderValue;
use parking_lot::Mutex;
use pass::{GuardName, GuardNameError, GuardReport, ReportKey, SessionRules};

use crate::moment::clock;
use crate::{
    Guard, GuardRules, HttpRoom, LiveSessions, Moment, NoRandomness, RoomClient, RoomSilence, bytes,
};

/// Sends the room a report every ten seconds. One reporter for each [`Guard`].
pub struct Reporter {
    room: HttpRoom,
    key_header: HeaderValue,
    name: GuardName,
    /// When the room last took a report, or when this was made.
    taken: AtomicU64,
    /// What became of the last report, so that the log says it once.
    last: Mutex<Option<Reported>>,
}

/// What became of a report, as far as it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    Taken,
    WrongKey,
    NoLimit,
    TooOld,
    OtherStatus(u16),
    NoAnswer,
    NotRules,
    /// The guard does not know all sessions itself.
    Uncounted,
}

/// A name for a guard whose sessions begin anew.
pub fn new_guard_name() -> Result<GuardName, NoRandomness> {
    let name = GuardName::try_from(bytes::encode(Moment::now()?.random));
    name.map_err(|GuardNameError| NoRandomness)
}

impl Reporter {
    /// For how long after it was opened a session is counted until the room has said it: longer than any session lasts.
    const COUNTED: u64 = 24 * 60 * 60;

    pub fn new(room: HttpRoom, key: &ReportKey, name: GuardName) -> Result<Self, InvalidHeaderValue> {
        let mut key_header = HeaderValue::try_from(key.as_str())?;
        key_header.set_sensitive(true);
        let taken = AtomicU64::new(clock().as_secs());
        Ok(Self { room, key_header, name, taken, last: Mutex::default() })
    }

    /// Sends one report, and has the guard follow the answer. From the first one on, the guard counts until the room has said that it
    /// doesn't itself. Before the guard decides about its first request, so that it knows how long sessions last; the room may take five
    /// seconds to answer.
    pub async fn report<L: LiveSessions, C: RoomClient>(&self, guard: &Guard<L, C>) {
        let counted = guard.followed().map_or(Self::COUNTED, |rules| rules.counted);
        let made = clock();
        let Some(counts) = guard.sessions().counts(made.as_secs(), counted) else {
            return self.note(Reported::Uncounted, None);
        };
        if self.last.lock().is_none() {
            // The room may be down. Then no session that has ended opens again, either.
            guard.follow(Some(Self::assumed(guard.rules())));
        }
        let made = u64::try_from(made.as_millis()).unwrap_or(u64::MAX);
        let pass = guard.rules().times.pass.as_secs();
        let report =
            GuardReport { guard: self.name.clone(), made, pass, live: counts.live, opened: counts.opened };
        match self.room.report(&self.key_header, &report).await {
            Ok(rules) => {
                self.taken.store(clock().as_secs(), Ordering::Relaxed);
                guard.follow(Some(rules));
                self.note(Reported::Taken, None);
            }
            Err(silence) => {
                let reported = Reported::of(&silence);
                // Any other answer may be a firewall's, or a proxy's while the room restarts. Rooms from before there was a limit say
                // this too, and would send a visitor whose session has ended back and forth.
                if reported == Reported::NoLimit {
                    guard.follow(None);
                }
                self.note(reported, Some(&silence));
            }
        }
    }

    /// What the room says, as far as the guard knows before it is told.
    fn assumed(rules: &GuardRules) -> SessionRules {
        let (idle, session) = (rules.times.idle.as_secs(), rules.times.session.as_secs());
        SessionRules { idle, session, counted: Self::COUNTED }
    }

    /// Sends a report every ten seconds from now on, for ever.
    pub async fn watch<L: LiveSessions, C: RoomClient>(&self, guard: &Guard<L, C>) {
        let pause = Duration::from_secs(SessionRules::REPORTED_EVERY);
        let mut turns = tokio::time::interval_at(tokio::time::Instant::now() + pause, pause);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.report(guard).await;
        }
    }

    /// For how many seconds the room has taken no report, for monitoring.
    pub fn silent_for(&self, now: u64) -> u64 {
        now.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    fn note(&self, reported: Reported, silence: Option<&RoomSilence>) {
        let before = self.last.lock().replace(reported);
        if before == Some(reported) {
            return;
        }
        let error = silence.map(|silence| silence as &(dyn Error + 'static));
        match reported {
            Reported::Taken if before.is_none() => {}
            Reported::Taken => tracing::info!("the room takes the reports of who is in the shop again"),
            Reported::WrongKey => tracing::error!(
                error,
                "the room does not know this guard's report key, so it takes no report of who is in the shop; write a key of this room \
                 with `beekeeper keys guard NAME > FILE` on its operator's machine, and start the guard with it"
            ),
            Reported::NoLimit => tracing::warn!(
                error,
                "the room has no limit of active visitors, so it needs no reports; set one, or start the guard without --report-key"
            ),
            Reported::TooOld => tracing::error!(
                error,
                "the room refused a report because it was made more than {} s ago by the room's clock, or in its future; set the clocks of \
                 both machines by NTP",
                SessionRules::LONGEST_WAY
            ),
            Reported::OtherStatus(_) | Reported::NoAnswer | Reported::NotRules => tracing::error!(
                error,
                "the room took no report of who is in the shop; the guard sends another one every {} s. Look whether the room is up",
                SessionRules::REPORTED_EVERY
            ),
            Reported::Uncounted => tracing::error!(
                "the guard does not know all sessions of its shop, so it sends the room no report; keep them in a file, not in a shared \
                 table"
            ),
        }
    }
}

impl Reported {
    fn of(silence: &RoomSilence) -> Self {
        match silence {
            RoomSilence::NothingThere { .. } => Self::NoLimit,
            RoomSilence::Status { status: 401, .. } => Self::WrongKey,
            RoomSilence::Status { status: 409, .. } => Self::TooOld,
            RoomSilence::Status { status, .. } => Self::OtherStatus(*status),
            RoomSilence::NoAnswer { .. } => Self::NoAnswer,
            RoomSilence::NotKeys { .. }
            | RoomSilence::NotRules { .. }
            | RoomSilence::OtherRoom { .. }
            | RoomSilence::OtherUrl { .. } => Self::NotRules,
        }
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pass::Jwks;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::{MemorySessions, RoomKeys, SessionKey};

    const RULES: SessionRules = SessionRules { idle: 300, session: 1800, counted: 7200 };

    /// A guard's reporter, and a room that answers its next report so.
    struct TestReports {
        guard: Guard<MemorySessions, HttpRoom>,
        reporter: Reporter,
        room: TcpListener,
    }

    impl TestReports {
        async fn new() -> Self {
            let room = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let rules = GuardRules::new(&format!("http://{}", room.local_addr().unwrap()), "sale");
            let key = SessionKey::new(&SessionKey::generate().unwrap()).unwrap();
            let keys = RoomKeys::given(&rules, Jwks::default());
            let client = HttpRoom::new(&rules).unwrap();
            let guard = Guard::new(rules, key, MemorySessions::default(), keys);
            let reporter =
                Reporter::new(client, &"a-secret".parse().unwrap(), new_guard_name().unwrap()).unwrap();
            Self { guard, reporter, room }
        }

        /// Whether the room counts, to the guard's knowledge, after this answer to a report.
        async fn counts_after(&self, status: &str, body: &str) -> bool {
            let serve = async {
                let (mut visitor, _) = self.room.accept().await.unwrap();
                let mut request = Vec::new();
                // Until the end of the report, which says that nobody came.
                while !request.ends_with(b"\"opened\":{}}") {
                    assert!(visitor.read_buf(&mut request).await.unwrap() > 0);
                }
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
                // The client may close the connection before it has read everything.
                drop(visitor.write_all(answer.as_bytes()).await);
            };
            tokio::join!(self.reporter.report(&self.guard), serve);
            self.guard.followed() == Some(RULES)
        }
    }

    #[tokio::test]
    async fn a_room_counts_until_it_says_that_it_does_not() {
        let taken = serde_json::to_string(&RULES).unwrap();
        let html = "<html>One moment</html>";
        let proxys = [
            ("401 Unauthorized", ""),
            ("403 Forbidden", r#"{"error":"blocked"}"#),
            ("302 Found", ""),
            ("400 Bad Request", ""),
            ("408 Request Timeout", ""),
            ("409 Conflict", ""),
            ("413 Content Too Large", ""),
            ("429 Slow", ""),
            ("500 Broken", ""),
            ("503 Busy", ""),
            ("404 Not Found", ""),
            ("404 Not Found", html),
            ("404 Not Found", r#"{"message":"Not Found"}"#),
            ("404 Not Found", r#"{"error":404}"#),
            ("405 Method Not Allowed", html),
            ("200 OK", html),
        ];
        for (status, body) in proxys {
            let reports = TestReports::new().await;
            assert!(!reports.counts_after(status, body).await, "{status}");
            assert!(reports.counts_after("200 OK", &taken).await);
            assert!(reports.counts_after(status, body).await, "{status} {body}");
        }
        let reports = TestReports::new().await;
        let said = r#"{"error":"this room counts no active visitors"}"#;
        for ending in ["404 Not Found", "405 Method Not Allowed"] {
            assert!(reports.counts_after("200 OK", &taken).await);
            assert!(!reports.counts_after(ending, said).await, "{ending}");
            assert_eq!(reports.guard.followed(), None);
            reports.counts_after("503 Busy", "").await;
            assert_eq!(reports.guard.followed(), None, "nor when the room is down afterwards");
        }
        assert!(reports.counts_after("200 OK", &taken).await);
        let TestReports { guard, reporter, room } = reports;
        drop(room);
        reporter.report(&guard).await;
        assert_eq!(guard.followed(), Some(RULES), "nobody knows of a room that is gone");
    }

    #[tokio::test]
    async fn the_guard_counts_by_its_own_rules_until_the_room_has_said_more() {
        let TestReports { guard, reporter, room } = TestReports::new().await;
        drop(room);
        assert_eq!(guard.followed(), None);
        reporter.report(&guard).await;
        let own = SessionRules { idle: 1200, session: 7200, counted: Reporter::COUNTED };
        assert_eq!(guard.followed(), Some(own));
    }

    #[tokio::test]
    async fn only_a_report_that_was_taken_is_none_too_long_ago() {
        let reports = TestReports::new().await;
        let long_ago = clock().as_secs() - 100;
        for (status, expected) in [("404 Not Found", 100), ("401 Unauthorized", 100), ("200 OK", 0)] {
            reports.reporter.taken.store(long_ago, Ordering::Relaxed);
            reports.counts_after(status, &serde_json::to_string(&RULES).unwrap()).await;
            assert_eq!(reports.reporter.silent_for(long_ago + 100), expected, "{status}");
        }
    }

    #[tokio::test]
    async fn the_key_is_in_no_log() {
        let TestReports { reporter, .. } = TestReports::new().await;
        assert!(!format!("{reporter:?} {:?}", reporter.key_header).contains("a-secret"));
    }
}
