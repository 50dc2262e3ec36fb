//! `--throttle`: a shop that fails and recovers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{Local, text};

/// A shop that answers at once, with an error while `ill`. Returns its URL.
fn shop(ill: Arc<AtomicBool>) -> String {
    answering(move || if ill.load(Ordering::SeqCst) { "503 Service Unavailable" } else { "200 OK" })
}

/// A shop that answers at once with this status. Returns its URL.
fn answering(status: impl Fn() -> &'static str + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/sale", listener.local_addr().unwrap());
    thread::spawn(move || {
        for visitor in listener.incoming() {
            let mut visitor = visitor.unwrap();
            let request = BufReader::new(visitor.try_clone().unwrap()).lines();
            request.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            thread::sleep(Duration::from_millis(20));
            let answer = format!("HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status());
            drop(visitor.write_all(answer.as_bytes()));
        }
    });
    url
}

fn rate_becomes(room: &Local, is_right: impl Fn(u64) -> bool) {
    let mut status = serde_json::Value::Null;
    for _ in 0..300 {
        status = serde_json::from_str(&text(&room.command(&["status", "--local", "--json"]).stdout)).unwrap();
        if is_right(status["line"]["rate"].as_u64().unwrap())
            && !status["findings"].as_array().unwrap().is_empty()
        {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{status}");
}

#[test]
fn a_slow_or_failing_shop_lowers_the_rate_until_it_recovers() {
    let ill = Arc::new(AtomicBool::new(false));
    let shop = shop(ill.clone());
    let mut room = Local::start(&["--throttle", "--origin", &shop, "--rate", "8"]);
    let mut log = room.log();
    rate_becomes(&room, |rate| rate == 8);
    ill.store(true, Ordering::SeqCst);
    rate_becomes(&room, |rate| rate == 1);
    let status = text(&room.command(&["status", "--local"]).stdout);
    assert!(
        status.contains("rate           8 a minute, throttled to 1: the shop is slow or fails")
            && status.contains("shop's health  failing"),
        "{status}"
    );
    ill.store(false, Ordering::SeqCst);
    rate_becomes(&room, |rate| rate > 2);
    let recovering = log.find(|line| line.contains("throttle finished: recovering")).unwrap();
    assert!(recovering.contains("WARN") && recovering.contains(" wanted=8"), "{recovering}");
    assert!(log.any(|line| line.contains("throttle finished: recovered")));
}

#[test]
fn a_shop_that_refuses_visitors_without_a_pass_is_protected_and_not_measured() {
    let shop = answering(|| "403 Forbidden");
    let room = Local::start(&["--throttle", "--shop", &shop, "--rate", "8"]);
    rate_becomes(&room, |rate| rate == 8);
    let status = text(&room.command(&["status", "--local"]).stdout);
    assert!(status.contains("shop's health  not measured: it refuses visitors without a pass"), "{status}");
    assert!(status.contains("rate           8 a minute\n"), "{status}");
}
