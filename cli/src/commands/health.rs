//! `beekeeper health`: whether a room or a guard on this machine is well, for the health check of a container and for scripts.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use control::{UpkeepOrder, UpkeepReply};
use probe::{HttpProbe, WebAddress};
use serde_json::json;
use tokio::time::timeout;
use url::Url;

use crate::arguments::{CheckHealth, OnThisMachine, Which};
use crate::exit::{Exit, Failure};
use crate::printer::say;
use crate::room::RoomHandle;
use crate::runtime::block_on;
use crate::unreached::hangs;

/// As long as `/healthz` takes at most.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(check: &CheckHealth, json: bool) -> Result<()> {
    let well = block_on(async {
        let asked = async {
            match &check.url {
                Some(url) => ask(url).await,
                None => write(check).await,
            }
        };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(hangs(PATIENCE).into()))
    })?;
    Ok(say(&if json { json!({ "well": well }).to_string() } else { format!("{well} is well") })?)
}

/// Lets the room write to its file, because nobody can join a room that cannot. Returns its name.
async fn write(check: &CheckHealth) -> Result<String> {
    let which = Which { name: check.name.clone(), here: OnThisMachine::at(check.data.clone()) };
    let found = RoomHandle::find(&which).await?;
    let (name, unexpected) = (&found.room.name, || found.room.unexpected());
    let socket = found.on_this_machine().ok_or_else(unexpected)?;
    let UpkeepReply::Checked(running) = socket.keep_up(UpkeepOrder::Check).await? else {
        return Err(unexpected().into());
    };
    match running.unwritable {
        None => Ok(name.to_string()),
        Some(error) => {
            let text = format!("the room {name} cannot write to its file, so nobody can join: {error}");
            let advice = "see whether the disk is full or broken; everybody in line keeps their place";
            Err(Failure::new(Exit::Failed, text).advising(advice).into())
        }
    }
}

/// Asks what `--metrics` answers at `/healthz`. Returns the URL.
async fn ask(url: &Url) -> Result<String> {
    let probe = HttpProbe::new().context("could not prepare the question")?;
    let answer = probe.fetch(&WebAddress::of(url.clone())).await;
    let answer = answer.map_err(|error| {
        let error = anyhow!(error);
        let silent = format!("{url} does not answer: {}", error.root_cause());
        let advice = "see whether that room or guard runs, and was started with --metrics";
        Failure::new(Exit::Failed, silent).advising(advice)
    })?;
    let said = String::from_utf8_lossy(&answer.body);
    let said = said.lines().next().unwrap_or_default();
    if answer.status != 200 {
        bail!("{url} answers {}: {said}", answer.status);
    }
    Ok(url.to_string())
}
