use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use guard::{
    Decision, Guard, GuardAnswer, GuardRules, GuardedRequest, MemorySessions, Moment, RoomClient, RoomKeys,
    RoomSilence, SessionKey,
};
use http::{HeaderMap, HeaderName, Method};
use parking_lot::Mutex;
use pass::{Claims, Jwks, KeyRing, Nonce, Signer};

pub(crate) const ROOM: &str = "https://wait.example/prod";
pub(crate) const DOOR: &str = "https://wait.example/prod/beekeeper";
pub(crate) const START: u64 = 1_800_000_000;

/// The room, as far as the guard sees it.
#[derive(Clone, Debug)]
pub(crate) struct TestRoom(Arc<Mutex<RoomState>>);

#[derive(Debug)]
struct RoomState {
    keys: KeyRing,
    silence: Option<u16>,
    asked: u32,
    takes: Duration,
}

impl RoomState {
    fn with(keys: KeyRing) -> Self {
        Self { keys, silence: None, asked: 0, takes: Duration::ZERO }
    }
}

impl RoomClient for TestRoom {
    async fn keys(&self) -> Result<Jwks, RoomSilence> {
        self.0.lock().asked += 1;
        let takes = self.0.lock().takes;
        tokio::time::sleep(takes).await;
        let room = self.0.lock();
        let url = format!("{ROOM}/.well-known/jwks.json");
        match room.silence {
            None => Ok(room.keys.jwks().unwrap()),
            Some(0) => Err(RoomSilence::NoAnswer { url, source: "connection refused".into() }),
            Some(status) => Err(RoomSilence::Status { url, status }),
        }
    }
}

impl TestRoom {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(RoomState::with(KeyRing::generate().unwrap()))))
    }

    /// Somebody who has got hold of the signing key.
    pub(crate) fn with_the_same_keys(&self) -> Self {
        let keys = self.0.lock().keys.clone();
        Self(Arc::new(Mutex::new(RoomState::with(keys))))
    }

    /// The room is gone.
    pub(crate) fn falls_silent(&self) {
        self.0.lock().silence = Some(0);
    }

    pub(crate) fn answers_only(&self, status: u16) {
        self.0.lock().silence = Some(status);
    }

    /// From now on each answer takes so long.
    pub(crate) fn answers_after(&self, takes: Duration) {
        self.0.lock().takes = takes;
    }

    pub(crate) fn answers_again(&self) {
        self.0.lock().silence = None;
    }

    /// How often it was asked for its keys.
    pub(crate) fn asked(&self) -> u32 {
        self.0.lock().asked
    }

    pub(crate) fn jwks(&self) -> Jwks {
        self.0.lock().keys.jwks().unwrap()
    }

    /// A new key signs from now on; the one before stays published.
    pub(crate) fn rotates(&self) {
        let previous = self.jwks().keys.first().cloned();
        self.0.lock().keys = KeyRing { previous, ..KeyRing::generate().unwrap() };
    }

    pub(crate) fn drops_the_previous_key(&self) {
        self.0.lock().keys.previous = None;
    }

    pub(crate) fn signs(&self, claims: &Claims) -> String {
        Signer::new(&self.0.lock().keys.current).unwrap().sign(claims).unwrap()
    }
}

/// A shop behind a guard, and the time.
pub(crate) struct Shop {
    pub(crate) guard: Arc<Guard<MemorySessions, TestRoom>>,
    pub(crate) room: TestRoom,
    pub(crate) now: u64,
    /// The text of the guard's key.
    pub(crate) key: String,
    drawn: u64,
}

/// What a browser keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Browser(HashMap<String, String>);

pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn rules() -> GuardRules {
    GuardRules::new(ROOM, "sale")
}

pub(crate) fn shop() -> Shop {
    Shop::with(rules())
}

