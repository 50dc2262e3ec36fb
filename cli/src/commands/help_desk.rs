//! `beekeeper find` and `beekeeper admit`: a visitor who has read out their help code.

use anyhow::Result;
use control::{HelpedVisitor, Order};
use document::words;
use waitroom::Timestamp;

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
        say(&standing(&visitor, room.transport.now()))?;
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
        Ok(say(&standing(&visitor, room.transport.now()))?)
    })
}

fn standing(visitor: &HelpedVisitor, now: Timestamp) -> String {
    let HelpedVisitor { number, ahead, asked, admitted, until, .. } = visitor;
    let number = words::count(*number);
    match (admitted, until) {
        (Some(admitted), Some(until)) if *until > now => {
            format!(
                "number {number} was let in at {}, and may enter the shop until {}",
                words::at(*admitted),
                words::at(*until)
            )
        }
        (Some(admitted), Some(until)) => {
            format!(
                "number {number} was let in at {}, and did not come until {}",
                words::at(*admitted),
                words::at(*until)
            )
        }
        _ => format!(
            "number {number} in line, about {} ahead; asked for help at {}",
            words::count(*ahead),
            words::at(*asked)
        ),
    }
}
