//! `beekeeper restore`: puts a backup in the place of a stopped room's file.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clock::SystemClock;
use control::SocketRoom;
use document::words;
use embedded::{BackupError, EmbeddedStore, OpenError, PutBack, PutBackError, ReplacedFile, Restored};
use rooms::data;
use serde_json::json;
use waitroom::ports::Clock;
use waitroom::{RoomId, Timestamp};

use crate::arguments::Restore;
use crate::ask;
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::unreached::starting;

pub(crate) fn run(restore: &Restore, json: bool, yes: bool) -> Result<()> {
    let backup = HeldRoom::of(&restore.file)
        .with_context(|| format!("{} can't be restored", restore.file.display()))?;
    let name = backup.name(restore)?;
    let directory = data::directory(restore.data.as_ref(), &name)?;
    refuse_running(&directory, &name)?;
    let file = directory.join(EmbeddedStore::FILE);
    let _alone = EmbeddedStore::alone_in(&directory).map_err(|error| not_put_back(error, &file))?;
    let old = OldFile::of(&file, &name)?;
    note(&format!("the backup    {}: {backup}", restore.file.display()));
    note(&format!("in its place  {}", old.described(&file)));
    let consequence = old.consequence(&backup);
    if yes {
        note(&format!("{consequence}."));
    } else {
        ask::confirm(&consequence, "Restore?")?;
        refuse_running(&directory, &name)?;
    }

    let replaced = match &old {
        OldFile::Empty => ReplacedFile::Nothing,
        OldFile::Held(held) => ReplacedFile::Room(&held.store),
        OldFile::Unreadable(_) => ReplacedFile::Unreadable,
    };
    let put_back = backup.store.put_back(replaced, &directory, SystemClock.now());
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
    let advice = format!(
        "stop {name} first, with Ctrl-C in its terminal or with: sudo systemctl stop beekeeper; every place is kept. \
         Visitors can't join until it runs again"
    );
    Err(Failure::new(Exit::Failed, runs).advising(advice).into())
}

/// A file that holds a room, and stays as it is. While this exists, no room can start with it.
struct HeldRoom {
    store: EmbeddedStore,
    written: Timestamp,
    name: RoomId,
    epoch: waitroom::Epoch,
}

impl HeldRoom {
    fn of(file: &Path) -> Result<Self, OpenError> {
        let (store, written) = EmbeddedStore::look_at(file)?;
        let room = store.kept_room();
        let (name, epoch) = (room.settings.room.clone(), room.epoch);
        Ok(Self { store, written, name, epoch })
    }

    /// The name of the room, which must be the one that is restored.
    fn name(&self, restore: &Restore) -> Result<RoomId> {
        match &restore.name {
            Some(expected) if *expected != self.name => {
                let another =
                    format!("{} is a backup of {}, not of {expected}", restore.file.display(), self.name);
                Err(Failure::new(Exit::Usage, another)
                    .advising("name the room that it is of, or no room")
                    .into())
            }
            _ => Ok(self.name.clone()),
        }
    }
}

impl std::fmt::Display for HeldRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let room = self.store.kept_room();
        let until = room.opens.map(|opens| format!(" until {opens}")).unwrap_or_default();
        let (waiting, joined) =
            (words::count(self.store.status().waiting), words::count(self.store.joined_so_far()));
        write!(
            f,
            "{}, {}{until}, {} a minute, {joined} joined and {waiting} waiting, written {}",
            self.name, room.state, room.settings.rate, self.written
        )
    }
}

/// What is where the backup goes.
enum OldFile {
    Empty,
    Held(HeldRoom),
    /// Why it can't be read.
    Unreadable(String),
}

impl OldFile {
    fn of(file: &Path, name: &RoomId) -> Result<Self> {
        if !file.exists() {
            return Ok(Self::Empty);
        }
        match HeldRoom::of(file) {
            Ok(held) if held.name != *name => {
                let another = format!("{} holds the room {}, not {name}", file.display(), held.name);
                Err(Failure::new(Exit::Usage, another)
                    .advising("choose another directory with --data")
                    .into())
            }
            Ok(held) => Ok(Self::Held(held)),
            Err(error @ (OpenError::InUse(_) | OpenError::Denied(_))) => Err(error.into()),
            Err(error) => Ok(Self::Unreadable(format!("{:#}", anyhow!(error)))),
        }
    }

    fn described(&self, file: &Path) -> String {
        match self {
            Self::Empty => format!("{}: nothing", file.display()),
            Self::Held(held) => format!("{}: {held}", file.display()),
            Self::Unreadable(why) => why.clone(),
        }
    }

    /// What becomes of visitors, as part of a sentence.
    fn consequence(&self, backup: &HeldRoom) -> String {
        let line = match self {
            Self::Held(held) => held.consequence(backup),
            Self::Empty | Self::Unreadable(_) => NOTHING_KNOWN.into(),
        };
        match backup.store.kept_room().opens {
            Some(opens) if opens <= SystemClock.now() => {
                format!("{line}; the room is on as soon as you start it: it was to open at {opens}")
            }
            Some(opens) => format!("{line}; the room opens by itself at {opens}"),
            None => line,
        }
    }
}

const NOTHING_KNOWN: &str = "nothing is known of what came after the backup: whoever joined since gets a new place at the back once the line has \
     passed their number, which somebody else may have too; whoever was released since may be released again";

impl HeldRoom {
    /// What becomes of visitors when the backup takes this one's place.
    fn consequence(&self, backup: &Self) -> String {
        let Some(joined) = self.store.joined_in(backup.epoch) else { return NOTHING_KNOWN.into() };
        if self.epoch == backup.epoch {
            let rehearsal = self.store.kept_room().rehearsal.map_or(
                "",
                |_| "; the line is still that of a rehearsal, and `beekeeper reset` ends it as before",
            );
            return format!(
                "whoever joined since the backup keeps the place, and nobody who was released since is released again; rate, \
                 message and state are as they were in the backup{rehearsal}"
            );
        }
        let between = match joined.saturating_sub(backup.store.joined_so_far()) {
            0 => String::new(),
            between => format!(
                "; the {} who joined after the backup and before the reset get a new place at the back once the line has passed \
                 their number, unless they were released",
                words::count(between)
            ),
        };
        format!(
            "the line was reset since the backup: the {} who wait now lose their places and join again, those of the backup \
             wait again, and nobody who was released from that line since is released again{between}",
            words::count(self.store.status().waiting)
        )
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
