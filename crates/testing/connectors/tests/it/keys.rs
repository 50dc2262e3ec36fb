//! How connectors get the room's keys.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use connectors::{Answer, Shop, ShopsRoom, VectorKey, Vectors};
use serde_json::{Value, json};

/// A room that publishes keys, and counts how often they are asked for. It runs until the test process ends.
struct PublishingRoom {
    url: String,
    asked: Arc<AtomicUsize>,
    /// Status, further headers, and body of the room's answer.
    answer: Arc<Mutex<(&'static str, String, String)>>,
}

impl PublishingRoom {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let room = Self { url, asked: asked.clone(), answer: Arc::clone(&answer) };
        room.publish(None);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head =
                    BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
                let first = head.collect::<Vec<_>>().into_iter().next().unwrap_or_default();
                assert!(first.starts_with("GET /.well-known/jwks.json "), "{first}");
                asked.fetch_add(1, Ordering::SeqCst);
                let (status, more, body) = answer.lock().unwrap().clone();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{more}", body.len());
                // A shop that has given up does not read it.
                let _ =
                    write!(stream, "{head}Content-Type: application/json\r\nConnection: close\r\n\r\n{body}");
            }
        });
        room
    }

    /// Without a key, the room fails.
    fn publish(&self, key: Option<&VectorKey>) {
        let keys = key.map(|key| serde_json::to_string(&key.published().unwrap()).unwrap());
        match keys {
            Some(keys) => self.answers("200 OK", "", keys),
            None => {
                self.answers("503 Service Unavailable", "", r#"{"error":"the room cannot answer"}"#.into());
            }
        }
    }

    fn answers(&self, status: &'static str, more: &str, body: String) {
        *self.answer.lock().unwrap() = (status, more.into(), body);
    }

    /// A pass that begins and ends so many seconds from now.
    fn pass_of(&self, key: &VectorKey, begins: i64, ends: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url, "aud": "sale", "sub": "visitor", "token_use": "access",
            "iat": now, "nbf": now.saturating_add_signed(begins), "exp": now.saturating_add_signed(ends),
        });
        key.pass(&claims).unwrap()
    }

    fn pass(&self, key: &VectorKey) -> String {
        self.pass_of(key, 0, 300)
    }
}

fn shop(language: &'static str, room: &PublishingRoom) -> Shop {
    let secret = "a secret of 32 characters or more";
    Shop::start(language, ShopsRoom { url: &room.url, name: "sale", secret, keys: "" }).unwrap()
}

