//! Stands in for `aws` where this program is built without it. There is no room on AWS then, and nothing that a command could ask.

#![expect(
    clippy::unused_async,
    clippy::trivially_copy_pass_by_ref,
    reason = "these have the signatures of `aws`"
)]

use anyhow::Result;
use config::RoomConfig;
use rooms::Deployed;
use url::Url;
use waitroom::Rate;

use crate::arguments::{AwsCommand, ExamineRoom, SharedTable, Which};
use crate::room::RoomHandle;

pub(crate) mod deployed {
    use std::convert::Infallible;

    use guard::FileSessions;
    use probe::WebAddress;
    use url::Url;

    pub(crate) type DeployedRoom = Infallible;
    /// No guard shares its sessions.
    pub(crate) type SharedSessions = FileSessions;

    pub(crate) fn address(none: &DeployedRoom, _: Url) -> WebAddress {
        match *none {}
    }
}

pub(crate) mod errors {
    use std::error::Error;

    use crate::exit::Exit;

    pub(crate) fn exit_of<'a>(_: &'a (dyn Error + 'static)) -> Option<(Exit, Option<&'a str>)> {
        None
    }
}

pub(crate) fn architectures() -> Vec<&'static str> {
    Vec::new()
}

pub(crate) fn shares_sessions(_: &SharedTable) -> bool {
    false
}

pub(crate) async fn shared_sessions(_: &SharedTable) -> Result<Option<deployed::SharedSessions>> {
    Ok(None)
}

pub(crate) fn run(none: &AwsCommand, _json: bool, _yes: bool) -> Result<()> {
    match *none {}
}

pub(crate) async fn room(_: &Which) -> Result<Option<RoomHandle>> {
    Ok(None)
}

pub(crate) async fn room_at(_: impl Fn(&Url) -> bool) -> Result<(Option<RoomHandle>, Vec<String>)> {
    Ok((None, Vec::new()))
}

pub(crate) async fn listed(_: &RoomConfig) -> Deployed {
    Deployed::Unknown
}

pub(crate) async fn warn_of_rate(_: &RoomHandle, _: &Which, _: Rate) {}

pub(crate) async fn examine(_: &ExamineRoom, _json: bool) -> Option<Result<()>> {
    None
}
