//! The port [`RoomClient`] over HTTP and HTTPS.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::header::{ACCEPT, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use pass::{Discovery, Jwks};
use tokio::time::timeout;

use crate::{GuardRules, RoomClient, RoomSilence};

/// Fetches the keys from where the room publishes them. Redirects are not followed.
#[derive(Clone, Debug)]
pub struct HttpRoom {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    keys: String,
    discovery: String,
}

impl HttpRoom {
    /// A visitor may wait for this.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// A room has two or three keys, of less than half a kilobyte each.
    const LARGEST: usize = 64 << 10;

    /// Fails if the machine has no trusted root certificates.
    pub fn new(rules: &GuardRules) -> io::Result<Self> {
        let connector =
            HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build();
        // A new connection for every question: it shows whether the room accepts any.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let discovery = format!("{}/.well-known/openid-configuration", rules.room);
        Ok(Self { client, keys: rules.keys_url(), discovery })
    }

    /// The URL that the room itself says it has. Its passes name the same issuer.
    pub async fn issuer(&self) -> Result<String, RoomSilence> {
        let discovery = self.read(&self.discovery, |body| serde_json::from_slice::<Discovery>(body).ok());
        Ok(discovery.await?.issuer)
    }

    /// What is at this URL, if it can be read.
    async fn read<T>(&self, url: &str, parse: impl Fn(&[u8]) -> Option<T>) -> Result<T, RoomSilence> {
        let silence =
            |source: Box<dyn Error + Send + Sync>| RoomSilence::NoAnswer { url: url.into(), source };
        let ask = async {
            let request =
                Request::get(url).header(USER_AGENT, "beekeeper-guard").header(ACCEPT, "application/json");
            let request = request.body(Empty::new()).map_err(|error| silence(error.into()))?;
            let response = self.client.request(request).await.map_err(|error| silence(error.into()))?;
            let status = response.status();
            if status != StatusCode::OK {
                return Err(RoomSilence::Status { url: url.into(), status: status.as_u16() });
            }
            let body = Limited::new(response.into_body(), Self::LARGEST).collect().await;
            let body = body.map_err(silence)?.to_bytes();
            parse(&body).ok_or_else(|| RoomSilence::NotKeys { url: url.into() })
        };
        timeout(Self::PATIENCE, ask).await.unwrap_or_else(|late| Err(silence(late.into())))
    }
}

impl RoomClient for HttpRoom {
    async fn keys(&self) -> Result<Jwks, RoomSilence> {
        let keys = |body: &[u8]| Jwks::published(body).filter(|keys| !keys.keys.is_empty());
        self.read(&self.keys, keys).await
    }
}

#[cfg(test)]
mod tests {
    use pass::KeyRing;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that gives one answer. Returns the URL of the room, and what was asked.
    async fn asked(answer: String) -> (Result<Jwks, RoomSilence>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/stage/", listener.local_addr().unwrap());
        let room = HttpRoom::new(&GuardRules::new(&url, "sale")).unwrap();
        let serve = async {
            let (mut visitor, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let read = visitor.read(&mut head).await.unwrap();
            // The client may close the connection before it has read everything.
            drop(visitor.write_all(answer.as_bytes()).await);
            String::from_utf8(head[..read].to_vec()).unwrap()
        };
        tokio::join!(room.keys(), serve)
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn keys_are_fetched_from_where_the_room_publishes_them() {
        let keys = KeyRing::generate().unwrap().jwks().unwrap();
        let (fetched, request) = asked(ok(&serde_json::to_string(&keys).unwrap())).await;
        assert_eq!(fetched.unwrap(), keys);
        assert!(request.starts_with("GET /stage/.well-known/jwks.json HTTP/1.1\r\n"), "{request}");
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
            let silence = asked(answer).await.0.unwrap_err();
            assert!(silence.to_string().contains(expected), "{silence}");
            assert_eq!(silence.is_an_answer(), is_an_answer, "{silence}");
        }
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let nobody = HttpRoom::new(&GuardRules::new(&format!("http://{taken}"), "sale")).unwrap();
        assert!(!nobody.keys().await.unwrap_err().is_an_answer());
    }
}
