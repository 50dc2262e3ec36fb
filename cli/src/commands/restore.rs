//! `beekeeper restore`: puts a backup in the place of a stopped room's file.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clock::SystemClock;
use control::SocketRoom;
use document::words;
use embedded::{BackupError, EmbeddedStore, OpenError, PutBack, PutBackError, Restored};
use rooms::{FileInPlace, RoomFile, data};
use serde_json::json;
use waitroom::RoomId;
use waitroom::ports::Clock;

use crate::arguments::Restore;
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::service_room::{self, ServiceRoom};
use crate::unreached::starting;

pub(crate) fn run(restore: &Restore, json: bool, yes: bool) -> Result<()> {
    let backup = RoomFile::of(&restore.file).map_err(|error| no_backup(error, restore))?;
    let name = backup.name.clone();
    if let Some(expected) = restore.name.as_ref().filter(|expected| **expected != name) {
        let another = format!("{} is a backup of {name}, not of {expected}", restore.file.display());
        return Err(Failure::new(Exit::Usage, another)
            .advising("name the room that it is of, or no room")
            .into());
    }
    let directory = data::directory(restore.data.as_ref(), &name)?;
    if restore.data.is_none()
        && !EmbeddedStore::is_in(&directory)
        && let Some(service) = ServiceRoom::of_this_machine()
    {
        service.refuse_elsewhere(&directory, &name, &format!("add --data {}", service.data.display()))?;
    }
    refuse_running(&directory, &name)?;
    let file = directory.join(EmbeddedStore::FILE);
    let _alone = EmbeddedStore::alone_in(&directory).map_err(|error| not_put_back(error, &file))?;
    let old = FileInPlace::of(&file).map_err(not_given_up)?;
    if let FileInPlace::Room(RoomFile { name: other, .. }) = &old
        && *other != name
    {
        let another = format!("{} holds the room {other}, not {name}", file.display());
        return Err(Failure::new(Exit::Usage, another)
            .advising("choose another directory with --data")
            .into());
    }
    note(&format!("the backup    {}: {backup}", restore.file.display()));
    note(&format!("in its place  {}", old.described(&file)));
    let consequence = old.consequence(&backup, SystemClock.now());
    if yes {
        note(&format!("{consequence}."));
    } else {
        ask::confirm(&consequence, "Restore?")?;
        refuse_running(&directory, &name)?;
    }

    let put_back = backup.store.put_back(old.replaced(), &directory, SystemClock.now());
    let PutBack { restored, kept } = put_back.map_err(|error| not_put_back(error, &file))?;
    let Restored { waiting, admissions, admitted_since, joined_since } = restored;
    if json {
        let done = json!({
            "room": name, "restored_in": directory, "kept": kept, "waiting": waiting, "admissions": admissions,
            "joined_since": joined_since, "admitted_since": admitted_since,
        });
        return Ok(say(&done.to_string())?);
    }
    say(&format!(
        "restored {name} into {}: {} waiting, {} admitted",
        directory.display(),
        words::count(waiting),
        words::count(admissions)
    ))?;
    if let Some(kept) = kept {
        say(&format!("the file that was there is kept as {}", kept.display()))?;
    }
    Ok(say(&starting(&SocketRoom::new(directory).named(name)))?)
}

fn refuse_running(directory: &Path, name: &RoomId) -> Result<()> {
    match SocketRoom::runs_in(directory) {
        Ok(false) => return Ok(()),
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(OpenError::Denied(directory.into()).into());
        }
        Err(error) => {
            let unknown = format!("could not tell whether a room runs in {}", directory.display());
            return Err(error).context(unknown);
        }
    }
    let runs =
        format!("the room in {} runs, and only the file of a stopped room is replaced", directory.display());
    let stop = if ServiceRoom::is_in(directory) {
        format!("stop {name} first: {}", service_room::STOP)
    } else {
        format!("stop {name} first, with Ctrl-C in its terminal, or its container from outside")
    };
    let advice = format!("{stop}; every place is kept. Visitors can't join until it runs again");
    Err(Failure::new(Exit::Failed, runs).advising(advice).into())
}

/// The error of a file that isn't a backup, with what to do.
fn no_backup(error: OpenError, restore: &Restore) -> anyhow::Error {
    let file = restore.file.display();
    let (problem, advice) = match error {
        OpenError::NoRoom(_) => (
            format!("{file} is no backup of a room"),
            "choose another backup; nothing was changed".to_owned(),
        ),
        OpenError::Store(..) => no_file(restore).unwrap_or_else(|| {
            let unread = format!("{file} can't be restored: {:#}", anyhow!(error));
            let advice = "it may be incomplete or damaged: choose an older backup; nothing was changed";
            (unread, advice.to_owned())
        }),
        _ => return anyhow!(error).context(format!("{file} can't be restored")),
    };
    Failure::new(Exit::Failed, problem).advising(advice).into()
}

/// What is wrong and what to do, if no file is there.
fn no_file(restore: &Restore) -> Option<(String, String)> {
    let Restore { file, name, data, .. } = restore;
    let problem = if file.is_dir() {
        format!("{} is a directory", file.display())
    } else if file.exists() {
        return None;
    } else {
        format!("there is no file {}", file.display())
    };
    // `backup` takes the name first.
    let swapped = name.as_ref().filter(|name| Path::new(name.as_str()).is_file());
    let advice = match swapped {
        Some(backup) => {
            let data = data.as_ref().map(|data| format!(" --data {}", data.display())).unwrap_or_default();
            format!("the file comes first: beekeeper restore {backup} {}{data}", file.display())
        }
        None if EmbeddedStore::is_in(file) => {
            format!("name the file in it: {}", file.join(EmbeddedStore::FILE).display())
        }
        None => "name a file that `beekeeper backup` wrote".to_owned(),
    };
    Some((problem, advice))
}

/// The error with what to do. A file that another version can read is given up only by hand.
fn not_given_up(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Newer { .. } => Failure::new(Exit::Failed, error.to_string())
            .advising("or move it away and restore again: nobody knows then what came after the backup")
            .into(),
        _ => error.into(),
    }
}

/// The error with what to do.
fn not_put_back(error: PutBackError, file: &Path) -> anyhow::Error {
    match error {
        PutBackError::UnderWay(_) => {
            Failure::new(Exit::Failed, error.to_string()).advising("wait until it has ended").into()
        }
        // It knows who has entered, so it's given up only if that can't be read.
        PutBackError::NotWritten(BackupError::Merge(_)) => anyhow!(error).context(format!(
            "nothing was changed; if {} is damaged, move it away and restore again: nobody knows then what came after the backup",
            file.display()
        )),
        PutBackError::NotWritten(_) => anyhow!(error).context("nothing was changed"),
        PutBackError::Directory(..) | PutBackError::File(..) => error.into(),
    }
}
