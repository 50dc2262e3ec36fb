//! `beekeeper off`: all waiting visitors enter within minutes, as their pages ask, so it asks first.

use std::fmt;

use anyhow::Result;
use control::{Consequence, Order};

use super::change;

use crate::arguments::Which;
use crate::ask;
use crate::printer::note;
use crate::room::RoomHandle;
use crate::runtime::block_on;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Pause,
    Off,
    Nothing,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pause => "pause instead: nobody enters, places are kept",
            Self::Off => "turn it off: all visitors enter within minutes",
            Self::Nothing => "change nothing",
        })
    }
}

pub(crate) fn run(which: &Which, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let found = change::find(which).await?;
        let room = &found.room;
        let way = if yes { Way::Off } else { way(&found).await? };
        match way {
            Way::Off => change::order(room, json, Order::Off).await.map(drop),
            Way::Pause => change::order(room, json, Order::Pause).await.map(drop),
            Way::Nothing => Err(ask::declined().into()),
        }
    })
}

async fn way(found: &RoomHandle) -> Result<Way> {
    let status = change::before_order(found.room.status()).await?;
    let consequence = Consequence::of(&Order::Off, &status, found.room.transport.now());
    let Some(Consequence { told: consequence, .. }) = consequence else { return Ok(Way::Off) };
    let could_pause = status.room.releases();
    if !ask::can_ask() {
        let mut instead = "nothing was changed; to go ahead, add --yes".to_owned();
        if could_pause {
            let pause = &found.as_typed;
            instead = format!("{instead}; to keep them waiting: beekeeper pause {pause}");
        }
        return Err(ask::unasked(&consequence).advising(instead).into());
    }
    note(&format!("{consequence}."));
    // Enter selects the first choice.
    let mut ways = vec![Way::Nothing, Way::Off];
    if could_pause {
        ways.insert(0, Way::Pause);
    }
    ask::which("What now?", ways)
}
