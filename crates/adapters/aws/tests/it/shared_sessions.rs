//! Guards that share a table of sessions decide as one guard does that has them in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use aws::SharedSessions;
use guard::{
    Exchange, Fingerprint, LiveSession, LiveSessions, MemorySessions, OneSession, Opening, SessionId,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::room::{TestRoom, config, run};
use crate::stub::stub;

const NOW: u64 = 1_800_000_000;

fn session(id: u8, pass: u64, now: u64) -> LiveSession {
    exchanged(id, pass, None, now)
}

/// A session that this browser opened. All passes of one second are one pass.
fn exchanged(id: u8, pass: u64, browser: Option<u8>, now: u64) -> LiveSession {
    let fingerprint = |of: u64| Fingerprint::from_bytes(u128::from(of).to_be_bytes());
    let exchange = Some(Exchange {
        pass: fingerprint(pass),
        browser: browser.map(|browser| fingerprint(browser.into())),
    });
    let id = SessionId::from_bytes([id; 16]);
    LiveSession { id, pass, exchange, opened: now, until: now + 1200, window: None, ended: None }
}

/// What each visitor's passes have done, to judge both stores by.
#[derive(Debug, Default)]
struct Exchanges {
    /// When each pass was first exchanged, and by which browser.
    first: HashMap<(String, u64), (u64, Option<u8>)>,
    /// The newest pass that was exchanged.
    mark: HashMap<String, u64>,
}

impl Exchanges {
    fn judge(&mut self, subject: &str, pass: u64, browser: Option<u8>, at: u64) {
        let (first, by) = *self.first.entry((subject.to_owned(), pass)).or_insert((at, browser));
        assert!(at < first + LiveSession::REPEAT, "exchanged at {first} and again at {at}");
        assert_eq!(by, browser, "by one browser and again by another");
        let mark = self.mark.entry(subject.to_owned()).or_insert(pass);
        assert!(*mark <= pass, "the mark falls from {mark} to {pass}");
        *mark = pass;
    }
}

impl TestRoom {
    /// Another guard in front of the same shop.
    fn guard(&self) -> SharedSessions {
        SharedSessions::new(self.ledger_config(), self.resources.ledger_table.clone())
    }
}

/// Visitors who open, use and replace sessions at random. Every call is made by a guard that has no answer from before.
async fn compared(room: TestRoom) {
    for (seed, rule) in [(1, OneSession::Newest), (2, OneSession::First)] {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut now, reference) = (NOW, MemorySessions::default());
        let mut exchanges = Exchanges::default();
        let (mut seen, mut opened) = (HashMap::new(), HashMap::new());
        for step in 0..250_u8 {
            now += [0, 0, 0, 1, 1, 2, 5, 60, 700][rng.random_range(0..9)];
            let subject = format!("{seed}-{}", rng.random_range(0..2));
            let at = now;
            if rng.random_bool(0.7) {
                // Often the newest pass once more, by one of few browsers.
                let again = exchanges.mark.get(&subject).filter(|_| rng.random_bool(0.6)).copied();
                let pass = again.unwrap_or_else(|| at - rng.random_range(0..20));
                let browser = [None, Some(1), Some(2)][rng.random_range(0..3)];
                let session = exchanged(step, pass, browser, at);
                let expected = reference.open(&subject, session, rule, at).await.unwrap();
                let opening = room.guard().open(&subject, session, rule, at).await.unwrap();
                assert_eq!(opening, expected, "step {step} of {rule:?}: {session:?}");
                if matches!(opening, Opening::Opened | Opening::Repeated) {
                    exchanges.judge(&subject, pass, browser, at);
                    opened.insert(subject, step);
                }
                *seen.entry(format!("{opening:?}")).or_insert(0) += 1;
            } else {
                let own = opened.get(&subject).filter(|_| rng.random_bool(0.5)).copied();
                let session = session(own.unwrap_or_else(|| rng.random_range(0..=step)), at, at);
                if rng.random_bool(0.3) {
                    reference.end(&subject, session.id, at).await.unwrap();
                    room.guard().end(&subject, session.id, at).await.unwrap();
                }
                let expected = reference.keep(&subject, session, at).await.unwrap();
                let kept = room.guard().keep(&subject, session, at).await.unwrap();
                assert_eq!(kept, expected, "step {step} of {rule:?}: {session:?}");
            }
        }
        let kinds = if rule == OneSession::First { 4 } else { 3 };
        assert!(seen.len() == kinds && seen.values().all(|times| *times > 2), "{seen:?} of {rule:?}");
    }
}

#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn guards_that_share_a_table_decide_as_one() {
    run(async { compared(TestRoom::empty().await).await });
}

/// It returns the item that made a condition fail, as DynamoDB does.
#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn guards_that_share_a_table_of_localemu_decide_as_one() {
    run(async { compared(TestRoom::on_localemu().await).await });
}

