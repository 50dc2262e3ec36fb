//! The connections of all visitors: kept open, few at once, and each request measured.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CACHE_CONTROL, COOKIE, HOST, LOCATION, SET_COOKIE, USER_AGENT};
use http::{HeaderMap, Request, request};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use page::cookies::CookieJar;
use page::visitor::Tab;
use roots::UntrustedCertificate;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

/// Requests under way at once, and connections kept open. Less than any limit of open files, and more than two cores answer
/// at once. Browsers open a connection each, so this does not rehearse the number of connections.
const CONNECTIONS: usize = 256;
/// Shorter than rooms keep idle connections.
const IDLE: Duration = Duration::from_secs(4);
/// Larger than any document of a room, and a limit for what a shop sends.
const LARGEST_BODY: usize = 4 << 20;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VisitRoute {
    Join,
    Page,
    Poll,
    /// How the line stands, behind an edge.
    Status,
    /// The door again, when it is the visitor's turn.
    Enter,
    Shop,
}

/// Why a request got no answer that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VisitFault {
    Status(u16),
    NoConnection,
    /// The server's certificate is not trusted here.
    Untrusted,
    TimedOut {
        seconds: u64,
    },
    /// The connection broke, or the answer was not what a room answers.
    Unreadable,
    /// The shop sends its visitors to another room, where they would take places.
    OtherRoom,
    /// The shop sends its visitors back to wait.
    SentBack,
}

#[derive(Debug)]
pub(crate) struct VisitAnswer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
    pub(crate) took: Duration,
}

#[derive(Debug)]
pub(crate) struct VisitorWire {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    slots: Semaphore,
    /// The host that the room is asked for, where that is not the one in its URL: at an emulator of AWS.
    host: Option<String>,
    room: Url,
}

impl VisitorWire {
    /// Fails if it finds no certificate authorities.
    pub(crate) fn new(room: Url, host: Option<String>) -> io::Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(roots::client_config()?)
            .https_or_http()
            .enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(CONNECTIONS)
            .build(connector.wrap_connector(http));
        Ok(Self { client, slots: Semaphore::new(CONNECTIONS), host, room })
    }

    /// Requests a URL as a browser with these cookies does, and keeps the cookies of the answer. The time in which the
    /// request waited for its turn among ours is not measured.
    pub(crate) async fn get(&self, url: &Url, cookies: &mut CookieJar) -> Result<VisitAnswer, VisitFault> {
        let request = Request::get(url.as_str()).header(CACHE_CONTROL, "no-cache");
        self.send(url, request, cookies, Tab::PATIENCE).await
    }

    /// The same for what an edge may keep: without cookies, and without asking for a fresh answer.
    pub(crate) async fn get_shared(&self, url: &Url) -> Result<VisitAnswer, VisitFault> {
        let request = Request::get(url.as_str());
        self.send(url, request, &mut CookieJar::default(), Tab::EDGE_PATIENCE).await
    }

    async fn send(
        &self,
        url: &Url,
        request: request::Builder,
        cookies: &mut CookieJar,
        patience: Duration,
    ) -> Result<VisitAnswer, VisitFault> {
        let mut request = request.header(USER_AGENT, "beekeeper-rehearse").header(ACCEPT, "*/*");
        if let Some(host) = self.host.as_ref().filter(|_| url.origin() == self.room.origin()) {
            request = request.header(HOST, host);
        }
        if let Some(cookies) = cookies.for_url(url) {
            request = request.header(COOKIE, cookies);
        }
        let request = request.body(Empty::new()).map_err(|_| VisitFault::Unreadable)?;
        // The semaphore is never closed. If it were, there would be no limit.
        let slot = self.slots.acquire().await.ok();
        let begun = Instant::now();
        let asked = async {
            let response = self.client.request(request).await.map_err(|error| {
                let is_connect = error.is_connect();
                match roots::in_words(error).is::<UntrustedCertificate>() {
                    true => VisitFault::Untrusted,
                    false if is_connect => VisitFault::NoConnection,
                    false => VisitFault::Unreadable,
                }
            })?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LARGEST_BODY).collect().await;
            Ok((head, body.map_err(|_| VisitFault::Unreadable)?.to_bytes()))
        };
        let answered = timeout(patience, asked).await;
        drop(slot);
        let (head, body) = answered.unwrap_or(Err(VisitFault::TimedOut { seconds: patience.as_secs() }))?;
        let texts = |name| texts(&head.headers, name);
        texts(SET_COOKIE).for_each(|cookie| cookies.keep(url, cookie));
        let location = texts(LOCATION).next().map(ToOwned::to_owned);
        Ok(VisitAnswer { status: head.status.as_u16(), location, body, took: begun.elapsed() })
    }
}

fn texts(headers: &HeaderMap, name: http::HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
}

impl VisitRoute {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Page => "page",
            Self::Poll => "poll",
            Self::Status => "status",
            Self::Enter => "enter",
            Self::Shop => "shop",
        }
    }
}

impl fmt::Display for VisitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::NoConnection => f.write_str("no connection"),
            Self::Untrusted => {
                f.write_str("a certificate that this machine doesn't trust: `beekeeper doctor` says why")
            }
            Self::TimedOut { seconds } => write!(f, "no answer within {seconds} s"),
            Self::Unreadable => f.write_str("broken or unreadable answer"),
            Self::OtherRoom => f.write_str(
                "sent on to another room, where nobody went: the shop's guard needs this room's URL",
            ),
            Self::SentBack => f.write_str("sent back to the waiting room"),
        }
    }
}
