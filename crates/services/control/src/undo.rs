//! Takes the last order back.
//!
//! An order can be taken back once. Repeated undos go back order by order: an undo, and what it took back, are skipped.
//! An undo is never taken back itself, so no undo repeats an order. A reset ends that, because the places are gone.

use std::sync::Arc;

use waitroom::ports::PortResult;
use waitroom::{AuditEntry, AuditNote, AuditedChange, Author, NothingToUndo, Room, Standing, Timestamp};

use crate::change::change_noted_unless;
use crate::mode::mode_refusal;
use crate::rehearsal;
use crate::reply::Reply;
use crate::store::OperatorLedger;

/// The order that an undo takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoableOrder {
    /// Its number in the audit trail.
    pub number: u64,
    pub change: AuditedChange,
    /// The change that takes it back.
    pub reverted: AuditedChange,
}

impl UndoableOrder {
    /// The last order that changed something and was not taken back. `entries` are oldest first.
    pub fn last(entries: &[AuditEntry]) -> Result<Self, NothingToUndo> {
        let taken_back: Vec<_> = entries.iter().filter_map(|entry| entry.undoes).collect();
        let stands = |entry: &&AuditEntry| {
            entry.change.is_change() && entry.undoes.is_none() && !taken_back.contains(&entry.number)
        };
        let orders = entries.iter().rev().filter(stands).map(|entry| (entry, entry.change.reverted()));
        let last = orders.into_iter().find(|(_, reverted)| *reverted != Err(NothingToUndo::NoOrder));
        let (last, reverted) = last.ok_or(NothingToUndo::NoOrder)?;
        let reverted = reverted?;
        if brings_back_a_stock(entries.iter().filter(|entry| entry.number >= last.number)) {
            return Err(NothingToUndo::Stock);
        }
        Ok(Self { number: last.number, change: last.change.clone(), reverted })
    }

    /// Where this room goes if it's taken back `now`: what was ahead then may be past. `None` if it can't be.
    pub(crate) fn leads_to(&self, room: &Room, now: Timestamp) -> Option<Arc<Room>> {
        let mut back = room.clone();
        self.reverted.apply(&mut back).then(|| Arc::new(back).at(now))
    }
}

/// Whether after the first of these entries nobody counted for its stock any more: somebody may have been let in.
fn brings_back_a_stock<'a>(mut since: impl Iterator<Item = &'a AuditEntry>) -> bool {
    let Some(AuditedChange::State(ended)) = since.next().map(|entry| &entry.change) else { return false };
    let (before, mut standing) = (ended.before(), ended.after());
    let counts_nobody = |standing: &Standing| standing.stock != before.stock;
    let may_let_in = |standing: &Standing| {
        let is_open = standing.state.switches().releases || standing.state.lets_everybody_through();
        (is_open || standing.opens.is_some()) && counts_nobody(standing)
    };
    before.stock.is_some()
        && (may_let_in(&standing)
            || since.any(|entry| match &entry.change {
                AuditedChange::State(change) => {
                    standing = change.after();
                    may_let_in(&standing)
                }
                // The room may have ended by itself before.
                AuditedChange::LetIn { .. } => counts_nobody(&standing.clone().at(entry.at)),
                AuditedChange::Rate { .. }
                | AuditedChange::Mode { .. }
                | AuditedChange::Message { .. }
                | AuditedChange::Stretch { .. }
                | AuditedChange::Reset { .. }
                | AuditedChange::Throttle { .. }
                | AuditedChange::Rehearsal { .. }
                | AuditedChange::KeyRotation { .. }
                | AuditedChange::KeyDrop { .. }
                | AuditedChange::SoldOut { .. }
                | AuditedChange::GuardKey { .. } => false,
            }))
}

