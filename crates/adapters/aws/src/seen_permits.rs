use std::sync::{Mutex, PoisonError};

use waitroom::UsedTime;

/// What was used up when this process saw it last.
#[derive(Debug, Default)]
pub(crate) struct SeenPermits(Mutex<UsedTime>);

impl SeenPermits {
    pub(crate) fn get(&self) -> UsedTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn see(&self, used: UsedTime) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = used.max(*seen);
    }
}
