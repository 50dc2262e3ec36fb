use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use rehearsal::PlannedRehearsal;
use simulation::ArrivalShape;
use url::Url;
use waitroom::RoomId;

use super::people::people;
use super::which::naming_a_room;
use super::{OnThisMachine, examples, number, time};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper rehearse --local                                   1,000 visitors within a minute
  beekeeper rehearse --local --visitors 50000 --arrivals 5m    evenly over five minutes
  beekeeper rehearse --local --arrivals spring-sale.csv        as many as the file counts, when it counts them
  beekeeper rehearse --local --html rehearsal.html             and the report as a page
  beekeeper rehearse spring-sale --visitors 5000 --enter-shop  on AWS; follows to the shop
  beekeeper rehearse https://wait.example --json | jq .checks  one of your rooms, by its URL

The room has to be on, and its line empty. It is marked for the rehearsal, and the rehearsal ends with a reset: every visitor
who was admitted since the last one has to wait again. Ctrl-C stops the visitors, resets the room and reports so far.
The exit code is 0 if every promise was kept: docs/rehearsal.md"))]
pub(crate) struct Rehearse {
    #[arg(help = naming_a_room!("Name or URL of the room"))]
    pub(crate) room: Option<RehearsedRoom>,
    #[command(flatten)]
    pub(crate) here: OnThisMachine,
    /// How many visitors come, up to 100k; 50k is 50000 [default: 1000, or as many as the CSV file counts]
    #[arg(long, value_name = "N", value_parser = visitors, allow_negative_numbers = true)]
    pub(crate) visitors: Option<u32>,
    /// How they come: spike (within a minute), email (over half an hour), a time like 10m (evenly), or a CSV file of counts
    #[arg(long, value_name = "SHAPE", default_value = "spike", value_parser = shape)]
    pub(crate) arrivals: ArrivalShape,
    /// The same number gives the same visitors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::between(0, u64::MAX), allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// End the rehearsal after this time at the latest, from 10s to 4h
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = time::between("10s", "4h"))]
    pub(crate) at_most: Duration,
    /// Follow to the shop with the pass; otherwise the visitors stop before it
    #[arg(long)]
    pub(crate) enter_shop: bool,
    /// Also write the report as a page into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// A room as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RehearsedRoom {
    Name(RoomId),
    Url(Url),
}

impl std::str::FromStr for RehearsedRoom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            let url = text.parse::<Url>().map_err(|error| error.to_string())?;
            let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
            return if is_web {
                Ok(Self::Url(url))
            } else {
                Err("a room's URL begins with http or https".into())
            };
        }
        text.parse().map(Self::Name).map_err(|error: waitroom::NameError| error.to_string())
    }
}

impl Rehearse {
    pub(crate) const MOST_VISITORS: u32 = PlannedRehearsal::MOST_VISITORS;
    pub(crate) const USUAL_VISITORS: u32 = 1000;
}

fn visitors(text: &str) -> Result<u32, String> {
    visitors_up_to(Rehearse::MOST_VISITORS, text)
}

/// A number of visitors: `2000`, `50k`.
pub(super) fn visitors_up_to(most: u32, text: &str) -> Result<u32, String> {
    let number = people(text).ok().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("must be a whole number from 1 to {most}, like 2000 or 50k"))
}

/// A shape by its name, or the counts of a file.
pub(super) fn shape(text: &str) -> Result<ArrivalShape, String> {
    match text.parse::<ArrivalShape>() {
        Ok(shape) => Ok(shape),
        Err(_) if names_file(text, Path::new("")) => {
            let counts = std::fs::read_to_string(text).map_err(|error| format!("{text}: {error}"))?;
            ArrivalShape::from_record(&counts).map_err(|error| format!("{text}: {error}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Whether this is a file of counts, as seen from a folder, and no shape.
pub(crate) fn names_file(shape: &str, folder: &Path) -> bool {
    shape.parse::<ArrivalShape>().is_err() && (shape.contains(['.', '/']) || folder.join(shape).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_a_name_or_a_url() {
        let name = RehearsedRoom::Name("sale".parse().unwrap());
        assert_eq!("sale".parse(), Ok(name));
        assert!(matches!("http://localhost:8080/".parse(), Ok(RehearsedRoom::Url(_))));
        for wrong in ["ftp://sale.example", "http://", "Spring Sale"] {
            assert!(wrong.parse::<RehearsedRoom>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn visitors_are_counted_in_thousands_too_and_limited() {
        assert_eq!(["1", "50k", "100000"].map(|text| visitors(text).unwrap()), [1, 50_000, 100_000]);
        for wrong in ["0", "-1", "1.5k", "101k", "5000m", "many"] {
            assert!(visitors(wrong).unwrap_err().contains("from 1 to 100000"), "{wrong}");
        }
    }

    #[test]
    fn a_shape_is_a_word_a_time_or_a_file() {
        assert!(matches!(shape("spike"), Ok(ArrivalShape::Spike)));
        assert!(matches!(shape("5m"), Ok(ArrivalShape::Evenly(_))));
        assert!(shape("flood").is_err());
        assert!(shape("missing.csv").unwrap_err().starts_with("missing.csv: "));
    }
}
