//! `beekeeper on`: turns a room on, now or later. Asks first if that would stop a sale until then, or shut a shop that everybody enters.

use std::time::Duration;

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
/// Who opens a sale gives the order so long before. Earlier, customers of an ordinary day wait for it.
const BEFORE_A_SALE: Duration = Duration::from_hours(1);

pub(crate) fn run(on: &On, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&on.which).await?.room;
        let Some(typed) = on.at else { return change::order(&room, json, Order::On).await };
        let now = room.transport.now();
        let at = typed.resolve(now, &zone_of(typed)?)?;
        if !yes && let Some(consequence) = consequence(&room.status().await?, at, now) {
            ask::confirm(&consequence, "Let nobody enter until then?")?;
        }
        change::order(&room, json, Order::OpenAt { at }).await
    })
}

/// What the order would do to those who enter the shop now, if somebody does.
fn consequence(status: &Status, at: Timestamp, now: Timestamp) -> Option<String> {
    let until = format!("it opens at {}, {}", words::at(at), words::ahead(at, now));
    if let Some(sale) = sale(status) {
        return Some(format!("{sale}; nobody would enter until {until}"));
    }
    let is_early = at.since(now) > BEFORE_A_SALE;
    (is_early && status.room.lets_everybody_through()).then(|| {
        format!(
            "{} is off, so everybody enters the shop; from now on visitors would join and wait, and nobody would enter until {until}; \
             you can say this in the hour before instead",
            status.room.settings.room
        )
    })
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
    fn shutting_an_open_shop_long_before_its_sale_is_asked_about() {
        let now = Timestamp::from_millis(1_804_244_400_000);
        let mut status = served(0, 0, 0);
        let asked = |status: &Status, ahead| consequence(status, now + ahead, now);
        let days = Duration::from_hours(50);
        assert_eq!(asked(&status, days), None, "whoever comes waits already");
        status.room.state = RoomState::Off;
        let told = asked(&status, days).unwrap();
        assert!(told.starts_with("spring-sale is off, so everybody enters the shop; from now on"), "{told}");
        assert!(told.contains(", in 2 d 2 h; "), "{told}");
        assert_eq!(asked(&status, BEFORE_A_SALE), None, "the usual time");
        let sale = asked(&served(4090, 300, 9120), Duration::from_mins(5)).unwrap();
        assert!(
            sale.contains("9,120 visitors wait to enter; nobody would enter until it opens at "),
            "{sale}"
        );
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