pub(crate) async fn execute(
    ledger: &impl OperatorLedger,
    number: u64,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let order = match UndoableOrder::last(&ledger.entries(AuditEntry::KEPT).await?) {
        Ok(order) => order,
        Err(nothing) => return Ok(Reply::failed(nothing.to_string())),
    };
    if order.number != number {
        let other = "got another order meanwhile; look at `beekeeper history`, and undo again";
        return Ok(Reply::failed(other));
    }
    let UndoableOrder { change, reverted, .. } = order;
    let note = AuditNote { undoes: Some(number), ..AuditNote::new(who, reverted.subject()) };
    let to_apply = reverted.clone();
    let refusal = move |room: &Room| refusal(room, &change, &reverted, now);
    let revert = move |room: &mut Room| _ = to_apply.apply(room);
    change_noted_unless(ledger, "take the last order back", note, refusal, revert).await
}

/// Why the room may not go back from this change. Completes the sentence "the room ...".
fn refusal(room: &Room, change: &AuditedChange, reverted: &AuditedChange, now: Timestamp) -> Option<String> {
    let contradicts = match reverted {
        AuditedChange::Mode { to, .. } => mode_refusal(room, *to),
        _ if rehearsal::would_open(reverted, room) => rehearsal::refusal(room),
        _ => None,
    };
    contradicts.or_else(|| {
        let mut back = room.clone();
        let why = if !reverted.apply(&mut back) {
            went_on(reverted, room).unwrap_or_else(|| "something else has changed that since".into())
        } else if lets_in_uncounted(room, &back) {
            "its stock would come back, and nobody has counted whom the room let in since; order what is \
             left: `beekeeper close --after`, after `beekeeper on --at TIME` if the room is off"
                .into()
        } else if *Arc::new(back).at(now) == *room {
            format!("without it the room would be {} by now, too", room.state)
        } else {
            return None;
        };
        Some(format!("cannot take back the last order ({change}), because {why}"))
    })
}

/// Whether somebody may be let in without counting for a stock that the room would go `back` to: it may have turned off by itself.
fn lets_in_uncounted(room: &Room, back: &Room) -> bool {
    let lets_in = room.releases() || room.lets_everybody_through();
    lets_in && back.stock.is_some() && back.stock != room.stock
}

