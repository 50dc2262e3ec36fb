//! The guard of a shop as a process of its own, which a web server asks about each request: `auth_request` of nginx, and the
//! forward-auth of Traefik and Caddy. docs/guard.md says how to configure them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use guard::{
    Decision, Guard, GuardAnswer, GuardedRequest, LiveSessions, Moment, NUMBER_HEADER, RoomClient,
    SUBJECT_HEADER, ToShop,
};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::connections::HttpService;
use crate::guard_metrics::GuardMetrics;
use crate::proxies::TrustedProxies;
use routes::respond::{self, HttpResponse, finish, uncached};

/// Answers a web server that asks whether a request may reach the shop.
///
/// The web server says in `X-Forwarded-Method` and `X-Forwarded-Uri` what was requested, and passes the browser's other
/// headers on. Nothing else of a request decides where a visitor is sent to.
#[derive(Debug)]
pub struct ForwardAuth<L, C> {
    guard: Arc<Guard<L, C>>,
    proxies: TrustedProxies,
    metrics: Arc<GuardMetrics>,
}

/// How a web server wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// nginx takes 2xx, 401 and 403, and no other status. It reads headers of the answer, and no body.
    AuthRequest,
    /// Traefik and Caddy give any answer but 2xx to the browser.
    ForwardAuth,
}

const METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
/// Where nginx shall redirect to.
const LOCATION: HeaderName = HeaderName::from_static("x-beekeeper-location");
/// What the web server shall set as a cookie if the shop's answer ends the session.
const END_COOKIE: HeaderName = HeaderName::from_static("x-beekeeper-end-cookie");
/// Under which text nginx can keep the answer.
const CACHED_AS: HeaderName = HeaderName::from_static("x-beekeeper-cached-as");
/// For how many seconds nginx keeps the answer. It keeps no answer without this header.
const KEPT_FOR: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-expires"), HeaderValue::from_static("1"));
impl<L: LiveSessions, C: RoomClient> ForwardAuth<L, C> {
    /// The paths that web servers ask, in the order of [`Style`].
    pub const AUTH_REQUEST: &str = "/auth-request";
    pub const FORWARD_AUTH: &str = "/forward-auth";
    /// Where nginx fetches the body of an answer with status 403, because it shows no body of an answer to `auth_request`.
    pub const REFUSED: &str = "/refused";

    pub fn new(guard: Arc<Guard<L, C>>, proxies: TrustedProxies, metrics: Arc<GuardMetrics>) -> Self {
        Self { guard, proxies, metrics }
    }

    async fn decide(&self, headers: &HeaderMap, sender: IpAddr) -> Result<Decision, &'static str> {
        const UNCLEAR: &str =
            "the web server must send X-Forwarded-Method and X-Forwarded-Uri, each once: docs/guard.md";
        let method = only(headers, &METHOD).and_then(|method| Method::from_bytes(method.as_bytes()).ok());
        let method = method.ok_or(UNCLEAR)?;
        // nginx passes on what a visitor sent, which may be no text.
        let target = only(headers, &URI).map(|target| String::from_utf8_lossy(target.as_bytes()));
        let target = target.ok_or(UNCLEAR)?;
        let client = self.proxies.client(sender, headers);
        let Ok(moment) = Moment::now() else { return Err("the operating system gave no random numbers") };
        let request = GuardedRequest { method: &method, target: &target, headers, client };
        Ok(self.guard.decide(&request, moment).await)
    }
}

/// The value of a header that must be there once. With two, nobody knows which one the web server wrote.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

/// Whether the guard says the same of all requests with the text in `CACHED_AS`.
fn is_cacheable(headers: &HeaderMap, to_shop: &ToShop) -> bool {
    let cookie = to_shop.cookie.as_ref();
    cookie.zip(only(headers, &CACHED_AS)).is_some_and(|(cookie, text)| cookie.is(text.as_bytes()))
}

/// All headers are always there: some web servers would otherwise leave what a browser wrote.
fn to_shop(to_shop: &ToShop, end_cookie: Option<String>, is_cacheable: bool) -> HttpResponse {
    let number = to_shop.number.map(|number| number.to_string()).unwrap_or_default();
    let response = if is_cacheable {
        Response::builder().header(KEPT_FOR.0, KEPT_FOR.1)
    } else {
        uncached(StatusCode::OK)
    };
    let response = response
        .header(SUBJECT_HEADER, to_shop.subject.as_deref().unwrap_or_default())
        .header(NUMBER_HEADER, number)
        .header(END_COOKIE, end_cookie.unwrap_or_default());
    finish(response, Bytes::new())
}

pub(crate) fn answered(answer: &GuardAnswer, style: Style) -> HttpResponse {
    let status = match (style, &answer.location) {
        (Style::AuthRequest, Some(_)) => 401,
        _ => answer.status,
    };
    let mut response = Response::builder().status(status);
    for (name, value) in answer.headers() {
        let is_for_nginx = style == Style::AuthRequest && name == hyper::header::LOCATION;
        response = response.header(if is_for_nginx { LOCATION } else { name }, value.as_ref());
    }
    finish(response, answer.body)
}

impl<L: LiveSessions + 'static, C: RoomClient + 'static> HttpService for ForwardAuth<L, C> {
    async fn answer(&self, request: &mut Request<Incoming>, sender: IpAddr) -> HttpResponse {
        let style = match request.uri().path() {
            Self::AUTH_REQUEST => Style::AuthRequest,
            Self::FORWARD_AUTH => Style::ForwardAuth,
            Self::REFUSED => return answered(&GuardAnswer::refused(request.headers()), Style::ForwardAuth),
            _ => {
                let there_is =
                    "there is nothing here; ask /auth-request (nginx) or /forward-auth (Traefik, Caddy)\n";
                return respond::text(StatusCode::NOT_FOUND, there_is);
            }
        };
        let begun = Instant::now();
        match self.decide(request.headers(), sender).await {
            Ok(decision) => {
                let outcome = decision.outcome();
                self.metrics.count(outcome, begun.elapsed());
                match decision {
                    Decision::Enter(entering) => {
                        let end_cookie = self.guard.end_cookie(&entering);
                        let is_cacheable =
                            style == Style::AuthRequest && is_cacheable(request.headers(), &entering);
                        to_shop(&entering, end_cookie, is_cacheable)
                    }
                    Decision::Answer(answer) => answered(&answer, style),
                }
            }
            Err(problem) => {
                tracing::error!("refused a request: {problem}");
                respond::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n"))
            }
        }
    }
}
