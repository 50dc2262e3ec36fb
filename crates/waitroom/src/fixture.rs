//! The room of the tests in this crate.

use crate::{Rate, Room, Settings};

/// A room that is on, with this rate.
pub(crate) fn room(rate: u32) -> Room {
    let settings = Settings::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(rate).unwrap(),
    );
    Room::new(settings, "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
}
