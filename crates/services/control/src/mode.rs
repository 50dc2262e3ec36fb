use waitroom::{Mode, Room};

use crate::rehearsal;

/// Why the room may not get this mode, by an order or as it starts. Completes the sentence "the room ...". Whoever rehearses has to
/// stand in line, and the places of a stock are counted there.
pub fn mode_refusal(room: &Room, mode: Mode) -> Option<String> {
    match mode {
        Mode::Line => None,
        Mode::Overflow | Mode::Observe if room.settings.active.is_some() => Some(
            "counts its active visitors as they leave the line, so they have to stand in it; without active_visitors in its file it takes \
             this mode"
                .into(),
        ),
        Mode::Observe if room.stock.is_some() => Some(
            "lets in only so many more, and a room that observes lets everybody in; first withdraw that: `beekeeper close --never`"
                .into(),
        ),
        Mode::Overflow | Mode::Observe => rehearsal::left_in(room, "a rehearsal is of the line"),
    }
}
