use std::path::PathBuf;

use clap::Args;
use waitroom::RoomId;

use crate::arguments::people::people;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper deploy spring-sale --dry-run      show the plan, its costs, and what would change
  beekeeper deploy spring-sale                create the room, or update it
  beekeeper deploy spring-sale --expect 150k  warn of what does not fit 150,000 people
  beekeeper deploy spring-sale --yes --json   the same from a script
  beekeeper deploy spring-sale --emit room    write the files for a pipeline of your own: docs/pipelines.md

The plan says how many people can join a second, wait and be let in, by the limits of your account, and what they cost.
It is computed by a model: docs/crowd.md.

An update applies the changes in the configuration file. It keeps the line, the ticket numbers and the keys. If the
command is interrupted, AWS continues; run the same command again to follow it.")]
pub(crate) struct Deploy {
    /// Name of the room, as `beekeeper config` lists it
    pub(crate) name: RoomId,
    /// Show the plan and its costs, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How many people you expect at most, from 1 to 100m; 150k is 150000. Without it, a terminal asks
    #[arg(long, value_name = "PEOPLE", value_parser = people)]
    pub(crate) expect: Option<u64>,
    /// Write template, functions and parameters into this directory, for a pipeline of your own; AWS is not asked
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "expect"])]
    pub(crate) emit: Option<PathBuf>,
    /// With --emit: the bucket that your pipeline uploads the functions to
    #[arg(long, requires = "emit")]
    pub(crate) bucket: Option<String>,
}