impl Shop {
    pub(crate) fn with(rules: GuardRules) -> Self {
        let room = TestRoom::new();
        let keys = RoomKeys::of_room(&rules, room.clone());
        let key = SessionKey::generate().unwrap();
        let guard = Guard::new(rules, SessionKey::new(&key).unwrap(), MemorySessions::default(), keys);
        Self { guard: Arc::new(guard), room, now: START, key, drawn: 0 }
    }

    /// The same guard, after its machine has lost what it kept of the sessions.
    pub(crate) fn loses_its_sessions(&mut self) {
        let rules = self.guard.rules().clone();
        let keys = RoomKeys::of_room(&rules, self.room.clone());
        let key = SessionKey::new(&self.key).unwrap();
        self.guard = Arc::new(Guard::new(rules, key, MemorySessions::default(), keys));
    }

    pub(crate) fn pass_time(&mut self, seconds: u64) {
        self.now += seconds;
    }

    pub(crate) fn claims(&self, visitor: &str) -> Claims {
        let claims = pass::fixture::claims(self.now);
        Claims { iss: ROOM.into(), sub: visitor.into(), exp: self.now + 3600, ..claims }
    }

    /// What the door gives to an admitted visitor.
    pub(crate) fn pass(&self, visitor: &str) -> String {
        self.room.signs(&self.claims(visitor))
    }

    pub(crate) fn bound_pass(&self, visitor: &str, nonce: &str) -> String {
        self.room.signs(&Claims { nonce: Some(nonce.parse::<Nonce>().unwrap()), ..self.claims(visitor) })
    }

    pub(crate) async fn request(
        &mut self,
        browser: &mut Browser,
        method: Method,
        target: &str,
        headers: Headers<'_>,
    ) -> Decision {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        if !browser.0.is_empty() {
            map.append("cookie", browser.header().parse().unwrap());
        }
        self.drawn += 1;
        let random = u128::from(self.drawn).to_be_bytes();
        let moment = Moment { now: self.now, random };
        let request = GuardedRequest { method: &method, target, headers: &map, client: None };
        let decision = self.guard.decide(&request, moment).await;
        if let Decision::Answer(GuardAnswer { set_cookie: Some(set), .. }) = &decision {
            browser.keep(set);
        }
        decision
    }

    pub(crate) async fn get(&mut self, browser: &mut Browser, target: &str) -> Decision {
        let window = [("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate")];
        self.request(browser, Method::GET, target, &window).await
    }

    /// A visitor who came to the shop, and was let in: their browser.
    pub(crate) async fn admitted(&mut self, visitor: &str) -> Browser {
        let mut browser = Browser::default();
        self.get(&mut browser, "/").await;
        let pass = self.pass(visitor);
        let answer = self.get(&mut browser, &format!("/?bk_pass={pass}")).await;
        assert_eq!(location(&answer), "/");
        browser
    }
}

impl Browser {
    pub(crate) fn header(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn keep(&mut self, set: &str) {
        let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
        self.0.insert(name.into(), value.into());
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.0["__Host-bk_sale_guard"]
    }

    pub(crate) fn with_cookie(value: &str) -> Self {
        Self([("__Host-bk_sale_guard".to_owned(), value.to_owned())].into())
    }
}

/// Where a redirect leads.
#[track_caller]
pub(crate) fn location(decision: &Decision) -> &str {
    let Decision::Answer(GuardAnswer { location: Some(location), .. }) = decision else {
        panic!("no redirect: {decision:?}")
    };
    location
}

/// The visitor whom the shop serves.
#[track_caller]
pub(crate) fn entered(decision: &Decision) -> (Option<&str>, Option<u64>) {
    let Decision::Enter(to_shop) = decision else { panic!("not in the shop: {decision:?}") };
    (to_shop.subject.as_deref(), to_shop.number)
}

pub(crate) fn answer(decision: Decision) -> GuardAnswer {
    match decision {
        Decision::Answer(answer) => answer,
        Decision::Enter(to_shop) => panic!("in the shop: {to_shop:?}"),
    }
}
