use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper deploy spring-sale --dry-run     what would be made or changed, and what it costs
  beekeeper deploy spring-sale               makes the room, or brings it up to date
  beekeeper deploy spring-sale --yes --json  the same from a script

Run again it changes what the profile says otherwise, and keeps the line, its numbers and the keys. If it is
interrupted, what was begun goes on in AWS, and the same command attaches to it.")]
pub(crate) struct Deploy {
    /// The room's name, which is its profile's
    pub(crate) name: RoomId,
    /// Only say what would be done, and what it costs
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
