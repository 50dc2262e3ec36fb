use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use operator::{Command, Reply};
use rand::rngs::SysRng;
use waitroom::Epoch;

use crate::arguments::{Reset, Room};
use crate::commands::send;
use crate::printer::say;

pub(crate) fn run(reset: &Reset) -> Result<()> {
    if !reset.yes && !confirmed(&reset.room)? {
        bail!("nothing was changed");
    }
    let epoch = Epoch::random(&mut SysRng).context("the system's random generator does not answer")?;
    let Reply::Reset { lost_places, before, after } = send(&reset.room, &Command::Reset { epoch })? else {
        bail!("the room {} answered something else; is it of another version?", reset.room.name);
    };
    if reset.room.json {
        let told = serde_json::json!({ "lost_places": lost_places, "before": before, "after": after });
        return Ok(say(&told.to_string())?);
    }
    Ok(say(&format!("epoch: {before} -> {after}\n{lost_places} people lost their places"))?)
}

fn confirmed(room: &Room) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("reset takes everybody's place away; say --yes if that is meant");
    }
    let Reply::Status(status) = send(room, &Command::Status)? else { return Ok(false) };
    eprint!("{} people lose their places in {}. Go on? [y/N] ", status.line.waiting, room.name);
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
