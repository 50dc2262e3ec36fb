//! A check of the deployed room from outside, over HTTP. It takes no place in the line.
//!
//! It asks every URL of the room, and speaks HTTP/2 where the room does, as browsers do. They send each cookie in a header of its
//! own then, and whoever passes the request on has to join them. What API Gateway does before its mapping templates read the
//! header depends on a security policy and is not documented, so the check shows it: it sends a place between other cookies and
//! asks whether the room found it.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use waitroom::ports::{MinuteLog, Plans, PortResult, RoomReader};
use waitroom::{Place, Room, RoomId, RoomState, Timestamp, Token};

use crate::progress::{DeployStep, OnEvent, report_step};
use crate::smoke_client::{SmokeClient, SmokeResponse};
use crate::{CloudError, CloudErrorKind, DeployedRoom, Urls};

/// A new API takes a while until it answers everywhere.
const API_READY_WITHIN: Duration = Duration::from_mins(1);
/// A new custom domain takes longer.
const DOMAIN_READY_WITHIN: Duration = Duration::from_mins(5);
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Whoever looks at a room that may not answer does not wait longer.
const LOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// A new schedule runs for the first time after a minute or two.
const SCHEDULE_RUNS_WITHIN: Duration = Duration::from_secs(150);

/// What to do about places that are lost between other cookies.
pub const JOIN_COOKIES: &str = "in the console of API Gateway, set the security policy of the API to TLS_1_0 and that of the custom domain to TLS_1_2, as \
     the template has them. A deployment does not undo what was changed by hand. Behind another policy, API Gateway shows the room \
     only the last cookie: docs/aws.md";

/// A URL under which visitors reach the room.
struct Entrance {
    /// Without a slash at the end.
    url: String,
    /// Of a custom domain: where its CNAME record has to point.
    target: Option<String>,
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

const DOOR: SmokeRequest = SmokeRequest {
    // HEAD, unlike GET, gives no place in the line.
    method: Method::HEAD,
    path: "/beekeeper",
    what: "the door",
    has_place: false,
    expected: "a redirect",
    is_ok: |response| response.status == 302 && response.location.is_some(),
};

const KEYS: SmokeRequest = SmokeRequest {
    method: Method::GET,
    path: "/.well-known/jwks.json",
    what: "the signing keys",
    has_place: false,
    expected: "at least one key",
    is_ok: |response| {
        json_member(response, "keys").is_some_and(|keys| keys.as_array().is_some_and(|keys| !keys.is_empty()))
    },
};

const REQUESTS: [SmokeRequest; 5] = [
    DOOR,
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
        is_ok: finds_the_place,
    },
    KEYS,
];

impl DeployedRoom {
    /// At each of its URLs, requests the door, the waiting page, a poll, a client check with a place and the signing keys.
    /// Returns the state of the room.
    pub async fn smoke_check(&self, on_event: OnEvent<'_>) -> Result<RoomState, CloudError> {
        let attempt = || format!("check the room {} from outside", self.room);
        let room = self.store().room().await.map_err(|error| CloudError::from_port(attempt(), error))?;
        let cookies = cookies_with_place(&room);
        for Entrance { url, target } in self.entrances() {
            let client = self.client(&url, target.as_deref());
            let client =
                client.map_err(|reason| CloudError::new(CloudErrorKind::Other, attempt(), reason))?;
            let (at, patience) = match target {
                Some(_) => (format!(" at {url}"), DOMAIN_READY_WITHIN),
                None => (String::new(), API_READY_WITHIN),
            };
            for request in REQUESTS {
                report_step(on_event, DeployStep::SmokeCheck, format!("check {}{at}", request.what));
                let cookies = if request.has_place { cookies.as_slice() } else { &[] };
                let Err(problem) = wait_until_ok(&client, &request, cookies, patience).await else {
                    continue;
                };
                let loses = request.has_place && look(&client, &room).await == Ok(false);
                let logs = || {
                    format!(
                        "the room is deployed but does not work; for the reason, see: beekeeper logs {}",
                        self.room
                    )
                };
                let advice = if loses { JOIN_COOKIES.to_owned() } else { logs() };
                let reason = format!("{} {url}{} {problem}", request.method, request.path);
                return Err(CloudError::new(CloudErrorKind::Other, attempt(), reason).with_advice(advice));
            }
        }
        let room = self.store().room().await.map_err(|error| CloudError::from_port(attempt(), error))?;
        Ok(room.state)
    }

    /// Whether the room finds a place between other cookies, at each of its URLs. An error says why that is not known.
    pub(crate) async fn finds_places(&self) -> Vec<(String, Result<bool, String>)> {
        let room = match timeout(LOOK_TIMEOUT, self.store().room()).await {
            Ok(Ok(room)) => room,
            Ok(Err(error)) => return vec![(self.urls.room.clone(), Err(error.to_string()))],
            Err(_) => return vec![(self.urls.room.clone(), Err("the table does not answer".into()))],
        };
        let room = &room;
        let looks = self.entrances().into_iter().map(|Entrance { url, target }| async move {
            let look = async { look(&self.client(&url, target.as_deref())?, room).await };
            let late = || Err(format!("it did not respond within {} s", LOOK_TIMEOUT.as_secs()));
            let found = timeout(LOOK_TIMEOUT, look).await.unwrap_or_else(|_| late());
            (url, found)
        });
        futures_util::future::join_all(looks).await
    }

