//! Checks the HTTP answers of a Beekeeper room. Every room must pass, on one machine and on AWS.
//!
//! The checks need only a base URL and HTTP, so the same checks run against a process on one machine and against a
//! deployed stack. They give the operator's orders through [`RoomUnderTest::order`].

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a room that does not conform fails the test"
)]

mod bad_requests;
mod door;
mod http;
mod orders;
mod questions;
mod room;

pub use control::Order;
pub use door::claim;
pub use http::{Client, HttpAnswer};
pub use room::{IN_FORCE, RoomUnderTest};

/// Runs all checks, one after the other, because they share the room and some turn it off.
pub fn check(room: &impl RoomUnderTest) {
    let client = visitor_of(room);
    door::check(room, &client);
    questions::check(room, &client);
    bad_requests::check(room, &client);
    orders::check(room, &client);
}

/// The same for a room behind an edge, which refuses bad requests itself.
pub fn check_behind_edge(room: &impl RoomUnderTest) {
    check_answers(room);
    orders::check(room, &visitor_of(room));
}

/// The answers alone: all but the checks of orders, which take minutes.
pub fn check_answers(room: &impl RoomUnderTest) {
    let client = visitor_of(room);
    door::check(room, &client);
    questions::check(room, &client);
}

fn visitor_of(room: &impl RoomUnderTest) -> Client {
    Client::new(&room.base(), &room.name()).asking_again()
}
