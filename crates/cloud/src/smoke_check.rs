//! A check of the deployed room from outside, over HTTP. It takes no place in the line.
//!
//! It speaks HTTP/2 where the room does, as browsers do. They send each cookie in a header of its own then, and whoever passes
//! the request on has to join them. Whether API Gateway does that before its mapping templates read the header is not
//! documented, so the check shows it: it sends a place between other cookies and asks whether the room found it.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{COOKIE, HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use probe::WebAddress;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use url::Url;
use waitroom::ports::{MinuteLog, Plans, PortResult, RoomReader};
use waitroom::{Place, Room, RoomState, Timestamp, Token};

use crate::progress::{DeployStep, OnEvent, report_step};
use crate::{CloudError, CloudErrorKind, DeployedRoom};

/// A new API takes a while until it answers everywhere.
const API_READY_WITHIN: Duration = Duration::from_mins(1);
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The API waits up to 29 s for the producer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Larger than any response of a room.
const MAX_BODY_BYTES: usize = 4_000_000;

/// A new schedule runs for the first time after a minute or two.
const SCHEDULE_RUNS_WITHIN: Duration = Duration::from_secs(150);

struct SmokeResponse {
    version: Version,
    status: u16,
    location: Option<String>,
    body: String,
}

/// A request, and whether the response is that of a working room.
struct SmokeRequest {
    method: Method,
    path: &'static str,
    what: &'static str,
    /// Whether a place is sent, between other cookies. It is made up, and nobody has it.
    has_place: bool,
    /// What a working room does.
    expected: &'static str,
    is_ok: fn(&SmokeResponse) -> bool,
}

const REQUESTS: [SmokeRequest; 5] = [
    SmokeRequest {
        // HEAD, unlike GET, gives no place in the line.
        method: Method::HEAD,
        path: "/beekeeper",
        what: "the door",
        has_place: false,
        expected: "a redirect",
        is_ok: |response| response.status == 302 && response.location.is_some(),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/wait/index.html",
        what: "the waiting page",
        has_place: false,
        expected: "a document",
        is_ok: |response| response.status == 200 && response.body.contains("</html>"),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/polling",
        what: "the poll",
        has_place: false,
        expected: "whether the visitor is admitted",
        is_ok: says_whether_admitted,
    },
    SmokeRequest {
        method: Method::GET,
        // It reads cookies as the poll does. And it says whether it found a place, also while the room is off.
        path: "/client",
        what: "a place among several cookies",
        has_place: true,
        expected: "to find the place, which is the second of three cookies. Otherwise visitors whose browsers have other cookies \
                   for this domain are never admitted",
        is_ok: |response| says_whether_admitted(response) && json_member(response, "known").is_none(),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/.well-known/jwks.json",
        what: "the signing keys",
        has_place: false,
        expected: "at least one key",
        is_ok: |response| {
            json_member(response, "keys")
                .is_some_and(|keys| keys.as_array().is_some_and(|keys| !keys.is_empty()))
        },
    },
];

impl DeployedRoom {
    /// Requests the door, the waiting page, a poll, a client check with a place and the signing keys. Returns the state of the
    /// room.
    pub async fn smoke_check(&self, on_event: OnEvent<'_>) -> Result<RoomState, CloudError> {
        let attempt = || format!("check the room {} from outside", self.room);
        let client = SmokeClient::new(self.account.config.endpoint_url(), &self.urls.stage)
            .map_err(|reason| CloudError::new(CloudErrorKind::Other, attempt(), reason))?;
        let room = self.store().room().await.map_err(|error| CloudError::from_port(attempt(), error))?;
        let cookies = cookies_with_place(&room);
        for request in REQUESTS {
            report_step(on_event, DeployStep::SmokeCheck, format!("check {}", request.what));
            let cookies = if request.has_place { cookies.as_slice() } else { &[] };
            self.wait_until_ok(&client, &request, cookies).await.map_err(|reason| {
                let advice = format!(
                    "the room is deployed but does not work; for the reason, see: beekeeper logs {}",
                    self.room
                );
                CloudError::new(CloudErrorKind::Other, attempt(), reason).with_advice(advice)
            })?;
        }
        let room = self.store().room().await.map_err(|error| CloudError::from_port(attempt(), error))?;
        Ok(room.state)
    }

