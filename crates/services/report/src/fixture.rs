use waitroom::{LineTotals, MinuteRecord, Rate, Room, Settings, Timestamp};

/// A room that is on.
pub(crate) fn room() -> Room {
    let settings = Settings::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(300).unwrap(),
    );
    Room::new(settings, "https://room.example".parse().unwrap(), "ab12".parse().unwrap())
}

/// The record of a minute of that room.
pub(crate) fn minute_record(at: Timestamp, joined: u64, released: u64) -> MinuteRecord {
    let room = room();
    let totals = LineTotals {
        at,
        epoch: room.epoch,
        joined,
        released,
        entered: None,
        waiting: joined - released,
        rate: Some(room.settings.rate),
        rehearsal: false,
    };
    MinuteRecord { totals, longest_wait: Some(1720) }
}
