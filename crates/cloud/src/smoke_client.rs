//! Asks a room over HTTP as a browser does: over HTTP/2 where the room speaks it, each cookie in a header of its own.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{COOKIE, HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request, Version};
use hyper_rustls::builderstates::WantsSchemes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use probe::WebAddress;
use tokio::net::lookup_host;
use tokio::time::timeout;
use tower_service::Service;
use url::Url;

use waitroom::with_causes;

/// The API waits up to 29 s for the producer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Larger than any response of a room.
const MAX_BODY_BYTES: usize = 4_000_000;

pub(crate) struct SmokeResponse {
    pub(crate) version: Version,
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    /// Whether `CloudFront` passed it on.
    pub(crate) is_by_edge: bool,
    pub(crate) body: String,
}

impl SmokeResponse {
    pub(crate) fn problem(&self, expected: &str) -> String {
        let Self { version, status, body, .. } = self;
        let body: String = body.chars().take(200).collect();
        format!("returned {status} over {version:?}: {body}; expected {expected}")
    }
}

/// Sends the requests. With a custom endpoint (an emulator) it connects there, and sends the room's host name as `Host`.
pub(crate) struct SmokeClient {
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Empty<Bytes>>,
    base: Url,
    host: Option<String>,
}

impl SmokeClient {
    /// Asks the room at this URL. For a custom domain, `target` is where its CNAME record has to point. The client connects
    /// there, so that it needs no record yet, and nothing that stands before the room can hide what the room does.
    pub(crate) fn new(endpoint: Option<&str>, url: &str, target: Option<&str>) -> Result<Self, String> {
        let config = roots::client_config().map_err(|error| error.to_string())?;
        Self::trusting(HttpsConnectorBuilder::new().with_tls_config(config), endpoint, url, target)
    }

    fn trusting(
        trusted: HttpsConnectorBuilder<WantsSchemes>,
        endpoint: Option<&str>,
        url: &str,
        target: Option<&str>,
    ) -> Result<Self, String> {
        let parse = |url: &str| url.parse::<Url>().map_err(|error| format!("{url}: {error}"));
        let endpoint = endpoint.map(parse).transpose()?;
        let target = target.filter(|_| endpoint.is_none()).map(Into::into);
        let WebAddress { url: base, host } = WebAddress::through(endpoint.as_ref(), parse(url)?);
        let mut tcp = HttpConnector::new_with_resolver(Resolver { target });
        tcp.enforce_http(false);
        let connector = trusted.https_or_http().enable_all_versions().wrap_connector(tcp);
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), base, host })
    }

    pub(crate) async fn send(
        &self,
        method: &Method,
        path: &str,
        cookies: &[String],
    ) -> Result<SmokeResponse, String> {
        if cookies.is_empty() {
            return self.exchange(method, path, &[]).await;
        }
        // Only an answer shows which version of HTTP was agreed on.
        let SmokeResponse { version, .. } = self.exchange(method, path, &[]).await?;
        self.exchange(method, path, &cookie_headers(version, cookies)).await
    }

    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        cookie_headers: &[String],
    ) -> Result<SmokeResponse, String> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method.clone()).uri(&url).header(USER_AGENT, "beekeeper");
        if let Some(host) = &self.host {
            request = request.header(HOST, host);
        }
        for header in cookie_headers {
            request = request.header(COOKIE, header);
        }
        let request = request.body(Empty::new()).map_err(|error| format!("is not a valid URL: {error}"))?;
        let response = timeout(RESPONSE_TIMEOUT, async {
            let response = self.client.request(request).await;
            let response = response.map_err(|error| format!("did not respond: {}", with_causes(&error)))?;
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let (status, location) = (response.status().as_u16(), location.map(ToOwned::to_owned));
            let version = response.version();
            let is_by_edge = response.headers().contains_key("x-amz-cf-id");
            let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
            let body = body.map_err(|error| format!("stopped responding: {error}"))?.to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            Ok(SmokeResponse { version, status, location, is_by_edge, body })
        });
        let timed_out = || Err(format!("did not respond within {} s", RESPONSE_TIMEOUT.as_secs()));
        response.await.unwrap_or_else(|_| timed_out())
    }
}

/// The cookies as a browser sends them: in a header each over HTTP/2, and in one over HTTP/1.1, which forbids several.
pub(crate) fn cookie_headers(version: Version, cookies: &[String]) -> Vec<String> {
    if version >= Version::HTTP_2 { cookies.to_vec() } else { vec![cookies.join("; ")] }
}

/// Finds the addresses of `target`, or else of the host in the URL.
#[derive(Clone)]
struct Resolver {
    target: Option<String>,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = self.target.clone().unwrap_or_else(|| name.as_str().to_owned());
        // The connector sets the port.
        Box::pin(async move { Ok(lookup_host((host, 0)).await?.collect::<Vec<_>>().into_iter()) })
    }
}

