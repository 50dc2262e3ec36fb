//! The guard in front of a tower service.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use guard::{
    Bypass, Guard, GuardLayer, GuardRules, LiveSession, LiveSessions, MemorySessions, Moment, OneSession,
    Opening, RoomKeys, SessionId, SessionKey, SessionsFault,
};
use http::{Request, Response, Uri};
use tower_layer::Layer;
use tower_service::Service;

use crate::fixture::{DOOR, Shop, TestRoom, rules};

/// A shop that tells what it was told of the visitor.
fn sale(request: &Request<&'static str>) -> Response<String> {
    let seen = request.headers().iter().filter(|(name, _)| name.as_str().contains("beekeeper"));
    let seen: Vec<_> = seen.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    let response = Response::builder();
    let response = match request.uri().path() {
        "/thanks" => response.header("Beekeeper-Session", "end"),
        "/other" => response.header("Beekeeper-Session", "other"),
        _ => response,
    };
    response.body(format!("{} {} [{}]", request.uri(), request.body(), seen.join(", "))).unwrap()
}

#[derive(Clone)]
struct Sale;

impl Service<Request<&'static str>> for Sale {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<String>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<&'static str>) -> Self::Future {
        Box::pin(std::future::ready(Ok(sale(&request))))
    }
}

/// A shop whose time is the system's, as the layer reads it.
fn present() -> Shop {
    let networks = vec!["10.0.0.0/8".parse().unwrap()];
    let bypass = Bypass { paths: vec!["/static/".parse().unwrap()], networks, ..Bypass::default() };
    let mut shop = Shop::with(GuardRules { bypass, ..rules() });
    shop.now = Moment::now().unwrap().now;
    shop
}

async fn send(shop: &Shop, target: &str, headers: &[(&str, &str)]) -> Response<String> {
    send_to(&shop.guard, target, headers).await
}

