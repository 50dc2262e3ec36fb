//! `beekeeper close`: nobody new joins, and those who wait are let in, now or later. Or so many more are let in, and then it
//! ends. Asks first if it is now.

use anyhow::Result;
use control::Order;

use super::change;
use crate::arguments::CloseRoom;
use crate::runtime::block_on;

pub(crate) fn run(close: &CloseRoom, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = change::find(&close.which).await?.room;
        let (told, then_off) = (&close.told, close.then.is_some());
        let notice = change::notice(&room, told).await?;
        let order = match told.at {
            _ if told.never => Order::CloseNever,
            _ if let Some(size) = close.after => Order::CloseAfter { size, notice },
            Some(typed) => {
                let at = change::instant(&room, typed)?;
                Order::CloseAt { at, notice, then_off }
            }
            None => Order::Close { notice, then_off },
        };
        change::confirmed(&room, json, yes, order).await.map(drop)
    })
}