/// API Gateway with a room behind it, as far as the checks ask: over real TLS, and over HTTP/2 unless the policy has none.
#[cfg(test)]
pub(crate) mod gateway {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use hyper::body::Incoming;
    use hyper::server::conn::{http1, http2};
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ClientConfig, RootCertStore, ServerConfig};
    use tempfile::TempDir;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use waitroom::{Place, Room};

    use super::*;

    const DOMAIN: &str = "queue.shop.example";

    /// What it does with the cookie headers of one request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Policy {
        Joins,
        KeepsTheLast,
        KeepsTheFirst,
        /// And keeps the last, too. No browser sends several.
        SpeaksHttp1,
        /// Joins them, once it answers: 503 to the first request with cookies.
        IsBusyAtFirst,
    }

    pub(crate) struct Gateway {
        port: u16,
        certificate: TempDir,
    }

    impl Gateway {
        pub(crate) async fn start(room: &Room, policy: Policy) -> Self {
            let certificate = tempfile::tempdir().unwrap();
            emulators::certify(DOMAIN, certificate.path()).unwrap();
            let file = |name: &str| certificate.path().join(name);
            let chain = vec![CertificateDer::from_pem_file(file("certificate.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
            let mut tls = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
            tls.alpn_protocols = match policy {
                Policy::SpeaksHttp1 => vec![b"http/1.1".to_vec()],
                _ => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            };
            let acceptor = TlsAcceptor::from(Arc::new(tls));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let (room, refusals) = (Arc::new(room.clone()), Arc::new(AtomicU32::new(0)));
            tokio::spawn(async move {
                while let Ok((connection, _)) = listener.accept().await {
                    let (acceptor, room, refusals) =
                        (acceptor.clone(), Arc::clone(&room), Arc::clone(&refusals));
                    tokio::spawn(async move {
                        let Ok(connection) = acceptor.accept(connection).await else { return };
                        let answer = service_fn(|request: Request<Incoming>| {
                            let is_busy = policy == Policy::IsBusyAtFirst
                                && request.headers().contains_key(COOKIE)
                                && refusals.fetch_add(1, Ordering::Relaxed) == 0;
                            let mut answer = hyper::Response::new(client_check(&room, policy, &request));
                            if is_busy {
                                *answer.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
                            }
                            async { Ok::<_, Infallible>(answer) }
                        });
                        let connection = TokioIo::new(connection);
                        if policy == Policy::SpeaksHttp1 {
                            drop(http1::Builder::new().serve_connection(connection, answer).await);
                        } else {
                            let server = http2::Builder::new(TokioExecutor::new());
                            drop(server.serve_connection(connection, answer).await);
                        }
                    });
                }
            });
            Self { port, certificate }
        }

        /// A client that trusts its certificate, and connects without a record of the domain.
        pub(crate) fn client(&self) -> SmokeClient {
            let mut roots = RootCertStore::empty();
            let file = self.certificate.path().join("certificate.pem");
            roots.add(CertificateDer::from_pem_file(file).unwrap()).unwrap();
            let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
            let trusted = HttpsConnectorBuilder::new().with_tls_config(tls);
            let url = format!("https://{DOMAIN}:{}", self.port);
            SmokeClient::trusting(trusted, None, &url, Some("127.0.0.1")).unwrap()
        }
    }

    fn client_check(room: &Room, policy: Policy, request: &Request<Incoming>) -> String {
        let cookies = request.headers().get_all(COOKIE).iter().map(|value| value.to_str().unwrap());
        let mut cookies: Vec<_> = cookies.collect();
        match policy {
            Policy::Joins | Policy::IsBusyAtFirst => {}
            Policy::KeepsTheFirst => cookies.truncate(1),
            Policy::KeepsTheLast | Policy::SpeaksHttp1 => cookies = cookies.pop().into_iter().collect(),
        }
        let found = Place::find(&room.settings.room, room.epoch, cookies).is_some();
        if found { r#"{"allow":false}"# } else { r#"{"allow":false,"known":false}"# }.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn http_2_is_offered_to_aws() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stage = format!("https://{}/prod", listener.local_addr().unwrap());
        let client = SmokeClient::new(None, &stage, None).unwrap();
        let asking = tokio::spawn(async move { client.send(&Method::GET, "/client", &[]).await.map(drop) });
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut hello = Vec::new();
        // The names of the protocols, each after its length, as ALPN (RFC 7301) has them.
        let offered = b"\x02h2\x08http/1.1";
        while !hello.windows(offered.len()).any(|part| part == offered) {
            let read = connection.read_buf(&mut hello).await.unwrap();
            assert_ne!(read, 0, "the client offers: {}", String::from_utf8_lossy(&hello));
        }
        drop(connection);
        assert!(asking.await.unwrap().is_err(), "nobody answered");
    }
}
