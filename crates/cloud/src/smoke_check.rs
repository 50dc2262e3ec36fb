//! A check of the deployed room from outside, over HTTP. It takes no place in the line.

use std::time::Duration;

use clock::SystemClock;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use url::Url;
use waitroom::RoomState;
use waitroom::ports::{Clock, Plans, RoomReader};

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
    status: u16,
    location: Option<String>,
    body: String,
}

/// A request, and whether the response is that of a working room.
struct SmokeRequest {
    method: Method,
    path: &'static str,
    what: &'static str,
    is_ok: fn(&SmokeResponse) -> bool,
}

const REQUESTS: [SmokeRequest; 4] = [
    SmokeRequest {
        // HEAD, unlike GET, gives no place in the line.
        method: Method::HEAD,
        path: "/beekeeper",
        what: "the door",
        is_ok: |response| response.status == 302 && response.location.is_some(),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/wait/index.html",
        what: "the waiting page",
        is_ok: |response| response.status == 200 && response.body.contains("</html>"),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/polling",
        what: "the poll",
        is_ok: |response| json_member(response, "allow").is_some_and(|allow| allow.is_boolean()),
    },
    SmokeRequest {
        method: Method::GET,
        path: "/.well-known/jwks.json",
        what: "the signing keys",
        is_ok: |response| {
            json_member(response, "keys")
                .is_some_and(|keys| keys.as_array().is_some_and(|keys| !keys.is_empty()))
        },
    },
];

impl DeployedRoom {
    /// Requests the door, the waiting page, a poll and the signing keys. Returns the state of the room.
    pub async fn smoke_check(&self, on_event: OnEvent<'_>) -> Result<RoomState, CloudError> {
        let attempt = || format!("check the room {} from outside", self.room);
        let client = SmokeClient::new(self.account.config.endpoint_url(), &self.urls.stage)
            .map_err(|reason| CloudError::new(CloudErrorKind::Other, attempt(), reason))?;
        for request in REQUESTS {
            report_step(on_event, DeployStep::SmokeCheck, format!("check {}", request.what));
            self.wait_until_ok(&client, &request).await.map_err(|reason| {
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
    async fn wait_until_ok(&self, client: &SmokeClient, request: &SmokeRequest) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let problem = match client.send(&request.method, request.path).await {
                Ok(response) if (request.is_ok)(&response) => return Ok(()),
                Ok(response) => format!("returned {}: {}", response.status, beginning(&response.body)),
                Err(reason) => reason,
            };
            if started.elapsed() > API_READY_WITHIN {
                return Err(format!("{} {}{} {problem}", request.method, self.urls.stage, request.path));
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Waits until the schedule has planned the current window. It plans only while the room is on.
    pub async fn wait_for_schedule(&self, on_event: OnEvent<'_>) -> Result<(), CloudError> {
        let text = "wait until the schedule runs, which takes a minute or two";
        report_step(on_event, DeployStep::Schedule, text);
        let attempt = || format!("see the schedule of the room {} run", self.room);
        let started = Instant::now();
        loop {
            let plans = self.store().recent().await;
            let now = SystemClock.now();
            if plans.as_ref().is_ok_and(|plans| plans.iter().any(|record| record.plan.window.end > now)) {
                return Ok(());
            }
            if started.elapsed() > SCHEDULE_RUNS_WITHIN {
                plans.map_err(|error| CloudError::from_port(attempt(), error))?;
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
}

fn json_member(response: &SmokeResponse, name: &str) -> Option<Value> {
    let body: Option<Value> = serde_json::from_str(&response.body).ok();
    body.filter(|_| response.status == 200)?.get_mut(name).map(Value::take)
}

fn beginning(body: &str) -> String {
    body.chars().take(200).collect()
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
        let mut base = parse(stage)?;
        let mut host = None;
        if let Some(endpoint) = endpoint {
            let name = base.host_str();
            host = name.map(|name| base.port().map_or(name.to_owned(), |port| format!("{name}:{port}")));
            let path = base.path().to_owned();
            base = parse(endpoint)?;
            base.set_path(&path);
        }
        let connector =
            HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
        let connector = connector.https_or_http().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), base, host })
    }

    async fn send(&self, method: &Method, path: &str) -> Result<SmokeResponse, String> {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method.clone()).uri(&url).header(USER_AGENT, "beekeeper");
        if let Some(host) = &self.host {
            request = request.header(HOST, host);
        }
        let request = request.body(Empty::new()).map_err(|error| format!("is not a valid URL: {error}"))?;
        let response = timeout(RESPONSE_TIMEOUT, async {
            let response =
                self.client.request(request).await.map_err(|error| format!("did not respond: {error}"))?;
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let (status, location) = (response.status().as_u16(), location.map(ToOwned::to_owned));
            let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
            let body = body.map_err(|error| format!("stopped responding: {error}"))?.to_bytes();
            Ok(SmokeResponse { status, location, body: String::from_utf8_lossy(&body).into_owned() })
        });
        let timed_out = || Err(format!("did not respond within {} s", RESPONSE_TIMEOUT.as_secs()));
        response.await.unwrap_or_else(|_| timed_out())
    }
}
