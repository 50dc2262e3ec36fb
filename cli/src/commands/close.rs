//! `beekeeper close`: nobody new joins, and those who wait are let in, now or later. Asks first if it is now.

use anyhow::Result;
use control::{Order, Status};
use document::words;
use waitroom::RoomState;

use super::change;
use crate::arguments::CloseRoom;
use crate::ask;
use crate::opening_time::zone_of;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(close: &CloseRoom, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&close.which).await?.room;
        let (told, then_off) = (&close.told, close.then.is_some());
        let notice = told.notice();
        let order = match told.at {
            _ if told.never => Order::CloseNever,
            Some(typed) => {
                let at = typed.resolve(room.transport.now(), &zone_of(typed)?)?;
                Order::CloseAt { at, notice, then_off }
            }
            None => {
                let status = room.status().await?;
                if !yes && status.room.state != RoomState::Closed {
                    ask::confirm(&consequence(&status, then_off), "Close the room?")?;
                }
                Order::Close { notice, then_off }
            }
        };
        change::order(&room, json, order).await
    })
}

fn consequence(status: &Status, then_off: bool) -> String {
    let (room, waiting) = (&status.room, status.line.waiting);
    let name = &room.settings.room;
    let begins = if room.releases() { "" } else { "from now on " };
    let let_in = if waiting == 0 {
        "nobody waits".to_owned()
    } else {
        let takes = words::time((waiting * 60).div_ceil(u64::from(room.rate().get())));
        let who = words::things_do(waiting, "visitor", "wait");
        format!("{who}, and {begins}would be let in within about {takes}, at {} a minute", room.rate())
    };
    let then = if then_off { "; then everybody would go straight to the shop" } else { "" };
    format!("nobody new could join {name}, which is {}; {let_in}{then}", room.state)
}

#[cfg(test)]
mod tests {
    use control::example::suffering;

    use super::*;

    #[test]
    fn the_question_says_who_is_let_in_and_who_is_not() {
        let mut status = suffering();
        (status.line.waiting, status.room.throttled) = (1200, None);
        let name = status.room.settings.room.clone();
        assert_eq!(
            consequence(&status, true),
            format!(
                "nobody new could join {name}, which is on; 1,200 visitors wait, and would be let in within about 2 min, at 600 a \
                 minute; then everybody would go straight to the shop"
            )
        );
        (status.line.waiting, status.room.state) = (1, RoomState::Paused);
        assert!(consequence(&status, false).contains("1 visitor waits, and from now on would be let in"));
        status.line.waiting = 0;
        assert!(consequence(&status, false).ends_with("which is paused; nobody waits"));
    }
}
