//! What any Beekeeper room answers over HTTP, whoever runs it.
//!
//! Written against a base URL and knowing nothing but HTTP: the same checks run against one process on one
//! machine and against a deployed stack. What a visitor cannot do goes through [`RoomUnderTest`].

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a room that does not conform fails the test that asked it"
)]

mod door;
mod http;
mod operator;
mod questions;
mod strangers;

use std::time::{Duration, Instant};

pub use http::{Client, HttpAnswer};

/// A room to ask, empty and on, and its operator's hand.
pub trait RoomUnderTest {
    /// Without a trailing slash: `http://127.0.0.1:8080`, `https://….amazonaws.com/prod`.
    fn base(&self) -> String;

    /// The room's short name.
    fn name(&self) -> String;

    /// Where the admitted are sent.
    fn shop(&self) -> String;

    fn order(&self, order: Order);

    /// How long a window takes.
    fn minute(&self) -> Duration;

    /// Whether it counts a request's headers, and not only their bytes.
    fn counts_headers(&self) -> bool {
        true
    }
}

/// Within this time an order is in force everywhere.
const IN_FORCE: Duration = Duration::from_secs(2);

/// What only the operator can do. It is in force within two seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    On,
    Off,
    Pause,
    SetRate(u32),
    Message(String),
    /// A new epoch, with an empty line.
    Reset,
}

/// Checks everything, one thing after the other: the room is shared, and some checks turn it off.
pub fn check(room: &impl RoomUnderTest) {
    let client = Client::new(&room.base(), &room.name());
    door::check(room, &client);
    questions::check(room, &client);
    strangers::check(room, &client);
    operator::check(room, &client);
}

/// Pauses the room, and waits for as long as somebody may still be let in who joins now: polls may say so before a
/// consumer under way has heard of it.
fn pause(room: &impl RoomUnderTest, client: &Client) {
    room.order(Order::Pause);
    eventually("paused", || (client.get("/polling").json()["state"] == "paused").then_some(()));
    std::thread::sleep(IN_FORCE);
}

/// Asks again until the answer is as it should be: an order takes up to two seconds, an emulator longer.
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
