//! The orders that an operator gives a room, and the replies. They are the same on one machine and on AWS.
//!
//! [`execute`] carries out an [`Order`] over the ports that every store implements. How an order gets there differs, and each
//! way is a [`Transport`]: on one machine it goes through the [socket](SocketRoom) of the process that has the store open; on
//! AWS the operator's own process opens the store and calls [`execute`] itself. Whoever gives the order sees an
//! [`OperatedRoom`].

mod ability;
mod active;
mod change;
mod changes;
mod closing;
mod consequence;
mod course;
#[cfg(any(test, feature = "fixtures"))]
pub mod example;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod frozen;
mod help;
mod helped_visitor;
mod history_line;
mod key_lines;
mod mode;
mod opening_time;
mod operated_room;
mod order;
mod rehearsal;
mod release;
mod reply;
mod socket;
mod status;
mod status_lines;
mod store;
mod transport;
mod typed_time;
mod undo;
pub mod wording;

use std::time::Duration;

use waitroom::ports::{
    AuditTrail, Fault, KeyAdmin, KeyBoard, MinuteLog, PortError, PortResult, RoomAdmin, RoomReader,
};
use waitroom::{AuditSubject, Author, KeyOrder, Room, RoomState, Timestamp};

pub use ability::Ability;
pub use active::ActiveStatus;
use change::{change, change_unless};
use closing::When;
pub use consequence::Consequence;
pub use course::{Course, Reading};
pub use helped_visitor::HelpedVisitor;
pub use history_line::{HistoryLine, entry_text, minute_line};
pub use key_lines::{key_json, key_line, other_key};
pub use mode::mode_refusal;
pub use operated_room::{ChangedRoom, ControlError, OperatedRoom};
pub use order::Order;
pub use reply::Reply;
pub use socket::{RunningRoom, SocketError, SocketFailure, SocketRoom, UpkeepOrder, UpkeepReply};
pub use status::{Alarm, AlarmChange, AlarmMail, AlarmMailState, AlarmState, Status, WindowCount};
pub use status_lines::{StatusLine, finding_mark, state_mark};
pub use store::{OperatorLedger, OperatorStore};
pub use transport::{Advise, Answer, EntriesByMinute, Transport, TransportError};
pub use typed_time::TypedTime;
pub use undo::UndoableOrder;

/// Carries out an order by `who`. [`Order::On`], [`Order::OpenAt`], [`Order::Pause`], [`Order::Close`],
/// [`Order::End`] and [`Order::Off`] work from every state of the room. The reply to a change says it if nobody knows whether the
/// change was made.
pub async fn execute(
    store: &impl OperatorStore,
    order: Order,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let changes_nothing = order.changes_nothing();
    let replied = carry_out(store, order, who, now).await;
    if changes_nothing { replied } else { replied.or_else(unless_unsure) }
}

/// The reply to a change that failed. An error if it certainly was not made.
fn unless_unsure(error: PortError) -> PortResult<Reply> {
    if error.fault == Fault::Unsure { Ok(Reply::unsure(&error)) } else { Err(error) }
}

