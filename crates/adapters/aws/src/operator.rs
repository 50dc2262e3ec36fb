//! What the operator does, and what a deployment needs.
//!
//! What the operator decides is in `room`, for the functions, and in the sixteen `status` items, for polls. Both are
//! written together or not at all, so that nobody is told what does not hold.

use std::sync::Arc;
use std::time::Duration;

use clock::SystemClock;
use futures_util::future;
use waitroom::ports::{Clock, Fault, LineLength, PortError, PortResult, RoomAdmin};
use waitroom::{Epoch, Room};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, Ledgered, item, number};
use crate::keys::Key;
use crate::retry::persistently;
use crate::room_item::{encode_first_status, encode_room, encode_status};
use crate::table::Write;

/// How often a change is tried while others change the room, or publish its progress.
const ROUNDS: u32 = 8;

/// SQS may take along whoever joins within a minute after a purge was asked for.
const PURGE_TAKES: Duration = Duration::from_mins(1);

impl AwsStore {
    /// Puts everything into the ledger that a room needs and that is not there, and returns the room that
    /// holds: `first`, or the one that was there before.
    pub async fn found(&self, first: &Room) -> PortResult<Room> {
        let attempt = "put the room into the ledger";
        self.table.put(attempt, encode_room(first), expressions::absent()).await?;
        let room = self.read_room(attempt).await?;
        let progress = Ledgered { served: 0, latest: 0, released: 0, before_epoch: 0 };
        let tickets = item(Key::Tickets, [("last", number(0u64))]);
        let statuses = Key::STATUS.map(|digit| encode_first_status(digit, &room));
        let puts = statuses
            .chain([progress.encode(), tickets])
            .map(|item| self.table.put(attempt, item, expressions::absent()));
        for put in future::join_all(puts).await {
            put?;
        }
        Ok(room)
    }

    /// Changes the room, and returns it as it was and as it is.
    ///
    /// The change is made again on what another change left, so it may only say what is to be, as in "paused".
    pub async fn change_room(
        &self,
        attempt: &'static str,
        change: impl Fn(&mut Room) + Send,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        self.alter(attempt, change, encode_status, Vec::new).await
    }

    /// Empties the line and begins a new epoch: whoever waited is a newcomer then, and numbers begin at 1.
    /// Returns roughly how many lost their places.
    ///
    /// Takes a minute, during which the room goes on as it was: a newcomer of the new epoch must not be
    /// taken along by the purge.
    pub async fn reset(&self, epoch: Epoch, clock: &impl Clock) -> PortResult<u64> {
        let waiting = self.waiting().await?;
        let purge = self.line.client.purge_queue().queue_url(&self.line.url);
        let purged = persistently(|| purge.clone().send()).await;
        purged.map_err(|trouble| trouble.while_trying_to("empty the line"))?;
        clock.sleep_until(clock.now() + PURGE_TAKES).await;
        let begin = |room: &mut Room| room.epoch = epoch;
        let counts = || {
            vec![
                Write::Update(Key::Progress, expressions::begin_progress()),
                Write::Update(Key::Tickets, expressions::begin_tickets()),
            ]
        };
        self.alter("begin a new epoch", begin, encode_first_status, counts).await?;
        Ok(waiting)
    }

    async fn alter(
        &self,
        attempt: &'static str,
        change: impl Fn(&mut Room) + Send,
        status: fn(u8, &Room) -> Item,
        besides: impl Fn() -> Vec<Write> + Send,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        let mut busy = None;
        for _ in 0..ROUNDS {
            let before = self.read_room(attempt).await?;
            let mut after = before.clone();
            change(&mut after);
            after.version = before.version.saturating_add(1);
            let mut writes = besides();
            writes.push(write_room(&before, &after));
            writes.extend(Key::STATUS.map(|digit| {
                Write::Update(Key::Status(digit), expressions::change(&status(digit, &after), &[], None))
            }));
            match self.table.write_together(attempt, writes).await {
                Ok(true) => return Ok((Arc::new(before), Arc::new(after))),
                // Somebody else changed the room first: once more, on what they left.
                Ok(false) => {}
                Err(error) if error.fault == Fault::Busy => busy = Some(error),
                Err(error) => return Err(error),
            }
        }
        let others = "others keep changing it, or the ledger is incomplete; deploy the stack again";
        Err(busy.unwrap_or_else(|| PortError::new(attempt, Fault::Busy, others)))
    }
}

impl RoomAdmin for AwsStore {
    async fn change(
        &self,
        attempt: &'static str,
        change: impl Fn(&mut Room) + Send + 'static,
    ) -> PortResult<(Arc<Room>, Arc<Room>)> {
        self.change_room(attempt, change).await
    }

    async fn start_epoch(&self, epoch: Epoch) -> PortResult<u64> {
        self.reset(epoch, &SystemClock).await
    }
}

/// Writes what is the operator's. How far the throttle holds the rate is not, unless this change says so.
fn write_room(before: &Room, after: &Room) -> Write {
    let mut set = encode_room(after);
    let mut remove = Vec::new();
    if after.settings.health.is_none() {
        remove.push("health");
    }
    if before.throttled == after.throttled {
        set.remove("throttled");
    } else if after.throttled.is_none() {
        remove.push("throttled");
    }
    Write::Update(Key::Room, expressions::change(&set, &remove, Some(before.version)))
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, RoomState, Settings};

    use super::*;

    fn room() -> Room {
        let settings = Settings::new(
            "sale".parse().unwrap(),
            "Sale".parse().unwrap(),
            "https://shop.example".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        let url = "https://room.example".parse().unwrap();
        Room::new(settings, url, "ab12".parse().unwrap())
    }

    fn update(before: &Room, after: &Room) -> String {
        match write_room(before, after) {
            Write::Update(Key::Room, statement) => statement.update,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_change_leaves_to_the_throttle_what_is_the_throttles() {
        let held = Room { throttled: Some(Rate::MIN), ..room() };
        let paused = Room { state: RoomState::Paused, ..held.clone() };
        assert!(!update(&held, &paused).contains("throttled"));
        assert!(update(&held, &room()).ends_with("REMOVE #health, #throttled"));
        assert!(update(&room(), &held).contains("#throttled = :throttled"));
    }
}
