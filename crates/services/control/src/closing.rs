//! The orders that close and end a room, and what contradicts what: docs/cli.md has the table.

use waitroom::ports::PortResult;
use waitroom::{AuditSubject, Author, Mode, Notice, Room, RoomState, StockSize, Timestamp};

use crate::change::change_unless;
use crate::rehearsal;
use crate::reply::Reply;
use crate::store::OperatorLedger;

/// When a room is to close or to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    At(Timestamp),
    Never,
}

pub(crate) async fn close(
    ledger: &impl OperatorLedger,
    when: When,
    notice: Option<Notice>,
    then_off: bool,
    who: Author,
) -> PortResult<Reply> {
    let attempt = match when {
        When::Now => "close the room",
        When::At(_) => "set when the room closes",
        When::Never => "withdraw when the room closes",
    };
    let refusal = move |room: &Room| match when {
        When::Now => None,
        When::At(at) => not_closing_at(room, at),
        When::Never => not_withdrawing(room),
    };
    let only_tells = notice.is_some() && !then_off;
    let close = move |room: &mut Room| {
        match when {
            When::Now if only_tells && room.state.turns_newcomers_away() => {}
            When::Now => room.turn(RoomState::Closed),
            When::At(at) => room.closes = Some(at),
            When::Never => (room.closes, room.then_off, room.stock) = (None, false, None),
        }
        room.then_off |= then_off;
        tell(room, notice.as_ref());
    };
    change_unless(ledger, attempt, AuditSubject::State, who, refusal, close).await
}

/// Lets in so many more, and then ends the room.
pub(crate) async fn close_after(
    ledger: &impl OperatorLedger,
    size: StockSize,
    notice: Option<Notice>,
    who: Author,
) -> PortResult<Reply> {
    let sell = move |room: &mut Room| {
        room.sell(size);
        tell(room, notice.as_ref());
    };
    change_unless(ledger, "set how many more are let in", AuditSubject::State, who, not_selling, sell).await
}

pub(crate) async fn end(
    ledger: &impl OperatorLedger,
    when: When,
    notice: Option<Notice>,
    who: Author,
) -> PortResult<Reply> {
    let attempt = match when {
        When::Now => "end the room",
        When::At(_) => "set when the room ends",
        When::Never => "withdraw when the room ends",
    };
    let refusal = move |room: &Room| match when {
        When::Now => None,
        When::At(at) => not_ending_at(room, at),
        When::Never => not_withdrawing(room),
    };
    let end = move |room: &mut Room| {
        match when {
            When::Now => room.turn(RoomState::Ended),
            When::At(at) => room.ends = Some(at),
            When::Never => room.ends = None,
        }
        tell(room, notice.as_ref());
    };
    change_unless(ledger, attempt, AuditSubject::State, who, refusal, end).await
}

fn tell(room: &mut Room, notice: Option<&Notice>) {
    if let Some(notice) = notice {
        room.notice.clone_from(notice);
    }
}

// Each completes the sentence "the room …".

/// Why a room does not close at this instant.
fn not_closing_at(room: &Room, at: Timestamp) -> Option<String> {
    let state = room.state;
    if room.lets_everybody_through() {
        return Some(
            "is off: everybody goes straight to the shop, and nobody joins; first turn it on: `beekeeper on`"
                .into(),
        );
    }
    if !room.takes_newcomers() {
        return Some(format!(
            "is {state}: nobody new can join already; to let people join until then: `beekeeper on`"
        ));
    }
    if let Some(opens) = room.opens.filter(|opens| *opens >= at) {
        return Some(format!("opens at {opens}, and cannot close before that; choose a later time"));
    }
    let ends = room.ends.filter(|ends| *ends <= at)?;
    Some(format!(
        "ends at {ends}, and nobody can join from then on; choose an earlier time, or first withdraw that: `beekeeper end --never`"
    ))
}

