use std::collections::BTreeMap;

use waitroom::Timestamp;
use waitroom::ports::Delivery;

/// The visitors that were received from the line and not yet removed.
///
/// Kept in memory only. After a restart every visitor in the line is delivered again. This is harmless, because the
/// ledger has their admissions.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// The first key that was never delivered.
    cursor: u64,
    /// Until when each delivered key is hidden.
    hidden: BTreeMap<u64, Timestamp>,
}

impl Deliveries {
    /// Up to `most` keys that are no longer hidden, oldest first.
    pub(crate) fn returned(&self, most: usize, now: Timestamp) -> Vec<u64> {
        // A time further away than any key is hidden for means that the clock was set back.
        let is_over = |until: Timestamp| until <= now || until > now + Delivery::HIDDEN_FOR;
        self.hidden.iter().filter(|(_, until)| is_over(**until)).map(|(key, _)| *key).take(most).collect()
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    pub(crate) fn deliver(&mut self, key: u64, now: Timestamp) {
        self.cursor = self.cursor.max(key + 1);
        self.hidden.insert(key, now + Delivery::HIDDEN_FOR);
    }

    /// Hides a delivered key until then.
    pub(crate) fn hide_until(&mut self, key: u64, until: Timestamp) {
        if let Some(known) = self.hidden.get_mut(&key) {
            *known = until;
        }
    }

    pub(crate) fn forget(&mut self, key: u64) {
        self.hidden.remove(&key);
    }
}