fn answer(shop: &Shop, pass: &str) -> (u16, Option<String>) {
    let answer = Answer::of(shop.port(), "GET", &format!("/?bk_pass={pass}"), "text/html", "").unwrap();
    (answer.status, answer.headers.get("location").cloned())
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn other_keys_in_the_document_are_passed_over() {
    let (current, stranger) = (VectorKey::named("current").unwrap(), VectorKey::named("stranger").unwrap());
    let published =
        |key: &VectorKey| serde_json::to_value(key.published().unwrap()).unwrap()["keys"][0].take();
    let with = |name: &str, value: Value| {
        let mut other = published(&stranger);
        other[name] = value;
        other
    };
    // The first of two with one id counts, and no key of another kind.
    let keys = [
        json!("a text"),
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "other", "x": "AA", "y": "AA" }),
        with("use", "enc".into()),
        with("alg", "RS512".into()),
        with("kty", Value::Null),
        with("kid", json!(7)),
        published(&current),
        with("kid", current.id().unwrap().into()),
    ];
    for language in Shop::LANGUAGES {
        let room = PublishingRoom::start();
        room.answers("200 OK", "", json!({ "keys": keys, "more": 1 }).to_string());
        let shop = shop(language, &room);
        assert_eq!(answer(&shop, &room.pass(&current)).0, 302, "{language}");
        assert_eq!(answer(&shop, &room.pass(&stranger)).0, 403, "{language}: its key is of another kind");
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn what_is_no_answer_of_a_room_is_not_taken_for_its_keys() {
    let current = VectorKey::named("current").unwrap();
    for language in Shop::LANGUAGES {
        let (room, other) = (PublishingRoom::start(), PublishingRoom::start());
        let asks = || answer(&shop(language, &room), &room.pass(&current)).0;
        other.publish(Some(&current));
        let location = format!("Location: {}/.well-known/jwks.json\r\n", other.url);
        room.answers("302 Found", &location, String::new());
        assert_eq!(asks(), 503, "{language}: a redirect");
        assert_eq!(other.asked.load(Ordering::SeqCst), 0, "{language} follows a redirect");
        let keys = serde_json::to_string(&current.published().unwrap()).unwrap();
        for (what, body) in [
            ("much more than keys", format!("{}{keys}", " ".repeat(100_000))),
            ("a list", "[]".into()),
            ("keys that are no list", r#"{"keys":7}"#.into()),
            ("no JSON", "<html>".into()),
        ] {
            room.answers("200 OK", "", body);
            assert_eq!(asks(), 503, "{language}: {what}");
        }
    }
}

/// Each limit is a quarter of a minute away, so that no test depends on the second.
#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn clocks_may_differ_by_half_a_minute() {
    let current = VectorKey::named("current").unwrap();
    let room = PublishingRoom::start();
    room.publish(Some(&current));
    let (entered, waits) = ((302, Some("/".to_owned())), (302, Some(format!("{}/beekeeper", room.url))));
    for language in Shop::LANGUAGES {
        let shop = shop(language, &room);
        let answer = |begins, ends| answer(&shop, &room.pass_of(&current, begins, ends));
        assert_eq!(answer(-60, -15), entered, "{language}: over for a quarter of a minute");
        assert_eq!(answer(-60, -45), waits, "{language}: over for three quarters");
        assert_eq!(answer(15, 60), entered, "{language}: begins in a quarter of a minute");
        assert_eq!(answer(45, 60), (403, None), "{language}: begins in three quarters");
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn keys_are_fetched_once_and_known_ones_serve_while_the_room_is_away() {
    let (current, stranger) = (VectorKey::named("current").unwrap(), VectorKey::named("stranger").unwrap());
    for language in Shop::LANGUAGES {
        let room = PublishingRoom::start();
        let shop = shop(language, &room);
        let status = |key: &VectorKey| answer(&shop, &room.pass(key)).0;
        let asked = || room.asked.load(Ordering::SeqCst);
        assert_eq!(asked(), 0, "{}", shop.language);
        let begun = Instant::now();
        assert_eq!(status(&current), 503, "{}: nobody enters while no key is known", shop.language);
        assert_eq!(status(&current), 503, "{}", shop.language);
        // Without keys, a shop asks again after five seconds.
        let (times, took) = (asked(), begun.elapsed());
        assert!(times == 1 || took > Duration::from_secs(5), "{}: nor is the room flooded", shop.language);
        room.publish(Some(&current));
        let entered = (0..60).any(|_| {
            thread::sleep(Duration::from_millis(500));
            status(&current) == 302
        });
        assert!(entered, "{}: {} requests for keys", shop.language, asked());
        let before = asked();
        room.publish(None);
        for _ in 0..5 {
            assert_eq!((status(&current), status(&stranger)), (302, 403), "{}", shop.language);
        }
        assert_eq!(asked(), before, "{}: an unknown key is asked for once a minute", shop.language);
    }
}

/// The test's shops in PHP and WSGI answer one request at a time.
#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn those_who_wait_for_the_keys_do_not_wait_one_after_another() {
    let vectors = Vectors::read().unwrap();
    let target = format!("/?bk_pass={}", vectors.passes[0].pass);
    for language in ["express", "asgi"] {
        // It takes connections, and never answers. A shop gives up after five seconds.
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let (name, secret) = (&vectors.name, &vectors.secret);
        let shop = Shop::start(language, ShopsRoom { url: &url, name, secret, keys: "" }).unwrap();
        let (port, began) = (shop.port(), Instant::now());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let answer = Answer::of(port, "GET", &target, "text/html", "").unwrap();
                    assert_eq!(answer.status, 503, "{language}");
                });
            }
        });
        assert!(began.elapsed() < Duration::from_secs(9), "{language}: {:?}", began.elapsed());
    }
}
