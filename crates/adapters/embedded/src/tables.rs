//! The tables of the file, and the encoding of their records.
//!
//! Records of visitors have a fixed width and are big-endian. The few records of the room are JSON, so that an operator
//! can read them in an emergency.

use redb::{
    Key, ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, Table, TableDefinition, Value,
    WriteTransaction,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use waitroom::{
    Admission, AdmittedBy, AuditEntry, AuditNote, Epoch, HelpCall, HelpCode, LineTotals, MinuteRecord, Place,
    Room, SliceId, Ticket, Timestamp, Token,
};

/// Why a table could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TableError {
    /// The storage failed, so every change in the transaction fails.
    #[error("{0}")]
    Storage(redb::Error),
    /// One record is invalid. Only the change that needs it fails.
    #[error("the store has a record that this version of Beekeeper cannot read: {0}")]
    Record(String),
}

impl<E: Into<redb::Error>> From<E> for TableError {
    fn from(error: E) -> Self {
        Self::Storage(error.into())
    }
}

type TokenBytes = [u8; Token::BYTES];

/// The admissions as a commit has left them.
pub(crate) type OpenAdmissions = ReadOnlyTable<TokenBytes, &'static [u8]>;

/// The consumer that took the slice, how many visitors it recorded as released, and how many the slice has admitted.
/// Consumers record every two seconds. The last number is always exact, so that another consumer can resume the slice.
pub(crate) type SliceRecord = (u128, u32, u32);

/// What copies one table to another file.
pub(crate) trait CopyTable {
    fn copy<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<(), redb::Error>;
}

