//! `beekeeper find`: how a visitor stands who has read out their help code.

use anyhow::Result;

use crate::arguments::VisitorByCode;
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(VisitorByCode { which, code }: &VisitorByCode, json: bool) -> Result<()> {
    block_on(async {
        let RoomHandle { room, as_typed, .. } = RoomHandle::find(which).await?;
        let visitor = room.find(*code).await?;
        if json {
            return Ok(say(&serde_json::to_string(&visitor)?)?);
        }
        say(&visitor.line(room.transport.now()))?;
        if visitor.admitted.is_none() {
            note(&format!("to let them in now: beekeeper admit {as_typed} {code}"));
        }
        Ok(())
    })
}
