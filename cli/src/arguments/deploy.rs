use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper deploy spring-sale --dry-run     show the plan, its costs, and what would change
  beekeeper deploy spring-sale               create the room, or update it
  beekeeper deploy spring-sale --yes --json  the same from a script

An update applies the changes in the configuration file. It keeps the line, the ticket numbers and the keys. If the
command is interrupted, AWS continues; run the same command again to follow it.")]
pub(crate) struct Deploy {
    /// Name of the room, as `beekeeper config` lists it
    pub(crate) name: RoomId,
    /// Show the plan and its costs, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
