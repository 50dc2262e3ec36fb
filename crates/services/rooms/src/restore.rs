//! What a backup and the file in its place know of visitors, for whoever restores it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use control::wording;
use document::words;
use embedded::{EmbeddedStore, OpenError, ReplacedFile};
use waitroom::{Room, RoomId, Timestamp};

/// A file that holds a room, and stays as it is. While this exists, no room can start with it.
#[derive(Debug)]
pub struct RoomFile {
    pub store: EmbeddedStore,
    pub name: RoomId,
    written: Timestamp,
    /// As it was ordered. What was to follow may have come about since.
    room: Arc<Room>,
}

impl RoomFile {
    pub fn of(file: &Path) -> Result<Self, OpenError> {
        let (store, written) = EmbeddedStore::look_at(file)?;
        let room = store.kept_room();
        Ok(Self { store, name: room.settings.room.clone(), written, room })
    }

    /// What becomes of visitors when the backup takes this one's place.
    fn consequence(&self, backup: &Self) -> String {
        if self.room.epoch == backup.room.epoch {
            let rehearsal = self.room.rehearsal.map_or(
                "",
                |_| "; the line is still that of a rehearsal, and `beekeeper reset` ends it as before",
            );
            return format!(
                "whoever joined since the backup keeps the place, and nobody who was released since is released again; rate, \
                 message and state are as they were in the backup{rehearsal}"
            );
        }
        // A page that asks after a reset joins at once, and its new place overwrites the old one.
        let anew = match self.store.joined_so_far() {
            0 => String::new(),
            joined => format!(
                "; {} joined the new line, and whoever of them had a place in the backup's has it no longer, so nobody comes when \
                 it's released: if those are more than a few, keep the new line",
                words::count(joined)
            ),
        };
        let Some(joined) = self.store.joined_in(backup.room.epoch) else {
            return format!("{NOTHING_KNOWN}{anew}");
        };
        let between = match joined.saturating_sub(backup.store.joined_so_far()) {
            0 => String::new(),
            between => format!(
                "; the {} who joined after the backup and before the reset get a new place at the back once the line has passed \
                 their number, unless they were released",
                words::count(between)
            ),
        };
        let [waiting, old] = [self, backup].map(|file| words::count(file.store.status().waiting));
        format!(
            "the line was reset since the backup: the {waiting} who wait now lose their places and join again, behind the {old} of \
             the backup, and nobody who was released from that line since is released again{between}{anew}"
        )
    }

    /// What is left of the backup's stock when it takes this one's place at `now`.
    fn left(&self, backup: &Self, now: Timestamp) -> Option<u32> {
        let stock = backup.room.clone().at(now).stock?;
        // Whoever came to a room that was begun anew counts for no stock.
        self.store.joined_in(backup.room.epoch)?;
        backup.store.left_in_place_of(&self.store, stock)
    }

    /// What limits this room at `now`, and not the backup.
    fn withdrawn(&self, backup: &Self, now: Timestamp) -> impl Iterator<Item = String> {
        let [room, after] = [self, backup].map(|file| file.room.clone().at(now));
        let goes_on = room.is_over() && !after.is_over();
        let is_limited = after.stock.is_some() || after.is_over();
        let no_longer_ended = goes_on.then(|| "the room is no longer ended".to_owned());
        // One that sold out keeps no stock.
        let no_stock = ((room.stock.is_some() || goes_on) && !is_limited).then(|| {
            "the backup has no stock, so nothing limits how many are let in: order what is left with `beekeeper close --after`, or \
             `beekeeper end` if nothing is"
                .to_owned()
        });
        let stays: Vec<_> = backup.room.ahead().collect();
        let gone = room.ahead().filter(move |it| !stays.contains(it));
        no_longer_ended
            .into_iter()
            .chain(no_stock)
            .chain(gone.map(|(turns, at)| format!("the room no longer {turns} by itself at {at}")))
    }