/// What the room has gone on to since the order, perhaps not by it: then nothing is left to take back.
fn went_on(reverted: &AuditedChange, room: &Room) -> Option<String> {
    let AuditedChange::State(change) = reverted else { return None };
    if change.before().extra.is_some() && room.extra.is_none() && change.from == room.state {
        return Some("its minute is over".into());
    }
    (change.from != room.state).then(|| {
        let since = format!("the room is {} since, perhaps not by that order", room.state);
        if room.takes_newcomers() && room.releases() {
            return since;
        }
        format!("{since}; to let visitors join the line and be let in: `beekeeper on`")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_executor::block_on;
    use waitroom::ports::ThrottleStore;
    use waitroom::{ActiveLimit, Mode, Notice, Rate, RoomState};

    use super::*;
    use crate::fixture::{NOW, WaitingRoom};
    use crate::{Consequence, Order};

    fn set_rate(store: &WaitingRoom, per_minute: u32) {
        store.execute(Order::SetRate { rate: Rate::new(per_minute).unwrap() });
    }

    fn entries(store: &WaitingRoom) -> Vec<AuditEntry> {
        match store.execute(Order::History { most: AuditEntry::KEPT }) {
            Reply::History { entries } => entries,
            other => panic!("{other:?}"),
        }
    }

    /// What a person sees: the room's rate, or why nothing was taken back.
    fn undo(store: &WaitingRoom) -> Result<u32, String> {
        let order = UndoableOrder::last(&entries(store)).map_err(|nothing| nothing.to_string())?;
        match store.execute(Order::Undo { number: order.number }) {
            Reply::Changed { after, .. } => Ok(after.settings.rate.get()),
            Reply::Failed { error, .. } => Err(error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn repeated_undos_go_back_order_by_order_and_repeat_none() {
        let store = WaitingRoom::new();
        set_rate(&store, 600);
        set_rate(&store, 6000);
        set_rate(&store, 6000);
        assert_eq!(undo(&store), Ok(600), "the order that changed nothing is skipped");
        set_rate(&store, 60);
        assert_eq!([undo(&store), undo(&store)], [Ok(600), Ok(300)]);
        let nothing = Err(NothingToUndo::NoOrder.to_string());
        assert_eq!([undo(&store), undo(&store)], [nothing.clone(), nothing]);
        let undoes: Vec<_> = entries(&store).iter().map(|entry| entry.undoes).collect();
        assert_eq!(undoes, [None, None, None, Some(2), None, Some(5), Some(1)]);
    }

    /// An undo that passed over it would take back an order that its operator has forgotten.
    #[test]
    fn a_key_for_guards_is_not_passed_over() {
        let store = WaitingRoom::new();
        set_rate(&store, 600);
        let mut entries = entries(&store);
        let change = AuditedChange::GuardKey { to: "5e".into() };
        entries.push(AuditEntry::beside_room(2, NOW, Author::new("anna"), change));
        assert_eq!(UndoableOrder::last(&entries), Err(NothingToUndo::GuardKey));
    }

    #[test]
    fn every_order_but_a_reset_is_taken_back() {
        let store = WaitingRoom::new();
        let ordered = || {
            let room = store.room();
            (room.settings.clone(), room.state, room.opens, room.stretch)
        };
        let first = ordered();
        let orders = [
            Order::SetRate { rate: Rate::MAX },
            Order::Message { text: "Soon".parse().unwrap() },
            Order::Stretch { factor: waitroom::Stretch::MAX },
            Order::Pause,
            Order::OpenAt { at: NOW + Duration::from_hours(1) },
            Order::OpenAt { at: NOW + Duration::from_hours(2) },
            Order::Off,
        ];
        for order in &orders {
            store.execute(order.clone());
        }
        for _ in &orders {
            undo(&store).unwrap();
        }
        assert_eq!(ordered(), first);
        store.execute(Order::Pause);
        store.execute(Order::Reset { epoch: "cd34".parse().unwrap() });
        assert_eq!(undo(&store), Err(NothingToUndo::Reset.to_string()));
        set_rate(&store, 7);
        assert_eq!(undo(&store), Ok(300), "an order after the reset");
        assert_eq!(undo(&store), Err(NothingToUndo::Reset.to_string()));
        assert_eq!(store.room().state, RoomState::Paused);
    }

    #[test]
    fn an_undo_that_would_hit_another_order_is_refused() {
        let store = WaitingRoom::new();
        set_rate(&store, 600);
        set_rate(&store, 700);
        let refused = |number| store.refused(Order::Undo { number });
        assert!(refused(1).starts_with("got another order meanwhile"));
        // By a version of Beekeeper that keeps no audit trail.
        store.ledger.change_room(|room| room.settings.rate = Rate::MIN);
        assert_eq!(
            refused(2),
            "cannot take back the last order (rate: 600 -> 700), because something else has changed that since"
        );
        assert_eq!(entries(&store).len(), 2);
    }

    #[test]
    fn an_order_about_the_keys_is_not_taken_back() {
        let store = WaitingRoom::new();
        let id = store.publish_key();
        for order in [Order::RotateKeys, Order::DropKey { id }] {
            store.execute(order);
            assert_eq!(undo(&store), Err(NothingToUndo::Keys.to_string()));
            set_rate(&store, 7);
            assert_eq!(undo(&store), Ok(300), "an order after it");
        }
    }

    fn close_after(size: u32) -> Order {
        Order::CloseAfter { size: size.try_into().unwrap(), notice: None }
    }

    #[test]
    fn a_stock_comes_back_only_as_long_as_everybody_let_in_has_counted() {
        let store = WaitingRoom::new();
        store.execute(close_after(9));
        let selling = store.room().standing();
        for order in [Order::Pause, Order::End { notice: None }] {
            store.execute(order);
            undo(&store).unwrap();
            assert_eq!(store.room().standing(), selling);
        }
        let refused = Err(NothingToUndo::Stock.to_string());
        for order in [close_after(20), Order::CloseNever, Order::Off] {
            store.execute(close_after(9));
            store.execute(order);
            assert_eq!(undo(&store), refused);
        }
        store.execute(Order::Pause);
        store.execute(close_after(9));
        store.execute(Order::CloseNever);
        undo(&store).unwrap();
        store.execute(Order::CloseNever);
        store.execute(Order::On);
        undo(&store).unwrap();
        assert_eq!(undo(&store), refused, "it was on meanwhile");
    }

    #[test]
    fn a_stock_does_not_come_back_after_somebody_was_let_in_by_hand_without_it() {
        let let_in_after = |orders: &[Order]| {
            let store = WaitingRoom::new();
            let code = store.ask_for_help(38, NOW);
            for order in [Order::Pause, close_after(9)].iter().chain(orders) {
                store.execute(order.clone());
            }
            assert!(matches!(store.execute(Order::Admit { code }), Reply::Visitor { .. }));
            undo(&store).map(|_| store.room().stock.is_some())
        };
        assert_eq!(let_in_after(&[Order::CloseNever]), Err(NothingToUndo::Stock.to_string()));
        assert_eq!(let_in_after(&[Order::On]), Ok(true), "they counted");

        let (store, ends) = (WaitingRoom::new(), NOW + Duration::from_hours(1));
        let code = store.ask_for_help(38, NOW);
        store.execute(close_after(9));
        store.execute(Order::EndAt { at: ends, notice: None });
        let with_let_in = |at| {
            let (mut entries, change) = (entries(&store), AuditedChange::LetIn { ticket: 38, code });
            entries.push(AuditEntry::beside_room(3, at, Author::new("anna"), change));
            UndoableOrder::last(&entries).map(|order| order.number)
        };
        assert_eq!(with_let_in(NOW), Ok(2), "they counted");
        assert_eq!(with_let_in(ends), Err(NothingToUndo::Stock), "the room had ended by itself");
    }

    #[test]
    fn a_stock_does_not_come_back_into_a_room_that_turned_off_by_itself() {
        let store = WaitingRoom::new();
        store.execute(close_after(9));
        store.execute(Order::Close { notice: None, then_off: true });
        assert_eq!((store.room().stock.is_some(), store.room().then_off), (true, true));
        store.ledger.change_room(|room| room.set_quiet(true));
        let refused = undo(&store).unwrap_err();
        assert!(refused.contains("because its stock would come back"), "{refused}");
        assert_eq!((store.room().state, store.room().stock), (RoomState::Off, None));
    }

    #[test]
    fn what_a_stock_led_to_is_taken_back_with_its_order() {
        let store = WaitingRoom::new();
        let before = store.room().standing();
        store.execute(close_after(9));
        let stock = store.room().stock.unwrap();
        store.sell_out(stock);
        assert_eq!((store.room().state, entries(&store).len()), (RoomState::Ended, 2));
        undo(&store).unwrap();
        assert_eq!(store.room().standing(), before);
    }

    #[test]
    fn a_room_that_went_on_by_itself_is_not_opened_by_taking_back_something_else() {
        let store = WaitingRoom::new();
        store.execute(close_after(9));
        store.execute(Order::EndAt { at: NOW + Duration::from_hours(1), notice: None });
        store.sell_out(store.room().stock.unwrap());
        let refused = undo(&store).unwrap_err();
        assert!(refused.starts_with("cannot take back the last order (room: on -> on, ends "), "{refused}");
        let advice = "because the room is ended since, perhaps not by that order; to let visitors join the line and \
                      be let in: `beekeeper on`";
        assert!(refused.ends_with(advice), "{refused}");
        assert_eq!(store.room().state, RoomState::Ended);

        let store = WaitingRoom::new();
        for text in ["Full", "Sold out"] {
            let notice = Notice { text: text.parse().unwrap(), link: None };
            store.execute(Order::Close { notice: Some(notice), then_off: true });
        }
        store.ledger.change_room(|room| room.set_quiet(true));
        let refused = undo(&store).unwrap_err();
        assert!(refused.contains("because the room is off since"), "{refused}");
        assert_eq!(store.room().state, RoomState::Off);
    }

    #[test]
    fn what_the_room_would_have_done_by_itself_is_not_taken_back() {
        let store = WaitingRoom::new();
        let opens = NOW + Duration::from_hours(1);
        set_rate(&store, 600);
        store.execute(Order::OpenAt { at: opens });
        store.execute(Order::On);
        let order = UndoableOrder::last(&entries(&store)).unwrap();
        let refused = |now| refusal(&store.room(), &order.change, &order.reverted, now);
        assert_eq!(refused(opens - Duration::from_secs(1)), None);
        let refused = refused(opens).unwrap();
        assert!(refused.starts_with("cannot take back the last order (room: paused, opens "), "{refused}");
        assert!(
            refused.ends_with(" -> on), because without it the room would be on by now, too"),
            "{refused}"
        );
    }

    #[test]
    fn an_undo_asks_about_where_it_leads_by_now() {
        let asked = |orders: &[Order], minutes| {
            let (store, now) = (WaitingRoom::new(), NOW + Duration::from_mins(minutes));
            for order in orders {
                store.execute(order.clone());
            }
            let mut status = store.status();
            status.room = Room::clone(&store.room().at(now));
            let last = UndoableOrder::last(&entries(&store)).unwrap();
            Consequence::of_undo(&last, &status, now).map(|asked| asked.question)
        };
        let after = |hours| NOW + Duration::from_hours(hours);
        let open_at = |hours| Order::OpenAt { at: after(hours) };
        let close_at = |hours| Order::CloseAt { at: after(hours), notice: None, then_off: false };
        let end_at = |hours| Order::EndAt { at: after(hours), notice: None };
        let close = Order::Close { notice: None, then_off: false };
        for (orders, minutes, question) in [
            (vec![end_at(1), end_at(2)], 59, None),
            (vec![end_at(1), end_at(2)], 90, Some("End the room?")),
            (vec![open_at(1), end_at(2)], 180, Some("Let them in?")),
            (vec![close_at(1), close_at(2)], 90, Some("Close the room?")),
            (vec![Order::Mode { mode: Mode::Observe }, open_at(1), open_at(2)], 90, Some("Let them in?")),
            (vec![close, Order::Pause], 90, None),
        ] {
            assert_eq!(asked(&orders, minutes).as_deref(), question, "{orders:?}, after {minutes} min");
        }
    }

    #[test]
    fn an_opening_does_not_come_back_into_a_rehearsal_that_began_meanwhile() {
        let store = WaitingRoom::interrupted(|room| {
            room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
        });
        store.execute(Order::OpenAt { at: NOW + Duration::from_hours(1) });
        store.execute(Order::On);
        let number = store.last_entry();
        // It has read the room, and not changed it yet.
        store.interrupt();
        let error = store.refused(Order::Undo { number });
        assert!(error.ends_with("to end it: `beekeeper reset`"), "{error}");
        let room = store.room();
        assert!(room.rehearsal.is_some());
        assert_eq!((room.state, room.opens), (RoomState::On, None));
    }

    #[test]
    fn a_mode_that_the_room_refuses_by_now_does_not_come_back() {
        let store = WaitingRoom::new();
        for mode in [Mode::Overflow, Mode::Line] {
            store.execute(Order::Mode { mode });
        }
        let (idle, session) = (Duration::from_mins(20), Duration::from_mins(90));
        // By the room's file.
        let limit = ActiveLimit { visitors: 100, idle, session };
        store.ledger.change_room(|room| room.settings.active = Some(limit));
        let refused = undo(&store).unwrap_err();
        assert!(refused.starts_with("counts its active visitors as they leave the line"), "{refused}");
        assert_eq!(store.room().settings.mode, Mode::Line);
    }

    #[test]
    fn an_undo_that_another_order_overtakes_takes_nothing_back() {
        let store = WaitingRoom::interrupted(|room| room.settings.rate = Rate::MIN);
        set_rate(&store, 600);
        let number = store.last_entry();
        store.interrupt();
        let error = store.refused(Order::Undo { number });
        assert_eq!(
            error,
            "cannot take back the last order (rate: 300 -> 600), because something else has changed that since"
        );
        assert_eq!(store.room().settings.rate, Rate::MIN);
    }

    #[test]
    fn a_decision_of_the_throttle_is_not_taken_back() {
        let store = WaitingRoom::new();
        set_rate(&store, 600);
        block_on(store.ledger.hold(Some(Rate::MIN))).unwrap();
        assert_eq!(entries(&store).len(), 2);
        assert_eq!(undo(&store), Ok(300));
    }
}
