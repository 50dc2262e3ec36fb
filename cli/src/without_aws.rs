//! Stands in for `aws.rs` where this program is built without rooms on AWS: there is none to be found.

use std::convert::Infallible;

use anyhow::Result;
use probe::WebAddress;
use url::Url;

use crate::arguments::Which;
use crate::room::RoomHandle;

pub(crate) type DeployedRoom = Infallible;

#[expect(clippy::unused_async, reason = "a room on AWS is waited for")]
pub(crate) async fn room(_: &Which) -> Result<Option<RoomHandle>> {
    Ok(None)
}

pub(crate) fn address(none: &DeployedRoom, _: Url) -> WebAddress {
    match *none {}
}
