use anyhow::{Context, Result};
use control::{Order, Reply};
use rand::rngs::SysRng;
use serde_json::json;
use waitroom::Epoch;

use crate::arguments::Which;
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(which: &Which, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let RoomHandle { room, as_typed, .. } = RoomHandle::find(which).await?;
        if !yes {
            let waiting = room.status().await?.line.waiting;
            let all = if waiting == 1 {
                "1 visitor would lose their place".into()
            } else {
                format!("{waiting} visitors would lose their places")
            };
            ask::confirm(
                &format!("{all} in {}, and numbers start again at 1", room.name),
                "Empty the line?",
            )?;
        }
        let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
        if room.transport.is_far() {
            note("emptying the line; SQS takes a minute, and the room keeps running meanwhile");
        }
        let reply = tokio::select! {
            reply = room.execute(Order::Reset { epoch }) => reply?,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                let half = format!("interrupted: the line of {} may be empty, but its new epoch has not started", room.name);
                let again = format!("waiting visitors cannot enter until you run it again: beekeeper reset {as_typed}");
                return Err(Failure::new(Exit::Interrupted, half).advising(again).into());
            }
        };
        let Reply::Reset { lost_places, before, after } = reply else { return Err(room.unexpected().into()) };
        if json {
            let reset = json!({ "lost_places": lost_places, "before": before, "after": after });
            return Ok(say(&reset.to_string())?);
        }
        let lost = if lost_places == 1 {
            "1 visitor lost their place".into()
        } else {
            format!("{lost_places} visitors lost their places")
        };
        Ok(say(&format!("epoch: {before} -> {after}\n{lost}"))?)
    })
}
