//! `beekeeper admit`: lets a visitor in who has read out their help code.

use anyhow::Result;

use super::change;
use crate::arguments::VisitorByCode;
use crate::runtime::block_on;

pub(crate) fn run(VisitorByCode { which, code }: &VisitorByCode, json: bool) -> Result<()> {
    block_on(async {
        let room = change::find(which).await?.room;
        let visitor = change::unless_interrupted(&room, room.admit(*code)).await?;
        let told = if json { serde_json::to_string(&visitor)? } else { visitor.line(room.transport.now()) };
        change::answer(&told)
    })
}
