//! The history of the line: an item a minute, which the table deletes after fourteen days.

use std::time::Duration;

use waitroom::ports::{EntryCount, LineLength, MinuteLog, PortError, PortResult, StatusBoard};
use waitroom::{LineCounts, LineTotals, MinuteRecord, Room, Timestamp};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, decode_closing, decode_longest_wait, decode_minute};
use crate::keys::Key;
use crate::table::Write;

/// How many minutes before the first one are searched for the record before it.
const SEARCHED: u64 = 60;

impl MinuteLog for AwsStore {
    async fn note(&self, totals: LineTotals) -> PortResult<()> {
        let key = Key::Minute(MinuteRecord::number(totals.at));
        let attempt = "write the record of a minute";
        let note = expressions::note_minute(&totals).map_err(PortError::broken(attempt))?;
        self.table.update(attempt, key, note).await.map(drop)
    }

    /// If a longer wait is noted already, this changes nothing.
    async fn note_wait(&self, at: Timestamp, wait: Duration) -> PortResult<()> {
        let key = Key::Minute(MinuteRecord::number(at));
        self.table.update("note a visitor's wait", key, expressions::note_wait(at, wait)).await.map(drop)
    }

    async fn longest_wait(&self, since: Timestamp) -> PortResult<Option<Duration>> {
        let attempt = "read the longest wait";
        let numbers = MinuteRecord::number(since)..=self.latest_minute();
        let items = self.table.get_all(attempt, numbers.clone().map(Key::Minute)).await?;
        let found = numbers.filter_map(|number| Some((number, items.get(&Key::Minute(number).id())?)));
        let waits: Result<Vec<_>, _> =
            found.map(|(number, item)| decode_longest_wait(number, item)).collect();
        let longest = waits.map_err(PortError::broken(attempt))?.into_iter().flatten().max();
        Ok(longest.map(Duration::from_secs))
    }

    async fn minutes(&self, since: Timestamp) -> PortResult<Vec<MinuteRecord>> {
        let attempt = "read the history of the line";
        let latest = self.latest_minute();
        // The table has deleted older ones, or will do so soon.
        let first = MinuteRecord::number(since).max(latest.saturating_sub(MinuteRecord::KEPT.as_secs() / 60));
        let numbers = first.saturating_sub(SEARCHED)..=latest;
        let items = self.table.get_all(attempt, numbers.clone().map(Key::Minute)).await?;
        let (mut records, mut unreported) = (Vec::new(), None);
        for number in numbers {
            let Some(item) = items.get(&Key::Minute(number).id()) else { continue };
            let wait = decode_longest_wait(number, item).map_err(PortError::broken(attempt))?;
            let closing = decode_closing(number, item).map_err(PortError::broken(attempt))?;
            for MinuteRecord { totals, longest_wait } in closing {
                records.push(MinuteRecord { totals, longest_wait: unreported.take().max(longest_wait) });
            }
            unreported = unreported.max(wait);
            let record = decode_minute(number, item).map_err(PortError::broken(attempt))?;
            if let Some(MinuteRecord { totals, .. }) = record {
                records.push(MinuteRecord { totals, longest_wait: unreported.take() });
            }
            if number < first {
                records.drain(..records.len().saturating_sub(1));
            }
        }
        Ok(records)
    }
}

impl AwsStore {
    /// The write of the closing record of whom `before` has counted. `waiting` is how many wait, or waited before the line was
    /// emptied. `version` is that of the room after the change.
    pub(crate) async fn close_count(
        &self,
        attempt: &'static str,
        before: &Room,
        version: u64,
        waiting: Option<u64>,
    ) -> PortResult<Write> {
        let waiting = match waiting {
            Some(waiting) => waiting,
            None => self.line.waiting().await?,
        };
        let (at, released) = (self.now(), self.progress().await?.released);
        let joined = released.saturating_add(waiting);
        let counts = LineCounts { joined, released, entered: self.entered(), waiting };
        let number = MinuteRecord::number(at);
        let decode = |item: &Item| Ok((decode_longest_wait(number, item)?, decode_minute(number, item)?));
        let (longest_wait, replaced) =
            self.table.read(attempt, Key::Minute(number), decode).await?.unwrap_or_default();
        let totals = LineTotals::of(before, at, counts).replacing(replaced.map(|record| record.totals));
        let record = MinuteRecord { totals, longest_wait };
        let update = expressions::close_count(&record, version);
        let update = update.map_err(PortError::broken(attempt))?;
        Ok(Write::Update(Key::Minute(number), update))
    }

    /// The last minute that can have a record. A function's clock may be ahead of this one.
    fn latest_minute(&self) -> u64 {
        MinuteRecord::number(self.now()) + 1
    }
}
