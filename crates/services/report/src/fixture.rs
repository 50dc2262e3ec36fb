use waitroom::{LineTotals, MinuteRecord, Room, Timestamp, fixture};

/// A room that is on.
pub(crate) fn room() -> Room {
    fixture::room(300)
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
        observed: None,
    };
    MinuteRecord { totals, longest_wait: Some(1720) }
}
