//! Puts a backup in the place of a file, without forgetting whom that file knows.
//!
//! A backup is older than the file that it replaces. Who was admitted since would be released again, who joined since would be
//! lost, and the numbers in between would be given twice. So the new file takes from the one it replaces, if that can be read:
//!
//! - every admission: whoever has one isn't in line again;
//! - everybody in line of the same epoch, behind those of the backup, in their order;
//! - who of that line came for their pass, and the calls for help from it;
//! - the higher counts of the epoch, and numbers that continue after the highest that was given;
//! - everybody who was let in since, as taken of the backup's stock, whichever stock they counted for;
//! - what was taken of every other stock, because an `undo` may bring one back, and numbers of orders above all that were used;
//! - the mark of a rehearsal whose visitors are in line;
//! - numbers of plans above all that were used since, because guards report who came by them;
//! - the latest report of each guard, because the first window is planned before any guard reports again;
//! - the history, with a closing record of the line that ends by this;
//! - the audit trail and the keys, if they are the backup's, which have only grown; with them the report key of the guards.
//!
//! All of it is in the new file before that gets the name of the old one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use pass::KeyRecord;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata};
use waitroom::{
    AuditEntry, AuditNote, AuditSubject, Author, Epoch, KeptReport, LineCounts, LineProgress, LineTotals,
    Place, Plan, Room, Stock, Timestamp, Window,
};

use crate::format::Format;
use crate::keys::record;
use crate::line::{self, LineEnd};
use crate::shared::{is_full, unreadable};
use crate::tables::{
    ADMISSION, ARRIVAL, AUDIT, CAME, CLOSING, ClosingRecord, EXPIRY, HELP, JOINED_AT, LINE, LONGEST_WAIT,
    MINUTE, PLAN, SINGLE, SLICE, STOCK, TableError, Tables, decode_waiting, from_json, joined_at,
    open_if_any, read_single, record_slices, single, take_over, to_json, unrecorded,
};
use crate::{BackedUp, BackupError, EmbeddedStore, builder};

/// Who is in a file that was made of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub waiting: u64,
    pub admissions: u64,
    /// How many of the backup's line were admitted since, and are not in line again.
    pub admitted_since: u64,
    /// How many joined since, and keep their places.
    pub joined_since: u64,
}

impl EmbeddedStore {
    /// Writes this store into a new file, with everybody whom the file to be `replaced` knows. Blocks until it is on disk.
    pub fn restore(
        &self,
        replaced: Option<&Self>,
        to: &Path,
        now: Timestamp,
    ) -> Result<Restored, BackupError> {
        let backed_up = self.back_up(to)?;
        complete(backed_up, replaced, to, now).map_err(|error| {
            // The first error is the one that matters.
            drop(std::fs::remove_file(to));
            if replaced.is_none() || is_full(&error) {
                BackupError::Copy(to.into(), Box::new(error))
            } else {
                BackupError::Merge(Box::new(error))
            }
        })
    }
}

impl EmbeddedStore {
    /// How many have joined in this epoch, without those of a rehearsal. `None` if this room never had it: one that was begun anew
    /// knows nothing of what came before.
    pub fn joined_in(&self, epoch: Epoch) -> Option<u64> {
        if self.kept_room().epoch == epoch {
            return Some(self.joined_so_far());
        }
        let counted = self.shared.database.begin_read().ok().and_then(|from| counted(&from, epoch).ok())?;
        counted
            .iter()
            .map(|counted| counted.record.totals)
            .filter(|it| !it.rehearsal)
            .map(|it| it.joined)
            .max()
    }

    /// What is left of this backup's stock once it has the place of the `replaced` file of the same room. `None` if one of them
    /// can't be read, which fails the restore too.
    pub fn left_in_place_of(&self, replaced: &Self, stock: Stock) -> Option<u32> {
        let backup = self.shared.database.begin_read().ok()?;
        let from = replaced.shared.database.begin_read().ok()?;
        let taken = taken_with(stock, &backup, &from).ok()?;
        Some(stock.size.get().saturating_sub(taken))
    }
}