/// A row for each table. Whatever opens or copies all of them follows from the rows.
macro_rules! tables {
    ($($(#[$meaning:meta])* $field:ident $constant:ident: $key:ty => $value:ty;)*) => {
        $($(#[$meaning])* pub(crate) const $constant: TableDefinition<$key, $value> =
            TableDefinition::new(stringify!($field));)*

        /// The tables in one write transaction. Each is opened when it is first asked for: a join needs three of them, and to open
        /// a table costs more than to write into it.
        pub(crate) struct Tables<'tx> {
            transaction: &'tx WriteTransaction,
            $($field: Option<Table<'tx, $key, $value>>,)*
        }

        impl<'tx> Tables<'tx> {
            pub(crate) fn of(transaction: &'tx WriteTransaction) -> Self {
                Self { transaction, $($field: None,)* }
            }

            /// Creates those that the file does not have yet.
            pub(crate) fn create(&mut self) -> Result<(), TableError> {
                $(self.$field()?;)*
                Ok(())
            }

            $(pub(crate) fn $field(&mut self) -> Result<&mut Table<'tx, $key, $value>, TableError> {
                match &mut self.$field {
                    Some(table) => Ok(table),
                    table => Ok(table.insert(self.transaction.open_table($constant)?)),
                }
            })*
        }

        /// Copies every table.
        pub(crate) fn copy_tables(copier: &mut impl CopyTable) -> Result<(), redb::Error> {
            $(copier.copy($constant)?;)*
            Ok(())
        }
    };
}

tables! {
    /// The visitors in line, in the order in which they joined: `line.rs` reads and writes the records.
    line LINE: u64 => &'static [u8];
    /// Messages from the line that are not visitors.
    dead_letter DEAD_LETTER: u64 => &'static str;
    /// The admissions, by token.
    admission ADMISSION: TokenBytes => &'static [u8];
    /// When each admission may be deleted: when its visitor's cookie has expired.
    expiry EXPIRY: (u64, TokenBytes) => ();
    /// Who came for their pass, in a room that oversubscribes. As long as their admission is kept.
    arrival ARRIVAL: TokenBytes => ();
    /// How many came of those whom a plan has released, by the plan's number.
    came CAME: u64 => u64;
    /// The plans, by number, as JSON.
    plan PLAN: u64 => &'static [u8];
    /// The slices that were taken, by plan and index.
    slice SLICE: (u64, u16) => SliceRecord;
    /// Who asked for help, by code.
    help HELP: &'static str => &'static [u8];
    /// How many were taken of each stock, by the order that it is counted from.
    stock STOCK: u64 => u32;
    /// The latest entries of the audit trail, by number, as JSON.
    audit AUDIT: u64 => &'static [u8];
    /// When visitors joined: those from this key of the line on, up to the next key here. At most one record a second.
    joined_at JOINED_AT: u64 => u64;
    /// The history of the line: what the trigger counted, by minute, as JSON.
    minute MINUTE: u64 => &'static [u8];
    /// The longest wait in seconds of those who were released in a minute, by minute.
    longest_wait LONGEST_WAIT: u64 => u64;
    /// The closing records of the history, by their instant in milliseconds, as JSON.
    closing CLOSING: u64 => &'static [u8];
    /// Records that exist once, by name, as JSON.
    single SINGLE: &'static str => &'static [u8];
}

/// The names in [`SINGLE`].
pub(crate) mod single {
    pub(crate) const FORMAT: &str = "format";
    pub(crate) const GUARD_REPORTS: &str = "guard-reports";
    pub(crate) const JOINED: &str = "joined";
    pub(crate) const KEY_RECORD: &str = "key-record";
    /// The signing key as it was kept before there was a record.
    pub(crate) const KEYS: &str = "keys";
    pub(crate) const LAST_PLAN_BEFORE_EPOCH: &str = "last-plan-before-epoch";
    pub(crate) const NEXT_TICKET: &str = "next-ticket";
    pub(crate) const PROGRESS: &str = "progress";
    /// The proof key as it was kept before there was a record.
    pub(crate) const PROOF_KEY: &str = "proof-key";
    pub(crate) const ROOM: &str = "room";
    pub(crate) const SECRET_KEYS: &str = "secret-keys";
    pub(crate) const THROTTLE: &str = "throttle";
}

/// A closing record as the file keeps it.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClosingRecord {
    #[serde(flatten)]
    pub(crate) record: MinuteRecord,
    /// The number after the highest in its epoch. `None` in records of versions that did not keep it.
    #[serde(default)]
    pub(crate) next_ticket: Option<u64>,
}

impl Tables<'_> {
    pub(crate) fn read<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, TableError> {
        read_single(self.single()?, name)
    }

    pub(crate) fn write<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), TableError> {
        self.single()?.insert(name, to_json(value)?.as_slice())?;
        Ok(())
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), TableError> {
        self.single()?.remove(name)?;
        Ok(())
    }

    /// Writes a closing record. It stands for its minute so far: what comes later in that belongs to others.
    pub(crate) fn close(&mut self, totals: LineTotals, next_ticket: u64) -> Result<(), TableError> {
        let minute = MinuteRecord::number(totals.at);
        let before = self.minute()?.remove(minute)?.map(|before| from_json(before.value(), "minute"));
        let totals = totals.replacing(before.transpose()?);
        let longest_wait = self.longest_wait()?.remove(minute)?.map(|wait| wait.value());
        let next_ticket = Some(next_ticket);
        let record = ClosingRecord { record: MinuteRecord { totals, longest_wait }, next_ticket };
        let last = self.closing()?.last()?.map_or(0, |(last, _)| last.value() + 1);
        self.closing()?.insert(totals.at.as_millis().max(last), to_json(&record)?.as_slice())?;
        Ok(())
    }

    /// Writes the entry of the audit trail for this change of the room.
    pub(crate) fn add_entry(
        &mut self,
        note: &AuditNote,
        at: Timestamp,
        before: &Room,
        after: &Room,
    ) -> Result<(), TableError> {
        let Some(entry) = note.entry(self.next_entry()?, at, before, after) else { return Ok(()) };
        self.push_entry(|_| entry)
    }

    /// Writes an entry of the audit trail, and removes the oldest entries. It gets the entry's number.
    pub(crate) fn push_entry(&mut self, entry: impl FnOnce(u64) -> AuditEntry) -> Result<(), TableError> {
        let entry = entry(self.next_entry()?);
        self.audit()?.insert(entry.number, to_json(&entry)?.as_slice())?;
        self.forget_old_entries()
    }

    fn next_entry(&mut self) -> Result<u64, TableError> {
        Ok(self.audit()?.last()?.map_or(1, |(last, _)| last.value() + 1))
    }

    /// Removes the oldest entries of the audit trail.
    pub(crate) fn forget_old_entries(&mut self) -> Result<(), TableError> {
        while self.audit()?.len()? > AuditEntry::KEPT.into() {
            self.audit()?.pop_first()?;
        }
        Ok(())
    }
}

