//! The room over HTTP and HTTPS: the port [`RoomClient`], and where reports go.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, StatusCode, request};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use pass::{Discovery, GuardReport, Jwks, SessionRules, sha256_hex};
use tokio::time::timeout;

use crate::{GuardRules, RoomClient, RoomSilence};

/// Fetches the keys from where the room publishes them, and looks whether it is the room of the rules. Redirects are not
/// followed.
#[derive(Clone, Debug)]
pub struct HttpRoom {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    rules: GuardRules,
}

impl HttpRoom {
    /// A visitor may wait for this.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// A room has two or three keys, of less than half a kilobyte each.
    const LARGEST: usize = 64 << 10;

    /// Fails if it finds no certificate authorities.
    pub fn new(rules: &GuardRules) -> io::Result<Self> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(roots::client_config()?)
            .https_or_http()
            .enable_http1()
            .build();
        // A new connection for every question: it shows whether the room accepts any.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { client, rules: rules.clone() })
    }

    /// What the room says of itself. Its passes name the same issuer, and its name as their audience.
    pub async fn discovery(&self) -> Result<Discovery, RoomSilence> {
        let url = format!("{}/.well-known/openid-configuration", self.rules.room);
        self.read(&url, |body| serde_json::from_slice(body).ok()).await
    }

    /// Fails if this room says that it has another URL or name than those of the rules.
    fn check_room(&self, discovery: &Discovery) -> Result<(), RoomSilence> {
        let GuardRules { room: url, name: expected, .. } = &self.rules;
        if discovery.issuer != *url {
            return Err(RoomSilence::OtherUrl { url: url.clone(), found: discovery.issuer.clone() });
        }
        match &discovery.room {
            Some(found) if found != expected => Err(RoomSilence::OtherRoom {
                url: url.clone(),
                found: found.clone(),
                expected: expected.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Brings a report to the room, with this report key.
    pub(crate) async fn report(
        &self,
        key: &HeaderValue,
        report: &GuardReport,
    ) -> Result<SessionRules, RoomSilence> {
        let url = format!("{}{}", self.rules.room, GuardReport::PATH);
        let body = serde_json::to_vec(report)
            .map_err(|error| RoomSilence::NoAnswer { url: url.clone(), source: error.into() })?;
        let request = Request::post(&url).header(CONTENT_TYPE, "application/json");
        let request = request.header(GuardReport::KEY, key).header(GuardReport::BODY_HASH, sha256_hex(&body));
        let answer = self.ask(&url, request, body).await?;
        serde_json::from_slice(&answer).map_err(|_| RoomSilence::NotRules { url })
    }

    /// What is at this URL, if it can be read.
    async fn read<T>(&self, url: &str, parse: impl Fn(&[u8]) -> Option<T>) -> Result<T, RoomSilence> {
        let body = self.ask(url, Request::get(url), Vec::new()).await?;
        parse(&body).ok_or_else(|| RoomSilence::NotKeys { url: url.into() })
    }

    /// The body of the answer with status 200.
    async fn ask(&self, url: &str, request: request::Builder, body: Vec<u8>) -> Result<Bytes, RoomSilence> {
        let silence =
            |source: Box<dyn Error + Send + Sync>| RoomSilence::NoAnswer { url: url.into(), source };
        let ask = async {
            let request = request.header(USER_AGENT, "beekeeper-guard").header(ACCEPT, "application/json");
            let request = request.body(Full::from(body)).map_err(|error| silence(error.into()))?;
            let response = self.client.request(request).await;
            let response = response.map_err(|error| silence(roots::in_words(error)))?;
            let status = response.status();
            let may_be_told_why = matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
            if status != StatusCode::OK && !may_be_told_why {
                return Err(RoomSilence::Status { url: url.into(), status: status.as_u16() });
            }
            let body = Limited::new(response.into_body(), Self::LARGEST).collect().await;
            match body.map(Collected::to_bytes) {
                body if status == StatusCode::OK => body.map_err(silence),
                Ok(body) if is_a_rooms_problem(&body) => {
                    Err(RoomSilence::NothingThere { url: url.into(), status: status.as_u16() })
                }
                _ => Err(RoomSilence::Status { url: url.into(), status: status.as_u16() }),
            }
        };
        timeout(Self::PATIENCE, ask).await.unwrap_or_else(|late| Err(silence(late.into())))
    }
}

/// Whether these are the words of a room: what a proxy says while it restarts looks otherwise.
fn is_a_rooms_problem(body: &[u8]) -> bool {
    let said = serde_json::from_slice::<serde_json::Value>(body);
    said.is_ok_and(|said| said.get("error").is_some_and(serde_json::Value::is_string))
}

impl RoomClient for HttpRoom {
    async fn keys(&self) -> Result<Jwks, RoomSilence> {
        let published = |body: &[u8]| Jwks::published(body).filter(|keys| !keys.keys.is_empty());
        let url = self.rules.keys_url();
        let (discovery, keys) = tokio::join!(self.discovery(), self.read(&url, published));
        // What an older room, or a proxy, does not say is not held against it.
        discovery.ok().map_or(Ok(()), |discovery| self.check_room(&discovery))?;
        keys
    }
}

#[cfg(test)]
mod tests {
    use pass::KeyRing;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const KEYS: &str = "GET /stage/.well-known/jwks.json HTTP/1.1\r\n";

    /// A room that answers so when it is asked for its keys, and otherwise so at its URL.
    async fn asked(keys: &str, discovery: impl Fn(&str) -> String) -> Result<Jwks, RoomSilence> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/stage/", listener.local_addr().unwrap());
        let room = HttpRoom::new(&GuardRules::new(&url, "sale")).unwrap();
        let discovery = &discovery(url.trim_end_matches('/'));
        let serve = async {
            for _ in 0..2 {
                let (mut visitor, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 4096];
                let read = visitor.read(&mut head).await.unwrap();
                let answer = if head[..read].starts_with(KEYS.as_bytes()) { keys } else { discovery };
                // The client may close the connection before it has read everything.
                drop(visitor.write_all(answer.as_bytes()).await);
            }
        };
        tokio::join!(room.keys(), serve).0
    }

    const NOTHING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn keys_are_fetched_from_where_the_room_publishes_them() {
        let keys = KeyRing::generate().unwrap().jwks().unwrap();
        let published = ok(&serde_json::to_string(&keys).unwrap());
        assert_eq!(asked(&published, |_| NOTHING.into()).await.unwrap(), keys, "an older room");
        let said = |url: &str, name: Option<&str>| {
            let mut said = serde_json::to_value(Discovery::of(url.into(), name.unwrap_or_default())).unwrap();
            if name.is_none() {
                said.as_object_mut().unwrap().remove("room");
            }
            ok(&said.to_string())
        };
        for name in [None, Some("sale")] {
            assert_eq!(asked(&published, |url| said(url, name)).await.unwrap(), keys, "{name:?}");
        }
        assert_eq!(asked(&published, |_| ok("\"sale\"")).await.unwrap(), keys, "something else");
        for (other, expected) in [
            (asked(&published, |url| said(url, Some("summer"))).await, "/stage is summer, not sale"),
            (
                asked(&published, |_| said("https://other.example", None)).await,
                "/stage says that its URL is https://other.example, and its passes say so too",
            ),
        ] {
            let other = other.unwrap_err();
            assert!(other.to_string().contains(expected), "{other}");
            assert!(other.is_an_answer(), "nobody enters unguarded because of a wrong name");
        }
    }

    #[tokio::test]
    async fn everything_else_is_no_key() {
        let huge = format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(HttpRoom::LARGEST));
        for (answer, expected, is_an_answer) in [
            (ok("<html>"), "are not the keys of a room; is this the room's URL?", true),
            (ok("{\"keys\":[]}"), "are not the keys of a room", true),
            (ok(&huge), "the room does not answer at http://127.0.0.1:", false),
            (
                "HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\n\r\n".into(),
                "status 302",
                true,
            ),
            ("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n".into(), "status 429", true),
            ("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".into(), "status 503", true),
            ("HTTP/1.1 502 Gone\r\ncontent-length: 0\r\n\r\n".into(), "status 502", false),
            ("not HTTP".into(), "the room does not answer", false),
        ] {
            let silence = asked(&answer, |_| NOTHING.into()).await.unwrap_err();
            assert!(silence.to_string().contains(expected), "{silence}");
            assert_eq!(silence.is_an_answer(), is_an_answer, "{silence}");
        }
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let nobody = HttpRoom::new(&GuardRules::new(&format!("http://{taken}"), "sale")).unwrap();
        assert!(!nobody.keys().await.unwrap_err().is_an_answer());
    }
}
