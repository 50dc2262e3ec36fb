//! `beekeeper end`: nobody is let in any more, now or later. Asks first if it is now.

use anyhow::Result;
use control::Order;

use super::change;
use crate::arguments::EndRoom;
use crate::runtime::block_on;

pub(crate) fn run(end: &EndRoom, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = change::find(&end.which).await?.room;
        let told = &end.told;
        let notice = change::notice(&room, told).await?;
        let order = match told.at {
            _ if told.never => Order::EndNever,
            Some(typed) => {
                let at = change::instant(&room, typed)?;
                Order::EndAt { at, notice }
            }
            None => Order::End { notice },
        };
        change::confirmed(&room, json, yes, order).await.map(drop)
    })
}