/// A table, unless the file was written before there was such a table, and nothing since.
pub(crate) fn open_if_any<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, TableError> {
    match transaction.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes what this table of a file has into another one.
pub(crate) fn take_over<K: Key + 'static, V: Value + 'static>(
    from: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
    to: &mut Table<'_, K, V>,
) -> Result<(), TableError> {
    let Some(records) = open_if_any(from, table)? else { return Ok(()) };
    for record in records.iter()? {
        let (key, value) = record?;
        to.insert(key.value(), value.value())?;
    }
    Ok(())
}

pub(crate) fn read_single<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> Result<Option<T>, TableError> {
    table.get(name)?.map(|value| from_json(value.value(), name)).transpose()
}

/// When the visitor with this key of the line joined, to the second.
pub(crate) fn joined_at(
    times: &impl ReadableTable<u64, u64>,
    key: u64,
) -> Result<Option<Timestamp>, TableError> {
    let last = times.range(..=key)?.next_back().transpose()?;
    Ok(last.map(|(_, at)| Timestamp::from_millis(at.value())))
}

/// How many slices have released since they recorded it.
pub(crate) fn unrecorded(slices: &impl ReadableTable<(u64, u16), SliceRecord>) -> Result<u64, TableError> {
    let mut unrecorded = 0;
    for slice in slices.iter()? {
        let (_, recorded, admitted) = slice?.1.value();
        unrecorded += u64::from(admitted.saturating_sub(recorded));
    }
    Ok(unrecorded)
}

/// Notes that all whom slices have released are recorded, so that later records count only what they add.
pub(crate) fn record_slices(slices: &mut Table<'_, (u64, u16), SliceRecord>) -> Result<(), TableError> {
    let mut unrecorded = Vec::new();
    for slice in slices.iter()? {
        let (key, record) = slice?;
        let (consumer_run, recorded, admitted) = record.value();
        if recorded < admitted {
            unrecorded.push((key.value(), (consumer_run, admitted, admitted)));
        }
    }
    for (key, record) in unrecorded {
        slices.insert(key, record)?;
    }
    Ok(())
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, TableError> {
    serde_json::to_vec(value)
        .map_err(|error| TableError::Record(format!("cannot be written as JSON: {error}")))
}

pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8], name: &str) -> Result<T, TableError> {
    serde_json::from_slice(bytes).map_err(|error| TableError::Record(format!("{name}: {error}")))
}

/// How long a visitor in line is.
pub(crate) const WAITING_BYTES: usize = 28;

/// A visitor in line: epoch, token, ticket. Never only zeros.
pub(crate) fn encode_waiting(place: &Place) -> [u8; WAITING_BYTES] {
    let mut record = [0; WAITING_BYTES];
    record[..4].copy_from_slice(place.epoch.as_bytes());
    record[4..20].copy_from_slice(place.token.as_bytes());
    record[20..].copy_from_slice(&place.ticket.get().to_be_bytes());
    record
}

pub(crate) fn decode_waiting(record: &[u8]) -> Option<Place> {
    let (epoch, rest) = record.split_at_checked(4)?;
    let (token, ticket) = rest.split_at_checked(Token::BYTES)?;
    Some(Place {
        epoch: Epoch::try_from(epoch).ok()?,
        token: Token::from_bytes(token.try_into().ok()?),
        ticket: Ticket::new(u64::from_be_bytes(ticket.try_into().ok()?)).ok()?,
    })
}

/// A visitor in line who asked for help, and when.
pub(crate) fn encode_call(call: &HelpCall) -> [u8; WAITING_BYTES + 8] {
    let mut record = [0; WAITING_BYTES + 8];
    record[..WAITING_BYTES].copy_from_slice(&encode_waiting(&call.place));
    record[WAITING_BYTES..].copy_from_slice(&call.at.as_millis().to_be_bytes());
    record
}

pub(crate) fn decode_call(code: HelpCode, record: &[u8]) -> Result<HelpCall, TableError> {
    let parts = || {
        let (place, at) = record.split_at_checked(WAITING_BYTES)?;
        let at = Timestamp::from_millis(u64::from_be_bytes(at.try_into().ok()?));
        Some(HelpCall { code, place: decode_waiting(place)?, at })
    };
    parts().ok_or_else(|| TableError::Record("a call for help is invalid".into()))
}

