//! A real room in a real process that tests kill: `killed_room DIRECTORY [drain]`.
//!
//! Visitors join without end. After a visitor was redirected to the page, the process prints `joined <place>`; after a
//! visitor was told to retry, `busy`, or `busy, lookup ok` if the ledger can still be read. With `drain` nobody joins,
//! and the process exits when nobody waits any more.

#![allow(clippy::expect_used, reason = "a room that cannot run fails the test that started it")]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clock::SystemClock;
use consumer::Consumer;
use embedded::EmbeddedStore;
use producer::{DoorRequest, Producer, SystemTokens};
use trigger::{Trigger, TriggerCause};
use waitroom::ports::{Admissions, Clock, ConsumerRun, Dispatch, LineLength, PortResult};
use waitroom::{Rate, Room, Scheme, Settings, Slice, Token};

/// Short, so that windows begin and end within a process that lives a second.
const MINUTE: Duration = Duration::from_millis(500);
const RATE: u32 = 6000;
const VISITORS_AT_ONCE: usize = 64;

#[derive(Clone)]
struct SpawnConsumers(EmbeddedStore);

impl Dispatch for SpawnConsumers {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        let consumer = Consumer::new(self.0.clone(), SystemClock);
        tokio::spawn(async move { consumer.run(slice, ConsumerRun(rand::random())).await });
        Ok(())
    }
}

fn room() -> Room {
    let settings = Settings::new(
        "sale".parse().expect("a room's name"),
        "Sale".parse().expect("a title"),
        "https://shop.example".parse().expect("a URL"),
        Rate::new(RATE).expect("a rate"),
    );
    Room::new(
        settings,
        "http://localhost".parse().expect("a valid URL"),
        "ab12".parse().expect("four characters"),
    )
}

/// Prints an event after it happened. The test checks that every printed event survives the kill.
fn print_event(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").expect("the test reads the output");
}

async fn visit(producer: Arc<Producer<EmbeddedStore, SystemClock, SystemTokens>>, store: EmbeddedStore) {
    let newcomer = DoorRequest::GET;
    loop {
        let answer = producer.answer(&newcomer).await.ok().and_then(|answer| answer.set_cookie);
        if let Some(place) = answer.as_deref().and_then(|cookie| cookie.split([';', '=']).nth(1)) {
            print_event(&format!("joined {place}"));
        } else {
            // Nobody can join. Visitors who have a place must still be looked up.
            let looked_up = store.admission(Token::from_bytes([0; 16])).await;
            print_event(if looked_up.is_ok() { "busy, lookup ok" } else { "busy" });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn schedule(store: EmbeddedStore) {
    let trigger = Trigger::new(store.clone(), SystemClock, SpawnConsumers(store.clone()), MINUTE);
    let mut minutes = tokio::time::interval(MINUTE);
    loop {
        let cause = tokio::select! {
            _ = minutes.tick() => TriggerCause::Minute,
            () = store.valve_changed() => TriggerCause::Change,
        };
        let ran = async {
            trigger.run(cause).await?;
            store.sweep().await
        };
        // If this failed, the next minute retries it.
        drop(ran.await);
    }
}

#[tokio::main]
async fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO).init();
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("usage: killed_room DIRECTORY [drain]");
    let store =
        EmbeddedStore::open(Path::new(&directory), room(), || SystemClock.now()).expect("the store opens");
    tokio::spawn(schedule(store.clone()));
    if arguments.next().is_some() {
        while store.waiting().await.expect("answered from memory") > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The last consumers still have to record what they released.
        tokio::time::sleep(2 * MINUTE).await;
        store.close();
        return;
    }
    let scheme = Scheme::PlainLocalhost;
    let producer = Arc::new(Producer::new(store.clone(), SystemClock, SystemTokens, scheme));
    let visitors = (0..VISITORS_AT_ONCE).map(|_| tokio::spawn(visit(producer.clone(), store.clone())));
    futures_util::future::join_all(visitors).await;
}
