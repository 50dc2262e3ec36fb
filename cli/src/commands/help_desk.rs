//! `beekeeper find` and `beekeeper admit`: a visitor who has read out their help code.

use anyhow::Result;
use control::Order;

use crate::arguments::HelpVisitor;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn find(help: &HelpVisitor, json: bool) -> Result<()> {
    block_on(async {
        let RoomHandle { room, as_typed, .. } = RoomHandle::find(&help.which).await?;
        let visitor = room.help(Order::Find { code: help.code }).await?;
        if json {
            return Ok(say(&serde_json::to_string(&visitor)?)?);
        }
        say(&visitor.line(room.transport.now()))?;
        if visitor.admitted.is_none() {
            note(&format!("to let them in now: beekeeper admit {as_typed} {}", visitor.code));
        }
        Ok(())
    })
}

pub(crate) fn admit(help: &HelpVisitor, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&help.which).await?.room;
        let visitor = room.help(Order::Admit { code: help.code }).await?;
        if json {
            return Ok(say(&serde_json::to_string(&visitor)?)?);
        }
        Ok(say(&visitor.line(room.transport.now()))?)
    })
}