/// An admission: ticket, time, expiry, plan, index of the slice. Plan 0 means the door, because plans start at 1: with a permit,
/// in a room that was off, or by hand.
pub(crate) fn encode_admission(admission: &Admission) -> [u8; 34] {
    let (plan, index) = match admission.by {
        AdmittedBy::Slice(slice) => (slice.plan, slice.index),
        AdmittedBy::Door => (0, 0),
        AdmittedBy::Permit => (0, 1),
    };
    let mut record = [0; 34];
    record[..8].copy_from_slice(&admission.ticket.get().to_be_bytes());
    record[8..16].copy_from_slice(&admission.at.as_millis().to_be_bytes());
    record[16..24].copy_from_slice(&admission.expires.as_millis().to_be_bytes());
    record[24..32].copy_from_slice(&plan.to_be_bytes());
    record[32..].copy_from_slice(&index.to_be_bytes());
    record
}

pub(crate) fn decode_admission(record: &[u8]) -> Result<Admission, TableError> {
    let parts = || {
        let number = |from: usize| Some(u64::from_be_bytes(record.get(from..from + 8)?.try_into().ok()?));
        let index = u16::from_be_bytes(record.get(32..)?.try_into().ok()?);
        let by = match number(24)? {
            0 if index == 1 => AdmittedBy::Permit,
            0 => AdmittedBy::Door,
            plan => AdmittedBy::Slice(SliceId { plan, index }),
        };
        Some(Admission {
            ticket: Ticket::new(number(0)?).ok()?,
            at: Timestamp::from_millis(number(8)?),
            expires: Timestamp::from_millis(number(16)?),
            by,
        })
    };
    parts().ok_or_else(|| TableError::Record("an admission is invalid".into()))
}

pub(crate) fn slice_key(slice: SliceId) -> (u64, u16) {
    (slice.plan, slice.index)
}

#[cfg(test)]
mod tests {
    use frozen_names::{Section, assert_frozen};
    use redb::TableHandle;

    use super::*;

    fn ticket(number: u64) -> Ticket {
        Ticket::new(number).unwrap()
    }

    #[test]
    fn a_visitor_in_line_is_written_and_read() {
        let place = Place {
            epoch: "ab12".parse().unwrap(),
            token: Token::from_bytes([7; 16]),
            ticket: ticket(Ticket::MAX),
        };
        assert_eq!(decode_waiting(&encode_waiting(&place)), Some(place));
    }

    #[test]
    fn a_record_of_the_wrong_length_is_not_a_visitor() {
        for length in (0..60).filter(|length| *length != 28) {
            assert_eq!(decode_waiting(&vec![b'a'; length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_call_for_help_is_written_and_read() {
        let place = Place {
            epoch: "ab12".parse().unwrap(),
            token: Token::from_bytes([7; 16]),
            ticket: ticket(Ticket::MAX),
        };
        let call = HelpCall {
            code: "7K3M-Q01X".parse().unwrap(),
            place,
            at: Timestamp::from_millis(1_800_000_000_000),
        };
        assert_eq!(decode_call(call.code, &encode_call(&call)).unwrap(), call);
        assert!(decode_call(call.code, &[b'a'; WAITING_BYTES]).is_err());
    }

    #[test]
    fn an_admission_is_written_and_read() {
        for by in [
            AdmittedBy::Door,
            AdmittedBy::Permit,
            AdmittedBy::Slice(SliceId { plan: u64::MAX, index: u16::MAX }),
        ] {
            let at = Timestamp::from_millis(12);
            let admission = Admission { ticket: ticket(3), by, at, expires: Timestamp::from_millis(99) };
            assert_eq!(decode_admission(&encode_admission(&admission)).unwrap(), admission);
        }
        assert!(decode_admission(&[0; 33]).is_err());
    }

    #[test]
    fn table_and_record_names_are_frozen() {
        let memory = redb::backends::InMemoryBackend::new();
        let database = redb::Database::builder().create_with_backend(memory).unwrap();
        let transaction = database.begin_write().unwrap();
        Tables::of(&transaction).create().unwrap();
        let tables: Vec<_> =
            transaction.list_tables().unwrap().map(|table| table.name().to_owned()).collect();
        assert_frozen(Section::FileTables, tables);
        let singles = [
            single::FORMAT,
            single::GUARD_REPORTS,
            single::JOINED,
            single::KEY_RECORD,
            single::KEYS,
            single::LAST_PLAN_BEFORE_EPOCH,
            single::NEXT_TICKET,
            single::PROGRESS,
            single::PROOF_KEY,
            single::ROOM,
            single::SECRET_KEYS,
            single::THROTTLE,
        ];
        assert_frozen(Section::FileSingles, singles);
    }
}
