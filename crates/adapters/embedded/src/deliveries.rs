use std::collections::BTreeMap;
use std::time::Duration;

use waitroom::Timestamp;

/// Who has been received from the line and not yet removed.
///
/// Kept in memory only: after a restart everybody still in the line is delivered again, which the ledger
/// makes harmless.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// The first key that was never delivered.
    cursor: u64,
    /// Until when each delivered key is out of sight.
    out: BTreeMap<u64, Timestamp>,
}

impl Deliveries {
    /// A consumer that still has not removed a visitor after this long is taken to be dead.
    const OUT_OF_SIGHT: Duration = Duration::from_secs(30);

    /// Up to `most` keys whose time out of sight is over, the oldest first.
    pub(crate) fn returned(&self, most: usize, now: Timestamp) -> Vec<u64> {
        // Longer than anybody is put out of sight: the clock has been set back since.
        let is_over = |until: Timestamp| until <= now || until > now + Self::OUT_OF_SIGHT;
        self.out.iter().filter(|(_, until)| is_over(**until)).map(|(key, _)| *key).take(most).collect()
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    pub(crate) fn deliver(&mut self, key: u64, now: Timestamp) {
        self.cursor = self.cursor.max(key + 1);
        self.out.insert(key, now + Self::OUT_OF_SIGHT);
    }

    pub(crate) fn forget(&mut self, key: u64) {
        self.out.remove(&key);
    }
}
