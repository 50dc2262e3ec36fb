//! `beekeeper report`: what happened in an event.

use std::fs;
use std::io;
use std::path::{self, Path};

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
    refuse_one_file_twice(report)?;
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

/// A file that is written is replaced, and the report in one may be all that is left of a room.
fn refuse_one_file_twice(report: &MakeReport) -> Result<()> {
    let kept = match &report.name {
        Some(ReportSource::File(file)) => Some(file),
        Some(ReportSource::Room(_)) | None => None,
    };
    let mut places = Vec::new();
    for file in [kept, report.html.as_ref(), report.csv.as_ref()].into_iter().flatten() {
        let place = file.canonicalize().or_else(|_| path::absolute(file));
        let place = place.unwrap_or_else(|_| file.clone());
        if places.contains(&place) {
            let twice = format!("{} is named twice, and one would replace the other", file.display());
            let advice = "give --html and --csv a file each, other than that of the report";
            return Err(Failure::new(Exit::Usage, twice).advising(advice).into());
        }
        places.push(place);
    }
    Ok(())
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
