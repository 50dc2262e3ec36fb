use anyhow::Result;
use control::{ChangedRoom, OperatedRoom, Order};
use document::words;
use serde_json::json;
use waitroom::{Room, Timestamp};

use crate::arguments::Which;
use crate::printer::say;
use crate::room::RoomHandle;
use crate::runtime::block_on;

/// Sends an order, and shows each change as `before -> after`.
pub(crate) fn run(which: &Which, json: bool, command: Order) -> Result<()> {
    block_on(async { order(&RoomHandle::find(which).await?.room, json, command).await })
}

pub(crate) async fn order(room: &OperatedRoom, json: bool, command: Order) -> Result<()> {
    let ChangedRoom { before, after } = room.change(command).await?;
    let in_force = after.changes_valve_from(&before);
    if json {
        return Ok(say(&json!({ "before": before, "after": after, "in_force": in_force }).to_string())?);
    }
    let now = room.transport.now();
    let changes = changes(&before, &after, in_force, now);
    match after.opens.filter(|_| changes.is_empty()) {
        Some(opens) => Ok(say(&format!("nothing changed: {}", opening_at(opens, now)))?),
        None => say_changes(changes.into_iter()),
    }
}

/// Prints one change a line.
pub(crate) fn say_changes(changes: impl Iterator<Item = String>) -> Result<()> {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return Ok(say("nothing changed: already set")?);
    }
    changes.try_for_each(|change| Ok(say(&change)?))
}

/// `in_force` is when the valve changes.
fn changes(before: &Room, after: &Room, in_force: Option<Timestamp>, now: Timestamp) -> Vec<String> {
    let with_opening = in_force.is_some_and(|from| after.opens.is_some_and(|opens| from >= opens));
    // Rounded up, so that nobody looks too early.
    let seconds = in_force.map(|from| from.since(now).as_millis().div_ceil(1000).max(1));
    let in_force = seconds.map(|seconds| format!(", in force in {seconds} s")).unwrap_or_default();
    let rates = (before.settings.rate.to_string(), after.settings.rate.to_string());
    let messages = (quoted(before), quoted(after));
    let states = (before.state.to_string(), after.state.to_string());
    let stretches = (before.stretch.to_string(), after.stretch.to_string());
    [
        ("rate", rates, if with_opening { ", in force when the room opens" } else { &in_force }),
        ("message", messages, ""),
        ("stretch", stretches, ""),
        ("room", states, if with_opening { "" } else { &in_force }),
    ]
    .into_iter()
    .filter(|(_, (before, after), _)| before != after)
    .map(|(what, (before, after), in_force)| format!("{what}: {before} -> {after}{in_force}"))
    .chain(opening(before, after, now))
    .collect()
}

/// What changes about the room's opening. A room that is on has opened.
fn opening(before: &Room, after: &Room, now: Timestamp) -> Option<String> {
    match (before.opens, after.opens) {
        (before, Some(opens)) if before != after.opens => {
            let instead = before.map(|before| format!(" (not at {})", words::at(before))).unwrap_or_default();
            Some(format!("{}{instead}; until then visitors join and wait", opening_at(opens, now)))
        }
        (Some(opens), None) if !after.releases() => {
            Some(format!("does not open at {} any more", words::at(opens)))
        }
        _ => None,
    }
}

fn opening_at(opens: Timestamp, now: Timestamp) -> String {
    format!("opens at {}, {}", words::at(opens), words::ahead(opens, now))
}

fn quoted(room: &Room) -> String {
    format!("{:?}", room.settings.message.as_str())
}

#[cfg(test)]
mod tests {
    use control::example::suffering;
    use waitroom::{Rate, RoomState};

    use super::*;

    const OPENS: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    fn room() -> Room {
        suffering().room
    }

    fn opening_room() -> Room {
        let mut room = room();
        room.open_at(OPENS);
        room
    }

    fn said(before: &Room, after: &Room, in_force: Option<Timestamp>) -> Vec<String> {
        let now = OPENS - std::time::Duration::from_hours(76);
        changes(before, after, in_force, now)
    }

    #[test]
    fn an_opening_is_said_with_what_it_replaces() {
        let soon = OPENS - std::time::Duration::from_hours(76) + std::time::Duration::from_millis(1200);
        let ordered = said(&room(), &opening_room(), Some(soon));
        assert_eq!(ordered[0], "room: on -> paused, in force in 2 s");
        assert!(
            ordered[1].starts_with("opens at 2027-03-05 ") || ordered[1].starts_with("opens at 2027-03-06 ")
        );
        assert!(ordered[1].ends_with(", in 3 d 4 h; until then visitors join and wait"), "{}", ordered[1]);
        let mut later = opening_room();
        later.open_at(OPENS + std::time::Duration::from_hours(1));
        let moved = said(&opening_room(), &later, Some(OPENS + std::time::Duration::from_hours(1)));
        assert!(moved.len() == 1 && moved[0].contains(", in 3 d 5 h (not at 2027-03-0"), "{moved:?}");
        let mut paused = opening_room();
        paused.turn(RoomState::Paused);
        let withdrawn = said(&opening_room(), &paused, None);
        assert!(withdrawn.len() == 1 && withdrawn[0].ends_with(" any more"), "{withdrawn:?}");
        assert_eq!(said(&opening_room(), &room(), Some(soon)), ["room: paused -> on, in force in 2 s"]);
        assert_eq!(said(&opening_room(), &opening_room(), None), [""; 0]);
    }

    #[test]
    fn a_rate_before_an_opening_is_in_force_with_it() {
        let mut faster = opening_room();
        faster.settings.rate = Rate::new(900).unwrap();
        assert_eq!(
            said(&opening_room(), &faster, Some(OPENS)),
            ["rate: 600 -> 900, in force when the room opens"]
        );
        let off = Room { state: RoomState::Off, ..room() };
        assert_eq!(said(&off, &opening_room(), Some(OPENS))[0], "room: off -> paused");
    }
}
