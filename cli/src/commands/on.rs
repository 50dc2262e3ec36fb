//! `beekeeper on`: turns a room on, now or later. Asks first if that would stop a sale until then.

use anyhow::Result;
use operator::{Order, Status};
use waitroom::{RoomState, Timestamp};

use super::change;
use crate::arguments::On;
use crate::ask;
use crate::opening_time::{shown, zone_of};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(on: &On, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&on.which).await?;
        let order = match on.at {
            Some(typed) => {
                let at = typed.resolve(room.now(), &zone_of(typed)?)?;
                if !on.yes {
                    confirm(&room, at).await?;
                }
                Order::OpenAt { at }
            }
            None => Order::On,
        };
        change::order(&room, json, order).await
    })
}

async fn confirm(room: &RoomHandle, at: Timestamp) -> Result<()> {
    if !lets_in(&room.status_without_alarms().await?) {
        return Ok(());
    }
    let stopped = format!(
        "{} is on and lets visitors in, and nobody would enter until it opens at {}",
        room.name,
        shown(at)
    );
    ask::confirm(&stopped, "Pause it until then?")
}

/// Whether a sale is under way: somebody waits, or was released a moment ago. A room that is marked for a rehearsal refuses the
/// order itself.
fn lets_in(status: &Status) -> bool {
    let is_busy = status.line.waiting > 0 || status.windows.iter().any(|window| window.released > 0);
    status.room.state == RoomState::On && status.room.rehearsal.is_none() && is_busy
}
