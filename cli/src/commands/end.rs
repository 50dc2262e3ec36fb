//! `beekeeper end`: nobody is let in any more, now or later. Asks first if it is now.

use anyhow::Result;
use control::{Order, Status};
use document::words;

use super::change;
use crate::arguments::EndRoom;
use crate::ask;
use crate::opening_time::zone_of;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(end: &EndRoom, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&end.which).await?.room;
        let told = &end.told;
        let notice = change::notice(&room, told).await?;
        let order = match told.at {
            _ if told.never => Order::EndNever,
            Some(typed) => {
                let at = typed.resolve(room.transport.now(), &zone_of(typed)?)?;
                Order::EndAt { at, notice }
            }
            None => {
                let status = room.status().await?;
                if !yes && !status.room.is_over() {
                    ask::confirm(&consequence(&status), "End the room?")?;
                }
                Order::End { notice }
            }
        };
        change::order(&room, json, order).await
    })
}

fn consequence(status: &Status) -> String {
    let (room, waiting) = (&status.room, status.line.waiting);
    let name = &room.settings.room;
    let told = match waiting {
        0 => "nobody waits".to_owned(),
        1 => "1 visitor waits, and would read that it is over".to_owned(),
        _ => format!("{} visitors wait, and would read that it is over", words::count(waiting)),
    };
    format!("nobody would be let into {name} any more, which is {}; {told}; nobody loses a place", room.state)
}

#[cfg(test)]
mod tests {
    use control::example::suffering;

    use super::*;

    #[test]
    fn the_question_says_how_many_would_not_be_let_in() {
        let mut status = suffering();
        status.line.waiting = 3000;
        let asked = consequence(&status);
        assert!(
            asked.contains("which is on; 3,000 visitors wait, and would read that it is over"),
            "{asked}"
        );
        status.line.waiting = 0;
        assert!(consequence(&status).contains("; nobody waits; "));
    }
}
