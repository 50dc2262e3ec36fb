use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper destroy spring-sale
  beekeeper destroy spring-sale --yes        without a question

Removes the line, the ledger and all other resources of the room. Run it again after an interruption; a room that is
already removed is not an error. The configuration file stays.")]
pub(crate) struct Destroy {
    /// Name of the room, as `beekeeper config` lists it
    pub(crate) name: RoomId,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}
