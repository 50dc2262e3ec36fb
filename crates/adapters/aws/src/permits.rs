//! The permits of those who go straight in: an item with the instant up to which time is used up, and how many went straight in.
//! While the room observes, also how many came in each slot of the last minutes. To count them is one write, on no condition.
//!
//! Taking permits is one conditional write. There are two, for use that goes on and for the first after a pause. Which one it
//! takes is guessed by what this process saw last; if the guess was wrong, the table says so.

use std::sync::atomic::Ordering;

use waitroom::ports::{NewcomerCount, PermitHolder, Permits, PortError, PortResult};
use waitroom::{CountedSlot, DoorPermits, Timestamp, UsedTime};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, Reader, decode_newcomers};
use crate::keys::Key;
use crate::table::Written;

const ATTEMPT: &str = "take a permit";
/// How often it is tried while other processes take permits.
const ATTEMPTS: u32 = 3;

impl Permits for AwsStore {
    async fn take_permits(&self, of: DoorPermits, count: u32, by: PermitHolder) -> PortResult<bool> {
        for _ in 0..ATTEMPTS {
            let (now, seen) = (self.now(), UsedTime(self.used_permits.load(Ordering::Relaxed)));
            // If nobody has taken any since, there are as many as this says, or fewer.
            if of.take(seen, count, now).is_none() {
                return Ok(false);
            }
            let take = if seen < of.earliest(now) {
                expressions::take_first_permits(&of, count, now)
            } else {
                expressions::take_next_permits(&of, count, now)
            };
            let take = match by {
                PermitHolder::Door => expressions::counting_straight(take, count),
                PermitHolder::Slice => take,
            };
            let (is_taken, item) = match self.table.update_once(ATTEMPT, Key::Permits, take).await? {
                Written::Done(item) => (true, item),
                Written::Refused(found) => {
                    let found = self.table.refused_by(ATTEMPT, Key::Permits, found).await?;
                    (false, found.unwrap_or_default())
                }
            };
            self.used_permits.fetch_max(used_in(&item)?.0, Ordering::Relaxed);
            if is_taken {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// How many slots one write forgets. There are more if the trigger did not run for long.
const FORGOTTEN: usize = 100;

impl NewcomerCount for AwsStore {
    async fn count_newcomers(&self, slot: Timestamp, count: u32) -> PortResult<()> {
        let update = expressions::count_newcomers(slot, count);
        self.table.update_once("count a newcomer", Key::Permits, update).await.map(drop)
    }

    async fn newcomers(&self) -> PortResult<Vec<CountedSlot>> {
        let slots = self.table.read("read how many came", Key::Permits, decode_newcomers).await?;
        Ok(slots.unwrap_or_default())
    }

    async fn forget_newcomers(&self, before: Timestamp) -> PortResult<()> {
        let slots = self.newcomers().await?;
        let old: Vec<_> =
            slots.iter().map(|slot| slot.from).filter(|from| *from < before).take(FORGOTTEN).collect();
        if old.is_empty() {
            return Ok(());
        }
        let update = expressions::forget_newcomers(&old);
        self.table.update("forget when newcomers came", Key::Permits, update).await.map(drop)
    }
}

/// An answer to a write has only what it changed, without the key.
fn used_in(item: &Item) -> PortResult<UsedTime> {
    let used = Reader::of_update(Key::Permits, item).optional("used", Reader::number);
    used.map(|used| UsedTime(used.unwrap_or_default())).map_err(PortError::broken(ATTEMPT))
}
