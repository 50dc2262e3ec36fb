//! Nobody came for a while, so rooms of every rate are quiet. Then somebody comes.

use std::thread;
use std::time::Duration;

use deployed_rooms::{SamRoom, until};
use http_contract::IN_FORCE;
use waitroom::Place;
use waitroom::ports::{Admissions, RoomReader};

/// A minute, from the least to the most. At one a minute a window has a batch, and somebody who missed it would wait a minute.
const RATES: [u32; 5] = [1, 6, 60, 600, 6000];

/// The machine that runs this may be busy with other work.
const DEADLINE: Duration = IN_FORCE.saturating_mul(10);

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn the_first_visitor_after_quiet_enters_at_once_at_every_rate() {
    let rooms = RATES.map(|rate| SamRoom::deploy(&format!("quiet-{rate}"), rate).unwrap());
    let waits = thread::scope(|scope| {
        let first = |room| scope.spawn(move || wait_after_quiet(room));
        rooms.each_ref().map(first).map(|first| first.join().unwrap())
    });
    for (rate, wait) in RATES.iter().zip(waits) {
        println!("{rate} a minute: the first after quiet was admitted after {wait:?}");
        assert!(wait <= DEADLINE, "{wait:?} at {rate} a minute");
    }
}

/// How long the first visitor waits, from the click.
fn wait_after_quiet(SamRoom { stage, .. }: &SamRoom) -> Duration {
    until("it is quiet", Duration::from_mins(6), || Ok(stage.ask(|| stage.store().room())?.quiet)).unwrap();
    let clicked = stage.now();
    let cookie = stage.client().join();
    let (_, value) = cookie.split_once('=').unwrap();
    let place: Place = value.parse().unwrap();
    let admission = || stage.ask(|| stage.store().admission(place.token));
    until("the first is admitted", Duration::from_mins(2), || Ok(admission()?.is_some())).unwrap();
    admission().unwrap().unwrap().at.since(clicked)
}
