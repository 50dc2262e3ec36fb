use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use waitroom::RoomId;

use super::which::naming_a_room;
use super::{OnThisMachine, examples, time};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper report spring-sale
  beekeeper report spring-sale --html spring-sale.html
  beekeeper report --local --since 6h --csv minutes.csv
  beekeeper report spring-sale --json > spring-sale.json
  beekeeper report spring-sale.json --html spring-sale.html   a report that was kept, also by `destroy`

Without --since it is about the last event: the minutes in which visitors joined, waited, were released or came for their
pass, back to an hour in which nobody did. The record of a minute is written when the minute ends, and kept for fourteen
days."))]
pub(crate) struct MakeReport {
    #[arg(help = naming_a_room!("Name of the room, or a report in a file that ends in .json"))]
    pub(crate) name: Option<ReportSource>,
    #[command(flatten)]
    pub(crate) here: OnThisMachine,
    /// How far back the report begins, from 1m to 14d [default: at the beginning of the last event]
    #[arg(long, value_name = "DURATION", value_parser = time::between("1m", "14d"))]
    pub(crate) since: Option<Duration>,
    /// Write a page with plots into this file, which is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the minutes as CSV into this file, which is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

/// What the report is made from.
#[derive(Clone, Debug)]
pub(crate) enum ReportSource {
    Room(RoomId),
    /// A report that was written with `--json`.
    File(PathBuf),
}

impl FromStr for ReportSource {
    type Err = <RoomId as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // No name of a room has a dot.
        let file = Path::new(text);
        if file.extension().is_some_and(|extension| extension == "json") {
            return Ok(Self::File(file.to_owned()));
        }
        text.parse().map(Self::Room)
    }
}
