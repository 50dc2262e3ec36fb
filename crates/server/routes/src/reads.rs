//! The answers that only read the room.

use hyper::header::{ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, VARY};
use hyper::{HeaderMap, Response, header};
use pass::Discovery;
use poll::{Poll, PollLedger};
use waitroom::ports::{Clock, KeyBoard, PortResult};
use waitroom::{Room, readable_cookies};

use crate::respond::{self, HttpResponse};
use crate::table::{DOOR, Handler};

waitroom::used_ports! {
    /// What the answers that only read need of the ledger.
    pub trait ReadLedger: PollLedger + KeyBoard
}

/// Answers what is asked all the time, and what never changes anything.
#[derive(Debug)]
pub struct Reads<L, C> {
    ledger: L,
    poll: Poll<L, C>,
}

impl<L: ReadLedger + Clone, C: Clock> Reads<L, C> {
    pub fn new(ledger: L, clock: C) -> Self {
        Self { poll: Poll::new(ledger.clone(), clock), ledger }
    }

    /// The answer to a request with these headers, without the route's own headers. None if this handler does more than read.
    pub async fn answer(&self, handler: Handler, headers: &HeaderMap) -> PortResult<Option<HttpResponse>> {
        let json = Response::builder();
        Ok(Some(match handler {
            Handler::Root => respond::found(DOOR),
            Handler::Poll => respond::json(json, &self.poll.poll(cookies(headers)).await?),
            Handler::Status => respond::json(json, &self.poll.status().await?),
            Handler::ClientCheck => {
                let answer = self.poll.client(cookies(headers)).await?;
                readable_by_shop(respond::json(json, &answer), &*self.ledger.room().await?)
            }
            Handler::PublicKeys => respond::json(json, &self.ledger.key_record().await?.jwks()),
            Handler::Discovery => {
                let room = self.ledger.room().await?;
                respond::json(json, &Discovery::of(room.issuer(), room.settings.room.as_str()))
            }
            Handler::Door | Handler::Guard | Handler::Page | Handler::Preview => return Ok(None),
        }))
    }

    /// What is answered if the room cannot. The shop's pages may read it.
    pub async fn unavailable(&self) -> HttpResponse {
        let response = respond::unavailable();
        match self.ledger.room().await {
            Ok(room) => readable_by_shop(response, &room),
            Err(_) => response,
        }
    }
}

/// The cookies of a request, in however many headers they come.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::COOKIE).iter().flat_map(|value| readable_cookies(value.as_bytes()))
}

/// Lets the pages of the shop read the response to a request with a cookie.
fn readable_by_shop(mut response: HttpResponse, room: &Room) -> HttpResponse {
    let origin = room.settings.shop.as_url().origin().ascii_serialization();
    // The origin of a URL is ASCII, so it is always a valid header value.
    if let Ok(origin) = HeaderValue::try_from(origin) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
    response
}
