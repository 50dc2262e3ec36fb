//! What a backup and the file in its place know of visitors, for whoever restores it.

use std::fmt;
use std::path::Path;

use anyhow::anyhow;
use document::words;
use embedded::{EmbeddedStore, OpenError, ReplacedFile};
use waitroom::{Epoch, RoomId, Timestamp};

/// A file that holds a room, and stays as it is. While this exists, no room can start with it.
#[derive(Debug)]
pub struct RoomFile {
    pub store: EmbeddedStore,
    pub name: RoomId,
    written: Timestamp,
    epoch: Epoch,
}

impl RoomFile {
    pub fn of(file: &Path) -> Result<Self, OpenError> {
        let (store, written) = EmbeddedStore::look_at(file)?;
        let room = store.kept_room();
        let (name, epoch) = (room.settings.room.clone(), room.epoch);
        Ok(Self { store, name, written, epoch })
    }

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

impl fmt::Display for RoomFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
#[derive(Debug)]
pub enum FileInPlace {
    None,
    Room(RoomFile),
    /// Why it can't be read.
    Unreadable(String),
}

const NOTHING_KNOWN: &str = "nothing is known of what came after the backup: whoever joined since gets a new place at the back once the line has \
     passed their number, which somebody else may have too; whoever was released since may be released again";

impl FileInPlace {
    /// Fails if a room or another command has it, or if it may not be read.
    pub fn of(file: &Path) -> Result<Self, OpenError> {
        if !file.exists() {
            return Ok(Self::None);
        }
        match RoomFile::of(file) {
            Ok(room) => Ok(Self::Room(room)),
            Err(error @ (OpenError::InUse(_) | OpenError::Denied(_))) => Err(error),
            Err(error) => Ok(Self::Unreadable(format!("{:#}", anyhow!(error)))),
        }
    }

    pub fn replaced(&self) -> ReplacedFile<'_> {
        match self {
            Self::None => ReplacedFile::Nothing,
            Self::Room(room) => ReplacedFile::Room(&room.store),
            Self::Unreadable(_) => ReplacedFile::Unreadable,
        }
    }

    pub fn described(&self, file: &Path) -> String {
        match self {
            Self::None => format!("{}: nothing", file.display()),
            Self::Room(room) => format!("{}: {room}", file.display()),
            Self::Unreadable(why) => why.clone(),
        }
    }

    /// What becomes of visitors when the backup takes its place, as part of a sentence.
    pub fn consequence(&self, backup: &RoomFile, now: Timestamp) -> String {
        let line = match self {
            Self::Room(room) => room.consequence(backup),
            Self::None | Self::Unreadable(_) => NOTHING_KNOWN.into(),
        };
        match backup.store.kept_room().opens {
            Some(opens) if opens <= now => {
                format!("{line}; the room is on as soon as you start it: it was to open at {opens}")
            }
            Some(opens) => format!("{line}; the room opens by itself at {opens}"),
            None => line,
        }
    }
}
