//! What speaks against letting everybody pass.

use waitroom::Room;

use crate::rehearsal;

/// Why a room does not observe. Completes the sentence "the room ...".
pub(crate) fn refusal(room: &Room) -> Option<String> {
    if room.stock.is_some() {
        return Some(
            "lets in only so many more, and a room that observes lets everybody in; first withdraw that: `beekeeper close --never`"
                .into(),
        );
    }
    rehearsal::refusal(room)
}
