//! The demonstration shop, behind a guard in the same process as its room.

use std::net::IpAddr;

use embedded::EmbeddedStore;
use guard::{
    Decision, Guard, GuardRules, GuardTimes, GuardedRequest, MemorySessions, Moment, RoomClient, RoomKeys,
    RoomSilence, SessionKey, ToShop,
};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use pass::{Jwks, PassError};
use waitroom::Room;
use waitroom::ports::KeyBoard;

use crate::connections::HttpService;
use crate::forward_auth::{Style, answered};
use routes::respond::{HttpResponse, html, text, uncached};

/// Shows whoever gets past its guard how they got in. Its sessions end with the process.
#[derive(Debug)]
pub struct DemoShop(Guard<MemorySessions, KeysInStore>);

/// The keys as the room publishes them, without a request: the room may have a public URL that this machine cannot reach.
#[derive(Debug)]
struct KeysInStore {
    store: EmbeddedStore,
    rules: GuardRules,
}

impl DemoShop {
    /// The shop of this room, which is the one in the store.
    pub fn new(store: EmbeddedStore, room: &Room) -> Result<Self, PassError> {
        let rules =
            GuardRules { https: false, ..GuardRules::new(&room.issuer(), room.settings.room.as_str()) };
        let key = SessionKey::new(&SessionKey::generate()?).map_err(|_| PassError::Generate)?;
        let keys = RoomKeys::of_room(&rules, KeysInStore { store, rules: rules.clone() });
        Ok(Self(Guard::new(rules, key, MemorySessions::default(), keys)))
    }

    fn page(&self, visitor: &ToShop) -> HttpResponse {
        let waited = match visitor.number {
            Some(number) => format!("You waited with number {number}, and your pass was good."),
            None => "You came straight here, without a number in the line.".into(),
        };
        let GuardTimes { idle, session, .. } = self.0.rules().times;
        let (idle, session) = (idle.as_secs() / 60, session.as_secs() / 3600);
        let page = format!(include_str!("shop.html"), waited = waited, idle = idle, session = session);
        html(uncached(StatusCode::OK), page)
    }
}

impl RoomClient for KeysInStore {
    async fn keys(&self) -> Result<Jwks, RoomSilence> {
        let record = self.store.key_record().await;
        let silence = |error| RoomSilence::NoAnswer { url: self.rules.keys_url(), source: Box::new(error) };
        Ok(record.map_err(silence)?.jwks())
    }
}

impl HttpService for DemoShop {
    async fn answer(&self, request: &mut Request<Incoming>, sender: IpAddr) -> HttpResponse {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let (method, headers) = (request.method(), request.headers());
        let asked = GuardedRequest { method, target, headers, client: Some(sender) };
        let moment = match Moment::now() {
            Ok(moment) => moment,
            Err(error) => return text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        };
        match self.0.decide(&asked, moment).await {
            Decision::Enter(visitor) => self.page(&visitor),
            Decision::Answer(answer) => answered(&answer, Style::ForwardAuth),
        }
    }
}