/// Why a room does not end after so many more.
fn not_selling(room: &Room) -> Option<String> {
    if room.lets_everybody_through() {
        return Some(
            "is off: everybody goes straight to the shop, and nobody counts them; first say when it opens: `beekeeper on --at TIME`"
                .into(),
        );
    }
    if room.settings.mode == Mode::Observe {
        return Some(
            "observes: everybody goes straight to the shop, whatever is left; first let them wait: `beekeeper mode line`"
                .into(),
        );
    }
    rehearsal::left_in(room, "its visitors would count")
}

/// Why a room does not end at this instant.
fn not_ending_at(room: &Room, at: Timestamp) -> Option<String> {
    if room.is_over() {
        return Some("is ended already; to let people in until then: `beekeeper on`".into());
    }
    if room.lets_everybody_through() {
        return Some(
            "is off: everybody goes straight to the shop, and nobody waits; first turn it on: `beekeeper on`"
                .into(),
        );
    }
    if let Some(opens) = room.opens.filter(|opens| *opens >= at) {
        return Some(format!("opens at {opens}, and cannot end before that; choose a later time"));
    }
    let closes = room.closes.filter(|closes| *closes >= at)?;
    Some(format!(
        "closes at {closes}, and cannot end before that; choose a later time, or first withdraw that{}: `beekeeper close --never`",
        and_the_stock(room)
    ))
}

/// Why a room does not withdraw its closing or its end: it came a moment before the order, perhaps because the stock was sold.
fn not_withdrawing(room: &Room) -> Option<String> {
    room.is_over().then(|| "is ended already; to let people in again: `beekeeper on`".into())
}

/// Why a room does not open at this instant.
pub(crate) fn not_opening_at(room: &Room, at: Timestamp) -> Option<String> {
    let too_early = |instant: Option<Timestamp>, does: &str, also: &str, order: &str| {
        let instant = instant.filter(|instant| *instant <= at)?;
        Some(format!(
            "{does} at {instant}, and cannot open after that; choose an earlier time, or first withdraw that{also}: `beekeeper {order} --never`"
        ))
    };
    too_early(room.closes, "closes", and_the_stock(room), "close")
        .or_else(|| too_early(room.ends, "ends", "", "end"))
}

