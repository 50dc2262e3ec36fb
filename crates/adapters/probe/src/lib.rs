//! The port `Probe`: the throttle's requests to the shop, over HTTP and HTTPS.

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

/// Opens a new connection for every request, as a new visitor's browser does.
#[derive(Clone, Debug)]
pub struct HttpProbe(Client<HttpsConnector<HttpConnector>, Empty<Bytes>>);

impl HttpProbe {
    /// Fails if the machine has no trusted root certificates.
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
        let start = Instant::now();
        let response = self.0.request(request).await.map_err(|error| ProbeError(error.into()))?;
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        Ok(ProbeReply {
            status: response.status().as_u16(),
            location: location.map(ToOwned::to_owned),
            took: start.elapsed(),
        })
    }
}
