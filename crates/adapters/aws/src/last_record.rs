use std::sync::Arc;

use parking_lot::Mutex;
use waitroom::SliceId;

/// What a handle last recorded for a slice, so that recording the same again needs no request.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRecord(Arc<Mutex<Option<(SliceId, Recorded)>>>);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) released: u32,
    /// The line has reached at least this ticket.
    pub(crate) reached: u64,
}

impl LastRecord {
    /// What was recorded for this slice: nothing, if another one was recorded since.
    pub(crate) fn of(&self, slice: SliceId) -> Recorded {
        let last = *self.0.lock();
        last.filter(|(known, _)| *known == slice).map(|(_, recorded)| recorded).unwrap_or_default()
    }

    pub(crate) fn keep(&self, slice: SliceId, recorded: Recorded) {
        *self.0.lock() = Some((slice, recorded));
    }
}
