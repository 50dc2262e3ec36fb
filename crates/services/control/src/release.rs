//! The order that releases more than the rate allows, and what contradicts it.

use document::words;
use waitroom::{ExtraSize, Rate, Room, RoomState};

use crate::rehearsal;

/// Why the room doesn't release so many more. Completes the sentence "the room ...".
pub(crate) fn refusal(room: &Room, visitors: ExtraSize) -> Option<String> {
    if let Some(why) = releases_nobody(room) {
        return Some(why);
    }
    if let Some(marked) = rehearsal::left_in(room, "it measures the rate") {
        return Some(marked);
    }
    if let Some(extra) = room.extra {
        return Some(format!("releases {}; order more from then on", extra.told()));
    }
    let rate = room.rate();
    let left = Rate::MAX.get() - rate.get();
    (visitors.get() > left).then(|| {
        let (rate, most, left) = (
            words::count(rate.get().into()),
            words::count(Rate::MAX.get().into()),
            words::count(left.into()),
        );
        format!("lets in {rate} a minute, and no room more than {most}: release at most {left}")
    })
}

/// Why it has nobody to release.
fn releases_nobody(room: &Room) -> Option<String> {
    if room.observes() {
        return Some(
            "observes: everybody goes straight to the shop, and nobody waits; to let them wait: `beekeeper mode line`"
                .into(),
        );
    }
    if room.releases() {
        return (room.quiet && room.lets_straight_in()).then(|| {
            "lets newcomers straight in, because nobody waits; to let more in at once: `beekeeper set-rate`".into()
        });
    }
    Some(match (room.state, room.opens) {
        (RoomState::Off, _) => {
            "is off: everybody goes straight to the shop, and nobody waits; first turn it on: `beekeeper on`"
                .into()
        }
        (RoomState::Ended, _) => {
            "is ended: nobody is let in any more; to let people in again: `beekeeper on`".into()
        }
        (_, Some(opens)) => {
            format!(
                "opens at {opens}, and nobody is let in before; release more then, or open it now: `beekeeper on`"
            )
        }
        (RoomState::ClosedPaused, _) => {
            "is closed-paused: nobody is let in; first let those in who wait: `beekeeper close`".into()
        }
        (state, _) => format!("is {state}: nobody is let in; first turn it on: `beekeeper on`"),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitroom::{Mode, StockSize, Timestamp};

    use super::*;
    use crate::fixture::{NOW, WaitingRoom, rehearse};
    use crate::{Order, Reply};

    const UNTIL: Timestamp = Timestamp::from_millis(NOW.as_millis() + 61_000);

    fn release(visitors: u32) -> Order {
        Order::Release { visitors: ExtraSize::new(visitors).unwrap() }
    }

    fn changed(store: &WaitingRoom, order: Order) -> Room {
        match store.execute(order) {
            Reply::Changed { after, .. } => *after,
            reply => panic!("{reply:?}"),
        }
    }

    fn refused(store: &WaitingRoom, order: Order) -> String {
        let before = store.room();
        let error = store.refused(order);
        assert_eq!(store.room(), before);
        error
    }

    #[test]
    fn a_release_is_beside_the_rate_and_goes_by_itself() {
        let store = WaitingRoom::new();
        let room = changed(&store, release(50));
        let extra = room.extra.unwrap();
        // The millisecond is its own.
        assert!((UNTIL..UNTIL + Duration::from_millis(100)).contains(&extra.until), "{}", extra.until);
        let rates: Vec<_> =
            room.valves.all_after(Timestamp::default()).map(|it| it.valve.rate().unwrap().get()).collect();
        assert_eq!((rates, room.rate().get(), room.pace_of_line().get()), (vec![350, 300], 300, 300));
        let error = refused(&store, release(1));
        assert!(error.starts_with("releases 50 more until "), "{error}");
        let later = std::sync::Arc::new(room).at(extra.until);
        assert_eq!((later.extra, refusal(&later, extra.visitors)), (None, None));
    }

    #[test]
    fn a_room_that_releases_nobody_says_which_order_helps() {
        let end = || Order::End { notice: None };
        let close = || Order::Close { notice: None, then_off: false };
        let opens = Order::OpenAt { at: NOW + Duration::from_hours(1) };
        for (orders, why, helps) in [
            (vec![Order::Off], "is off: ", "`beekeeper on`"),
            (vec![Order::Pause], "is paused: ", "`beekeeper on`"),
            (vec![opens], "opens at ", "`beekeeper on`"),
            (vec![close(), Order::Pause], "is closed-paused: ", "`beekeeper close`"),
            (vec![end()], "is ended: ", "`beekeeper on`"),
            (vec![Order::Mode { mode: Mode::Observe }], "observes: ", "`beekeeper mode line`"),
        ] {
            let store = WaitingRoom::new();
            for order in orders {
                changed(&store, order);
            }
            let error = refused(&store, release(50));
            assert!(error.starts_with(why) && error.ends_with(helps), "{error}");
        }
        let store = WaitingRoom::new();
        changed(&store, Order::Mode { mode: Mode::Overflow });
        assert!(changed(&store, release(50)).extra.is_some(), "a line has formed");
        let store = WaitingRoom::new();
        changed(&store, Order::Mode { mode: Mode::Overflow });
        store.ledger.change_room(|room| room.set_quiet(true));
        assert!(refused(&store, release(50)).ends_with("`beekeeper set-rate`"));
    }

    #[test]
    fn no_minute_has_more_than_the_highest_rate() {
        let store = WaitingRoom::new();
        let error = refused(&store, release(269_701));
        assert_eq!(error, "lets in 300 a minute, and no room more than 270,000: release at most 269,700");
        assert_eq!(changed(&store, release(269_700)).valve().rate(), Some(Rate::MAX));
    }

    #[test]
    fn a_release_and_a_rehearsal_exclude_each_other() {
        let store = WaitingRoom::empty();
        changed(&store, release(50));
        let error = refused(&store, rehearse());
        assert!(error.starts_with("releases 50 more until "), "{error}");
        let store = WaitingRoom::empty();
        changed(&store, rehearse());
        assert!(refused(&store, release(50)).starts_with("is in a rehearsal"));
    }

    #[test]
    fn it_is_taken_back_while_it_lasts_and_a_pause_ends_it() {
        let store = WaitingRoom::new();
        let undo = |store: &WaitingRoom| store.execute(Order::Undo { number: store.last_entry() });
        let before = store.room();
        changed(&store, release(50));
        assert!(matches!(undo(&store), Reply::Changed { .. }));
        assert_eq!((store.room().extra, store.room().valve()), (None, before.valve()));

        let extra = changed(&store, release(50)).extra;
        assert_eq!(changed(&store, Order::Pause).extra, None);
        undo(&store);
        assert_eq!(store.room().extra, extra, "as it was");
        changed(&store, Order::CloseAfter { size: StockSize::MAX, notice: None });
        assert_eq!(store.room().valve().rate().map(Rate::get), Some(350), "until nothing is left");
    }

    #[test]
    fn a_release_that_is_over_is_not_taken_back_nor_an_order_before_it() {
        let store = WaitingRoom::new();
        changed(&store, Order::SetRate { rate: Rate::MIN });
        changed(&store, release(50));
        let number = store.last_entry();
        store.ledger.change_room(|room| room.extra = None);
        let error = refused(&store, Order::Undo { number });
        assert!(
            error.starts_with("cannot take back the last order (release: none -> 50 more until "),
            "{error}"
        );
        assert!(error.ends_with("), because its minute is over"), "{error}");
    }
}
