//! Building responses.

use std::borrow::Cow;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use hyper::http::response::Builder;
use hyper::{HeaderMap, Response, StatusCode};
use producer::{DoorAnswer, ReportAnswer};
use serde::Serialize;

use crate::table::{self, Route, problem};

/// A whole response, ready to send.
pub type HttpResponse = Response<Full<Bytes>>;

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

pub fn json(response: Builder, value: &impl Serialize) -> HttpResponse {
    json_text(response, serde_json::to_vec(value).unwrap_or_default())
}

/// JSON that is written already.
pub(crate) fn json_text(response: Builder, text: impl Into<Bytes>) -> HttpResponse {
    finish(response.header(CONTENT_TYPE, HeaderValue::from_static("application/json")), text)
}

pub fn text(status: StatusCode, text: impl Into<Bytes>) -> HttpResponse {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    finish(uncached(status).header(CONTENT_TYPE, plain), text)
}

pub fn html(response: Builder, text: impl Into<Bytes>) -> HttpResponse {
    finish(response.header(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")), text)
}

/// Adds the body. If a header cannot be sent, because a setting contains a character that is not allowed in
/// headers, the response has status 500 instead.
pub fn finish(response: Builder, body: impl Into<Bytes>) -> HttpResponse {
    response.body(Full::new(body.into())).unwrap_or_else(|_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
        response
    })
}

pub(crate) fn found(location: &'static str) -> HttpResponse {
    finish(uncached(StatusCode::FOUND).header(LOCATION, HeaderValue::from_static(location)), Bytes::new())
}

pub fn uncached(status: StatusCode) -> Builder {
    Response::builder().status(status).header(CACHE_CONTROL, NO_STORE)
}

/// Sets the constant headers of the route, unless the response is an error: errors are never cached.
pub fn with_headers_of(route: &Route, mut response: HttpResponse) -> HttpResponse {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        for (name, value) in route.headers {
            // Neither call panics: a test checks every row of the table.
            let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The body of an error.
#[derive(Serialize)]
struct Problem {
    error: &'static str,
}

/// A browser gets a page with a link to the door, everybody else the error as JSON.
pub fn not_found(path: &str, headers: &HeaderMap) -> HttpResponse {
    let response = uncached(StatusCode::NOT_FOUND);
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepted.flat_map(|value| value.split([',', ';'])).any(|kind| kind.trim() == "text/html") {
        return json(response, &Problem { error: problem::NOT_FOUND });
    }
    // Relative, because the room may be below a path of its public URL.
    let folders = path.matches('/').count().saturating_sub(1);
    html(response, format!(include_str!("not_found.html"), "../".repeat(folders), table::DOOR))
}

/// What the door answers.
pub fn by_door(answer: DoorAnswer) -> HttpResponse {
    answer.into_response().map(|body| match body {
        Cow::Borrowed(text) => Full::new(Bytes::from_static(text.as_bytes())),
        Cow::Owned(text) => Full::new(Bytes::from(text)),
    })
}

/// What a guard is told.
pub fn to_guard(answer: ReportAnswer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_text(uncached(status), answer.body())
}

pub fn method_not_allowed(route: &Route) -> HttpResponse {
    let response = uncached(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, route.allow());
    json(response, &Problem { error: route.refusal() })
}

pub fn unavailable() -> HttpResponse {
    let response = uncached(StatusCode::SERVICE_UNAVAILABLE).header(RETRY_AFTER, table::RETRY_AFTER);
    json(response, &Problem { error: problem::UNAVAILABLE })
}
