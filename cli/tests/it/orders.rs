//! How soon an order is in force, in a real room. The simulation tries every state and a dozen rates.

use std::thread;
use std::time::Duration;

use clock::SystemClock;
use embedded::EmbeddedStore;
use waitroom::Timestamp;
use waitroom::ports::{Admissions, Clock};

use crate::crowd::{ask, authority, unused_room};
use crate::support::Local;

/// When an order has its full effect, and for how long the release is counted then.
const FULL_EFFECT: Duration = Duration::from_secs(2);
const COUNTED: Duration = Duration::from_secs(10);

#[test]
#[ignore = "takes a minute: cargo xtask test beekeeper"]
fn the_release_follows_every_order_within_two_seconds() {
    let room = Local::start(&["--rate", "60", "--minute", "60s"]);
    assert!(room.command(&["pause", "--local"]).status.success());
    thread::sleep(FULL_EFFECT);
    let places = ask(&authority(&room), "/beekeeper", 1500);
    assert_eq!(places.len(), 1500);

    // The order, and what it should release in ten seconds.
    let orders: [(&[&str], usize); 5] = [
        (&["on", "--local"], 10),
        (&["set-rate", "--local", "3000", "--yes"], 500),
        (&["set-rate", "--local", "120"], 20),
        (&["pause", "--local"], 0),
        (&["on", "--local"], 20),
    ];
    let ordered: Vec<Timestamp> = orders
        .iter()
        .map(|(order, _)| {
            let output = room.command(order);
            assert!(output.status.success(), "{order:?}: {output:?}");
            let now = SystemClock.now();
            thread::sleep(FULL_EFFECT + COUNTED);
            now
        })
        .collect();
    let (directory, _) = room.interrupt();

    let store = EmbeddedStore::open(directory.path(), unused_room(), Timestamp::default).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let admitted = |token| runtime.block_on(store.admission(token)).unwrap();
    let times: Vec<_> = places.iter().filter_map(|place| Some(admitted(place.token)?.at)).collect();
    for ((order, expected), at) in orders.into_iter().zip(ordered) {
        let counted = at + FULL_EFFECT..at + FULL_EFFECT + COUNTED;
        let released = times.iter().filter(|at| counted.contains(at)).count();
        println!("{}: {released} in ten seconds, {expected} expected", order.join(" "));
        match expected {
            0 => assert_eq!(released, 0, "{order:?}"),
            // A batch of each slice at either end, and what a busy machine does a second too late.
            _ => assert!(
                released.abs_diff(expected) <= 20 + expected / 5,
                "{order:?}: {released} of {expected}"
            ),
        }
    }
}
