use std::path::PathBuf;

use clap::Args;
use waitroom::RoomId;

/// Which room a command is for.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Name of the room; required unless --local is given [default with --local: the room in --data, or demo]
    pub(crate) name: Option<RoomId>,
    /// Use the room on this machine
    #[arg(long)]
    pub(crate) local: bool,
    /// Directory of the room's data, if the room was started with --data
    #[arg(long, value_name = "DIR", requires = "local")]
    pub(crate) data: Option<PathBuf>,
}
