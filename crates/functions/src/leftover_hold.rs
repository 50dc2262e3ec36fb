use std::error::Error;

use waitroom::ports::{RoomReader, ThrottleStore};

/// Lets the room go on at its rate, if the throttle that it had holds it down. A run of it may outlive the update that removes the
/// throttle, and write what it found after the room was set up without. Nothing else would end that.
pub async fn end_leftover_hold(ledger: &(impl RoomReader + ThrottleStore)) {
    let is_held = ledger.room().await.is_ok_and(|room| room.throttled.is_some());
    if !is_held {
        return;
    }
    if let Err(error) = ledger.hold(None).await {
        let error = &error as &dyn Error;
        tracing::warn!(
            error,
            "could not end what a throttle that was removed has left; the next minute does it"
        );
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;
    use memory::{LineBehaviour, MemoryLedger, MemoryLine};
    use waitroom::{Rate, Timestamp, ValveSchedule, fixture};

    use super::*;

    #[test]
    fn what_a_removed_throttle_has_left_is_ended() {
        let line = MemoryLine::new(|| Timestamp::from_millis(1_000), 1, LineBehaviour::default());
        let ledger = MemoryLedger::new(line, fixture::room(300), ValveSchedule::LEAD_TIME_OF_FUNCTIONS);
        block_on(async {
            ledger.hold(Some(Rate::MIN)).await.unwrap();
            end_leftover_hold(&ledger).await;
            let room = ledger.room().await.unwrap();
            assert_eq!((room.throttled, room.rate()), (None, room.settings.rate));
        });
    }
}
