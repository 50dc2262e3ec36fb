//! What signing and verifying cost: `cargo bench -p guard`. One thread, no network.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use guard::{
    Decision, Guard, GuardOutcome, GuardRules, GuardedRequest, HttpRoom, LiveSession, LiveSessions,
    MemorySessions, Moment, OneSession, RoomKeys, SessionId, SessionKey,
};
use http::header::COOKIE;
use http::{HeaderMap, Method};
use pass::{Claims, KeyRing, Signer, Verifier, fixture};

const ROOM: &str = "https://wait.example";
const NAME: &str = "sale";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let moment = Moment::now().unwrap();
    let room_keys = KeyRing::generate().unwrap();
    let signer = Signer::new(&room_keys.current).unwrap();
    let pass = |visitor: usize| {
        let sub = format!("{visitor:064x}");
        let claims = Claims { iss: ROOM.into(), aud: NAME.into(), sub, ..fixture::claims(moment.now) };
        signer.sign(&claims).unwrap()
    };
    median("sign a pass", async || drop(black_box(pass(0)))).await;

    let keys = room_keys.jwks().unwrap();
    let rules = GuardRules::new(ROOM, NAME);
    let verifier = Verifier { issuer: ROOM.into(), audience: NAME.into(), keys: keys.clone() };
    let one = pass(0);
    median("verify a pass", async || drop(black_box(verifier.verify(&one, moment.now).unwrap()))).await;

    let key = SessionKey::new(&SessionKey::generate().unwrap()).unwrap();
    let guard =
        Guard::new(rules.clone(), key, MemorySessions::default(), RoomKeys::<HttpRoom>::given(&rules, keys));
    let mut headers = HeaderMap::new();
    let arrival = format!("/?bk_pass={one}");
    let arrived = guard.decide(&request(&arrival, &headers), moment).await;
    let Decision::Answer(answer) = arrived else { unreachable!("a pass is exchanged: {arrived:?}") };
    let cookie = answer.set_cookie.unwrap().split(';').next().unwrap().to_owned();
    headers.insert(COOKIE, cookie.parse().unwrap());
    median("verify a session, and keep it", async || {
        let decision = guard.decide(&request("/tickets/7", &headers), moment).await;
        assert_eq!(decision.outcome(), GuardOutcome::Entered);
    })
    .await;

    // For a report to the room. Meanwhile no request is decided.
    for visitors in [10_000, 1_000_000] {
        let sessions = in_the_shop(visitors, moment.now).await;
        median(&format!("count {visitors} sessions"), async || {
            drop(black_box(sessions.counts(moment.now, 7200).unwrap()));
        })
        .await;
    }
}

/// Visitors who came in over two hours, a window a minute. Half of them are still there.
async fn in_the_shop(visitors: u64, now: u64) -> MemorySessions {
    let sessions = MemorySessions::default();
    for visitor in 0..visitors {
        let opened = now - 7200 * visitor / visitors;
        let session = LiveSession {
            id: SessionId::from_bytes([0; 16]),
            pass: opened,
            exchange: None,
            opened,
            until: opened + 3600,
            window: Some(opened / 60),
            ended: None,
        };
        let subject = format!("{visitor:064x}");
        sessions.open(&subject, session, OneSession::Newest, now).await.unwrap();
    }
    sessions
}

fn request<'a>(target: &'a str, headers: &'a HeaderMap) -> GuardedRequest<'a> {
    GuardedRequest { method: &Method::GET, target, headers, client: None }
}

/// Prints the median of many rounds, because other programs of the machine slow some of them.
async fn median(what: &str, mut work: impl AsyncFnMut()) {
    const ROUNDS: usize = 51;
    const ROUND: Duration = Duration::from_millis(20);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (begun, mut times) = (Instant::now(), 0_u32);
        while begun.elapsed() < ROUND {
            work().await;
            times += 1;
        }
        rounds.push(begun.elapsed() / times);
    }
    rounds.sort();
    println!("{what:<50}  {:.1?}", rounds[ROUNDS / 2]);
}
