//! `beekeeper deploy`: brings a room to AWS, or up to date.

use anyhow::Result;
use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper deploy spring-sale --dry-run     what would be made or changed, and what it costs
  beekeeper deploy spring-sale               makes the room, or brings it up to date
  beekeeper deploy spring-sale --yes --json  the same from a script

Run again it changes what the profile says otherwise, and keeps the line, its numbers and the keys. If it is interrupted, what was
begun goes on in AWS, and the same command attaches to it.")]
pub(crate) struct Deploy {
    /// The room's name, which is its profile's
    pub(crate) name: RoomId,
    /// Only say what would be done, and what it costs
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print each event as a line of JSON, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(not(feature = "aws"))]
pub(crate) fn run(_: &Deploy) -> Result<()> {
    anyhow::bail!(crate::commands::WITHOUT_AWS)
}

#[cfg(feature = "aws")]
pub(crate) use with_aws::run;

#[cfg(feature = "aws")]
mod with_aws {
    use cloud::{Account, Event, Step};

    use super::{Deploy, Result};
    use crate::aws::{Progress, bundle, interruptible, run_async};
    use crate::printer::say;
    use crate::stopgap::profile;

    pub(crate) fn run(deploy: &Deploy) -> Result<()> {
        run_async(interruptible("deploy", &deploy.name, deployed(deploy)))
    }

    async fn deployed(deploy: &Deploy) -> Result<()> {
        let (access, wanted) = profile(&deploy.name)?;
        let bundle = bundle();
        let account = Account::enter(&access).await?;
        let progress = Progress::new(deploy.json);
        let tell = |event: Event| progress.show(&event);
        let room = account.deploy(&wanted, &bundle, &tell).await?;
        drop(progress);
        if deploy.json {
            return Ok(say(
                &serde_json::json!({ "event": "deployed", "room": room.room, "urls": room.urls }).to_string(),
            )?);
        }
        Ok(say(&format!("waiting room   {}\nclient check   {}", room.urls.room, room.urls.client))?)
    }

    const _: Option<Step> = None;
}
