//! The command line of what only a room on AWS has. `without_aws.rs` stands in where this program is built without it.

mod deploy;
mod destroy;
mod logs;

use clap::{Args, Subcommand};

pub(crate) use deploy::Deploy;
pub(crate) use destroy::Destroy;
pub(crate) use logs::Logs;

#[derive(Debug, Subcommand)]
pub(crate) enum AwsCommand {
    /// Create a room on AWS, or update it
    Deploy(Deploy),
    /// Remove a room and all its resources from AWS
    Destroy(Destroy),
    /// Show the logs of a room's functions on AWS
    Logs(Logs),
}

#[derive(Debug, Args)]
pub(crate) struct SharedTable {
    /// ARN of a DynamoDB table in which several guards share their sessions; each needs the same session.key in its directory
    #[arg(long, value_name = "ARN")]
    pub(crate) sessions_table: Option<cloud::SessionTable>,
}
