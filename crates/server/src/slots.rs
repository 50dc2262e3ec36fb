//! Which connections of a server are open. When there are as many as may be, a newcomer takes the slot of the connection that
//! has been silent for longest. So nobody keeps others out by holding connections open, from however many addresses: a
//! request that is sent at once is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    silent: Mutex<SilentSlots>,
}

/// The slots of connections that no request is being answered on.
#[derive(Debug, Default)]
struct SilentSlots {
    /// By turns: whoever fell silent first is first. Each slot can be told that it was taken.
    by_turn: BTreeMap<u64, Arc<Notify>>,
    next_turn: u64,
    /// Somebody waits for a slot.
    is_one_wanted: bool,
}

/// What an open connection holds.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    /// `None` while a request is being answered.
    silence: Mutex<Option<Silence>>,
    taken: Arc<Notify>,
    /// The semaphore is never closed. If it were, the connection would not be counted.
    _permit: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Silence {
    turn: u64,
    since: Instant,
}

impl Slots {
    pub(crate) fn new(connections: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(connections)), silent: Mutex::default() })
    }

    /// A slot for a new connection. Waits only while requests are being answered on all others.
    pub(crate) async fn take(self: &Arc<Self>) -> Slot {
        let permit = if let Ok(permit) = self.free.clone().try_acquire_owned() {
            Some(permit)
        } else {
            self.want_one();
            let permit = self.free.clone().acquire_owned().await.ok();
            self.silent.lock().is_one_wanted = false;
            permit
        };
        let slot =
            Slot { slots: self.clone(), silence: Mutex::default(), taken: Arc::default(), _permit: permit };
        slot.fall_silent();
        slot
    }

    fn want_one(&self) {
        let mut silent = self.silent.lock();
        silent.is_one_wanted = true;
        if let Some((_, taken)) = silent.by_turn.pop_first() {
            taken.notify_one();
        }
    }
}

impl Slot {
    /// A request has arrived. Until it is answered, nobody takes the slot.
    pub(crate) fn begin_answer(&self) {
        if let Some(Silence { turn, .. }) = self.silence.lock().take() {
            self.slots.silent.lock().by_turn.remove(&turn);
        }
    }

    /// Whatever the client does from here on, it does not need the room: it takes the answer, or thinks. Returns whether
    /// somebody waits for a slot, so that the connection shall end with this answer.
    pub(crate) fn fall_silent(&self) -> bool {
        let mut silence = self.silence.lock();
        let mut silent = self.slots.silent.lock();
        let turn = silent.next_turn;
        silent.next_turn += 1;
        silent.by_turn.insert(turn, self.taken.clone());
        *silence = Some(Silence { turn, since: Instant::now() });
        silent.is_one_wanted
    }

    /// Until the connection has to end: somebody else took its slot, or it was silent for so long.
    pub(crate) async fn until_lost(&self, longest_silence: Duration) {
        loop {
            let silence = *self.silence.lock();
            let since = silence.map_or_else(Instant::now, |silence| silence.since);
            tokio::select! {
                () = self.taken.notified() => {
                    // A request may have arrived in the same moment. Then the connection ends with its answer.
                    if self.silence.lock().is_some() {
                        return;
                    }
                }
                () = sleep_until(since + longest_silence) => {
                    if silence.is_some() && *self.silence.lock() == silence {
                        return;
                    }
                }
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.begin_answer();
    }
}
