//! `beekeeper on`: turns a room on, now or later.

use anyhow::Result;
use operator::Order;

use super::change;
use crate::arguments::On;
use crate::opening_time::zone_of;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(on: &On, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&on.which).await?;
        let order = match on.at {
            Some(at) => Order::OpenAt { at: at.resolve(room.now(), &zone_of(at)?)? },
            None => Order::On,
        };
        change::order(&room, json, order).await
    })
}
