//! The history of the line: a record a minute.

use std::time::Duration;

use redb::{ReadTransaction, ReadableTable};
use waitroom::ports::{MinuteLog, PortResult};
use waitroom::{LineTotals, MinuteRecord, Timestamp};

use crate::EmbeddedStore;
use crate::tables::{CLOSING, LONGEST_WAIT, MINUTE, TableError, from_json, open_if_any, to_json};

impl MinuteLog for EmbeddedStore {
    async fn note(&self, totals: LineTotals) -> PortResult<()> {
        self.change("write the record of a minute", move |draft| {
            let minute = MinuteRecord::number(totals.at);
            let before =
                draft.tables.minute()?.get(minute)?.map(|before| from_json(before.value(), "minute"));
            let totals = totals.replacing(before.transpose()?);
            draft.tables.minute()?.insert(minute, to_json(&totals)?.as_slice())?;
            Ok(())
        })
        .await
    }

    async fn note_wait(&self, at: Timestamp, wait: Duration) -> PortResult<()> {
        self.change("note a visitor's wait", move |draft| {
            let (minute, wait) = (MinuteRecord::number(at), wait.as_secs());
            let noted = draft.tables.longest_wait()?.get(minute)?.map(|noted| noted.value());
            if noted.is_none_or(|noted| noted < wait) {
                draft.tables.longest_wait()?.insert(minute, wait)?;
            }
            Ok(())
        })
        .await
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        self.read("read the longest wait", |transaction| {
            let Some(waits) = open_if_any(transaction, LONGEST_WAIT)? else { return Ok(None) };
            let mut longest = None;
            // Those of later minutes were noted by a clock that was ahead.
            let latest = MinuteRecord::number((self.shared.now)().max(since));
            for noted in waits.range(MinuteRecord::number(since)..=latest)? {
                longest = longest.max(Some(Duration::from_secs(noted?.1.value())));
            }
            Ok(longest)
        })
    }

    async fn minutes(&self, since: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        let since = MinuteRecord::number(since);
        self.read("read the history of the line", |transaction| read_minutes(transaction, since))
    }
}

/// From this minute on, after the last record before it, and the last ones of other epochs: a restore may have brought one back.
fn read_minutes(transaction: &ReadTransaction, since: u64) -> Result<Vec<MinuteRecord>, TableError> {
    // Each with the minute before which its waits are in another table.
    let mut found: Vec<(MinuteRecord, u64)> = Vec::new();
    if let Some(closing) = open_if_any(transaction, CLOSING)? {
        // Those before it are few, one for each time that a line ended.
        for record in closing.iter()? {
            let record: MinuteRecord = from_json(record?.1.value(), "closing")?;
            // It has those of its own minute.
            found.push((record, minute_of(&record)));
        }
    }
    if let Some(minutes) = open_if_any(transaction, MINUTE)? {
        let before = minutes.range(..since)?.next_back();
        for record in before.into_iter().chain(minutes.range(since..)?) {
            let totals = from_json(record?.1.value(), "minute")?;
            let record = MinuteRecord { totals, longest_wait: None };
            found.push((record, minute_of(&record) + 1));
        }
    }
    found.sort_by_key(|(record, _)| record.totals.at);
    let mut epochs = Vec::new();
    let first = found.partition_point(|(record, _)| minute_of(record) < since);
    let later = found.split_off(first);
    let is_last = |(record, _): &(MinuteRecord, u64)| {
        let is_last = !epochs.contains(&record.totals.epoch);
        epochs.push(record.totals.epoch);
        is_last
    };
    let mut before: Vec<_> = found.into_iter().rev().filter(is_last).collect();
    before.reverse();
    let waits = open_if_any(transaction, LONGEST_WAIT)?;
    let mut records = Vec::new();
    let mut unreported = 0;
    for (mut record, to) in before.into_iter().chain(later) {
        let minute = minute_of(&record);
        // Nobody needs the waits of the record before `since`.
        let from = if minute < since { minute } else { unreported };
        if let Some(waits) = &waits {
            for wait in waits.range(from..to.max(from))? {
                record.longest_wait = record.longest_wait.max(Some(wait?.1.value()));
            }
        }
        records.push(record);
        unreported = to;
    }
    Ok(records)
}

fn minute_of(record: &MinuteRecord) -> u64 {
    MinuteRecord::number(record.totals.at)
}