    /// What the room does by itself once it runs with this file.
    fn by_itself(&self, now: Timestamp) -> impl Iterator<Item = String> {
        let room = self.room.clone().at(now);
        let past = self.room.ahead().filter(|(_, at)| *at <= now);
        let past = past.map(|(turns, at)| format!("{turns} at {at}")).collect::<Vec<_>>().join(", ");
        let at_once = (!past.is_empty())
            .then(|| format!("the room is {} as soon as you start it: in the backup it {past}", room.state));
        let ahead = room.ahead().map(|(turns, at)| format!("the room {turns} by itself at {at}"));
        let then = wording::then(&room).map(|then| format!("it turns {then}"));
        at_once.into_iter().chain(ahead).chain(then)
    }
}

impl fmt::Display for RoomFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let room = self.room.clone().at(self.written);
        let until = room.opens.map(|opens| format!(" until {opens}")).unwrap_or_default();
        let status = self.store.status();
        let left = room.stock.zip(status.left).map(|(stock, left)| {
            let [left, size] = [left, stock.size.get()].map(|number| words::count(number.into()));
            format!(", {left} left of a stock of {size}")
        });
        let (waiting, joined) = (words::count(status.waiting), words::count(self.store.joined_so_far()));
        write!(
            f,
            "{}, {}{until}, {} a minute{}, {joined} joined and {waiting} waiting, written {}",
            self.name,
            room.state,
            room.settings.rate,
            left.unwrap_or_default(),
            self.written
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
     passed their number, which somebody else may have too; if it never does, because few come, `beekeeper reset` frees them once \
     nobody waits; whoever was released since may be released again, and counts for no stock";

impl FileInPlace {
    /// Fails if a room or another command has it, if it may not be read, or if only a newer version can.
    pub fn of(file: &Path) -> Result<Self, OpenError> {
        if !file.exists() {
            return Ok(Self::None);
        }
        match RoomFile::of(file) {
            Ok(room) => Ok(Self::Room(room)),
            Err(error @ (OpenError::InUse(_) | OpenError::Denied(_) | OpenError::Newer { .. })) => Err(error),
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
        let mut told = Vec::new();
        match self {
            Self::Room(room) => {
                told.push(room.consequence(backup));
                let left = room.left(backup, now);
                told.extend(left.map(told_of_stock));
                if left == Some(0) {
                    // Nothing else comes about.
                    return told.join("; ");
                }
                told.extend(room.withdrawn(backup, now));
            }
            Self::None | Self::Unreadable(_) => told.push(NOTHING_KNOWN.to_owned()),
        }
        told.extend(backup.by_itself(now));
        told.join("; ")
    }
}

fn told_of_stock(left: u32) -> String {
    const COUNTS: &str = "whoever was let in since counts for the backup's stock";
    match left {
        0 => format!(
            "{COUNTS}, and nothing is left of it, so the room ends as soon as you start it: if you have more, order them then with \
             `beekeeper close --after`"
        ),
        left => format!("{COUNTS}, which has {} left then", words::count(left.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    use waitroom::ports::Admissions;
    use waitroom::{AdmittedBy, Ticket, Token, fixture};

    use super::*;

    const OPENS: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    /// A file of this room that was written then. It is described first, as the command does.
    fn written(room: Room, written: Timestamp) -> (RoomFile, String) {
        written_after(0, room, written)
    }

    /// The same, once so many were let in.
    fn written_after(let_in: u8, room: Room, written: Timestamp) -> (RoomFile, String) {
        let directory = tempfile::tempdir().unwrap();
        let admission = room.new_admission(Ticket::new(1).unwrap(), AdmittedBy::Door, written);
        let store = EmbeddedStore::open(directory.path(), room, move || written).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for visitor in 0..let_in {
            runtime.block_on(store.admit(Token::from_bytes([visitor; 16]), admission)).unwrap();
        }
        store.close();
        let path = directory.path().join(EmbeddedStore::FILE);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(written.as_millis())).unwrap();
        let file = RoomFile::of(&path).unwrap();
        let described = file.to_string();
        (file, described)
    }

    /// What is said of a backup that was written then, of a room that opens, closes an hour later and then turns off.
    fn said(at: Timestamp, now: Timestamp) -> (String, String) {
        let mut room = fixture::room(60);
        room.open_at(OPENS);
        (room.closes, room.then_off) = (Some(OPENS + Duration::from_hours(1)), true);
        let (backup, described) = written(room, at);
        (described, FileInPlace::None.consequence(&backup, now))
    }

    #[test]
    fn what_limits_the_room_and_not_the_backup_is_said() {
        let mut selling = fixture::room(60);
        selling.sell(5000.try_into().unwrap());
        selling.ends = Some(OPENS);
        let before = OPENS - Duration::from_mins(5);
        let (backup, _) = written(fixture::room(60), before);
        let (replaced, described) = written(selling.clone(), before);
        assert!(
            described.starts_with("sale, on, 60 a minute, 5,000 left of a stock of 5,000, 0 "),
            "{described}"
        );
        let said = FileInPlace::Room(replaced).consequence(&backup, before);
        assert!(
            said.contains("; the backup has no stock, so nothing limits how many are let in: "),
            "{said}"
        );
        assert!(said.ends_with("; the room no longer ends by itself at 2027-03-05 11:00:00 UTC"), "{said}");

        let [(backup, _), (replaced, _)] = [(); 2].map(|()| written(selling.clone(), before));
        let said = FileInPlace::Room(replaced).consequence(&backup, before);
        let kept = "; whoever was let in since counts for the backup's stock, which has 5,000 left then; the room ends by itself at ";
        assert!(said.contains(kept) && !said.contains("no longer"), "{said}");

        let mut sold_out = selling.clone();
        assert!(sold_out.sell_out(selling.stock.unwrap()));
        let [(backup, _), (replaced, _)] = [fixture::room(60), sold_out].map(|room| written(room, before));
        let said = FileInPlace::Room(replaced).consequence(&backup, before);
        let unlimited =
            "; the room is no longer ended; the backup has no stock, so nothing limits how many are let in: ";
        assert!(said.contains(unlimited), "{said}");
    }

    #[test]
    fn a_backup_whose_stock_is_used_up_since_ends_at_once() {
        let before = OPENS - Duration::from_mins(5);
        let mut selling = fixture::room(60);
        selling.sell(5.try_into().unwrap());
        selling.ends = Some(OPENS);
        let mut corrected = Room { version: 1, ..selling.clone() };
        corrected.sell(10.try_into().unwrap());
        for (let_in, told) in [
            (4, ", which has 1 left then; the room ends by itself at 2027-03-05 11:00:00 UTC"),
            (
                6,
                ", and nothing is left of it, so the room ends as soon as you start it: if you have more, order them then with \
                 `beekeeper close --after`",
            ),
        ] {
            let (backup, _) = written(selling.clone(), before);
            let (replaced, _) = written_after(let_in, corrected.clone(), before);
            let said = FileInPlace::Room(replaced).consequence(&backup, before);
            assert!(said.ends_with(told), "{said}");
        }
    }

    #[test]
    fn what_has_come_about_since_the_order_and_what_will_is_said_of_a_backup() {
        let (before, while_on) = (OPENS - Duration::from_mins(5), OPENS + Duration::from_mins(5));
        let later = OPENS + Duration::from_hours(2);
        let (opens, closes) = ("opens at 2027-03-05 11:00:00 UTC", "closes at 2027-03-05 12:00:00 UTC");
        let (closing, off) = (
            "the room closes by itself at 2027-03-05 12:00:00 UTC",
            "it turns off, when everybody who waited was let in",
        );
        let (described, consequence) = said(before, before);
        assert!(described.starts_with("sale, paused until 2027-03-05 11:00:00 UTC, 60 a "), "{described}");
        let opening = "; the room opens by itself at 2027-03-05 11:00:00 UTC";
        assert!(consequence.ends_with(&format!("{opening}; {closing}; {off}")), "{consequence}");

        let on =
            format!("; the room is on as soon as you start it: in the backup it {opens}; {closing}; {off}");
        for written in [before, while_on] {
            assert!(said(written, while_on).1.ends_with(&on), "{written}");
        }
        let late = format!(
            "; the room is closed as soon as you start it: in the backup it {opens}, {closes}; {off}"
        );
        let (described, consequence) = said(while_on, later);
        assert!(described.starts_with("sale, on, 60 a minute"), "{described}");
        assert!(consequence.ends_with(&late), "{consequence}");
    }
}
