//! `beekeeper on`: turns a room on, now or later. Asks first if that would stop a sale until then.

use anyhow::Result;
use control::{Order, Status};
use document::words;
use waitroom::Timestamp;

use super::change;
use crate::arguments::On;
use crate::ask;
use crate::opening_time::zone_of;
use crate::room::RoomHandle;
use crate::runtime::block_on;

/// Whoever was let in lately is a sale's customer if so many were. Fewer may be the operator and friends, who try the room.
const CUSTOMERS: u64 = 10;

pub(crate) fn run(on: &On, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&on.which).await?.room;
        let Some(typed) = on.at else { return change::order(&room, json, Order::On).await };
        let at = typed.resolve(room.transport.now(), &zone_of(typed)?)?;
        if !yes && let Some(sale) = sale(&room.status().await?) {
            ask::confirm(&consequence(&sale, at), "Pause it until then?")?;
        }
        change::order(&room, json, Order::OpenAt { at }).await
    })
}

fn consequence(sale: &str, at: Timestamp) -> String {
    format!("{sale}; nobody would enter until it opens at {}", words::at(at))
}

/// A sale that is under way: whom the room serves at this moment. A rehearsal ends with a reset, so whom it released does not
/// count as released in this epoch; and a room that is marked for one refuses the order itself.
fn sale(status: &Status) -> Option<String> {
    let room = &status.room;
    let lately = status.windows.iter().map(|window| window.released).sum::<u64>().min(status.released);
    let is_served = status.released > 0 && (status.line.waiting > 0 || lately >= CUSTOMERS);
    (room.releases() && room.rehearsal.is_none() && is_served).then(|| {
        let name = &room.settings.room;
        match status.line.waiting {
            0 => format!(
                "{name} is on, and let {} in within this window and the one before",
                words::things(lately, "visitor")
            ),
            waiting => format!("{name} is on, and {} to enter", words::things_do(waiting, "visitor", "wait")),
        }
    })
}

#[cfg(test)]
mod tests {
    use control::WindowCount;
    use control::example::suffering;
    use waitroom::RoomState;

    use super::*;

    /// A room that is on, with so many released in this epoch, released in the last windows, and waiting.
    fn served(released: u64, lately: u64, waiting: u64) -> Status {
        let mut status = suffering();
        let window = WindowCount { released: lately, ..status.windows[0] };
        (status.released, status.line.waiting, status.windows) = (released, waiting, vec![window]);
        status
    }

    #[test]
    fn only_a_sale_is_asked_about() {
        assert!(
            sale(&served(4090, 300, 9120)).unwrap().ends_with(" is on, and 9,120 visitors wait to enter")
        );
        let fast = sale(&served(4090, 300, 0)).unwrap();
        assert!(fast.ends_with("let 300 visitors in within this window and the one before"), "{fast}");
        assert_eq!(sale(&served(0, 500, 0)), None, "a rehearsal that has just ended");
        assert_eq!(sale(&served(1, 500, 0)), None, "its operator, who looks at the page once more");
        assert_eq!(sale(&served(4090, 0, 0)), None, "an event that is over");
        let mut rehearsed = served(40, 40, 40);
        rehearsed.room.rehearsal = Some("abcdefgh01234567".parse().unwrap());
        assert_eq!(sale(&rehearsed), None, "the room refuses");
        let mut paused = served(4090, 300, 9120);
        paused.room.state = RoomState::Paused;
        assert_eq!(sale(&paused), None, "nobody enters anyway");
    }
}
