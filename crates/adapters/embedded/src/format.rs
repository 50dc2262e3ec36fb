use std::ops::RangeInclusive;

use redb::ReadableTable;
use serde::{Deserialize, Serialize};

use crate::tables::{TableError, read_single, single};

/// The format of the file. It increases when stored data changes its meaning, and then programs of before refuse the file.
///
/// 1 has a record of the line for each visitor, 2 for all who join together. Both are read. Whoever joins makes it 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Format(u32);

impl Format {
    pub(crate) const CURRENT: Self = Self(2);
    const READ: RangeInclusive<u32> = 1..=Self::CURRENT.0;

    /// The format of this file, if it can be read.
    pub(crate) fn of(singles: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<Self, TableError> {
        match read_single::<Self>(singles, single::FORMAT)? {
            Some(format) if Self::READ.contains(&format.0) => Ok(format),
            other => {
                let found = other.map_or("no format".into(), |other| format!("format {}", other.0));
                let (oldest, newest) = (Self::READ.start(), Self::READ.end());
                let why = format!("{found}, this version of Beekeeper reads formats {oldest} to {newest}");
                Err(TableError::Record(why))
            }
        }
    }
}