/// Makes the copy of a backup the file of the room.
fn complete(
    BackedUp { waiting, admissions }: BackedUp,
    replaced: Option<&EmbeddedStore>,
    to: &Path,
    now: Timestamp,
) -> Result<Restored, redb::Error> {
    let from = replaced.map(|replaced| replaced.shared.database.begin_read()).transpose()?;
    let database: Database = builder().open(to)?;
    let (backup, transaction) = (database.begin_read()?, database.begin_write()?);
    let mut tables = Tables::of(&transaction);
    let restored = match replaced.zip(from.as_ref()) {
        Some((replaced, from)) => {
            merge_tables(&mut tables, &backup, replaced, from, now).map_err(unreadable)?
        }
        None => Restored { waiting, admissions, ..Restored::default() },
    };
    skip_plans(&mut tables, from.as_ref(), now).map_err(unreadable)?;
    drop(tables);
    transaction.commit()?;
    Ok(restored)
}

/// What a line has counted, and the number that it gives next.
struct Counts {
    progress: LineProgress,
    joined: u64,
    next_ticket: u64,
}

fn merge_tables(
    tables: &mut Tables<'_>,
    backup: &ReadTransaction,
    replaced: &EmbeddedStore,
    from: &ReadTransaction,
    now: Timestamp,
) -> Result<Restored, TableError> {
    let room: Option<Room> = tables.read(single::ROOM)?;
    let mut room = room.ok_or_else(|| TableError::Record("there is no room".into()))?;
    let other = replaced.shared.room();
    // A stock is known by the version that its order made, so none of since is given again.
    room.version = room.version.max(other.version);

    take_over(from, ADMISSION, tables.admission()?)?;
    take_over(from, EXPIRY, tables.expiry()?)?;
    let (admitted_since, mut known) = remove_admitted(tables, backup)?;
    let is_same_line = room.epoch == other.epoch;
    let joined_since = if is_same_line { append_line(tables, from, &mut known)? } else { 0 };

    // What it counted in this epoch, also if another one has begun since.
    let counted = counted(from, room.epoch)?;
    let is_same_room = is_same_line || !counted.is_empty();
    let mut counts = Counts::of_backup(tables, admitted_since, joined_since, counted)?;
    let later = Counts::of_replaced(replaced, from)?;
    take_over(from, MINUTE, tables.minute()?)?;
    take_over(from, CLOSING, tables.closing()?)?;
    take_over(from, LONGEST_WAIT, tables.longest_wait()?)?;
    if is_same_line {
        counts.raise_to(&later);
        take_over(from, ARRIVAL, tables.arrival()?)?;
        take_over(from, HELP, tables.help()?)?;
        // The visitors of a rehearsal are those who joined since.
        room.rehearsal = other.rehearsal.or(room.rehearsal);
    } else {
        let entered = Some(replaced.shared.entered.load(Ordering::Relaxed));
        let (released, waiting) = (later.progress.released, replaced.shared.line().waiting);
        let closing = LineCounts { joined: later.joined, released, entered, waiting };
        tables.close(LineTotals::of(&other, (replaced.shared.now)(), closing), later.next_ticket)?;
    }
    take_slices(tables, from, is_same_line)?;
    if is_same_room {
        take_stocks(tables, backup, from, room.stock)?;
    }
    tables.write(single::FORMAT, &Format::CURRENT)?;
    tables.write(single::PROGRESS, &counts.progress)?;
    tables.write(single::JOINED, &counts.joined)?;
    tables.write(single::NEXT_TICKET, &counts.next_ticket)?;
    take_reports(tables, from)?;
    if take_keys(tables, from, is_same_room)? {
        // Guards report by it, and one that was replaced may have leaked.
        room.report_key.clone_from(&other.report_key);
        note_restore(tables, &other, &room, now)?;
    }
    tables.write(single::ROOM, &room)?;
    Ok(Restored {
        waiting: line::count(tables.line()?)?,
        admissions: tables.admission()?.len()?,
        admitted_since,
        joined_since,
    })
}

