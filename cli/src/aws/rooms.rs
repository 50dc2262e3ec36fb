//! Rooms on AWS, found by their names.

use std::sync::Arc;

use anyhow::Result;
use cloud::{Account, DeployedRoom};
use config::RoomConfig;
use probe::WebAddress;
use url::Url;

use super::access;
use crate::arguments::Which;
use crate::config_folder::ConfigFolder;
use crate::data;
use crate::exit::{Exit, Failure};
use crate::room::{RoomHandle, for_a_room_here};

/// The room that a command is for, unless it means one on this machine.
pub(crate) async fn room(which: &Which) -> Result<Option<RoomHandle>> {
    if which.here.is_meant() {
        return Ok(None);
    }
    deployed(&config_of(which)?).await.map(Some)
}

/// The room that has this configuration.
pub(crate) async fn deployed(config: &RoomConfig) -> Result<RoomHandle> {
    // Boxed, because the futures of the SDK are large.
    let find = Box::pin(async {
        let account = Account::sign_in(&access(config)?).await?;
        anyhow::Ok(account.room(&config.room).await?)
    });
    Ok(handle(find.await?))
}

pub(crate) fn handle(deployed: DeployedRoom) -> RoomHandle {
    let deployed = Arc::new(deployed);
    RoomHandle::deployed(deployed.room.clone(), deployed.clone(), deployed)
}

/// Where this URL of a room is asked. An emulator of AWS answers at another address.
pub(crate) fn address(deployed: &DeployedRoom, url: Url) -> WebAddress {
    deployed.address(url)
}

/// The configuration of the room that a command names. There is no default room, so a typo cannot hit the wrong one.
pub(crate) fn config_of(which: &Which) -> Result<RoomConfig> {
    let folder = ConfigFolder::of_this_user()?;
    let Some(name) = &which.name else {
        let advice = match folder.listed()? {
            Some(names) => format!("name one of {names}"),
            None => "configure a room for AWS with: beekeeper init".into(),
        };
        return Err(or_here(Failure::new(Exit::Usage, "no room is named").advising(advice).into()));
    };
    folder.load(name).map_err(or_here)
}

/// Adds to the advice how to name a room on this machine.
fn or_here(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.or_advising(&for_a_room_here(&data::running())).into(),
        Err(error) => error,
    }
}
