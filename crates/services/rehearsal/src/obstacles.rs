//! What a rehearsal cannot get past. The room itself refuses what its own state forbids.

use std::path::Path;

use config::RoomConfig;
use control::SocketRoom;
use document::{Refusal, words};
use waitroom::RoomId;

/// All visitors come from one address, and the firewall of a room on AWS may limit or challenge it. `file` has its configuration.
pub fn refuse_limits_of_an_address(config: &RoomConfig, file: &Path) -> Result<(), Refusal> {
    let limits = config.address_limits();
    if limits.is_empty() {
        return Ok(());
    }
    let limited = format!(
        "the firewall of {} limits or challenges one address ({}), and all visitors of a rehearsal come from one",
        config.room,
        limits.join(", ")
    );
    let advice = format!(
        "remove these settings from {} and deploy for the rehearsal; afterwards add them again",
        file.display()
    );
    Err(Refusal::new(limited, advice))
}

/// The line of a demonstration is never empty, because its visitors join again and again.
pub async fn refuse_demo_visitors(name: &RoomId, room: &SocketRoom) -> Result<(), Refusal> {
    let visitors = room.check().await.map_or(0, |running| running.demo_visitors);
    if visitors == 0 {
        return Ok(());
    }
    let never_empty = format!(
        "the room {name} always has {} in its line, and a rehearsal needs an empty one",
        words::things(visitors.into(), "demonstration visitor")
    );
    let advice =
        "stop the room, start it again as before but with --visitors 0, and rehearse it when nobody waits";
    Err(Refusal::new(never_empty, advice))
}