impl Counts {
    /// Those of the backup, with what the replaced file has `counted` of its epoch.
    fn of_backup(
        tables: &mut Tables<'_>,
        admitted_since: u64,
        joined_since: u64,
        counted: Vec<ClosingRecord>,
    ) -> Result<Self, TableError> {
        let numbers_given: u64 = tables.read(single::NEXT_TICKET)?.unwrap_or(1);
        let mut progress: LineProgress = tables.read(single::PROGRESS)?.unwrap_or_default();
        let joined_before = match tables.read(single::JOINED)? {
            Some(joined) => joined,
            None => progress.released + line::count(tables.line()?)? + admitted_since,
        };
        let mut joined = joined_before + joined_since;
        progress.released += unrecorded(tables.slice()?)? + admitted_since;
        let mut later_ticket = None;
        for ClosingRecord { record, next_ticket } in counted {
            joined = joined.max(record.totals.joined);
            progress.released = progress.released.max(record.totals.released);
            later_ticket = later_ticket.max(next_ticket);
        }
        // Without a record of the highest number there were at least as many as joined.
        let later_ticket = later_ticket.unwrap_or((joined + numbers_given).saturating_sub(joined_before));
        Ok(Self { progress, joined, next_ticket: numbers_given.max(later_ticket) })
    }

    fn of_replaced(replaced: &EmbeddedStore, from: &ReadTransaction) -> Result<Self, TableError> {
        let singles = from.open_table(SINGLE)?;
        let mut progress: LineProgress = read_single(&singles, single::PROGRESS)?.unwrap_or_default();
        progress.released += open_if_any(from, SLICE)?.map_or(Ok(0), |slices| unrecorded(&slices))?;
        let next_ticket = read_single(&singles, single::NEXT_TICKET)?.unwrap_or(1);
        Ok(Self { progress, joined: replaced.joined_so_far(), next_ticket })
    }

    fn raise_to(&mut self, later: &Self) {
        self.progress = LineProgress {
            reached: self.progress.reached.max(later.progress.reached),
            overtaken: self.progress.overtaken.max(later.progress.overtaken),
            disorder: self.progress.disorder.max(later.progress.disorder),
            released: self.progress.released.max(later.progress.released),
        };
        self.joined = self.joined.max(later.joined);
        self.next_ticket = self.next_ticket.max(later.next_ticket);
    }
}

/// What each guard reported last. Its visitors are in the shop, whichever line they came through.
fn take_reports(tables: &mut Tables<'_>, from: &ReadTransaction) -> Result<(), TableError> {
    let mut reports: Vec<KeptReport> = tables.read(single::GUARD_REPORTS)?.unwrap_or_default();
    let theirs: Option<Vec<KeptReport>> = read_single(&from.open_table(SINGLE)?, single::GUARD_REPORTS)?;
    theirs.into_iter().flatten().for_each(|report| report.keep_among(&mut reports));
    tables.write(single::GUARD_REPORTS, &reports)
}

/// The audit trail and the keys, if they are the backup's and have only grown. Returns whether they are.
fn take_keys(
    tables: &mut Tables<'_>,
    from: &ReadTransaction,
    is_same_room: bool,
) -> Result<bool, TableError> {
    let singles = from.open_table(SINGLE)?;
    let (ours, theirs) = (record(tables.single()?)?, record(&singles)?);
    if theirs.version < ours.version || !(is_same_room || shares_a_key(&ours, &theirs)) {
        return Ok(false);
    }
    take_over(from, AUDIT, tables.audit()?)?;
    tables.forget_old_entries()?;
    for name in [single::KEY_RECORD, single::SECRET_KEYS, single::KEYS, single::PROOF_KEY] {
        match singles.get(name)? {
            Some(keys) => _ = tables.single()?.insert(name, keys.value())?,
            None => tables.remove(name)?,
        }
    }
    Ok(true)
}

