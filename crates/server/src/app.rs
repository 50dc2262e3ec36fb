//! The routes of the room.

use clock::SystemClock;
use embedded::EmbeddedStore;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL, CONTENT_TYPE,
    COOKIE, HeaderName, HeaderValue, RETRY_AFTER, VARY,
};
use hyper::http::response::Builder;
use hyper::{Method, Request, Response, StatusCode};
use page::Page;
use poll::Poll;
use producer::{Producer, ProducerError, SystemTokens};
use serde::Serialize;
use waitroom::ports::{Clock, Keys, PortResult, RoomReader};
use waitroom::{Room, Scheme};

use crate::files::Files;
use crate::preview::Preview;
use crate::{HttpResponse, HttpService};

const SEC_PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// Everything that visitors and the shop can ask of a room.
#[derive(Debug)]
pub struct App {
    store: EmbeddedStore,
    producer: Producer<EmbeddedStore, SystemClock, SystemTokens>,
    poll: Poll<EmbeddedStore, SystemClock>,
    page: Files,
    preview: Option<Preview>,
}

impl App {
    pub fn new(store: EmbeddedStore, scheme: Scheme, page: &Page) -> Self {
        let producer = Producer::new(store.clone(), SystemClock, SystemTokens, scheme);
        let poll = Poll::new(store.clone(), SystemClock);
        Self { store, producer, poll, page: Files::new(page), preview: None }
    }

    /// Shows every state of the page as well: for whoever designs it, not for visitors.
    #[must_use]
    pub fn with_preview(self, preview: Preview) -> Self {
        Self { preview: Some(preview), ..self }
    }

    /// Makes the signing keys, if there are none, before the first visitor needs them.
    pub async fn warm_up(&self) -> Result<(), ProducerError> {
        self.producer.warm_up().await
    }

    async fn beekeeper(&self, request: &Request<Incoming>) -> HttpResponse {
        let cookies: Vec<&str> = cookies(request).collect();
        let asked = producer::DoorRequest {
            method: if request.method() == Method::HEAD {
                producer::Method::Head
            } else {
                producer::Method::Get
            },
            cookies: &cookies,
            sec_purpose: request.headers().get(SEC_PURPOSE).and_then(|value| value.to_str().ok()),
        };
        let answer = self.producer.answer(&asked).await.unwrap_or_else(|trouble| {
            tracing::debug!(error = &trouble as &dyn std::error::Error, "a visitor was asked to come again");
            producer::DoorAnswer::busy()
        });
        let response = Response::builder().status(answer.status);
        let response =
            answer.headers().fold(response, |response, (name, value)| response.header(name, value.as_ref()));
        finish(response, answer.body)
    }

    async fn polling(&self, request: &Request<Incoming>) -> PortResult<HttpResponse> {
        let answer = self.poll.poll(cookies(request)).await?;
        Ok(json(uncached(StatusCode::OK), &answer))
    }

    async fn client(&self, request: &Request<Incoming>) -> PortResult<HttpResponse> {
        let answer = self.poll.client(cookies(request)).await?;
        let room = self.store.room().await?;
        Ok(json(cors(uncached(StatusCode::OK), &room), &answer))
    }

    async fn jwks(&self) -> Result<HttpResponse, ProducerError> {
        self.producer.warm_up().await?;
        let keys = self.store.keys().await?.map(|keys| keys.jwks()).transpose()?;
        let response = Response::builder().header(CACHE_CONTROL, "public, max-age=300");
        Ok(json(response, &keys))
    }

    fn page(&self, name: &str, request: &Request<Incoming>) -> HttpResponse {
        self.page.answer(name, request, "public, max-age=60").unwrap_or_else(not_found)
    }

    async fn preview(&self, path: &str, request: &Request<Incoming>) -> PortResult<HttpResponse> {
        let Some(preview) = &self.preview else { return Ok(not_found()) };
        let room = self.store.room().await?;
        Ok(preview.answer(path, &room, SystemClock.now(), request).await.unwrap_or_else(not_found))
    }
}

impl HttpService for App {
    async fn answer(&self, request: &Request<Incoming>) -> HttpResponse {
        let path = request.uri().path();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let answer = match path {
            "/beekeeper" | "/polling" | "/client" | "/.well-known/jwks.json" if !is_read => {
                return not_allowed();
            }
            _ if path.starts_with("/wait/") && !is_read => return not_allowed(),
            "/beekeeper" => return self.beekeeper(request).await,
            "/polling" => self.polling(request).await.map_err(ProducerError::from),
            "/client" => self.client(request).await.map_err(ProducerError::from),
            "/.well-known/jwks.json" => self.jwks().await,
            _ => match (path.strip_prefix("/wait/"), path.strip_prefix("/preview/")) {
                (Some(name), _) => return self.page(name, request),
                (_, Some(path)) if is_read => self.preview(path, request).await.map_err(ProducerError::from),
                _ => return not_found(),
            },
        };
        match answer {
            Ok(answer) => answer,
            Err(trouble) => {
                tracing::debug!(error = &trouble as &dyn std::error::Error, path, "a request was put off");
                self.unavailable().await
            }
        }
    }
}

impl App {
    async fn unavailable(&self) -> HttpResponse {
        let mut response = uncached(StatusCode::SERVICE_UNAVAILABLE).header(RETRY_AFTER, 5);
        if let Ok(room) = self.store.room().await {
            response = cors(response, &room);
        }
        json(response, &Problem { error: "the room cannot answer just now; try again in a few seconds" })
    }
}

/// What a program is told when it cannot have what it asked for.
#[derive(Serialize)]
struct Problem {
    error: &'static str,
}

fn cookies(request: &Request<Incoming>) -> impl Iterator<Item = &str> {
    request.headers().get_all(COOKIE).iter().filter_map(|value| value.to_str().ok())
}

pub(crate) fn uncached(status: impl TryInto<StatusCode>) -> Builder {
    let status = status.try_into().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Response::builder().status(status).header(CACHE_CONTROL, "no-store")
}

/// Lets the shop's own pages read the answer, cookie and all.
fn cors(response: Builder, room: &Room) -> Builder {
    response
        .header(ACCESS_CONTROL_ALLOW_ORIGIN, room.settings.shop.as_url().origin().ascii_serialization())
        .header(ACCESS_CONTROL_ALLOW_CREDENTIALS, "true")
        .header(VARY, "Origin")
}

fn not_found() -> HttpResponse {
    let problem = Problem { error: "there is nothing here; the room's door is /beekeeper" };
    json(uncached(StatusCode::NOT_FOUND), &problem)
}

fn not_allowed() -> HttpResponse {
    let response = uncached(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
    json(response, &Problem { error: "only GET and HEAD are answered" })
}

pub(crate) fn json(response: Builder, value: &impl Serialize) -> HttpResponse {
    let body = serde_json::to_vec(value).unwrap_or_default();
    finish(response.header(CONTENT_TYPE, "application/json"), body)
}

pub(crate) fn finish(response: Builder, body: impl Into<Bytes>) -> HttpResponse {
    response.body(Full::new(body.into())).unwrap_or_else(|_| {
        // A header that cannot be sent: a setting with a character that no header may have.
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    })
}
