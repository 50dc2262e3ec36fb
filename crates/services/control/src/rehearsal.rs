//! The order that marks a room for a rehearsal, and what a marked room refuses.

use document::words;
use waitroom::ports::{LineLength, PortResult, RoomReader, StatusBoard};
use waitroom::{AuditSubject, AuditedChange, Author, LineCount, Mode, RehearsalMark, Room, Timestamp};

use crate::change::change_unless;
use crate::reply::Reply;
use crate::store::OperatorStore;

/// Marks the room, unless something speaks against it.
pub(crate) async fn begin(
    store: &impl OperatorStore,
    mark: RehearsalMark,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let ledger = store.ledger();
    if let Some(refusal) = not_rehearsed(&*ledger.room_now().await?) {
        return Ok(Reply::failed(refusal));
    }
    let waiting = store.line().waiting().await?;
    if waiting > 0 {
        return Ok(Reply::failed(format!(
            "has {}, and a rehearsal needs an empty line: its end removes every place. Wait until nobody waits, or empty it \
             with `beekeeper reset`",
            words::things(waiting, "waiting visitor")
        )));
    }
    let uncounted = uncounted(store, now).await?;
    if uncounted > 0 {
        return Ok(Reply::failed(format!(
            "may have up to {} whom SQS does not count yet, and a rehearsal needs an empty line: try again when nobody has \
             joined for three minutes",
            words::things(uncounted, "waiting visitor")
        )));
    }
    let set = move |room: &mut Room| room.rehearsal = Some(mark);
    let attempt = "mark the room for a rehearsal";
    change_unless(ledger, attempt, AuditSubject::Rehearsal, who, not_rehearsed, set).await
}

/// Why the room may not be rehearsed, whoever waits in it. Completes the sentence "the room ...".
fn not_rehearsed(room: &Room) -> Option<String> {
    if let Some(marked) = refusal(room) {
        return Some(marked);
    }
    if !(room.takes_newcomers() && room.releases()) {
        return Some(not_on(room));
    }
    if let mode @ (Mode::Overflow | Mode::Observe) = room.settings.mode {
        return Some(format!(
            "lets newcomers straight in, and a rehearsal is of the line: order `beekeeper mode line` first, and \
             `beekeeper mode {mode}` after it"
        ));
    }
    if room.stock.is_some() {
        return Some(
            "lets in only so many more, and the visitors of a rehearsal would count; first withdraw that: \
             `beekeeper close --never`"
                .into(),
        );
    }
    let extra = room.extra?;
    Some(format!("releases {}, and a rehearsal measures the rate; rehearse from then on", extra.told()))
}

/// How many wait at most in a line that counts nobody: on AWS, it counts visitors some minutes after they joined.
async fn uncounted(store: &impl OperatorStore, now: Timestamp) -> PortResult<u64> {
    // A store that counts who joins also counts the line exactly.
    if store.line().joined().await?.is_some() {
        return Ok(0);
    }
    let count = LineCount { counted: 0, issued: store.line().issued().await?, found_empty: false };
    Ok(count.waiting(store.ledger().progress().await?.reached, now))
}

/// Why the room may not be opened or rehearsed. Completes the sentence "the room ...".
pub(crate) fn refusal(room: &Room) -> Option<String> {
    left_in(room, "its visitors have places")
}

/// Why a room that is marked for a rehearsal refuses something. Completes the sentence "the room ...".
pub(crate) fn left_in(room: &Room, why: &str) -> Option<String> {
    room.rehearsal.map(|_| {
        format!(
            "is in a rehearsal that is under way or was left behind, and {why}; to end it: `beekeeper reset`"
        )
    })
}

/// Why a room that is not on may not be rehearsed.
fn not_on(room: &Room) -> String {
    let state = room.state;
    match room.opens {
        Some(opens) => format!(
            "is {state} until it opens at {opens}, and a rehearsal needs a room that is on: turn it on with `beekeeper on`, and \
             after the rehearsal set the opening again with `beekeeper on --at`"
        ),
        None => {
            format!("is {state}, and a rehearsal needs a room that is on: turn it on with `beekeeper on`")
        }
    }
}