    /// An error if the room loses places between other cookies. A room that does not answer may be deployed again.
    pub(crate) async fn must_find_places(&self) -> Result<(), CloudError> {
        refuse_lost_places(&self.room, &self.finds_places().await)
    }

    /// The URL that AWS assigned, and the one at a custom domain: while the room moves, behind each of its two targets.
    fn entrances(&self) -> Vec<Entrance> {
        let Urls { room, stage, domain_target, api_target, .. } = &self.urls;
        let at_domain = |target: &String| Entrance {
            url: room.trim_end_matches("/beekeeper").to_owned(),
            target: Some(target.clone()),
        };
        let by_domain = [domain_target, api_target].into_iter().flatten().map(at_domain);
        [Entrance { url: stage.clone(), target: None }].into_iter().chain(by_domain).collect()
    }

    fn client(&self, url: &str, target: Option<&str>) -> Result<SmokeClient, String> {
        SmokeClient::new(self.account.config.endpoint_url(), url, target)
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

    /// Whether the schedule has planned the current window. In a quiet room, and while the shop is full, it plans none: whether it has
    /// run `since`, by the record that it writes of every minute.
    async fn schedule_runs(&self, since: Timestamp) -> PortResult<bool> {
        let plans = self.store().recent().await?;
        // By AWS's clock, which the answer tells. The clock of this machine may be wrong.
        let now = self.store().now();
        if plans.iter().any(|record| record.plan.window.end > now) {
            return Ok(true);
        }
        let room = self.store().room().await?;
        if !room.quiet && room.while_full.is_none() {
            return Ok(false);
        }
        let minutes = self.store().minutes(since).await?;
        Ok(minutes.iter().any(|minute| minute.totals.at > since))
    }
}

/// Repeats the request until the room responds as it should. An error says how it responded last.
async fn wait_until_ok(
    client: &SmokeClient,
    request: &SmokeRequest,
    cookies: &[String],
    patience: Duration,
) -> Result<(), String> {
    let started = Instant::now();
    loop {
        let problem = match client.send(&request.method, request.path, cookies).await {
            Ok(response) if (request.is_ok)(&response) => return Ok(()),
            Ok(response) => response.problem(request.expected),
            Err(reason) => reason,
        };
        if started.elapsed() > patience {
            return Err(problem);
        }
        sleep(CHECK_INTERVAL).await;
        // The door makes the room's keys, if its functions could not when they started.
        if request.path == KEYS.path {
            drop(client.send(&DOOR.method, DOOR.path, &[]).await);
        }
    }
}

fn refuse_lost_places(room: &RoomId, found: &[(String, Result<bool, String>)]) -> Result<(), CloudError> {
    let lost = found.iter().find(|(_, found)| *found == Ok(false));
    lost.map_or(Ok(()), |(url, _)| {
        let reason = format!(
            "{url} finds a place that comes alone, and loses it between two other cookies, each in a header of its own: so browsers \
             send them over HTTP/2, and visitors with other cookies for this domain are never admitted"
        );
        let error = CloudError::new(CloudErrorKind::Other, format!("plan a deployment of {room}"), reason);
        Err(error.with_advice(JOIN_COOKIES))
    })
}

/// Whether the room finds a place between other cookies. If it does not, it has to find one that comes alone, or nothing is
/// known: the room may have been reset meanwhile.
async fn look(client: &SmokeClient, room: &Room) -> Result<bool, String> {
    const EXPECTED: &str = "to find a place that comes alone";
    let cookies = cookies_with_place(room);
    let between = client.send(&Method::GET, "/client", &cookies).await?;
    if finds_the_place(&between) {
        return Ok(true);
    }
    if !says_whether_admitted(&between) {
        return Err(between.problem("whether the visitor is admitted"));
    }
    let alone = client.send(&Method::GET, "/client", &cookies[1..2]).await?;
    if finds_the_place(&alone) { Ok(false) } else { Err(alone.problem(EXPECTED)) }
}

/// A place of this room that was made up, between two cookies of somebody else.
fn cookies_with_place(room: &Room) -> [String; 3] {
    let token = Token::from_bytes(rand::random());
    let place = format!("{}={}-{token}-1", Place::name(&room.settings.room), room.epoch);
    ["before=1".into(), place, "after=2".into()]
}

fn says_whether_admitted(response: &SmokeResponse) -> bool {
    json_member(response, "allow").is_some_and(|allow| allow.is_boolean())
}

/// Of a client check with a place.
fn finds_the_place(response: &SmokeResponse) -> bool {
    says_whether_admitted(response) && json_member(response, "known").is_none()
}

fn json_member(response: &SmokeResponse, name: &str) -> Option<Value> {
    let body: Option<Value> = serde_json::from_str(&response.body).ok();
    body.filter(|_| response.status == 200)?.get_mut(name).map(Value::take)
}

#[cfg(test)]
mod tests {
    use hyper::Version;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpListener;
    use waitroom::fixture;

