//! `beekeeper off`: whoever waits goes straight on, all at once. That is asked about.

use std::fmt;

use anyhow::Result;
use operator::Order;

use super::change;
use waitroom::RoomState;

use crate::arguments::Drastic;
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
            Self::Pause => "pause instead: nobody enters, everybody keeps their place",
            Self::Off => "turn it off: everybody enters at once",
            Self::Nothing => "change nothing",
        })
    }
}

pub(crate) fn run(off: &Drastic, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&off.which).await?;
        let way = if off.yes { Way::Off } else { way(&room).await? };
        match way {
            Way::Off => change::order(&room, json, Order::Off).await,
            Way::Pause => change::order(&room, json, Order::Pause).await,
            Way::Nothing => Err(ask::declined().into()),
        }
    })
}

async fn way(room: &RoomHandle) -> Result<Way> {
    let status = room.status().await?;
    let waiting = status.line.waiting;
    if waiting == 0 || status.room.state == RoomState::Off {
        return Ok(Way::Off);
    }
    let consequence = consequence(waiting, &room.name);
    let could_pause = status.room.state == RoomState::On;
    if !ask::can_ask() {
        let mut instead = "nothing was changed; say --yes if that is meant".to_owned();
        if could_pause {
            let pause = room.as_typed();
            instead = format!("{instead}, or hold them back with: beekeeper pause {pause}");
        }
        return Err(ask::unasked(&consequence).advising(instead).into());
    }
    note(&format!("{consequence}."));
    // The first is what Enter takes.
    let mut ways = vec![Way::Nothing, Way::Off];
    if could_pause {
        ways.insert(0, Way::Pause);
    }
    ask::which("What is meant?", ways)
}

fn consequence(waiting: u64, name: &waitroom::RoomId) -> String {
    match waiting {
        1 => format!("1 person waits in {name}, and off lets them go on at once"),
        _ => format!("{waiting} people wait in {name}, and off lets all of them go on at once"),
    }
}