/// Whether this change turns the room on, now or later. One that stays as it is, or opens when it was to, is not turned on.
pub(crate) fn would_open(change: &AuditedChange, room: &Room) -> bool {
    let AuditedChange::State(change) = change else { return false };
    let after = change.after();
    let opens_now = after.state.switches().releases && after.state != room.state;
    opens_now || (after.opens.is_some() && after.opens != room.opens)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitroom::Rate;

    use super::*;
    use crate::Order;
    use crate::fixture::{WaitingRoom, rehearse};

    fn marked() -> WaitingRoom {
        let store = WaitingRoom::empty();
        assert!(matches!(store.execute(rehearse()), Reply::Changed { .. }));
        assert_eq!(store.room().rehearsal, Some("abcdefghijkmnpqr".parse().unwrap()));
        store
    }

    #[test]
    fn a_rehearsal_needs_an_empty_line_and_a_room_that_is_on() {
        let crowded = WaitingRoom::new();
        assert!(crowded.refused(rehearse()).starts_with("has 7 waiting visitors"));
        let paused = WaitingRoom::empty();
        paused.execute(Order::Pause);
        assert!(paused.refused(rehearse()).starts_with("is paused, "));
        paused.execute(Order::OpenAt { at: Timestamp::from_millis(1_800_000_000_000) });
        let opening = paused.refused(rehearse());
        assert!(opening.starts_with("is paused until it opens at 2027-01-15 08:00:00 UTC"), "{opening}");
        assert_eq!(paused.room().rehearsal, None);
    }

    #[test]
    fn an_order_that_comes_meanwhile_is_named_as_one_before() {
        let store = WaitingRoom::interrupted(|room| room.settings.mode = Mode::Overflow);
        store.interrupt();
        let error = store.refused(rehearse());
        assert!(error.contains("order `beekeeper mode line` first"), "{error}");
        assert_eq!(store.room().rehearsal, None);
    }

    #[test]
    fn visitors_whom_the_line_does_not_count_yet_keep_their_places() {
        let late =
            |last, seconds_ago| WaitingRoom::counting_late(last, Duration::from_secs(seconds_ago), 4100);
        let error = late(4105, 170).refused(rehearse());
        assert!(error.starts_with("may have up to 5 waiting visitors"), "{error}");
        for (last, seconds_ago) in [(4105, 190), (4100, 1)] {
            assert!(matches!(late(last, seconds_ago).execute(rehearse()), Reply::Changed { .. }), "{last}");
        }
    }

    #[test]
    fn a_marked_room_is_not_opened_nor_rehearsed_again_until_its_reset() {
        let store = marked();
        let at = Timestamp::from_millis(1_800_000_000_000);
        let again = Order::Rehearse { mark: "rrrrrrrrrrrrrrrr".parse().unwrap() };
        for order in [Order::On, Order::OpenAt { at }, again.clone()] {
            let error = store.refused(order);
            assert!(error.ends_with("to end it: `beekeeper reset`"), "{error}");
        }
        store.execute(Order::SetRate { rate: Rate::MAX });
        store.execute(Order::Pause);
        let number = store.last_entry();
        assert!(store.refused(Order::Undo { number }).contains("`beekeeper reset`"));
        store.execute(Order::Reset { epoch: "cd34".parse().unwrap() });
        assert!(matches!(store.execute(Order::On), Reply::Changed { .. }));
        assert!(matches!(store.execute(again), Reply::Changed { .. }));
    }

    #[test]
    fn an_order_that_opened_nothing_is_taken_back_in_a_marked_room() {
        let store = marked();
        let before = store.room().standing();
        let at = Timestamp::from_millis(1_800_000_000_000);
        for order in [Order::CloseAt { at, notice: None, then_off: true }, Order::EndAt { at, notice: None }]
        {
            store.execute(order.clone());
            let reply = store.execute(Order::Undo { number: store.last_entry() });
            assert!(matches!(reply, Reply::Changed { .. }), "{order:?}: {reply:?}");
            assert_eq!(store.room().standing(), before);
        }
        store.execute(Order::Close { notice: None, then_off: false });
        let undo = Order::Undo { number: store.last_entry() };
        assert!(store.refused(undo).contains("`beekeeper reset`"), "newcomers could join again");
    }

    #[test]
    fn a_marked_room_lets_nobody_straight_in() {
        let store = marked();
        let error = store.refused(Order::Mode { mode: Mode::Overflow });
        assert!(error.starts_with("is in a rehearsal") && error.ends_with("`beekeeper reset`"), "{error}");
        assert_eq!(store.room().settings.mode, Mode::Line);
        assert!(matches!(store.execute(Order::Mode { mode: Mode::Line }), Reply::Changed { .. }));
    }

    #[test]
    fn a_rehearsal_is_not_taken_back() {
        let store = marked();
        let error = store.refused(Order::Undo { number: store.last_entry() });
        assert_eq!(error, waitroom::NothingToUndo::Rehearsal.to_string());
    }
}
