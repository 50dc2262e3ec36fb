//! A stock: of those who come to a real room, exactly so many enter, whatever is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use embedded::EmbeddedStore;
use http_contract::{Order, RoomUnderTest};
use serde_json::Value;
use waitroom::ports::Admissions;
use waitroom::{Place, Timestamp, fixture};

use crate::crowd::{ask, authority};
use crate::support::{Local, awaited, text};

/// The answer to each of these visitors, over one connection.
fn answers(authority: &str, path: &str, places: &[Place]) -> Vec<String> {
    let mut stream = TcpStream::connect(authority).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let answer = |place: &Place| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nCookie: bk_demo={place}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        head + &text(&body)
    };
    places.iter().map(answer).collect()
}

/// Who may enter, by their polls. Everybody else reads that it is over.
fn may_enter(room: &Local, places: &[Place]) -> Vec<bool> {
    let answers = answers(&authority(room), "/polling", places);
    let may_enter = |answer: String| {
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        if body["allow"] == true {
            return true;
        }
        assert_eq!((&body["state"], &body["message"]), (&"ended".into(), &"Sold out".into()), "{body}");
        assert_eq!((&body["link"], body.get("stock")), (&"https://shop.example/next".into(), None));
        false
    };
    answers.into_iter().map(may_enter).collect()
}

fn exactly_so_many_enter(stock: usize, crowd: usize) {
    // Slow enough to be killed in between.
    let rate = (stock / 4).to_string();
    let at_rate = ["--rate", &rate, "--minute", "2s"];
    let mut room = Local::start(&at_rate);
    // So that all of them wait when it begins.
    room.order(Order::Pause);
    let threads = (0..8).map(|_| {
        let authority = authority(&room);
        thread::spawn(move || ask(&authority, "/beekeeper", crowd / 8))
    });
    let threads: Vec<_> = threads.collect();
    let (places, refusals): (Vec<_>, Vec<_>) =
        threads.into_iter().map(|thread| thread.join().unwrap()).unzip();
    let places: Vec<Place> = places.concat();
    assert_eq!(places.len(), crowd);
    let size = stock.to_string();
    let told = ["--message", "Sold out", "--link", "https://shop.example/next", "--yes"];
    let ordered = room.command(&[&["close", "--local", "--after", &size], &told[..]].concat());
    assert!(ordered.status.success(), "{}", text(&ordered.stderr));
    assert_eq!(
        (&room.status()["line"]["left"], &room.status()["room"]["state"]),
        (&stock.into(), &"paused".into())
    );
    room.order(Order::On);

    for part in [4, 2] {
        // On a busy machine it may be sold before somebody looks.
        let most = (stock - stock / part) as u64;
        let are_sold = |status: &Value| status["line"]["left"].as_u64().is_none_or(|left| left < most);
        awaited("some are sold", || room.status(), are_sold);
        room = Local::start_in(room.kill(), &at_rate);
    }
    awaited("all are sold", || room.status(), |status| status["room"]["state"] == "ended");
    let entered = may_enter(&room, &places);
    let count = entered.iter().filter(|entered| **entered).count();
    // Whoever was refused may be in the line all the same.
    let unknown: usize = refusals.iter().sum();
    assert!(
        (stock - unknown..=stock).contains(&count),
        "{count} of {stock}, and {unknown} whom nobody knows"
    );

    // Another restart, everybody in a second browser, and late polls.
    room = Local::start_in(room.kill(), &at_rate);
    let doors = answers(&authority(&room), "/beekeeper", &places);
    let to_shop =
        doors.iter().filter(|answer| answer.contains("\nlocation: ") && answer.contains("bk_pass="));
    assert_eq!(to_shop.count(), count);
    assert_eq!(ask(&authority(&room), "/beekeeper", 20).0, [], "nobody new gets a place");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(may_enter(&room, &places), entered);
    let history = text(&room.command(&["history", "--local"]).stdout);
    assert!(history.contains(&format!("sold out: {stock} let in, room: ended")), "{history}");

    let directory = room.kill();
    let store = EmbeddedStore::open(directory.path(), fixture::room(1), Timestamp::default).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let is_admitted = |place: &&Place| runtime.block_on(store.admission(place.token)).unwrap().is_some();
    assert_eq!(places.iter().filter(is_admitted).count(), count);
}

#[test]
fn of_800_who_come_exactly_500_enter_over_kills() {
    exactly_so_many_enter(500, 800);
}

#[test]
#[ignore = "takes half a minute: cargo xtask test beekeeper"]
fn of_8000_who_come_exactly_5000_enter_over_kills() {
    exactly_so_many_enter(5000, 8000);
}