async fn carry_out(
    store: &impl OperatorStore,
    order: Order,
    who: Author,
    now: Timestamp,
) -> PortResult<Reply> {
    let ledger = store.ledger();
    Ok(match order {
        Order::Status => Reply::Status(Box::new(Status::of(store, now).await?)),
        Order::Reset { epoch } => {
            let before = ledger.room().await?.epoch;
            let lost_places = ledger.start_epoch(epoch, who).await?;
            Reply::Reset { lost_places, before, after: epoch }
        }
        Order::SetRate { rate } => {
            let set = move |room: &mut Room| room.settings.rate = rate;
            change(ledger, "set the rate", AuditSubject::Rate, who, set).await?
        }
        Order::Release { visitors } => {
            let refusal = move |room: &Room| release::refusal(room, visitors);
            let release = move |room: &mut Room| room.release_more(visitors);
            change_unless(ledger, "release more", AuditSubject::State, who, refusal, release).await?
        }
        Order::Mode { mode } => {
            let refusal = move |room: &Room| mode_refusal(room, mode);
            let set = move |room: &mut Room| room.settings.mode = mode;
            change_unless(ledger, "set the mode", AuditSubject::Mode, who, refusal, set).await?
        }
        Order::Message { text } => {
            let set = move |room: &mut Room| room.settings.message.clone_from(&text);
            change(ledger, "set the message", AuditSubject::Message, who, set).await?
        }
        Order::Stretch { factor } => {
            let set = move |room: &mut Room| room.stretch = factor;
            change(ledger, "stretch the polls", AuditSubject::Stretch, who, set).await?
        }
        Order::Pause => change(ledger, "pause the room", AuditSubject::State, who, Room::pause).await?,
        Order::On => {
            let turn_on = |room: &mut Room| room.turn(RoomState::On);
            change_unless(ledger, "turn the room on", AuditSubject::State, who, rehearsal::refusal, turn_on)
                .await?
        }
        Order::OpenAt { at } => {
            let open = move |room: &mut Room| room.open_at(at);
            let refusal =
                move |room: &Room| rehearsal::refusal(room).or_else(|| closing::not_opening_at(room, at));
            change_unless(ledger, "set when the room opens", AuditSubject::State, who, refusal, open).await?
        }
        Order::Close { notice, then_off } => closing::close(ledger, When::Now, notice, then_off, who).await?,
        Order::CloseAt { at, notice, then_off } => {
            closing::close(ledger, When::At(at), notice, then_off, who).await?
        }
        Order::CloseAfter { size, notice } => closing::close_after(ledger, size, notice, who).await?,
        Order::CloseNever => closing::close(ledger, When::Never, None, false, who).await?,
        Order::End { notice } => closing::end(ledger, When::Now, notice, who).await?,
        Order::EndAt { at, notice } => closing::end(ledger, When::At(at), notice, who).await?,
        Order::EndNever => closing::end(ledger, When::Never, None, who).await?,
        Order::Off => {
            let turn_off = |room: &mut Room| room.turn(RoomState::Off);
            change(ledger, "turn the room off", AuditSubject::State, who, turn_off).await?
        }
        Order::Rehearse { mark } => rehearsal::begin(store, mark, who, now).await?,
        Order::Undo { number } => undo::execute(ledger, number, who, now).await?,
        Order::History { most } => Reply::History { entries: ledger.entries(most).await? },
        Order::Minutes { since } => Reply::Minutes { records: ledger.minutes(since).await? },
        Order::Find { code } => help::find(ledger, code, now).await?,
        Order::Admit { code } => help::admit(ledger, code, who, now).await?,
        Order::Keys => Reply::Keys { record: ledger.key_record().await? },
        Order::RotateKeys => order_keys(ledger, KeyOrder::ROTATE, who).await?,
        Order::RotateKeysAhead { seconds } => {
            let lead_time = Duration::from_secs(seconds.into());
            order_keys(ledger, KeyOrder::Rotate { lead_time }, who).await?
        }
        Order::DropKey { id } => order_keys(ledger, KeyOrder::Drop { id }, who).await?,
        Order::GuardKey { digest } => {
            let set = move |room: &mut Room| room.report_key = Some(digest.clone());
            let attempt = "give the guards another report key";
            change_unless(ledger, attempt, AuditSubject::GuardKey, who, active::counts_nobody, set).await?
        }
    })
}

