//! Rooms on AWS, found by their names.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use cloud::{Access, Account};
use config::RoomConfig;
use rooms::{ConfigFolder, Deployed, ListedLine, PATIENCE, UnknownRoom, custom_page, data};
use tokio::time::timeout;
use url::Url;
use waitroom::{Rate, RoomId};

use super::deployed::DeployedRoom;
use crate::arguments::Which;
use crate::ending;
use crate::exit::{Exit, Failure};
use crate::printer::note;
use crate::room::RoomHandle;
use crate::service_room::ServiceRoom;
use crate::unreached::or_here;

/// The account and region of a room.
pub(crate) fn access(config: &RoomConfig) -> Result<Access> {
    let room = &config.room;
    let region = config.region.as_ref().ok_or_else(|| {
        Failure::new(Exit::Usage, format!("the room {room} has no AWS region"))
            .advising(format!("choose one with: beekeeper init {room} --region eu-central-1"))
    })?;
    Ok(Access {
        region: region.to_string(),
        aws_profile: config.aws_profile.as_ref().map(ToString::to_string),
        account: config.account.as_ref().map(ToString::to_string),
    })
}

/// The room that a command is for, unless it means one on this machine.
pub(crate) async fn room(which: &Which) -> Result<Option<RoomHandle>> {
    if which.here.is_meant() {
        return Ok(None);
    }
    let config = config_of(which)?;
    deployed(&config).await.map(Some).map_err(|error| perhaps_here(error, &config.room))
}

/// The error for a room that isn't found on AWS. One of this name on this machine may be meant.
fn perhaps_here(error: anyhow::Error, name: &RoomId) -> anyhow::Error {
    let is_service = |service: ServiceRoom| service.name == *name && service.has_run();
    if !data::running().contains(name) && !ServiceRoom::of_this_machine().is_some_and(is_service) {
        return error;
    }
    let advice = or_here(ending::advice(&error).as_deref(), Some(name));
    Failure::new(ending::exit(&error), format!("{error:#}")).advising(advice).into()
}

/// The room that has this configuration.
pub(crate) async fn deployed(config: &RoomConfig) -> Result<RoomHandle> {
    // Boxed, because the futures of the SDK are large.
    let find = Box::pin(async {
        let account = Account::sign_in(&access(config)?).await?;
        let room = account.room(&config.room).await?;
        // From its answer on, the room's clock is that of AWS. This machine's may be wrong. If it doesn't answer, the order says so.
        drop(room.store().warm_up().await);
        anyhow::Ok(room)
    });
    Ok(handle(find.await?))
}

pub(crate) fn handle(deployed: DeployedRoom) -> RoomHandle {
    let deployed = Arc::new(deployed);
    RoomHandle::deployed(deployed.room.clone(), deployed.clone(), deployed)
}

/// The configuration of the room that a command names. There is no default room, so a typo cannot hit the wrong one.
pub(crate) fn config_of(which: &Which) -> Result<RoomConfig> {
    let folder = ConfigFolder::of_this_user()?;
    let Some(name) = &which.name else {
        let advice = match folder.listed()? {
            Some(names) => format!("name one of {names}"),
            None => "configure a room for AWS with: beekeeper init".into(),
        };
        return Err(Failure::new(Exit::Usage, "no room is named")
            .advising(or_here(Some(&advice), None))
            .into());
    };
    folder.load(name).map_err(|error| match error.downcast::<UnknownRoom>() {
        Ok(unknown) => {
            let advice = or_here(Some(&unknown.advice()), Some(name));
            Failure::new(Exit::Missing, unknown.to_string()).advising(advice).into()
        }
        Err(error) => error,
    })
}

/// How a configured room does on AWS, for the list of all rooms.
pub(crate) async fn listed(config: &RoomConfig) -> Deployed {
    match timeout(PATIENCE, deployed(config)).await {
        Ok(Ok(found)) => {
            let status = timeout(PATIENCE, found.room.status()).await;
            Deployed::Yes(status.ok().and_then(Result::ok).map(|status| ListedLine::of(&status)))
        }
        Ok(Err(error)) if ending::exit(&error) == Exit::Missing => Deployed::No,
        _ => Deployed::Unknown,
    }
}

/// The room of this operator on AWS that `is_meant` by its public URL. The other half says whom nobody could ask, and why.
pub(crate) async fn room_at(is_meant: impl Fn(&Url) -> bool) -> Result<(Option<RoomHandle>, Vec<String>)> {
    let folder = ConfigFolder::of_this_user()?;
    let mut unasked = Vec::new();
    for name in folder.names()? {
        let asked = async {
            let Some(config) = folder.find(&name)?.filter(|config| config.region.is_some()) else {
                return Ok(None);
            };
            ensure!(config.account.is_some(), "it wasn't deployed from here, so its file has no account");
            let found = deployed(&config).await?;
            let status = found.room.status().await?;
            anyhow::Ok(is_meant(status.room.url.as_url()).then_some(found))
        };
        match asked.await {
            Ok(None) => {}
            Ok(found) => return Ok((found, Vec::new())),
            Err(error) => unasked.push(format!("{name}: {error:#}")),
        }
    }
    Ok((None, unasked))
}

/// Says so if the account or the room's reservation cannot keep a new rate up. The order is given by then, so asking AWS for the
/// limits delays nobody; and if AWS does not answer soon, nothing is said.
pub(crate) async fn warn_of_rate(found: &RoomHandle, which: &Which, rate: Rate) {
    const PATIENCE: Duration = Duration::from_secs(3);
    let (Some(deployed), Ok(config)) = (found.on_aws(), config_of(which)) else { return };
    let reserved = deployed.warning_of_reservation(&config, rate);
    // A page that cannot be read is for `deploy` to refuse.
    let page = custom_page(&config).ok().flatten();
    // Boxed, because the futures of the SDK are large.
    let warning = Box::pin(deployed.warning_of_rate(&config, page.as_ref(), rate));
    let exceeded = timeout(PATIENCE, warning).await.ok().flatten();
    for warning in reserved.into_iter().chain(exceeded) {
        note(&format!("warning: {}\n  {}", warning.text, warning.advice));
    }
}