/// Says in the audit trail what the backup takes back: orders that were given since are in the trail, and no longer in force.
fn note_restore(
    tables: &mut Tables<'_>,
    before: &Room,
    after: &Room,
    now: Timestamp,
) -> Result<(), TableError> {
    use AuditSubject::{Message, Mode, Rate, State, Stretch};
    for subject in [Rate, Mode, Message, Stretch, State] {
        let entry = AuditNote::new(Author::restore(), subject).entry(0, now, before, after);
        if let Some(entry) = entry.filter(|entry| entry.change.is_change()) {
            tables.push_entry(|number| AuditEntry { number, ..entry })?;
        }
    }
    Ok(())
}

/// Removes whoever has an admission from the line of the `backup`. Returns how many those are, and the tokens of all others in it.
fn remove_admitted(
    tables: &mut Tables<'_>,
    backup: &ReadTransaction,
) -> Result<(u64, BTreeSet<[u8; 16]>), TableError> {
    let (mut admitted, mut waiting) = (Vec::new(), BTreeSet::new());
    for record in backup.open_table(LINE)?.iter()? {
        let (first, record) = record?;
        for (key, place) in places(first.value(), record.value()) {
            let token = *place.token.as_bytes();
            if tables.admission()?.get(token)?.is_some() {
                admitted.push(key);
            } else {
                waiting.insert(token);
            }
        }
    }
    Ok((line::remove(tables.line()?, admitted)?, waiting))
}

/// The visitors in a record of the line, with their keys.
fn places(first: u64, record: &[u8]) -> impl Iterator<Item = (u64, Place)> {
    line::entries(first, record).filter_map(|(key, entry)| Some((key, decode_waiting(entry)?)))
}

/// Puts those into the line who are in the other one, and neither in this one nor admitted.
fn append_line(
    tables: &mut Tables<'_>,
    from: &ReadTransaction,
    known: &mut BTreeSet<[u8; 16]>,
) -> Result<u64, TableError> {
    let times = open_if_any(from, JOINED_AT)?;
    let latest = tables.joined_at()?.last()?.map_or(0, |(key, _)| key.value() + 1);
    // Behind everybody, and behind the instants that are known of those who have left.
    let mut end = LineEnd::new(line::end(tables.line()?)?.max(latest));
    let (mut appended, mut noted) = (0, None);
    for record in from.open_table(LINE)?.iter()? {
        let (first, record) = record?;
        for (key, place) in places(first.value(), record.value()) {
            let token = *place.token.as_bytes();
            if tables.admission()?.get(token)?.is_some() || !known.insert(token) {
                continue;
            }
            let joined = times.as_ref().map(|times| joined_at(times, key)).transpose()?.flatten();
            if let Some(joined) = joined.filter(|_| joined != noted) {
                tables.joined_at()?.insert(end.next(), joined.as_millis())?;
                noted = Some(joined);
            }
            end.push(&place, tables.line()?)?;
            appended += 1;
        }
    }
    end.write(tables.line()?)?;
    Ok(appended)
}

/// A window of the backup may still run. So its slices know whom they have released since, and that all of those are counted. Who came
/// of them is counted with them.
fn take_slices(
    tables: &mut Tables<'_>,
    from: &ReadTransaction,
    is_same_line: bool,
) -> Result<(), TableError> {
    let last_plan = tables.plan()?.last()?.map(|(number, _)| number.value());
    if let Some(last_plan) = last_plan.filter(|_| is_same_line) {
        // Those of later plans have no plan here, and so no sweep would find them.
        if let Some(slices) = open_if_any(from, SLICE)? {
            for slice in slices.range(..=(last_plan, u16::MAX))? {
                let (key, record) = slice?;
                tables.slice()?.insert(key.value(), record.value())?;
            }
        }
        if let Some(counts) = open_if_any(from, CAME)? {
            for count in counts.range(..=last_plan)? {
                let (plan, came) = count?;
                tables.came()?.insert(plan.value(), came.value())?;
            }
        }
    }
    record_slices(tables.slice()?)
}

/// More plans than a room makes in a second.
const PLANS_A_SECOND: u64 = 4;
/// Still more, in case the clock was wrong before the backup, or is now.
const MORE_PLANS: u64 = 1000;

