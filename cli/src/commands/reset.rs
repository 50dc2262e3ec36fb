use anyhow::{Context, Result};
use control::{Order, Reply};
use document::words;
use rand::rngs::SysRng;
use serde_json::json;
use waitroom::{Epoch, RoomId};

use super::change;
use crate::arguments::Which;
use crate::exit::{Exit, Failure};
use crate::printer::note;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(which: &Which, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let RoomHandle { room, as_typed, .. } = change::find(which).await?;
        let epoch = Epoch::random(&mut SysRng).context("could not get random numbers from the system")?;
        let order = Order::Reset { epoch };
        change::ask_before(&order, &room, yes).await?;
        if room.transport.is_far() {
            note("emptying the line; SQS takes a minute, and the room keeps running meanwhile");
        }
        let interrupted = || half_done(&room.name, &as_typed, room.transport.is_far());
        let reply = change::or_interrupted(room.execute(order), interrupted).await?;
        let Reply::Reset { lost_places, before, after } = reply else { return Err(room.unexpected().into()) };
        let told = if json {
            json!({ "lost_places": lost_places, "before": before, "after": after }).to_string()
        } else {
            let who = words::things(lost_places, "visitor");
            let places = if lost_places == 1 { "place" } else { "places" };
            format!("epoch: {before} -> {after}\n{who} lost their {places}")
        };
        change::answer(&told)
    })
}

/// On AWS, this command resets the room itself. On one machine, the room goes on with it.
fn half_done(room: &RoomId, as_typed: &str, is_far: bool) -> Failure {
    let (half, advice) = if is_far {
        (
            format!("interrupted: the line of {room} may be empty, but its new epoch has not started"),
            format!("waiting visitors cannot enter until you run it again: beekeeper reset {as_typed}"),
        )
    } else {
        (
            format!("interrupted: {room} may have been reset, or will be in a moment"),
            format!("look whether it was: beekeeper history {as_typed}"),
        )
    };
    Failure::new(Exit::Interrupted, half).advising(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_on_aws_an_interrupted_reset_stays_half_done() {
        let interrupted = |is_far| half_done(&"sale".parse().unwrap(), "sale", is_far);
        let on_aws = interrupted(true);
        assert!(on_aws.to_string().ends_with("its new epoch has not started"), "{on_aws}");
        assert_eq!(
            on_aws.advice.unwrap(),
            "waiting visitors cannot enter until you run it again: beekeeper reset sale"
        );
        let here = interrupted(false);
        assert_eq!(here.to_string(), "interrupted: sale may have been reset, or will be in a moment");
        assert_eq!(here.advice.unwrap(), "look whether it was: beekeeper history sale");
    }
}
