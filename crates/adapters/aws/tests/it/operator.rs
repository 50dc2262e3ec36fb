//! The operator's changes, and what a deployment writes.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use port_contracts::slices::plan_from;
use port_contracts::slices::progress;
use waitroom::ports::{
    AuditTrail, Clock, ConsumerRun, LineBack, LineLength, Plans, QuietSwitch, RoomAdmin, RoomReader, Slices,
    StatusBoard, Store, Taken, ThrottleStore, TicketCounter,
};
use waitroom::{
    AuditEntry, AuditNote, AuditSubject, Author, LineProgress, Plan, Rate, RoomState, SliceId, Stretch,
    Timestamp,
};

use crate::room::{TestRoom, first_room, now, run};

/// A clock that does not wait, and records how long it was asked to wait.
#[derive(Default)]
pub(crate) struct InstantClock(pub(crate) AtomicU64);

impl Clock for InstantClock {
    fn now(&self) -> Timestamp {
        now()
    }

    async fn sleep_until(&self, until: Timestamp) {
        let left = until.since(self.now()).as_millis();
        self.0.fetch_add(u64::try_from(left).unwrap(), Ordering::Relaxed);
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn an_existing_room_is_kept_and_missing_items_are_created() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let rate = Rate::new(77).unwrap();
        test.store.change_room("set the rate", |room| room.settings.rate = rate).await.unwrap();
        test.store.line().lease(5).await.unwrap();
        test.delete("status/9").await;
        let mut other = first_room();
        other.epoch = "zzzz".parse().unwrap();
        let room = test.store.create_room(&other).await.unwrap();
        assert_eq!((room.settings.rate, room.epoch, room.version), (rate, first_room().epoch, 1));
        assert_eq!(test.store.line().lease(1).await.unwrap(), 6);
        let healed = test.item("status/9").await.unwrap();
        assert_eq!(healed["epoch"], s("ab12"), "missing items are created for the existing room");
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_message_can_be_removed() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let clear = |room: &mut waitroom::Room| room.settings.message = "".parse().unwrap();
        test.store.change_room("remove the message", clear).await.unwrap();
        assert_eq!(test.item("status/7").await.unwrap()["message"], s(""));
        assert_eq!(test.store.room().await.unwrap().settings.message.as_str(), "");
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_change_reaches_the_functions_and_all_polls_together() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let change = |room: &mut waitroom::Room| {
            room.state = RoomState::Paused;
            room.settings.message = "It's \"on\"\n🦭".parse().unwrap();
        };
        let (before, after) = test.store.change_room("pause", change).await.unwrap();
        assert!(before.state == RoomState::On && after.state == RoomState::Paused && after.version == 1);
        assert_eq!(test.another_store().room().await.unwrap(), after);
        for digit in "0123456789abcdef".chars() {
            let item = test.item(&format!("status/{digit}")).await.unwrap();
            assert_eq!(item["state"], s("paused"));
            assert_eq!(item["message"], s(r#"It's \"on\"\n🦭"#));
            assert_eq!(item["waiting"], AttributeValue::N("0".into()), "progress stays");
        }
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn polls_know_it_when_a_closed_room_turns_off_by_itself() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let close = |room: &mut waitroom::Room| {
            room.turn(RoomState::Closed);
            room.then_off = true;
        };
        test.store.change_room("close", close).await.unwrap();
        test.store.set_quiet(true).await.unwrap();
        let room = test.another_store().room().await.unwrap();
        assert_eq!((room.state, room.then_off), (RoomState::Off, false));
        for digit in "0123456789abcdef".chars() {
            assert_eq!(test.item(&format!("status/{digit}")).await.unwrap()["state"], s("off"));
        }
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_concurrent_change_is_not_undone() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let (other, calls) = (test.another_store(), AtomicU64::new(0));
        let change_meanwhile = || {
            let other = other.clone();
            let changes = async move {
                other.change_room("stretch the polls", |room| room.stretch = Stretch::MAX).await.unwrap();
                other.hold(Some(Rate::MIN)).await.unwrap();
            };
            std::thread::spawn(|| run(changes)).join().unwrap();
        };
        let pause = |room: &mut waitroom::Room| {
            room.state = RoomState::Paused;
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                change_meanwhile();
            }
        };
        let (before, after) = test.store.change_room("pause", pause).await.unwrap();
        assert_eq!(calls.into_inner(), 2, "retried after the other change");
        assert!(
            before.stretch == Stretch::MAX
                && before.state == RoomState::On
                && after.state == RoomState::Paused
        );
        let room = test.another_store().room().await.unwrap();
        assert!(
            room.state == RoomState::Paused && room.stretch == Stretch::MAX && room.version == 3,
            "{room:?}"
        );
        assert_eq!(room.throttled, Some(Rate::MIN));
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_change_to_an_incomplete_ledger_changes_nothing() {
    run(async {
        let test = TestRoom::on_localemu().await;
        test.delete("status/9").await;
        test.store.change_room("pause", |room| room.state = RoomState::Paused).await.unwrap_err();
        assert_eq!(test.another_store().room().await.unwrap().state, RoomState::On);
        assert_eq!(test.item("status/0").await.unwrap()["state"], s("on"));
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_new_epoch_starts_with_an_empty_line_and_ticket_one() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let store = &test.store;
        assert_eq!(store.line().lease(8).await.unwrap(), 1);
        for n in 1..=3 {
            store.line().join(port_contracts::visitor::visitor(n)).await.unwrap();
        }
        let plan = |last: Option<&Plan>| plan_from(last, now(), Rate::MIN);
        let first = plan(None);
        assert!(store.write(first).await.unwrap());
        let old = SliceId { plan: 1, index: 0 };
        assert_eq!(store.take(old, ConsumerRun(1)).await.unwrap(), Taken::Here { released: 0 });
        store.record(old, progress(3, 3)).await.unwrap();
        assert_eq!(
            store.progress().await.unwrap(),
            LineProgress { reached: 3, released: 3, ..Default::default() }
        );

        let (epoch, clock) = ("next".parse().unwrap(), InstantClock::default());
        assert_eq!(store.reset(epoch, Author::new("anna"), &clock).await.unwrap(), 3);
        let waited = clock.0.into_inner();
        assert!((59_000..=60_000).contains(&waited), "newcomers must not be purged: {waited} ms");
        assert_eq!(store.line().waiting().await.unwrap(), 0);
        assert_eq!(store.line().lease(1).await.unwrap(), 1);
        let room = test.another_store().room().await.unwrap();
        assert_eq!((room.epoch, room.version), (epoch, 1));
        let status = test.item("status/c").await.unwrap();
        assert_eq!((&status["epoch"], &status["served"]), (&s("next"), &AttributeValue::N("0".into())));

        // A slice of the old epoch still records.
        store.record(old, progress(5, 5)).await.unwrap();
        assert_eq!(store.progress().await.unwrap(), LineProgress::default());
        let mut last = first;
        for number in 2..=5 {
            last = plan(Some(&last));
            assert!(store.write(last).await.unwrap(), "plan numbers continue");
            let slice = SliceId { plan: number, index: 0 };
            assert_eq!(store.take(slice, ConsumerRun(1)).await.unwrap(), Taken::Here { released: 0 });
            store.record(slice, progress(10, number)).await.unwrap();
        }
        let expected = LineProgress { reached: 5, released: 40, ..Default::default() };
        assert_eq!(store.progress().await.unwrap(), expected, "records of the old epoch never count");
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn orders_are_entries_and_new_ones_replace_the_oldest() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let note = |subject| AuditNote::new(Author::new("arn:aws:iam::000000000000:user/anna"), subject);
        let pause = |room: &mut waitroom::Room| room.state = RoomState::Paused;
        test.store.change("pause", note(AuditSubject::State), pause).await.unwrap();
        let (epoch, clock) = ("next".parse().unwrap(), InstantClock::default());
        test.store.reset(epoch, Author::new("otto"), &clock).await.unwrap();
        let shown = |entries: &[AuditEntry]| -> Vec<String> {
            entries.iter().map(|entry| format!("{} {} {}", entry.number, entry.who, entry.change)).collect()
        };
        let entries = test.store.entries(AuditEntry::KEPT).await.unwrap();
        let expected =
            ["1 arn:aws:iam::000000000000:user/anna room: on -> paused", "2 otto reset, epoch: ab12 -> next"];
        assert_eq!(shown(&entries), expected);

        // As after 500 more entries, of which only the first two are still there.
        let mut item = test.item("room").await.unwrap();
        item.insert("last_entry".into(), AttributeValue::N("500".into()));
        test.put(item).await;
        let stretch = |room: &mut waitroom::Room| room.stretch = Stretch::MAX;
        test.store.change("stretch", note(AuditSubject::Stretch), stretch).await.unwrap();
        let entries = test.store.entries(AuditEntry::KEPT).await.unwrap();
        assert_eq!(shown(&entries)[..1], expected[1..], "the first entry has been replaced");
        let last = entries.last().unwrap();
        assert_eq!((entries.len(), last.number, &*last.change.to_string()), (2, 501, "stretch: 1 -> 12"));
        assert!(test.item("audit/1").await.unwrap()["entry"].as_s().unwrap().contains("501"));
    });
}
