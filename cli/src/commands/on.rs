//! `beekeeper on`: turns a room on, now or later. Asks first if that would stop a sale until then, shut a shop that everybody enters,
//! or let in those who were told that it's over.

use anyhow::Result;
use control::Order;

use super::change;
use crate::arguments::On;
use crate::runtime::block_on;

pub(crate) fn run(on: &On, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let room = change::find(&on.which).await?.room;
        let order = match on.at {
            None => Order::On,
            Some(typed) => Order::OpenAt { at: change::instant(&room, typed)? },
        };
        change::confirmed(&room, json, yes, order).await.map(drop)
    })
}
