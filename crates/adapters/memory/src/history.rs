//! The history of the line: a record a minute, and closing records.

use std::collections::BTreeMap;
use std::time::Duration;

use waitroom::{LineTotals, MinuteRecord, Timestamp};

#[derive(Debug, Default)]
pub(crate) struct MinuteBook {
    /// By minute. The closing records of a minute come before its usual one, which has the place [`Self::USUAL`].
    records: BTreeMap<(u64, u64), MinuteRecord>,
    /// The longest wait of each minute, in seconds. Those that a closing record tells are not here.
    waits: BTreeMap<u64, u64>,
}

impl MinuteBook {
    const USUAL: u64 = u64::MAX;

    pub(crate) fn note(&mut self, totals: LineTotals) {
        let minute = MinuteRecord::number(totals.at);
        let before = self.records.get(&(minute, Self::USUAL)).map(|before| before.totals);
        let totals = totals.replacing(before);
        self.records.insert((minute, Self::USUAL), MinuteRecord { totals, longest_wait: None });
        let oldest = MinuteRecord::number(totals.at - MinuteRecord::STORED);
        self.records = self.records.split_off(&(oldest, 0));
        self.waits = self.waits.split_off(&oldest);
    }

    /// Writes a closing record. It stands for the minute so far: what comes later in it belongs to others.
    pub(crate) fn close(&mut self, totals: LineTotals) {
        let minute = MinuteRecord::number(totals.at);
        let before = self.records.remove(&(minute, Self::USUAL)).map(|before| before.totals);
        let totals = totals.replacing(before);
        let earlier = self.records.range((minute, 0)..(minute, Self::USUAL)).count() as u64;
        let longest_wait = self.waits.remove(&minute);
        self.records.insert((minute, earlier), MinuteRecord { totals, longest_wait });
    }

    pub(crate) fn note_wait(&mut self, at: Timestamp, wait: Duration) {
        let longest = self.waits.entry(MinuteRecord::number(at)).or_default();
        *longest = wait.as_secs().max(*longest);
    }

    /// The longest wait of this minute and later ones.
    pub(crate) fn longest_wait(&self, since: u64) -> Option<u64> {
        self.waits.range(since..).map(|(_, wait)| *wait).max()
    }

    /// The records from this minute on, after the last one before it, each with the waits of the minutes that have none.
    pub(crate) fn since(&self, since: u64) -> Vec<MinuteRecord> {
        let (mut records, mut before, mut untold) = (Vec::new(), 0, 0);
        for (&(minute, place), record) in &self.records {
            let to = if place == Self::USUAL { minute + 1 } else { minute };
            let waits = self.waits.range(untold..to.max(untold)).map(|(_, wait)| *wait);
            let longest_wait = waits.chain(record.longest_wait).max();
            if minute < since {
                before = records.len();
            }
            records.push(MinuteRecord { longest_wait, ..*record });
            untold = to;
        }
        records.split_off(before)
    }
}
