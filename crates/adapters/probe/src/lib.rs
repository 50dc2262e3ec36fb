//! The throttle's eye on the shop, over HTTP and HTTPS.

use std::io;
use std::time::Instant;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, LOCATION, USER_AGENT};
use hyper::{Method, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use url::Url;
use waitroom::ports::{Probe, ProbeError, ProbeReply};

/// Every request on a connection of its own, as a new visitor's would be.
#[derive(Clone, Debug)]
pub struct HttpProbe(Client<HttpsConnector<HttpConnector>, Empty<Bytes>>);

impl HttpProbe {
    /// Fails if this machine has no certificates to trust.
    pub fn new() -> io::Result<Self> {
        let connector =
            HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build();
        Ok(Self(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)))
    }
}

impl Probe for HttpProbe {
    async fn ask(&self, url: &Url) -> Result<ProbeReply, ProbeError> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(url.as_str())
            .header(USER_AGENT, "beekeeper-throttle")
            .header(CACHE_CONTROL, "no-cache")
            .body(Empty::new())
            .map_err(|error| ProbeError(error.into()))?;
        let asked = Instant::now();
        let answer = self.0.request(request).await.map_err(|error| ProbeError(error.into()))?;
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        Ok(ProbeReply {
            status: answer.status().as_u16(),
            location: location.map(ToOwned::to_owned),
            took: asked.elapsed(),
        })
    }
}