async fn send_to<L: LiveSessions + 'static>(
    guard: &Arc<Guard<L, TestRoom>>,
    target: &str,
    headers: &[(&str, &str)],
) -> Response<String> {
    let layer = GuardLayer::new(guard.clone())
        .with_client_address(|known| known.get::<Ipv4Addr>().copied().map(IpAddr::from));
    let mut request = Request::get(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body("body").unwrap();
    if let Some((_, client)) = headers.iter().find(|(name, _)| *name == "x-test-client") {
        request.extensions_mut().insert(client.parse::<Ipv4Addr>().unwrap());
    }
    layer.layer(Sale).call(request).await.unwrap()
}

fn header<'a>(response: &'a Response<String>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn only_visitors_with_a_session_reach_the_service() {
    let shop = present();
    let away = send(&shop, "/a?x=1", &[]).await;
    assert_eq!((away.status().as_u16(), header(&away, "location")), (302, Some(DOOR)));
    assert_eq!(header(&away, "cache-control"), Some("no-store"));
    let sent = header(&away, "set-cookie").unwrap().split(';').next().unwrap();
    let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
    let exchanged = send(&shop, &arrival, &[("cookie", sent)]).await;
    assert_eq!((exchanged.status().as_u16(), header(&exchanged, "location")), (302, Some("/a?x=1")));
    let session = header(&exchanged, "set-cookie").unwrap().split(';').next().unwrap();
    let spoofed = [("cookie", session), ("x-beekeeper-number", "1"), ("x_beekeeper_subject", "me")];
    let inside = send(&shop, "/a?x=1", &spoofed).await;
    assert_eq!(inside.status(), 200);
    assert_eq!(inside.body(), "/a?x=1 body [x-beekeeper-subject: visitor, x-beekeeper-number: 4711]");
    assert_eq!(header(&inside, "set-cookie"), None);
}

#[tokio::test]
async fn what_bypasses_has_no_identity() {
    let shop = present();
    let spoofed = ("x-beekeeper-number", "1");
    let bypassed = send(&shop, "/static/a.css", &[spoofed]).await;
    assert_eq!((bypassed.status().as_u16(), bypassed.body().as_str()), (200, "/static/a.css body []"));
    let office = send(&shop, "/", &[("x-test-client", "10.1.2.3"), spoofed]).await;
    assert_eq!(office.body(), "/ body []");
    let claimed = send(&shop, "/", &[("x-forwarded-for", "10.1.2.3")]).await;
    assert_eq!(claimed.status(), 302, "anybody can write that header");
}

/// As axum's `Router::nest` does: a part of the path is gone from the request, and the whole URI is among what the server knows.
#[tokio::test]
async fn in_a_nested_service_the_whole_path_counts() {
    let shop = present();
    let layer = GuardLayer::new(shop.guard.clone()).with_uri(http::Extensions::get::<Uri>);
    let send = async |whole: &str, rest: &str, cookie: &str| {
        let mut request = Request::get(rest).header("cookie", cookie).body("body").unwrap();
        request.extensions_mut().insert(whole.parse::<Uri>().unwrap());
        layer.layer(Sale).call(request).await.unwrap()
    };
    let away = send("/tickets/7?x=1", "/7?x=1", "").await;
    let cookie = header(&away, "set-cookie").unwrap().split(';').next().unwrap();
    let pass = shop.pass("visitor");
    let back = send(&format!("/tickets/?bk_pass={pass}"), &format!("/?bk_pass={pass}"), cookie).await;
    assert_eq!((back.status().as_u16(), header(&back, "location")), (302, Some("/tickets/7?x=1")));
    assert_eq!(send("/static/a.css", "/a.css", "").await.body(), "/a.css body []", "as the service sees it");
    assert_eq!(send("/other/static/a.css", "/static/a.css", "").await.status(), 302, "another folder");
}

#[tokio::test]
async fn a_script_is_refused_and_not_redirected() {
    let shop = present();
    let refused = send(&shop, "/api", &[("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")]).await;
    assert_eq!((refused.status().as_u16(), header(&refused, "location")), (403, None));
    assert_eq!(refused.body(), "Please wait in line first.\n");
}

#[tokio::test]
async fn the_shop_ends_a_session_with_a_header_that_its_visitor_never_sees() {
    let shop = present();
    let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
    let exchanged = send(&shop, &arrival, &[]).await;
    let session = header(&exchanged, "set-cookie").unwrap().split(';').next().unwrap();
    let count = |later| shop.guard.sessions().counts(Moment::now().unwrap().now + later, 0).unwrap().live;
    for (target, live_later) in [("/", 1), ("/other", 1), ("/thanks", 0), ("/", 0)] {
        let page = send(&shop, target, &[("cookie", session)]).await;
        assert_eq!((page.status().as_u16(), header(&page, "beekeeper-session")), (200, None));
        assert_eq!((count(0), count(LiveSession::FAREWELL)), (1, live_later), "{target}");
    }
}

/// Sessions in a store that doesn't answer when one ends.
struct HangingSessions(MemorySessions);

impl LiveSessions for HangingSessions {
    async fn open(
        &self,
        subject: &str,
        session: LiveSession,
        rule: OneSession,
        now: u64,
    ) -> Result<Opening, SessionsFault> {
        self.0.open(subject, session, rule, now).await
    }

    async fn keep(&self, subject: &str, session: LiveSession, now: u64) -> Result<bool, SessionsFault> {
        self.0.keep(subject, session, now).await
    }

    async fn end(&self, _: &str, _: SessionId, _: u64) -> Result<(), SessionsFault> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn the_shops_answer_does_not_wait_for_a_store_that_hangs() {
    let shop = present();
    let keys = RoomKeys::of_room(&rules(), shop.room.clone());
    let key = SessionKey::new(&SessionKey::generate().unwrap()).unwrap();
    let guard = Arc::new(Guard::new(rules(), key, HangingSessions(MemorySessions::default()), keys));
    let exchanged = send_to(&guard, &format!("/?bk_pass={}", shop.pass("visitor")), &[]).await;
    let session = header(&exchanged, "set-cookie").unwrap().split(';').next().unwrap();
    let cookie = [("cookie", session)];
    let answer = tokio::time::timeout(Duration::from_secs(2), send_to(&guard, "/thanks", &cookie));
    assert_eq!(answer.await.expect("in short").status(), 200);
}