async fn order_keys(ledger: &impl KeyAdmin, order: KeyOrder, who: Author) -> PortResult<Reply> {
    Ok(match ledger.order_keys(order, who).await? {
        Ok(record) => Reply::Keys { record },
        Err(refusal) => Reply::failed(refusal.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_executor::block_on;
    use pass::KeyRefusal;
    use serde_json::json;
    use waitroom::{Message, Mode, Rate, Stretch};

    use super::*;
    use crate::fixture::{WaitingRoom, rehearse};

    #[test]
    fn on_pause_and_off_work_from_every_state() {
        let store = WaitingRoom::new();
        for first in [Order::On, Order::Pause, Order::Off] {
            for (second, expected) in
                [(Order::On, RoomState::On), (Order::Pause, RoomState::Paused), (Order::Off, RoomState::Off)]
            {
                store.execute(first.clone());
                store.execute(second.clone());
                assert_eq!(store.room().state, expected, "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn an_opening_is_withdrawn_by_on_pause_and_off_and_kept_by_every_other_order() {
        let store = WaitingRoom::new();
        let at = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(
            serde_json::to_value(Order::OpenAt { at }).unwrap(),
            json!({ "order": "open-at", "at": 1_800_000_000_000_u64 })
        );
        for order in [Order::On, Order::Pause, Order::Off] {
            store.execute(Order::OpenAt { at });
            assert_eq!(store.room().opens, Some(at));
            store.execute(order.clone());
            assert_eq!(store.room().opens, None, "{order:?}");
        }
        store.execute(Order::OpenAt { at });
        for order in [
            Order::SetRate { rate: Rate::MAX },
            Order::Message { text: "Soon".parse().unwrap() },
            Order::Stretch { factor: Stretch::MAX },
            Order::Reset { epoch: "cd34".parse().unwrap() },
        ] {
            store.execute(order.clone());
            assert_eq!(store.room().opens, Some(at), "{order:?}");
        }
    }

    #[test]
    fn a_change_replies_with_before_and_after() {
        let store = WaitingRoom::new();
        let rate = Rate::new(600).unwrap();
        let Reply::Changed { before, after } = store.execute(Order::SetRate { rate }) else {
            panic!("not a change")
        };
        assert_eq!((before.settings.rate.get(), after.settings.rate.get()), (300, 600));
        let text: Message = "Soon".parse().unwrap();
        store.execute(Order::Message { text: text.clone() });
        store.execute(Order::Stretch { factor: Stretch::MAX });
        let epoch = "cd34".parse().unwrap();
        let reset = store.execute(Order::Reset { epoch });
        let before = "ab12".parse().unwrap();
        assert_eq!(reset, Reply::Reset { lost_places: 7, before, after: epoch });
        let room = store.room();
        assert_eq!((&room.settings.message, room.stretch, room.epoch), (&text, Stretch::MAX, epoch));
    }

    #[test]
    fn a_mode_can_be_taken_back_and_a_room_without_a_line_is_not_rehearsed() {
        let store = WaitingRoom::new();
        store.execute(Order::Mode { mode: Mode::Overflow });
        assert_eq!(store.room().settings.mode, Mode::Overflow);
        let error = store.refused(rehearse());
        assert!(
            error.contains("`beekeeper mode line` first, and `beekeeper mode overflow` after it"),
            "{error}"
        );
        let Reply::History { entries } = store.execute(Order::History { most: 1 }) else {
            panic!("no history")
        };
        assert_eq!(entries[0].change.to_string(), "mode: line -> overflow");
        store.execute(Order::Undo { number: entries[0].number });
        assert_eq!(store.room().settings.mode, Mode::Line);
    }

    #[test]
    fn a_room_that_observes_has_no_stock_and_no_rehearsal() {
        let (store, size) = (WaitingRoom::empty(), "7".parse().unwrap());
        let (observe, sell) = (Order::Mode { mode: Mode::Observe }, Order::CloseAfter { size, notice: None });
        store.execute(observe.clone());
        assert!(store.refused(sell.clone()).contains("beekeeper mode line"));
        assert!(store.refused(rehearse()).contains("beekeeper mode observe"));
        let status = store.status();
        assert_eq!(status.observed, Some(waitroom::ObservedLine::default()));
        store.execute(Order::Mode { mode: Mode::Line });
        store.execute(sell);
        assert!(store.refused(observe.clone()).contains("beekeeper close --never"));
        assert_eq!(store.room().settings.mode, Mode::Line);
        store.execute(Order::CloseNever);
        store.execute(rehearse());
        assert!(store.refused(observe).contains("beekeeper reset"));
    }

    #[test]
    fn a_status_has_this_json_and_reads_back() {
        let status = WaitingRoom::new().status();
        let expected =
            json!({ "served": 35, "passed": 17, "disorder": 0, "waiting": 7, "rate": 300, "slow": false });
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!((&json["line"], &json["released"]), (&expected, &json!(31)));
        assert_eq!(json["wait"], 2, "seven visitors at 300 a minute, and nobody is promised less");
        assert_eq!((&json["joined"], &json["longest_wait"]), (&json!(38), &json!(90)));
        assert_eq!(
            json["windows"],
            json!([{
                "number": 12, "released": 31, "planned": 300,
                "start": 1_699_999_940_000_u64, "end": 1_700_000_000_000_u64,
            }])
        );
        for only_if_any in [
            "refusals",
            "refusals_missing",
            "limited",
            "dead_letters",
            "alarms",
            "alarms_missing",
            "alarm_mail",
        ] {
            assert_eq!(json.get(only_if_any), None);
        }
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
    }

    #[test]
    fn the_history_of_the_line_has_this_json_and_reads_back() {
        let minutes = WaitingRoom::new().execute(Order::Minutes { since: WaitingRoom::MINUTE });
        let record = json!({
            "at": 1_699_999_700_000_u64, "epoch": "ab12", "joined": 38, "released": 31, "entered": null, "waiting": 7,
            "rate": null, "rehearsal": true, "longest_wait": null,
        });
        let json = serde_json::to_value(&minutes).unwrap();
        assert_eq!(json, json!({ "reply": "minutes", "records": [record] }));
        assert_eq!(serde_json::from_value::<Reply>(json).unwrap(), minutes);
    }

    #[test]
    fn orders_about_the_keys_reply_with_the_keys_after_them() {
        let store = WaitingRoom::new();
        let refused = Reply::failed(KeyRefusal::NoKeys.to_string());
        assert_eq!(store.execute(Order::RotateKeys), refused);
        let id = store.publish_key();
        let Reply::Keys { record } = store.execute(Order::RotateKeys) else { panic!("no keys") };
        assert!(record.is_asked_for_another());
        assert_eq!(store.execute(Order::Keys), Reply::Keys { record });
        let order = Order::DropKey { id };
        let json = serde_json::to_value(&order).unwrap();
        assert_eq!(serde_json::from_value::<Order>(json).unwrap(), order);
        let reply = store.execute(order);
        let json = serde_json::to_value(&reply).unwrap();
        assert_eq!((&json["reply"], &json["record"]["keys"]), (&json!("keys"), &json!([])));
        assert_eq!(serde_json::from_value::<Reply>(json).unwrap(), reply);
    }

    #[test]
    fn a_failure_replies_with_its_cause() {
        let error = PortError::new("set the rate", Fault::Busy, "the disk is full");
        let expected = Reply::failed("could not set the rate: the disk is full");
        assert_eq!(Reply::from(error), expected);
        assert_eq!(serde_json::to_value(expected).unwrap().get("may_be_done"), None);
    }

    #[test]
    fn an_order_whose_outcome_is_not_known_says_so() {
        let failed = |fault| unless_unsure(PortError::new("end the room", fault, "the connection was reset"));
        assert!(failed(Fault::Busy).is_err() && failed(Fault::Broken).is_err());
        let reply = failed(Fault::Unsure).unwrap();
        let json = json!({
            "reply": "failed", "may_be_done": true,
            "error": "may have carried out the order, or not: the connection was reset",
        });
        assert_eq!(serde_json::to_value(&reply).unwrap(), json);
        let room = OperatedRoom { name: "sale".parse().unwrap(), transport: Arc::new(Replying(reply)) };
        let told = block_on(room.change(Order::End { notice: None })).unwrap_err();
        assert!(matches!(told, ControlError::Unsure { .. }), "{told:?}");
        assert_eq!(
            told.to_string(),
            "the room sale may have carried out the order, or not: the connection was reset"
        );
    }

    #[test]
    fn who_ordered_what_is_known_without_the_alarms() {
        let reply = Reply::History { entries: Vec::new() };
        let room = OperatedRoom { name: "sale".parse().unwrap(), transport: Arc::new(Replying(reply)) };
        let (lines, missing) = block_on(room.history(20)).unwrap();
        assert!(lines.is_empty());
        assert_eq!(missing.unwrap().to_string(), "CloudWatch refuses");
    }

    /// A room that replies this to everything, and whose alarms nobody may read.
    #[derive(Debug)]
    struct Replying(Reply);

    impl Transport for Replying {
        fn execute(&self, _: Order) -> Answer<'_, Reply> {
            Box::pin(std::future::ready(Ok(self.0.clone())))
        }

        fn alarm_changes(&self, _: u16) -> Answer<'_, Vec<AlarmChange>> {
            Box::pin(std::future::ready(Err("CloudWatch refuses".into())))
        }
    }
}
