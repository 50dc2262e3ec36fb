use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper destroy spring-sale
  beekeeper destroy spring-sale --yes        without asking

Can be run again after any interruption; a room that is gone already is no mistake.")]
pub(crate) struct Destroy {
    /// The room's name, which is its profile's
    pub(crate) name: RoomId,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
