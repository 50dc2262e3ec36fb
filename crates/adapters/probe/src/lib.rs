//! Requests to a shop or a room from outside, over HTTP and HTTPS: the port `Probe`, which the throttle uses, and what
//! `beekeeper doctor` looks at.

mod certificate;
mod der;

use std::io;
use std::time::Instant;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AGE, CACHE_CONTROL, DATE, HOST, LOCATION, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use url::Url;
use waitroom::ports::{Probe, ProbeError, ProbeReply};

pub use certificate::{ServerCertificate, read_certificate};
pub use roots::UntrustedCertificate;

/// Opens a new connection for every request, as a new visitor's browser does.
#[derive(Clone, Debug)]
pub struct HttpProbe(Client<HttpsConnector<HttpConnector>, Empty<Bytes>>);

/// Where a URL is asked for. Usually at its own host. Only an emulator is asked at another, and told the host by this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebAddress {
    pub url: Url,
    pub host: Option<String>,
}

/// A response with its body.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    pub status: u16,
    /// The `Date` header, unchanged: the server's clock. `None` for an answer from a cache, which has the date of long ago.
    pub date: Option<String>,
    pub body: Vec<u8>,
}

impl HttpProbe {
    /// Larger than any response of a room.
    const LARGEST: usize = 4 << 20;

    /// Fails if it finds no certificate authorities.
    pub fn new() -> io::Result<Self> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(roots::client_config()?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)))
    }

    /// Reads what is at this address. Follows no redirects.
    pub async fn fetch(&self, at: &WebAddress) -> Result<FetchedPage, ProbeError> {
        let response = self.send(&at.url, at.host.as_deref(), "beekeeper").await?;
        let status = response.status().as_u16();
        let date = date(response.headers());
        let body = Limited::new(response.into_body(), Self::LARGEST).collect().await.map_err(ProbeError)?;
        Ok(FetchedPage { status, date, body: body.to_bytes().into() })
    }

    async fn send(
        &self,
        url: &Url,
        host: Option<&str>,
        agent: &str,
    ) -> Result<Response<Incoming>, ProbeError> {
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(url.as_str())
            .header(USER_AGENT, agent)
            .header(CACHE_CONTROL, "no-cache");
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let request = request.body(Empty::new()).map_err(|error| ProbeError(error.into()))?;
        self.0.request(request).await.map_err(|error| ProbeError(roots::in_words(error)))
    }
}

/// A cache that repeats an answer says how old it is.
fn date(headers: &HeaderMap) -> Option<String> {
    let is_repeated = headers.get(AGE).is_some_and(|age| age != "0");
    let date = headers.get(DATE).filter(|_| !is_repeated)?;
    date.to_str().ok().map(ToOwned::to_owned)
}

impl WebAddress {
    /// At the URL's own host.
    pub fn of(url: Url) -> Self {
        Self { url, host: None }
    }

    /// At this endpoint, if there is one: an emulator, which finds the room by its host name.
    pub fn through(endpoint: Option<&Url>, url: Url) -> Self {
        let Some(endpoint) = endpoint else { return Self::of(url) };
        let host = url.host_str().map(|host| match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        });
        let mut there = endpoint.clone();
        there.set_path(url.path());
        there.set_query(url.query());
        Self { url: there, host }
    }
}

impl Probe for HttpProbe {
    async fn ask(&self, url: &Url) -> Result<ProbeReply, ProbeError> {
        let start = Instant::now();
        let response = self.send(url, None, "beekeeper-throttle").await?;
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        Ok(ProbeReply {
            status: response.status().as_u16(),
            location: location.map(ToOwned::to_owned),
            took: start.elapsed(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that finds something else fails")]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_is_asked_for_the_host_of_the_room() {
        let room: Url = "https://abc.execute-api.example/prod/polling?a=1".parse().unwrap();
        assert_eq!(WebAddress::through(None, room.clone()), WebAddress::of(room.clone()));
        let endpoint = "http://127.0.0.1:4566".parse().unwrap();
        let there = WebAddress::through(Some(&endpoint), room);
        assert_eq!(there.url.as_str(), "http://127.0.0.1:4566/prod/polling?a=1");
        assert_eq!(there.host.as_deref(), Some("abc.execute-api.example"));
    }

    #[test]
    fn the_date_of_a_cache_is_no_clock() {
        const NOW: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let read = |age: Option<&str>| {
            let headers = [Some((DATE, NOW)), age.map(|age| (AGE, age))].into_iter().flatten();
            date(&headers.map(|(name, value)| (name, value.parse().unwrap())).collect())
        };
        assert_eq!((read(None).as_deref(), read(Some("0")).as_deref()), (Some(NOW), Some(NOW)));
        assert_eq!(read(Some("3600")), None);
        assert_eq!(date(&HeaderMap::new()), None);
    }
}
