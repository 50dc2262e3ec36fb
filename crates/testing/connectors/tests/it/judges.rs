//! The guard and the authorizer, asked as a shop in another language is asked over HTTP.

use std::time::Duration;

use connectors::{PassVerdict, VectorKey, Vectors, Visitor};
use guard::{
    AuthorizedVisitor, Authorizer, Decision, Guard, GuardOutcome, GuardRules, GuardTimes, GuardedRequest,
    HttpRoom, MemorySessions, Moment, NotAuthorized, RoomKeys, SessionKey, ToShop,
};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue, Method};
use pass::Refused;
use serde_json::json;

/// Between the past and the future of the vectors.
pub(crate) const NOW: u64 = 1_800_000_000;

fn rules(vectors: &Vectors) -> GuardRules {
    // The vectors' passes are old: only their own times count.
    let pass = Duration::from_hours(24 * 365 * 200);
    GuardRules {
        times: GuardTimes { pass, ..GuardTimes::default() },
        ..GuardRules::new(&vectors.room, &vectors.name)
    }
}

fn keys(vectors: &Vectors) -> RoomKeys<HttpRoom> {
    RoomKeys::given(&rules(vectors), vectors.keys.clone())
}

fn session_key() -> SessionKey {
    SessionKey::new(&"A".repeat(43)).unwrap()
}

fn guard(vectors: &Vectors) -> Guard<MemorySessions, HttpRoom> {
    Guard::new(rules(vectors), session_key(), MemorySessions::default(), keys(vectors))
}

async fn decided(
    guard: &Guard<MemorySessions, HttpRoom>,
    target: &str,
    headers: &HeaderMap,
    now: u64,
) -> Decision {
    let request = GuardedRequest { method: &Method::GET, target, headers, client: None };
    guard.decide(&request, Moment { now, random: [7; 16] }).await
}

/// What the guard makes of a pass in the URL.
pub(crate) async fn guard_says(vectors: &Vectors, pass: &str) -> PassVerdict {
    let target = format!("/a?bk_pass={pass}");
    match decided(&guard(vectors), &target, &HeaderMap::new(), NOW).await.outcome() {
        GuardOutcome::Exchanged => PassVerdict::Accepted,
        GuardOutcome::PassRefused(Refused::Expired) => PassVerdict::Expired,
        GuardOutcome::PassRefused(_) => PassVerdict::Refused,
        other => panic!("{other:?}"),
    }
}

/// Where the guard leads somebody whose pass it exchanged.
pub(crate) async fn exchanged(vectors: &Vectors, target: &str) -> Option<String> {
    match decided(&guard(vectors), target, &HeaderMap::new(), NOW).await {
        Decision::Answer(answer) if answer.outcome == GuardOutcome::Exchanged => answer.location,
        _ => None,
    }
}

/// What the authorizer makes of a pass, and whom it lets in.
pub(crate) async fn authorizer_says(vectors: &Vectors, pass: &str) -> (PassVerdict, Option<Visitor>) {
    let authorizer = Authorizer::new(rules(vectors), None, keys(vectors));
    match authorizer.visitor(&HeaderMap::new(), Some(pass), NOW).await {
        Ok(AuthorizedVisitor { subject, number }) => {
            (PassVerdict::Accepted, Some(Visitor { subject, number }))
        }
        Err(NotAuthorized::Refused(Some(Refused::Expired))) => (PassVerdict::Expired, None),
        Err(NotAuthorized::Refused(_)) => (PassVerdict::Refused, None),
        Err(other) => panic!("{other}"),
    }
}

/// The value of a guard's cookie.
async fn session(vectors: &Vectors, number: u64, opened: u64) -> String {
    let sub = &vectors.passes[0].enters.as_ref().unwrap().subject;
    let claims = json!({
        "iss": vectors.room, "aud": vectors.name, "sub": sub, "queue_position": number, "token_use": "access",
        "iat": opened, "nbf": opened, "exp": opened + 300,
    });
    let target = format!("/a?bk_pass={}", VectorKey::named("current").unwrap().pass(&claims).unwrap());
    let Decision::Answer(answer) = decided(&guard(vectors), &target, &HeaderMap::new(), opened).await else {
        panic!("no session")
    };
    let set = answer.set_cookie.unwrap();
    set.split(';').next().unwrap().split_once('=').unwrap().1.to_owned()
}

/// Whom guard and authorizer let in for a `Cookie` header, with the guard's sessions in place of the connectors'.
pub(crate) async fn cookie_lets_in(vectors: &Vectors, header: &str) -> (Option<Visitor>, Option<Visitor>) {
    let guard = guard(vectors);
    let mut header = header.replace("__Host-bk_sale_session=", "__Host-bk_sale_guard=");
    for (what, number, opened) in [
        ("of a session", 4711, NOW),
        ("with two sessions in the other order", 42, NOW),
        ("with the session behind one that is over", 4711, NOW - 3 * 3600),
    ] {
        let vector = vectors.cookies.iter().find(|vector| vector.what == what).unwrap();
        let (_, theirs) = vector.header.split(';').next().unwrap().split_once('=').unwrap();
        header = header.replace(theirs, &session(vectors, number, opened).await);
    }
    let bytes: Vec<u8> = header.chars().map(|byte| u8::try_from(byte).unwrap()).collect();
    // What no server passes on lets nobody in.
    let Ok(value) = HeaderValue::from_bytes(&bytes) else { return (None, None) };
    let headers = HeaderMap::from_iter([(COOKIE, value)]);
    let entered = match decided(&guard, "/a", &headers, NOW).await {
        Decision::Enter(ToShop { subject: Some(subject), number, .. }) => Some(Visitor { subject, number }),
        _ => None,
    };
    let authorizer = Authorizer::new(rules(vectors), Some(session_key()), keys(vectors));
    let visitor = authorizer.visitor(&headers, None, NOW).await.ok();
    (entered, visitor.map(|AuthorizedVisitor { subject, number }| Visitor { subject, number }))
}