/// Writes a plan that releases nobody, with a number above all that were used since the backup. The next plan gets the one after it:
/// guards still report who came of the windows that had the numbers in between.
fn skip_plans(
    tables: &mut Tables<'_>,
    from: Option<&ReadTransaction>,
    now: Timestamp,
) -> Result<(), TableError> {
    let ours = latest_plan(tables.plan()?)?;
    let theirs = from.map(|from| open_if_any(from, PLAN)).transpose()?.flatten();
    let theirs = theirs.map(|plans| latest_plan(&plans)).transpose()?.flatten();
    // One that is not of this file may be of a change of the valve that its room does not know.
    let before = theirs.map(|plan| Plan { valve_from: Timestamp::default(), ..plan });
    let Some(last) = ours.or(before) else { return Ok(()) };
    let since = now.since(last.window.start).as_secs();
    let guessed = last.number.saturating_add(MORE_PLANS + PLANS_A_SECOND * since);
    let number = guessed.max(theirs.map_or(0, |theirs| theirs.number));
    let window = Window { start: last.window.end, ..last.window };
    let skipped = Plan { number, window, quota: 0, ..last };
    tables.plan()?.insert(number, to_json(&skipped)?.as_slice())?;
    Ok(())
}

fn latest_plan(plans: &impl ReadableTable<u64, &'static [u8]>) -> Result<Option<Plan>, TableError> {
    plans.last()?.map(|(_, plan)| from_json(plan.value(), "plan")).transpose()
}

/// What was taken of each stock, and of the backup's `own` by everybody who was let in since.
fn take_stocks(
    tables: &mut Tables<'_>,
    backup: &ReadTransaction,
    from: &ReadTransaction,
    own: Option<Stock>,
) -> Result<(), TableError> {
    if let Some(stocks) = open_if_any(from, STOCK)? {
        for record in stocks.iter()? {
            let (order, taken) = record?;
            let (order, taken) = (order.value(), taken.value());
            let before = taken_of(tables.stock()?, order)?;
            tables.stock()?.insert(order, taken.max(before))?;
        }
    }
    if let Some(own) = own {
        tables.stock()?.insert(own.order, taken_with(own, backup, from)?)?;
    }
    Ok(())
}

/// How many have taken one of the backup's stock. Whoever was let in since has, although the room may have counted them for a later
/// stock, or for none. They are not added up from the later stocks: a restore before this one has done that.
fn taken_with(stock: Stock, backup: &ReadTransaction, from: &ReadTransaction) -> Result<u32, TableError> {
    let known = backup.open_table(ADMISSION)?;
    let mut let_in = 0;
    for admission in from.open_table(ADMISSION)?.iter()? {
        let_in += u32::from(known.get(admission?.0.value())?.is_none());
    }
    let taken = |file: &ReadTransaction| -> Result<u32, TableError> {
        open_if_any(file, STOCK)?.map_or(Ok(0), |stocks| taken_of(&stocks, stock.order))
    };
    Ok(taken(backup)?.saturating_add(let_in).max(taken(from)?))
}

fn taken_of(stocks: &impl ReadableTable<u64, u32>, order: u64) -> Result<u32, TableError> {
    Ok(stocks.get(order)?.map_or(0, |taken| taken.value()))
}

/// What the records of the history counted in this epoch. Only closing records have the next number.
fn counted(from: &ReadTransaction, epoch: Epoch) -> Result<Vec<ClosingRecord>, TableError> {
    let mut counted = Vec::new();
    for table in [MINUTE, CLOSING] {
        let Some(records) = open_if_any(from, table)? else { continue };
        for record in records.iter()? {
            let record: ClosingRecord = from_json(record?.1.value(), "minute")?;
            if record.record.totals.epoch == epoch {
                counted.push(record);
            }
        }
    }
    Ok(counted)
}

/// A room that was begun anew has other keys than its backup: then the passes that people have were signed with the backup's.
/// The same room may have others too, because a key was dropped or replaced since. It must not come back.
fn shares_a_key(backup: &KeyRecord, replaced: &KeyRecord) -> bool {
    let is_in_backup = |id: &str| backup.keys().iter().any(|key| key.jwk.kid() == id);
    replaced.keys().iter().any(|key| is_in_backup(key.jwk.kid()))
}
