//! `beekeeper report`: what happened in an event.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use report::{EventReport, KeptRecords, NoReport, ReportRange};
use waitroom::RoomId;

use crate::arguments::{KNOWS_AWS, MakeReport, ReportSource, Which};
use crate::ending::advice_for;
use crate::exit::{Exit, Failure};
use crate::printer::{note, readable_width, say, write_file};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(report: &MakeReport, json: bool) -> Result<()> {
    let told = match &report.name {
        Some(ReportSource::File(file)) => {
            let of_room = report.here.is_given() || report.since.is_some();
            if of_room {
                let flags = if KNOWS_AWS { "--local, --data" } else { "--data" };
                let both = format!("{} is a report: {flags} and --since belong to a room", file.display());
                return Err(Failure::new(Exit::Usage, both).into());
            }
            read(file)?
        }
        Some(ReportSource::Room(name)) => of_room(report, Some(name.clone()))?,
        None => of_room(report, None)?,
    };
    if let Some(file) = &report.html {
        write_file(file, "the report", &told.document().html())?;
    }
    if let Some(file) = &report.csv {
        write_file(file, "the report", &told.csv())?;
    }
    if json {
        return Ok(say(&serde_json::to_string(&told)?)?);
    }
    if told.is_empty() {
        note("the record of a minute is written when the minute ends, and kept for fourteen days");
    }
    Ok(say(&told.document().text(readable_width()))?)
}

/// A report from the records of this room.
fn of_room(report: &MakeReport, name: Option<RoomId>) -> Result<EventReport> {
    block_on(async {
        let which = Which { name, here: report.here.clone() };
        let room = RoomHandle::find_to_read(&which).await?.room;
        let read = |back| KeptRecords::read(&room, back, advice_for);
        Ok(match report.since {
            Some(since) => EventReport::of(read(since).await?, ReportRange::Since),
            None => EventReport::of_last_event(read).await?,
        })
    })
}

/// A report that was kept.
fn read(file: &Path) -> Result<EventReport> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let missing = format!("there is no report {}", file.display());
            return Err(Failure::new(Exit::Missing, missing).into());
        }
        text => text.with_context(|| format!("could not read {}", file.display()))?,
    };
    EventReport::parse(&text).map_err(|error| match error {
        NoReport::Newer => {
            let newer = format!("{} was written by a newer beekeeper", file.display());
            Failure::new(Exit::Failed, newer).advising("use that version, or a later one").into()
        }
        NoReport::Unreadable(error) => anyhow::Error::new(error)
            .context(format!("{} is not what `beekeeper report --json` writes", file.display())),
    })
}