    /// Repeats the request until the room responds as it should. An error says how it responded last.
    async fn wait_until_ok(
        &self,
        client: &SmokeClient,
        request: &SmokeRequest,
        cookies: &[String],
    ) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let problem = match client.send(&request.method, request.path, cookies).await {
                Ok(response) if (request.is_ok)(&response) => return Ok(()),
                Ok(response) => response.problem(request.expected),
                Err(reason) => reason,
            };
            if started.elapsed() > API_READY_WITHIN {
                return Err(format!("{} {}{} {problem}", request.method, self.urls.stage, request.path));
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Waits until the schedule runs. It has to plan the current window. Only in a quiet room, to which nobody has come for a
    /// while, it plans none.
    pub async fn wait_for_schedule(&self, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        let text = "wait until the schedule runs, which takes a minute or two";
        report_step(on_event, DeployStep::Schedule, text);
        let attempt = || format!("see the schedule of the room {} run", self.room);
        let (started, since) = (Instant::now(), self.store().now());
        loop {
            let runs = self.schedule_runs(since).await;
            if runs.as_ref().is_ok_and(|runs| *runs) {
                return Ok(());
            }
            if started.elapsed() > SCHEDULE_RUNS_WITHIN {
                runs.map_err(|error| CloudError::from_port(attempt(), error))?;
                let reason = format!(
                    "it did not plan a window within {} s, so nobody would be admitted",
                    SCHEDULE_RUNS_WITHIN.as_secs()
                );
                let advice = format!(
                    "read the trigger's log with: beekeeper logs {0}; then run beekeeper deploy {0} again",
                    self.room
                );
                return Err(CloudError::new(CloudErrorKind::Other, attempt(), reason).with_advice(advice));
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Whether the schedule has planned the current window. In a quiet room: whether it has run `since`, by the record that it
    /// writes of every minute.
    async fn schedule_runs(&self, since: Timestamp) -> PortResult<bool> {
        let plans = self.store().recent().await?;
        // By AWS's clock, which the answer tells. The clock of this machine may be wrong.
        let now = self.store().now();
        if plans.iter().any(|record| record.plan.window.end > now) {
            return Ok(true);
        }
        if !self.store().room().await?.quiet {
            return Ok(false);
        }
        let minutes = self.store().minutes(since).await?;
        Ok(minutes.iter().any(|minute| minute.totals.at > since))
    }
}

/// A place of this room that was made up, between two cookies of somebody else.
fn cookies_with_place(room: &Room) -> [String; 3] {
    let token = Token::from_bytes(rand::random());
    let place = format!("{}={}-{token}-1", Place::name(&room.settings.room), room.epoch);
    ["before=1".into(), place, "after=2".into()]
}

impl SmokeResponse {
    fn problem(&self, expected: &str) -> String {
        let Self { version, status, body, .. } = self;
        let body: String = body.chars().take(200).collect();
        format!("returned {status} over {version:?}: {body}; expected {expected}")
    }
}

fn says_whether_admitted(response: &SmokeResponse) -> bool {
    json_member(response, "allow").is_some_and(|allow| allow.is_boolean())
}

fn json_member(response: &SmokeResponse, name: &str) -> Option<Value> {
    let body: Option<Value> = serde_json::from_str(&response.body).ok();
    body.filter(|_| response.status == 200)?.get_mut(name).map(Value::take)
}

/// Sends the requests. With a custom endpoint (an emulator) it connects there, and sends the room's host name as `Host`.
struct SmokeClient {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    base: Url,
    host: Option<String>,
}

impl SmokeClient {
    fn new(endpoint: Option<&str>, stage: &str) -> Result<Self, String> {
        let parse = |url: &str| url.parse::<Url>().map_err(|error| format!("{url}: {error}"));
        let endpoint = endpoint.map(parse).transpose()?;
        let WebAddress { url: base, host } = WebAddress::through(endpoint.as_ref(), parse(stage)?);
        let connector =
            HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
        let connector = connector.https_or_http().enable_all_versions().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), base, host })
    }

    async fn send(&self, method: &Method, path: &str, cookies: &[String]) -> Result<SmokeResponse, String> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method.clone()).uri(&url).header(USER_AGENT, "beekeeper");
        if let Some(host) = &self.host {
            request = request.header(HOST, host);
        }
        for header in cookie_headers(self.base.scheme(), cookies) {
            request = request.header(COOKIE, header);
        }
        let request = request.body(Empty::new()).map_err(|error| format!("is not a valid URL: {error}"))?;
        let response = timeout(RESPONSE_TIMEOUT, async {
            let response =
                self.client.request(request).await.map_err(|error| format!("did not respond: {error}"))?;
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let (status, location) = (response.status().as_u16(), location.map(ToOwned::to_owned));
            let version = response.version();
            let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
            let body = body.map_err(|error| format!("stopped responding: {error}"))?.to_bytes();
            Ok(SmokeResponse { version, status, location, body: String::from_utf8_lossy(&body).into_owned() })
        });
        let timed_out = || Err(format!("did not respond within {} s", RESPONSE_TIMEOUT.as_secs()));
        response.await.unwrap_or_else(|_| timed_out())
    }
}