/// What `close --never` withdraws beside the closing.
fn and_the_stock(room: &Room) -> &'static str {
    if room.stock.is_some() { " and the stock" } else { "" }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitroom::Standing;

    use super::*;
    use crate::Order;
    use crate::fixture::{NOW, WaitingRoom, rehearse};

    fn notice(text: &str) -> Notice {
        Notice { text: text.parse().unwrap(), link: Some("https://shop.example/next".parse().unwrap()) }
    }

    fn hours(hours: u64) -> Timestamp {
        NOW + Duration::from_hours(hours)
    }

    fn close() -> Order {
        Order::Close { notice: None, then_off: false }
    }

    fn close_at(at: Timestamp) -> Order {
        Order::CloseAt { at, notice: None, then_off: false }
    }

    fn close_after(size: u32) -> Order {
        Order::CloseAfter { size: size.try_into().unwrap(), notice: None }
    }

    fn end_at(at: Timestamp) -> Order {
        Order::EndAt { at, notice: None }
    }

    /// After these orders, none of which is refused.
    fn after(orders: &[Order]) -> (WaitingRoom, Standing) {
        let store = WaitingRoom::new();
        for order in orders {
            let reply = store.execute(order.clone());
            assert!(matches!(reply, Reply::Changed { .. }), "{order:?}: {reply:?}");
        }
        let standing = store.room().standing();
        (store, standing)
    }

    fn refused(orders: &[Order], order: Order) -> String {
        let (store, before) = after(orders);
        let error = store.refused(order);
        assert_eq!(store.room().standing(), before);
        error
    }

    #[test]
    fn close_and_end_work_from_every_state_and_no_place_is_lost() {
        let notice = Some(notice("Sold out"));
        for first in [Order::On, Order::Pause, Order::Off, close(), Order::End { notice: None }] {
            let (store, _) = after(&[first.clone(), Order::Close { notice: notice.clone(), then_off: true }]);
            let room = store.room();
            assert_eq!(
                (room.state, room.then_off, Some(&room.notice)),
                (RoomState::Closed, true, notice.as_ref())
            );
            let (store, ended) = after(&[first, Order::End { notice: notice.clone() }]);
            assert_eq!((ended.state, ended.then_off), (RoomState::Ended, false));
            let status = store.status();
            assert_eq!((status.line.waiting, status.wait), (7, None));
        }
    }

    #[test]
    fn a_pause_of_a_closed_room_lets_nobody_new_in() {
        assert_eq!(after(&[close(), Order::Pause]).1.state, RoomState::ClosedPaused);
        assert_eq!(after(&[close(), Order::Pause, close()]).1.state, RoomState::Closed);
        assert_eq!(after(&[close(), Order::Pause, Order::On]).1.state, RoomState::On);
    }

    #[test]
    fn the_notice_stays_until_another_one_is_given_or_newcomers_may_join() {
        let close_with = |text: &str| Order::Close { notice: Some(notice(text)), then_off: false };
        let text = |orders: &[Order]| after(orders).1.notice.text.to_string();
        assert_eq!(text(&[close_with("Full"), Order::End { notice: None }]), "Full");
        assert_eq!(text(&[close_with("Full"), Order::End { notice: Some(notice("Gone")) }]), "Gone");
        assert_eq!(text(&[close_with("Full"), Order::On, close()]), "");
        assert_eq!(text(&[close_with("Full"), Order::End { notice: Some(Notice::default()) }]), "");
    }

    #[test]
    fn another_text_changes_the_text_and_lets_nobody_in() {
        let tell = |text| Order::Close { notice: Some(notice(text)), then_off: false };
        let closed = Order::Close { notice: Some(notice("Full")), then_off: true };
        let ended = Order::End { notice: Some(notice("Gone")) };
        for orders in [vec![closed.clone()], vec![closed.clone(), Order::Pause], vec![ended]] {
            let (_, before) = after(&orders);
            let (_, told) = after(&[&orders[..], &[tell("Sold out")]].concat());
            assert_eq!(told, Standing { notice: notice("Sold out"), ..before }, "{orders:?}");
        }
        assert!(after(&[closed.clone(), close()]).1.then_off, "it is not withdrawn by the way");
        assert!(!after(&[closed.clone(), Order::CloseNever]).1.then_off);
        let at = |hour, then_off| Order::CloseAt { at: hours(hour), notice: None, then_off };
        let (_, moved) = after(&[at(1, true), at(2, false)]);
        assert_eq!((moved.closes, moved.then_off), (Some(hours(2)), true));
        assert!(!after(&[closed, Order::On, close()]).1.then_off, "`on` forgets it");
    }

    #[test]
    fn an_opening_a_closing_and_an_end_go_together() {
        let open_at = Order::OpenAt { at: hours(1) };
        let in_any_order = [
            [open_at.clone(), close_at(hours(2)), end_at(hours(3))],
            [end_at(hours(3)), open_at.clone(), close_at(hours(2))],
            [close_at(hours(2)), end_at(hours(3)), open_at],
        ];
        for orders in in_any_order {
            let (_, standing) = after(&orders);
            assert_eq!(standing.state, RoomState::Paused);
            assert_eq!(
                (standing.opens, standing.closes, standing.ends),
                (Some(hours(1)), Some(hours(2)), Some(hours(3)))
            );
            let by_itself = [1, 2, 3].map(|hour| standing.clone().at(hours(hour)).state.as_str());
            assert_eq!(by_itself, ["on", "closed", "ended"]);
        }
        let (_, kept) = after(&[close_at(hours(2)), Order::Pause, Order::On]);
        assert_eq!(kept.closes, Some(hours(2)), "a pause in between does not keep the room open");
        let both = [close_at(hours(2)), end_at(hours(3)), Order::CloseNever];
        assert_eq!((after(&both).1.closes, after(&both).1.ends), (None, Some(hours(3))));
        assert_eq!(after(&[&both[..], &[Order::EndNever]].concat()).1.ends, None);
    }

    #[test]
    fn a_stock_goes_together_with_all_that_is_ahead_and_is_withdrawn_with_the_closing() {
        let opens = Order::OpenAt { at: hours(1) };
        for orders in [
            vec![opens.clone(), close_at(hours(2)), close_after(5000), end_at(hours(3))],
            vec![close_after(5000), Order::Pause, Order::On, close()],
            vec![close(), Order::Pause, close_after(5000)],
            vec![Order::End { notice: None }, close_after(5000)],
        ] {
            let (_, selling) = after(&orders);
            assert_eq!(selling.stock.map(|stock| stock.size.get()), Some(5000), "{orders:?}");
            let (_, withdrawn) = after(&[&orders[..], &[Order::CloseNever]].concat());
            let expected = Standing { closes: None, stock: None, ..selling };
            assert_eq!(withdrawn, expected, "{orders:?}");
            for over in [Order::Off, Order::End { notice: None }] {
                assert_eq!(after(&[&orders[..], &[over]].concat()).1.stock, None);
            }
        }
        let told = Order::CloseAfter { size: 7.try_into().unwrap(), notice: Some(notice("Sold out")) };
        let (_, standing) = after(&[told, close_after(9)]);
        assert_eq!((standing.notice, standing.stock.unwrap().size.get()), (notice("Sold out"), 9));
    }

    #[test]
    fn nobody_who_rehearses_takes_from_a_stock() {
        let store = WaitingRoom::empty();
        store.execute(rehearse());
        let error = store.refused(close_after(9));
        assert!(error.starts_with("is in a rehearsal"), "{error}");
        assert_eq!(store.room().stock, None);
    }

    #[test]
    fn what_contradicts_is_refused_with_the_reason() {
        let opens = Order::OpenAt { at: hours(2) };
        for (orders, order, why) in [
            (vec![opens.clone()], close_at(hours(2)), "opens at "),
            (vec![opens.clone()], end_at(hours(1)), "opens at "),
            (vec![close_at(hours(2))], end_at(hours(2)), "closes at "),
            (vec![end_at(hours(2))], close_at(hours(3)), "ends at "),
            (vec![close_at(hours(2))], Order::OpenAt { at: hours(3) }, "closes at "),
            (vec![end_at(hours(2))], opens, "ends at "),
            (vec![close()], close_at(hours(1)), "is closed: nobody new can join already"),
            (vec![Order::End { notice: None }], close_at(hours(1)), "is ended: "),
            (vec![Order::End { notice: None }], end_at(hours(1)), "is ended already"),
            (vec![Order::End { notice: None }], Order::CloseNever, "is ended already"),
            (vec![Order::End { notice: None }], Order::EndNever, "is ended already"),
            (vec![Order::Off], close_at(hours(1)), "is off: "),
            (
                vec![Order::Off],
                close_after(9),
                "is off: everybody goes straight to the shop, and nobody counts them; first say when it opens: `beekeeper on --at",
            ),
            (vec![close_after(9)], rehearse(), "lets in only so many more"),
            (vec![Order::Off], end_at(hours(1)), "is off: "),
        ] {
            let error = refused(&orders, order.clone());
            assert!(error.starts_with(why), "{orders:?}, then {order:?}: {error}");
        }
    }

    #[test]
    fn everything_is_taken_back_also_after_it_has_happened() {
        let (store, _) =
            after(&[Order::CloseAt { at: hours(2), notice: Some(notice("Full")), then_off: true }]);
        store.ledger.change_room(|room| room.closes = Some(NOW));
        assert_eq!(store.room().state, RoomState::Closed);
        store.execute(Order::Undo { number: store.last_entry() });
        assert_eq!(store.room().standing(), after(&[]).1);
        for order in [
            close(),
            Order::End { notice: Some(notice("Gone")) },
            close_at(hours(1)),
            end_at(hours(1)),
            close_after(9),
        ] {
            let (store, _) = after(&[]);
            let before = store.room().standing();
            store.execute(order.clone());
            store.execute(Order::Undo { number: store.last_entry() });
            assert_eq!(store.room().standing(), before, "{order:?}");
        }
    }
}
