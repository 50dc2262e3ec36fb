//! All that needs AWS. Where this program is built without it, `without_aws.rs` stands in, under the same names.

mod deploy;
pub(crate) mod deployed;
mod destroy;
mod emit;
pub(crate) mod errors;
mod examine;
#[cfg(test)]
mod frozen;
mod kept_files;
mod logs;
mod progress;
mod rooms;

use anyhow::Result;

pub(crate) use examine::examine;
pub(crate) use progress::architectures;
pub(crate) use rooms::{listed, room, room_at, warn_of_rate};

use self::deployed::SharedSessions;
use crate::arguments::{AwsCommand, SharedTable};

pub(crate) fn run(command: &AwsCommand, json: bool, yes: bool) -> Result<()> {
    match command {
        AwsCommand::Deploy(deploy) => match &deploy.emit {
            Some(folder) => emit::run(deploy, folder, json),
            None => deploy::run(deploy, json, yes),
        },
        AwsCommand::Destroy(destroy) => destroy::run(destroy, json, yes),
        AwsCommand::Logs(logs) => logs::run(logs, json),
    }
}

/// Whether these flags name a table.
pub(crate) fn shares_sessions(shared: &SharedTable) -> bool {
    shared.sessions_table.is_some()
}

/// The sessions that several guards share in a table, if one is given.
pub(crate) async fn shared_sessions(shared: &SharedTable) -> Result<Option<SharedSessions>> {
    match &shared.sessions_table {
        Some(table) => Ok(Some(table.open().await?)),
        None => Ok(None),
    }
}
