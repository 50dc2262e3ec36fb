use std::time::{Duration, Instant};

use control::Order;

use crate::http::Client;

/// A room to check. It must be empty and on.
pub trait RoomUnderTest {
    /// The room's URL without a trailing slash: `http://127.0.0.1:8080`, `https://….amazonaws.com/prod`.
    fn base(&self) -> String;

    /// The room's short name.
    fn name(&self) -> String;

    /// Where admitted visitors are sent.
    fn shop(&self) -> String;

    /// Gives the room this order, as an operator would. It must be in force within two seconds.
    fn order(&self, order: Order);

    /// How long a window takes.
    fn minute(&self) -> Duration;

    /// What a request gets by a method that its route does not take. `CloudFront` refuses it itself.
    fn status_of_another_method(&self) -> u16 {
        405
    }

    /// Whether the room limits the number of headers of a request, and not only their total size.
    fn counts_headers(&self) -> bool {
        true
    }
}

/// An order is in force everywhere within this time: two seconds after it was written, and reading it takes a while.
pub const IN_FORCE: Duration = Duration::from_secs(3);

/// Pauses the room, and waits until no visitor who joins after that can be admitted. Polls may show the pause before a
/// running consumer has read it, so the poll alone is not enough.
pub(crate) fn pause(room: &impl RoomUnderTest, client: &Client) {
    room.order(Order::Pause);
    eventually("paused", || (client.get("/polling").json()["state"] == "paused").then_some(()));
    std::thread::sleep(IN_FORCE);
}

/// Retries until the answer is right. An order takes up to two seconds to be in force, longer on an emulator. And whoever is in a batch
/// that a busy machine misses is delivered again after half a minute.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
