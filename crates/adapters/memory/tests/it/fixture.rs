//! A room in memory, and a clock that the test advances.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use memory::{LineBehaviour, MemoryLedger, MemoryLine};
use waitroom::{Timestamp, ValveSchedule};

pub(crate) struct MemoryRoom {
    pub(crate) line: MemoryLine,
    pub(crate) ledger: MemoryLedger,
    millis: Arc<AtomicU64>,
}

impl MemoryRoom {
    pub(crate) fn new() -> Self {
        let millis = Arc::new(AtomicU64::new(1_700_000_000_000));
        let clock = millis.clone();
        let now = move || Timestamp::from_millis(clock.load(Ordering::SeqCst));
        let room = waitroom::fixture::room(300);
        let line = MemoryLine::new(now, 1, LineBehaviour::default());
        let ledger = MemoryLedger::new(line.clone(), room, ValveSchedule::LEAD_TIME_IN_ONE_PROCESS);
        Self { line, ledger, millis }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.load(Ordering::SeqCst))
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.millis.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}
