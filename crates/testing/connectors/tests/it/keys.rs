//! How connectors get the room's keys.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use connectors::{Answer, Shop, ShopsRoom, VectorKey};
use pass::Jwks;
use serde_json::json;

/// A room that publishes keys, and counts how often they are asked for. It runs until the test process ends.
struct PublishingRoom {
    url: String,
    asked: Arc<AtomicUsize>,
    /// None while the room fails.
    keys: Arc<Mutex<Option<Jwks>>>,
}

impl PublishingRoom {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None::<Jwks>)));
        let room = Self { url, asked: asked.clone(), keys: keys.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head =
                    BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
                let first = head.collect::<Vec<_>>().into_iter().next().unwrap_or_default();
                assert!(first.starts_with("GET /.well-known/jwks.json "), "{first}");
                asked.fetch_add(1, Ordering::SeqCst);
                let (status, body) = match &*keys.lock().unwrap() {
                    Some(keys) => ("200 OK", serde_json::to_string(keys).unwrap()),
                    None => ("503 Service Unavailable", r#"{"error":"the room cannot answer"}"#.to_owned()),
                };
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: application/json"
                );
                // A shop that has given up does not read it.
                let _ = write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}");
            }
        });
        room
    }

    fn publish(&self, key: Option<&VectorKey>) {
        *self.keys.lock().unwrap() = key.map(|key| key.published().unwrap());
    }

    fn pass(&self, key: &VectorKey) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url, "aud": "sale", "sub": "visitor", "token_use": "access",
            "iat": now, "nbf": now, "exp": now + 300,
        });
        key.pass(&claims).unwrap()
    }
}

#[test]
#[ignore = "needs Node.js, Python and PHP: cargo xtask test connectors"]
fn keys_are_fetched_once_and_known_ones_serve_while_the_room_is_away() {
    let secret = "a secret of 32 characters or more";
    let (current, stranger) = (VectorKey::named("current").unwrap(), VectorKey::named("stranger").unwrap());
    for language in Shop::LANGUAGES {
        let room = PublishingRoom::start();
        let shop =
            Shop::start(language, ShopsRoom { url: &room.url, name: "sale", secret, keys: "" }).unwrap();
        let status = |key: &VectorKey| {
            let target = format!("/?bk_pass={}", room.pass(key));
            Answer::of(shop.port(), "GET", &target, "text/html", "").unwrap().status
        };
        let asked = || room.asked.load(Ordering::SeqCst);
        assert_eq!(asked(), 0, "{}", shop.language);
        assert_eq!(status(&current), 503, "{}: nobody enters while no key is known", shop.language);
        assert_eq!((status(&current), asked()), (503, 1), "{}: nor is the room flooded", shop.language);
        room.publish(Some(&current));
        // Without keys, a shop asks again after five seconds.
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
