//! What a rehearsal cannot get past. The room itself refuses what its own state forbids.

use std::path::Path;

use config::{AddressLimit, RoomConfig};
use control::SocketRoom;
use document::{Refusal, words};
use waitroom::RoomId;

/// All visitors come from one address, and the firewall of a room on AWS may limit or challenge it. `file` has its configuration.
pub fn refuse_limits_of_an_address(config: &RoomConfig, file: &Path) -> Result<(), Refusal> {
    let limits = limits_of_an_address(config);
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
        "stop the room, start it again with: beekeeper local --visitors 0, and rehearse it when nobody waits";
    Err(Refusal::new(never_empty, advice))
}

/// The settings by which the firewall refuses the visitors, who all come from one address.
fn limits_of_an_address(config: &RoomConfig) -> Vec<&'static str> {
    let limits = [
        ("door_requests_per_address", config.door_requests_per_address.is_some_and(AddressLimit::is_limited)),
        ("requests_per_address", config.requests_per_address.is_some_and(AddressLimit::is_limited)),
        // 0 challenges every browser.
        ("door_challenge_above", config.door_challenge_above.is_some()),
    ];
    limits.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use config::ConfigValue::{self, Number, Text};

    use super::*;

    #[test]
    fn what_limits_or_challenges_one_address_is_named() {
        let limits = |more: &[(&str, ConfigValue<'_>)]| {
            let shop = ("shop", Text("https://shop.example"));
            let least = [("title", Text("Sale")), shop, ("rate", Number(300))];
            let entries = least.iter().chain(more).copied();
            limits_of_an_address(&RoomConfig::from_entries("sale".parse().unwrap(), entries).unwrap())
        };
        let (requests, door) = ("requests_per_address", "door_requests_per_address");
        assert!(limits(&[]).is_empty());
        assert!(limits(&[(requests, Number(0)), (door, Number(0))]).is_empty());
        assert_eq!(limits(&[(requests, Number(5000))]), [requests]);
        let challenge = "door_challenge_above";
        assert_eq!(limits(&[(door, Number(5000)), (challenge, Number(0))]), [door, challenge]);
    }
}