/// A clock was an hour ahead.
#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn a_clock_that_was_set_back_lets_no_pass_in_twice() {
    run(async {
        let room = TestRoom::empty().await;
        let opens = async |pass, now| {
            room.guard().open("a", session(1, pass, now), OneSession::Newest, now).await.unwrap()
        };
        let ahead = NOW + 3600;
        for (pass, now, expected) in [
            (ahead, ahead, Opening::Opened),
            (NOW, NOW + 1, Opening::Opened),
            (NOW + 5, NOW + 6, Opening::Opened),
            (NOW, NOW + 7, Opening::Used),
            (NOW + 5, NOW + 10, Opening::Used),
            (ahead, ahead, Opening::Used),
        ] {
            assert_eq!(opens(pass, now).await, expected, "{pass} at {now}");
        }
    });
}

#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn a_session_that_was_ended_at_another_guard_is_over_within_a_minute() {
    run(async {
        let room = TestRoom::empty().await;
        let (here, there) = (room.guard(), room.guard());
        let (first, second) = (session(1, NOW, NOW), session(2, NOW + 30, NOW + 30));
        let rule = OneSession::Newest;
        assert_eq!(here.open("a", first, rule, NOW).await.unwrap(), Opening::Opened);
        assert!(here.keep("a", first, NOW).await.unwrap());
        assert_eq!(there.open("a", second, rule, NOW + 30).await.unwrap(), Opening::Opened);
        assert!(here.keep("a", first, NOW + 31).await.unwrap(), "its answer counts for a minute");
        assert!(!here.keep("a", first, NOW + 60).await.unwrap());
        assert!(!here.keep("a", first, NOW + 61).await.unwrap());
        assert!(here.keep("a", second, NOW + 61).await.unwrap());
        let later = LiveSession { until: NOW + 1290, ..first };
        assert!(!there.keep("a", later, NOW + 90).await.unwrap());
    });
}

#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn what_the_shop_has_ended_is_over_in_time_where_it_was_said_and_a_minute_later_elsewhere() {
    run(async {
        let room = TestRoom::empty().await;
        let (here, there) = (room.guard(), room.guard());
        let (first, second) = (session(1, NOW, NOW), session(2, NOW + 40, NOW + 40));
        assert_eq!(here.open("a", first, OneSession::First, NOW).await.unwrap(), Opening::Opened);
        for guard in [&here, &there] {
            assert!(guard.keep("a", first, NOW).await.unwrap());
        }
        for now in [NOW + 5, NOW + 20] {
            here.end("a", first.id, now).await.unwrap();
        }
        assert!(here.keep("a", first, NOW + 34).await.unwrap(), "what its last page needs");
        let later = LiveSession { until: NOW + 1290, ..first };
        assert!(!here.keep("a", later, NOW + 35).await.unwrap());
        assert!(there.keep("a", first, NOW + 59).await.unwrap(), "its answer counts for a minute");
        assert!(!there.keep("a", first, NOW + 60).await.unwrap());
        assert_eq!(there.open("a", second, OneSession::First, NOW + 60).await.unwrap(), Opening::Opened);
        assert!(here.keep("a", second, NOW + 61).await.unwrap());
    });
}

#[test]
fn nobody_waits_for_a_table_that_does_not_answer_but_one_who_asks_again() {
    run(async {
        let (asked, status) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU16::new(200)));
        let (counted, said) = (asked.clone(), status.clone());
        let url = stub(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            (said.load(Ordering::Relaxed), "{}".to_owned())
        });
        let guard = SharedSessions::new(&config(&url), "sessions".into());
        let keep = async |subject, now| guard.keep(subject, session(1, NOW, now), now).await.ok();
        let asked = || asked.swap(0, Ordering::Relaxed);
        assert_eq!((keep("a", NOW).await, asked()), (Some(true), 1));
        guard.end("a", session(1, NOW, NOW).id, NOW).await.unwrap();
        assert_eq!(asked(), 1);
        status.store(503, Ordering::Relaxed);
        for now in [NOW + 60, NOW + 70, NOW + 80, NOW] {
            assert_eq!((keep("b", now).await, asked()), (None, 3), "this one asks, and tries three times");
            for later in [now, now + 9] {
                assert_eq!((keep("c", later).await, asked()), (Some(true), 0), "nobody loses a session");
            }
            assert!(guard.end("c", session(1, NOW, NOW).id, now).await.is_err());
            assert_eq!(asked(), 3, "the shop says it once");
        }
        assert_eq!((keep("a", NOW + 61).await, asked()), (None, 3));
        assert_eq!((keep("a", NOW + 62).await, asked()), (Some(false), 0), "the shop has ended it");
        status.store(200, Ordering::Relaxed);
        for subject in ["b", "c"] {
            assert_eq!((keep(subject, NOW + 71).await, asked()), (Some(true), 1), "it answers again");
        }
    });
}

#[test]
#[ignore = "needs DynamoDB Local and LocalEmu: cargo xtask test aws"]
fn a_table_that_is_not_there_is_named() {
    run(async {
        let room = TestRoom::empty().await;
        room.guard().check().await.unwrap();
        let nowhere = SharedSessions::new(room.ledger_config(), "no-such-table".into());
        let error = nowhere.check().await.unwrap_err();
        let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
        assert!(text.contains("table of sessions") && text.contains("ResourceNotFound"), "{text}");
    });
}
