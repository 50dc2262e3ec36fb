//! The demonstration shop: it lets in visitors with a valid pass.

use std::net::IpAddr;

use clock::SystemClock;
use embedded::EmbeddedStore;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use pass::Verifier;
use waitroom::WebUrl;
use waitroom::ports::{Clock, KeyBoard, RoomReader};

use crate::app::query_value;
use crate::connections::HttpService;
use crate::respond::{HttpResponse, html, uncached};

/// Verifies passes offline, as a real shop does. It requests only the public keys from the room.
#[derive(Debug)]
pub struct DemoShop(EmbeddedStore);

impl DemoShop {
    pub fn new(store: EmbeddedStore) -> Self {
        Self(store)
    }

    async fn ticket(&self, pass: &str) -> Option<Option<u64>> {
        let (keys, room) = (self.0.key_record().await.ok()?, self.0.room().await.ok()?);
        let verifier =
            Verifier { issuer: room.issuer(), audience: room.settings.room.to_string(), keys: keys.jwks() };
        let claims = verifier.verify(pass, SystemClock.now().as_secs()).ok()?;
        Some(claims.queue_position)
    }
}

impl HttpService for DemoShop {
    async fn answer(&self, request: &Request<Incoming>, _: IpAddr) -> HttpResponse {
        let ticket = match query_value(request.uri().query(), WebUrl::PASS_PARAMETER) {
            Some(pass) => self.ticket(pass).await,
            None => None,
        };
        let (status, heading, text) = match ticket {
            Some(Some(number)) => (
                StatusCode::OK,
                "Welcome to the shop",
                format!("You waited with number {number}, and your pass is good."),
            ),
            Some(None) => (
                StatusCode::OK,
                "Welcome to the shop",
                "The waiting room is off, so you came straight here.".into(),
            ),
            None => (
                StatusCode::FORBIDDEN,
                "Please wait in line first",
                "This shop lets in visitors with a valid pass from the waiting room.".into(),
            ),
        };
        html(uncached(status), format!(include_str!("shop.html"), heading = heading, text = text))
    }
}
