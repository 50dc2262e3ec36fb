//! The order that marks a room for a rehearsal, and what a marked room refuses.

use std::sync::Arc;

use waitroom::ports::PortResult;
use waitroom::{AuditNote, AuditSubject, AuditedChange, Author, RehearsalMark, Room, RoomState};

use crate::reply::Reply;
use crate::store::OperatorStore;

/// Marks the room, unless something speaks against it.
pub(crate) async fn begin(store: &impl OperatorStore, mark: RehearsalMark, who: Author) -> PortResult<Reply> {
    let room = store.room_now().await?;
    if let Some(refusal) = refusal(&room) {
        return Ok(failed(refusal));
    }
    if room.state != RoomState::On {
        return Ok(failed(format!(
            "is {}, and a rehearsal needs a room that is on: `beekeeper on {}`",
            room.state, room.settings.room
        )));
    }
    let waiting = store.waiting().await?;
    if waiting > 0 {
        return Ok(failed(format!(
            "has {waiting} waiting visitors, and a rehearsal needs an empty line: its end removes every place. Wait until they \
             have entered, or empty it with `beekeeper reset {}`",
            room.settings.room
        )));
    }
    let note = AuditNote::new(who, AuditSubject::Rehearsal);
    let set = move |room: &mut Room| {
        room.rehearse(mark);
    };
    let (before, after) = store.change("mark the room for a rehearsal", note, set).await?;
    if after.rehearsal != Some(mark) {
        return Ok(failed("got another order meanwhile; look at `beekeeper history`".into()));
    }
    Ok(Reply::Changed { before: Box::new(Room::clone(&before)), after: Box::new(Room::clone(&after)) })
}

/// Turns the room on, now or later, unless a rehearsal was left in it.
pub(crate) async fn open(
    store: &impl OperatorStore,
    attempt: &'static str,
    who: Author,
    open: impl Fn(&mut Room) + Send + 'static,
) -> PortResult<Result<(Arc<Room>, Arc<Room>), Reply>> {
    if let Some(refusal) = refusal(&*store.room_now().await?) {
        return Ok(Err(failed(refusal)));
    }
    // A rehearsal that begins at the same time needs a room that is on.
    store.change(attempt, AuditNote::new(who, AuditSubject::State), open).await.map(Ok)
}

/// Why the room may not be opened or rehearsed. Completes the sentence "the room ...".
pub(crate) fn refusal(room: &Room) -> Option<String> {
    room.rehearsal.map(|_| {
        let name = &room.settings.room;
        format!("is in a rehearsal that was not ended, and its visitors have places; to end it: `beekeeper reset {name}`")
    })
}

/// Whether this change turns the room on, now or later.
pub(crate) fn would_open(change: &AuditedChange) -> bool {
    let AuditedChange::State { to, to_opens, .. } = change else { return false };
    *to == RoomState::On || to_opens.is_some()
}

fn failed(error: String) -> Reply {
    Reply::Failed { error }
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, Timestamp};

    use super::*;
    use crate::Order;
    use crate::memory_store::MemoryStore;

    fn mark() -> RehearsalMark {
        "abcdefghijkmnpqr".parse().unwrap()
    }

    fn refused(reply: Reply) -> String {
        match reply {
            Reply::Failed { error } => error,
            other => panic!("{other:?}"),
        }
    }

    fn marked() -> MemoryStore {
        let store = MemoryStore::with_waiting(0);
        assert!(matches!(store.execute(Order::Rehearse { mark: mark() }), Reply::Changed { .. }));
        assert_eq!(store.room.lock().unwrap().rehearsal, Some(mark()));
        store
    }

    #[test]
    fn a_rehearsal_needs_an_empty_line_and_a_room_that_is_on() {
        let crowded = MemoryStore::new();
        assert!(
            refused(crowded.execute(Order::Rehearse { mark: mark() })).starts_with("has 7 waiting visitors")
        );
        let paused = MemoryStore::with_waiting(0);
        paused.execute(Order::Pause);
        assert!(refused(paused.execute(Order::Rehearse { mark: mark() })).starts_with("is paused"));
        assert_eq!(paused.room.lock().unwrap().rehearsal, None);
    }

    #[test]
    fn a_marked_room_is_not_opened_nor_rehearsed_again_until_its_reset() {
        let store = marked();
        let at = Timestamp::from_millis(1_800_000_000_000);
        let again = Order::Rehearse { mark: "rrrrrrrrrrrrrrrr".parse().unwrap() };
        for order in [Order::On, Order::OpenAt { at }, again.clone()] {
            let error = refused(store.execute(order));
            assert!(error.ends_with("to end it: `beekeeper reset sale`"), "{error}");
        }
        store.execute(Order::SetRate { rate: Rate::MAX });
        store.execute(Order::Pause);
        let number = store.last_entry();
        assert!(refused(store.execute(Order::Undo { number })).contains("beekeeper reset sale"));
        store.execute(Order::Reset { epoch: "cd34".parse().unwrap() });
        assert!(matches!(store.execute(Order::On), Reply::Changed { .. }));
        assert!(matches!(store.execute(again), Reply::Changed { .. }));
    }

    #[test]
    fn a_rehearsal_is_not_taken_back() {
        let store = marked();
        let error = refused(store.execute(Order::Undo { number: store.last_entry() }));
        assert_eq!(error, crate::NothingToUndo::Rehearsal.to_string());
    }
}
