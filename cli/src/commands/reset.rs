use anyhow::{Context, Result};
use operator::{Order, Reply};
use rand::rngs::SysRng;
use serde_json::json;
use waitroom::Epoch;

use crate::arguments::Drastic;
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(reset: &Drastic, json: bool) -> Result<()> {
    block_on(async {
        let room = RoomHandle::find(&reset.which).await?;
        if !reset.yes {
            let waiting = room.status().await?.line.waiting;
            let all = if waiting == 1 { "1 person loses".into() } else { format!("{waiting} people lose") };
            ask::whether_meant(
                &format!("{all} their place in {}, and numbers begin at 1", room.name),
                "Go on?",
            )?;
        }
        let epoch = Epoch::random(&mut SysRng).context("the system's random generator does not answer")?;
        if room.is_far() {
            note("emptying the line; SQS takes a minute for it, in which the room goes on as it is");
        }
        let reply = tokio::select! {
            reply = room.send(Order::Reset { epoch }) => reply?,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                let half = format!("interrupted: the line of {} may be empty, and its new epoch has not begun", room.name);
                let again = format!("whoever waited is not let in until you run it again: beekeeper reset {}", room.as_typed());
                return Err(Failure::new(Exit::Interrupted, half).advising(again).into());
            }
        };
        let Reply::Reset { lost_places, before, after } = reply else { return Err(room.unexpected()) };
        if json {
            let told = json!({ "lost_places": lost_places, "before": before, "after": after });
            return Ok(say(&told.to_string())?);
        }
        let lost = if lost_places == 1 {
            "1 person lost their place".into()
        } else {
            format!("{lost_places} people lost their places")
        };
        Ok(say(&format!("epoch: {before} -> {after}\n{lost}"))?)
    })
}
