//! `beekeeper close`: nobody new joins, and those who wait are let in, now or later. Or so many more are let in, and then it
//! ends. Asks first if it is now.

use anyhow::Result;
use control::{Order, Status};
use document::words;
use waitroom::{RoomState, StockSize};

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
        let notice = change::notice(&room, told).await?;
        let order = match told.at {
            _ if told.never => Order::CloseNever,
            _ if let Some(size) = close.after => {
                if !yes {
                    let question =
                        format!("Let {} more in, then end the room?", words::count(size.get().into()));
                    ask::confirm(&consequence_of_a_stock(&room.status().await?, size), &question)?;
                }
                Order::CloseAfter { size, notice }
            }
            Some(typed) => {
                let at = typed.resolve(room.transport.now(), &zone_of(typed)?)?;
                Order::CloseAt { at, notice, then_off }
            }
            None => {
                let status = room.status().await?;
                let only_tells = notice.is_some() && !then_off && status.room.state.turns_newcomers_away();
                if !yes && !only_tells && status.room.state != RoomState::Closed {
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

fn consequence_of_a_stock(status: &Status, size: StockSize) -> String {
    let (room, waiting, size) = (&status.room, status.line.waiting, u64::from(size.get()));
    let name = &room.settings.room;
    let enough = match waiting.saturating_sub(size) {
        0 if waiting == 0 => "nobody waits".to_owned(),
        0 => format!("{}, and there is enough for them", words::things_do(waiting, "visitor", "wait")),
        beyond => format!(
            "{}, and the last {} of them would read that it is over",
            words::things_do(waiting, "visitor", "wait"),
            words::count(beyond)
        ),
    };
    let instead = room.stock.map_or_else(String::new, |stock| {
        format!(
            "; that counts anew, in place of the {} ordered before",
            words::count(stock.size.get().into())
        )
    });
    let let_in = words::count(size);
    format!(
        "{let_in} more would be let into {name}, which is {}, and then it would end; {enough}{instead}",
        room.state
    )
}

#[cfg(test)]
mod tests {
    use control::example::suffering;

    use super::*;

    #[test]
    fn the_question_about_a_stock_says_for_how_many_it_is_too_small() {
        let mut status = suffering();
        let name = status.room.settings.room.clone();
        let mut asked = |waiting, size: u32| {
            status.line.waiting = waiting;
            consequence_of_a_stock(&status, size.try_into().unwrap())
        };
        assert_eq!(
            asked(8000, 5000),
            format!(
                "5,000 more would be let into {name}, which is on, and then it would end; 8,000 visitors wait, and the last \
                 3,000 of them would read that it is over"
            )
        );
        assert!(asked(800, 5000).ends_with("; 800 visitors wait, and there is enough for them"));
        assert!(asked(0, 5000).ends_with("; nobody waits"));
        status.room.sell(700.try_into().unwrap());
        let asked = consequence_of_a_stock(&status, 5000.try_into().unwrap());
        assert!(asked.ends_with("; that counts anew, in place of the 700 ordered before"), "{asked}");
    }

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
