pub(crate) mod change;
pub(crate) mod deploy;
pub(crate) mod destroy;
pub(crate) mod local;
pub(crate) mod reset;
pub(crate) mod status;

use std::io;

use anyhow::{Context, Result, anyhow, bail};
use server::control::{self, Command, Reply};

use crate::arguments::Room;
use crate::data;

#[cfg(not(feature = "aws"))]
const WITHOUT_AWS: &str = "this beekeeper was built without AWS; cargo xtask dist builds one with it";

/// Sends a command to the room that runs on this machine.
fn send(room: &Room, command: &Command) -> Result<Reply> {
    let directory = data::directory(room.data.as_ref(), &room.name)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let reply = runtime.block_on(control::send(&directory, command)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => anyhow!(
            "no room runs in {}; start it with: beekeeper local --name {}",
            directory.display(),
            room.name
        ),
        _ => anyhow!(error),
    });
    match reply.with_context(|| format!("could not reach the room {}", room.name))? {
        Reply::Failed { error } => bail!("the room {} {error}", room.name),
        reply => Ok(reply),
    }
}