/// The cookies as a browser sends them: in a header each over HTTP/2, which AWS speaks, and in one over HTTP/1.1, which
/// forbids several. Only emulators are asked without TLS, and without TLS there is no HTTP/2.
fn cookie_headers(scheme: &str, cookies: &[String]) -> Vec<String> {
    match (scheme, cookies) {
        (_, []) => Vec::new(),
        ("https", cookies) => cookies.to_vec(),
        (_, cookies) => vec![cookies.join("; ")],
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use waitroom::{Rate, Settings};

    use super::*;

    fn room() -> Room {
        let (name, title) = ("sale".parse().unwrap(), "Sale".parse().unwrap());
        let settings =
            Settings::new(name, title, "https://shop.example".parse().unwrap(), Rate::new(300).unwrap());
        Room::new(settings, "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
    }

    #[test]
    fn a_place_is_sent_as_a_browser_sends_it() {
        let cookies = cookies_with_place(&room());
        let over_http2 = cookie_headers("https", &cookies);
        let over_http1 = cookie_headers("http", &cookies);
        assert_eq!((over_http2.len(), over_http1.len()), (3, 1));
        for headers in [over_http2, over_http1] {
            let place = Place::find(&room().settings.room, room().epoch, headers.iter().map(String::as_str));
            assert!(place.is_some(), "{headers:?}");
        }
        let made_up = cookies_with_place(&room());
        assert_ne!(cookies[1], made_up[1], "nobody can be admitted by it");
        assert_eq!(cookie_headers("https", &[]), [""; 0]);
    }

    #[test]
    fn a_room_that_does_not_find_the_place_is_reported() {
        let request = REQUESTS.into_iter().find(|request| request.has_place).unwrap();
        let response = |status, body: &str| SmokeResponse {
            version: Version::HTTP_2,
            status,
            location: None,
            body: body.into(),
        };
        for found in [r#"{"allow":false}"#, r#"{"allow":true}"#] {
            assert!((request.is_ok)(&response(200, found)), "{found}");
        }
        let lost = response(200, r#"{"allow":false,"known":false}"#);
        assert!(!(request.is_ok)(&lost));
        let problem = lost.problem(request.expected);
        let expected =
            r#"returned 200 over HTTP/2.0: {"allow":false,"known":false}; expected to find the place"#;
        assert!(problem.starts_with(expected), "{problem}");
        assert!(!(request.is_ok)(&response(503, r#"{"error":"busy"}"#)));
    }

    #[tokio::test]
    async fn http_2_is_offered_to_aws() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stage = format!("https://{}/prod", listener.local_addr().unwrap());
        let client = SmokeClient::new(None, &stage).unwrap();
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
