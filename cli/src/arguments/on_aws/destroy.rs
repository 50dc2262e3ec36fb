use clap::Args;
use waitroom::RoomId;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper destroy spring-sale
  beekeeper destroy spring-sale --yes        without a question

Removes the line, the ledger and all other resources of the room. First it saves what the room knows of its last fourteen
days as a report beside the configuration file, which `beekeeper report FILE.json` shows again. Run it again after an
interruption; a room that is already removed is not an error. The configuration file stays.")]
pub(crate) struct Destroy {
    /// Name of the room, as `beekeeper config` lists it
    pub(crate) name: RoomId,
    /// Do not save a report first
    #[arg(long)]
    pub(crate) no_report: bool,
}
