//! A room looked at from outside, as a visitor meets it, without taking a place.

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

use crate::progress::{DeployStep, Tell, step};
use crate::{CloudError, DeployedRoom, Kind};

/// A new API is there everywhere only after a while.
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The door's integration waits 29 s.
const ANSWER: Duration = Duration::from_secs(30);
/// Nothing that a room answers is larger.
const LARGEST: usize = 4_000_000;

/// A new schedule begins within a minute or two.
const FIRES_WITHIN: Duration = Duration::from_secs(150);

/// Whether a room that is well answers like this.
type IsWell = fn(&SmokeAnswer) -> bool;

struct SmokeAnswer {
    status: u16,
    location: Option<String>,
    body: String,
}

impl DeployedRoom {
    /// Asks at the door without going in, for the page, whether it is somebody's turn, and for the keys.
    pub async fn look(&self, tell: Tell<'_>) -> Result<RoomState, CloudError> {
        let attempt = || format!("look at the room {} from outside", self.room);
        let eye = Eye::new(self.account.config.endpoint_url(), &self.urls.stage)
            .map_err(|reason| CloudError::new(Kind::Failed, attempt(), reason))?;
        let checks: [(Method, &str, &str, IsWell); 4] = [
            (Method::HEAD, "/beekeeper", "the door", |answer| {
                answer.status == 302 && answer.location.is_some()
            }),
            (Method::GET, "/wait/index.html", "the page", |answer| {
                answer.status == 200 && answer.body.contains("</html>")
            }),
            (Method::GET, "/polling", "a poll", |answer| {
                json(answer, "allow").is_some_and(|allow| allow.is_boolean())
            }),
            (Method::GET, "/.well-known/jwks.json", "the keys", |answer| {
                json(answer, "keys").is_some_and(|keys| keys.as_array().is_some_and(|keys| !keys.is_empty()))
            }),
        ];
        for (method, path, what, is_well) in checks {
            step(tell, DeployStep::Look, format!("look at {what}"));
            let begun = Instant::now();
            loop {
                let said = match eye.ask(&method, path).await {
                    Ok(answer) if is_well(&answer) => break,
                    Ok(answer) => format!("answered {}: {}", answer.status, beginning(&answer.body)),
                    Err(reason) => reason,
                };
                if begun.elapsed() > PATIENCE {
                    let reason = format!("{method} {}{path} {said}", self.urls.stage);
                    let advice = format!(
                        "the room is deployed but not well; beekeeper logs {} may say why",
                        self.room
                    );
                    return Err(CloudError::new(Kind::Failed, attempt(), reason).advise(advice));
                }
                sleep(LOOK_EVERY).await;
            }
        }
        let room = self.store().room().await.map_err(|error| CloudError::of_port(attempt(), error))?;
        Ok(room.state)
    }

    /// Waits until the schedule has planned the minute that it is now. Only an open room is planned for.
    pub async fn scheduled(&self, tell: Tell<'_>) -> Result<(), CloudError> {
        step(tell, DeployStep::Schedule, "wait until the schedule fires, which takes a minute or two");
        let begun = Instant::now();
        loop {
            match self.store().recent().await {
                Ok(plans) if plans.iter().any(|record| record.plan.window.end > SystemClock.now()) => {
                    return Ok(());
                }
                Err(error) if begun.elapsed() > FIRES_WITHIN => {
                    return Err(CloudError::of_port(
                        format!("see whether the schedule of {} fires", self.room),
                        error,
                    ));
                }
                _ if begun.elapsed() > FIRES_WITHIN => {
                    let attempt = format!("see the schedule of {} fire", self.room);
                    let advice = format!(
                        "look at the trigger's log with beekeeper logs {0}, and run beekeeper deploy {0} again",
                        self.room
                    );
                    return Err(
                        CloudError::new(Kind::Failed, attempt, "nobody would be let in").advise(advice)
                    );
                }
                _ => sleep(LOOK_EVERY).await,
            }
        }
    }
}

fn json(answer: &SmokeAnswer, member: &str) -> Option<Value> {
    serde_json::from_str::<Value>(&answer.body)
        .ok()
        .filter(|_| answer.status == 200)?
        .get_mut(member)
        .map(Value::take)
}

fn beginning(body: &str) -> String {
    body.chars().take(200).collect()
}

/// Asks over HTTP. Where something stands in for AWS, it is asked there, under the name that the room has.
struct Eye {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    /// What is connected to, and the path to the room there.
    at: Url,
    host: Option<String>,
}

impl Eye {
    fn new(stand_in: Option<&str>, stage: &str) -> Result<Self, String> {
        let read = |url: &str| url.parse::<Url>().map_err(|error| format!("{url}: {error}"));
        let mut at = read(stage)?;
        let mut host = None;
        if let Some(stand_in) = stand_in {
            host =
                at.host_str().map(|name| at.port().map_or(name.to_owned(), |port| format!("{name}:{port}")));
            let path = at.path().to_owned();
            at = read(stand_in)?;
            at.set_path(&path);
        }
        let connector =
            HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
        let connector = connector.https_or_http().enable_http1().build();
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), at, host })
    }

    async fn ask(&self, method: &Method, path: &str) -> Result<SmokeAnswer, String> {
        let url = format!("{}{path}", self.at.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method.clone()).uri(&url).header(USER_AGENT, "beekeeper");
        if let Some(host) = &self.host {
            request = request.header(HOST, host);
        }
        let request = request.body(Empty::new()).map_err(|error| format!("cannot be asked: {error}"))?;
        let answered = timeout(ANSWER, async {
            let answer =
                self.client.request(request).await.map_err(|error| format!("gave no answer: {error}"))?;
            let location =
                answer.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| format!("stopped answering: {error}"))?.to_bytes();
            Ok(SmokeAnswer { status, location, body: String::from_utf8_lossy(&body).into_owned() })
        });
        answered.await.unwrap_or_else(|_| Err(format!("gave no answer within {} s", ANSWER.as_secs())))
    }
}