    use super::*;
    use crate::smoke_client::cookie_headers;
    use crate::smoke_client::gateway::{Gateway, Policy};

    fn room() -> Room {
        fixture::room(300)
    }

    #[test]
    fn a_place_is_sent_as_a_browser_sends_it() {
        let cookies = cookies_with_place(&room());
        let over_http2 = cookie_headers(Version::HTTP_2, &cookies);
        let over_http1 = cookie_headers(Version::HTTP_11, &cookies);
        assert_eq!((over_http2.len(), over_http1.len()), (3, 1));
        for headers in [over_http2, over_http1] {
            let place = Place::find(&room().settings.room, room().epoch, headers.iter().map(String::as_str));
            assert!(place.is_some(), "{headers:?}");
        }
        let made_up = cookies_with_place(&room());
        assert_ne!(cookies[1], made_up[1], "nobody can be admitted by it");
    }

    #[test]
    fn a_room_that_does_not_find_the_place_is_reported() {
        let request = REQUESTS.into_iter().find(|request| request.has_place).unwrap();
        let response = |status, body: &str| SmokeResponse {
            version: Version::HTTP_2,
            status,
            location: None,
            is_by_edge: false,
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

    /// Over real TLS and HTTP/2, at a domain whose record nobody has made yet.
    #[tokio::test]
    async fn a_domain_that_loses_cookies_is_told_from_one_that_joins_them() {
        for (policy, expected) in [
            (Policy::Joins, Ok(true)),
            (Policy::KeepsTheLast, Ok(false)),
            (Policy::KeepsTheFirst, Ok(false)),
            (Policy::SpeaksHttp1, Ok(true)),
        ] {
            let gateway = Gateway::start(&room(), policy).await;
            let client = gateway.client();
            assert_eq!(look(&client, &room()).await, expected, "{policy:?}");
            let spoken = if policy == Policy::SpeaksHttp1 { Version::HTTP_11 } else { Version::HTTP_2 };
            let answer = client.send(&Method::GET, "/client", &[]).await.unwrap();
            assert_eq!(answer.version, spoken, "{policy:?}");
        }
        let busy = Gateway::start(&room(), Policy::IsBusyAtFirst).await;
        let unknown = look(&busy.client(), &room()).await.unwrap_err();
        assert!(unknown.starts_with("returned 503 over HTTP/2.0"), "no place was lost: {unknown}");
        let reset = Room { epoch: "cd34".parse().unwrap(), ..room() };
        let gateway = Gateway::start(&reset, Policy::Joins).await;
        let unknown = look(&gateway.client(), &room()).await.unwrap_err();
        assert!(unknown.ends_with("expected to find a place that comes alone"), "{unknown}");
    }

    /// A room whose function could make no keys when it started, and does when somebody looks at its door.
    #[tokio::test]
    async fn whoever_waits_for_keys_asks_the_door_for_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let room = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let mut keys = "503 Busy\r\ncontent-length: 2\r\n\r\n{}";
            while let Ok((connection, _)) = listener.accept().await {
                let mut connection = BufReader::new(connection);
                let mut asked = String::new();
                while connection.read_line(&mut asked).await.is_ok_and(|read| read > 2) {}
                let answer = if asked.starts_with("HEAD /beekeeper") {
                    keys = "200 OK\r\ncontent-length: 13\r\n\r\n{\"keys\":[{}]}";
                    "302 Found\r\nlocation: wait/index.html\r\ncontent-length: 0\r\n\r\n"
                } else {
                    keys
                };
                let answer = format!("HTTP/1.1 {}", answer.replacen("\r\n", "\r\nconnection: close\r\n", 1));
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let client = SmokeClient::new(None, &room, None).unwrap();
        wait_until_ok(&client, &KEYS, &[], API_READY_WITHIN).await.unwrap();
    }

    #[test]
    fn a_plan_stops_only_where_a_place_is_lost() {
        let (stage, domain) = ("https://abc.example/prod", "https://queue.shop.example");
        let plan = |at_domain| {
            let found = [(stage.to_owned(), Ok(true)), (domain.to_owned(), at_domain)];
            refuse_lost_places(&"sale".parse().unwrap(), &found)
        };
        assert!(plan(Ok(true)).is_ok());
        assert!(plan(Err("did not respond".into())).is_ok(), "a deployment may be what mends it");
        let refused = plan(Ok(false)).unwrap_err();
        assert!(refused.reason().starts_with("https://queue.shop.example finds a place that comes alone"));
        assert_eq!(refused.advice(), Some(JOIN_COOKIES));
    }
}
