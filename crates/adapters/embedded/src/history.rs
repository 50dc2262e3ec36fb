//! The history of the line: a record a minute.

use std::time::Duration;

use redb::ReadableTable;
use waitroom::ports::{MinuteLog, PortResult};
use waitroom::{LineTotals, MinuteRecord, Timestamp};

use crate::EmbeddedStore;
use crate::ports::read_failed;
use crate::tables::{LONGEST_WAIT, MINUTE, TableError, from_json, open_if_any, to_json};

impl MinuteLog for EmbeddedStore {
    async fn note(&self, totals: LineTotals) -> PortResult<()> {
        self.change("write the record of a minute", move |draft| {
            draft.tables.minute.insert(MinuteRecord::number(totals.at), to_json(&totals)?.as_slice())?;
            Ok(())
        })
        .await
    }

    async fn note_wait(&self, at: Timestamp, wait: Duration) -> PortResult<()> {
        self.change("note a visitor's wait", move |draft| {
            let (minute, wait) = (MinuteRecord::number(at), wait.as_secs());
            let noted = draft.tables.longest_wait.get(minute)?.map(|noted| noted.value());
            if noted.is_none_or(|noted| noted < wait) {
                draft.tables.longest_wait.insert(minute, wait)?;
            }
            Ok(())
        })
        .await
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        let read = || {
            let transaction = self.shared.database.begin_read()?;
            let Some(waits) = open_if_any(&transaction, LONGEST_WAIT)? else { return Ok(None) };
            let mut longest = None;
            for noted in waits.range(MinuteRecord::number(since)..)? {
                longest = longest.max(Some(Duration::from_secs(noted?.1.value())));
            }
            Ok(longest)
        };
        read().map_err(read_failed("read the longest wait"))
    }

    async fn minutes(&self, since: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        self.read_minutes(MinuteRecord::number(since)).map_err(read_failed("read the history of the line"))
    }
}

impl EmbeddedStore {
    fn read_minutes(&self, since: u64) -> Result<Vec<MinuteRecord>, TableError> {
        let transaction = self.shared.database.begin_read()?;
        let minutes = open_if_any(&transaction, MINUTE)?;
        let waits = open_if_any(&transaction, LONGEST_WAIT)?;
        let (Some(minutes), Some(waits)) = (minutes, waits) else { return Ok(Vec::new()) };
        let before = minutes.range(..since)?.next_back();
        let mut records = Vec::new();
        let mut unreported = 0;
        for record in before.into_iter().chain(minutes.range(since..)?) {
            let (minute, totals) = record?;
            let number = minute.value();
            // Nobody needs the waits of the record before `since`.
            let from = if number < since { number } else { unreported };
            let mut longest_wait = None;
            for wait in waits.range(from..=number)? {
                longest_wait = longest_wait.max(Some(wait?.1.value()));
            }
            records.push(MinuteRecord { totals: from_json(totals.value(), "minute")?, longest_wait });
            unreported = number + 1;
        }
        Ok(records)
    }
}
