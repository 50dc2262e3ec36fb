//! `--throttle`: a shop that fails and recovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{Local, awaited, text, web_server};

/// A shop that answers at once, with an error while `ill`. Returns its URL.
fn shop(ill: Arc<AtomicBool>) -> String {
    web_server(move |_| {
        thread::sleep(Duration::from_millis(20));
        if ill.load(Ordering::SeqCst) { "503 Service Unavailable" } else { "200 OK" }
    })
}

fn rate_becomes(room: &Local, is_right: impl Fn(u64) -> bool) {
    let is_found = |status: &serde_json::Value| {
        is_right(status["line"]["rate"].as_u64().unwrap())
            && !status["findings"].as_array().unwrap().is_empty()
    };
    awaited("the rate is right", || room.status(), is_found);
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
            && status.contains("shop's health  failing: ")
            && status.contains("20 of 20 failed, the last one: http://127.0.0.1:")
            && status.contains(" answered with status 503, rate 1 a minute"),
        "{status}"
    );
    ill.store(false, Ordering::SeqCst);
    rate_becomes(&room, |rate| rate > 2);
    let recovering = log.find(|line| line.contains("throttle finished: recovering")).unwrap();
    assert!(recovering.contains("WARN") && recovering.contains(" wanted=8"), "{recovering}");
    for time in [" mean=0.", " threshold=0."] {
        let digits = recovering.split_once(time).unwrap().1.split(' ').next().unwrap();
        assert!(digits.len() <= 3, "{recovering}");
    }
    assert!(log.any(|line| line.contains("throttle finished: recovered")));
}

#[test]
fn a_shop_that_refuses_visitors_without_a_pass_is_protected_and_not_measured() {
    let shop = web_server(|_| "403 Forbidden");
    let room = Local::start(&["--throttle", "--shop", &shop, "--rate", "8"]);
    rate_becomes(&room, |rate| rate == 8);
    let status = text(&room.command(&["status", "--local"]).stdout);
    assert!(status.contains("shop's health  not measured: it refuses visitors without a pass"), "{status}");
    assert!(status.contains("rate           8 a minute\n"), "{status}");
}
