//! What this ledger guarantees beyond the ports' contracts.

use aws_sdk_dynamodb::types::AttributeValue;
use port_contracts::slices::plan_from;
use port_contracts::slices::progress;
use waitroom::ports::{
    Admissions, Admitted, ConsumerRun, Fault, Plans, RoomReader, Slices, StatusBoard, Store, Taken,
    ThrottleStore, TicketCounter,
};
use waitroom::{LineProgress, LineStatus, Plan, Rate, SliceId};

use crate::room::{TestRoom, now, run};

fn n(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

async fn write_plan(test: &TestRoom, last: Option<&Plan>, rate: Rate) -> Plan {
    let plan = plan_from(last, last.map_or_else(now, |last| last.window.end), rate);
    assert!(test.store.write(plan).await.unwrap());
    plan
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn ticket_numbers_start_at_one() {
    run(async {
        let test = TestRoom::new().await;
        assert_eq!(test.store.line().lease(8).await.unwrap(), 1);
        assert_eq!(test.another_store().line().lease(1).await.unwrap(), 9);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn an_existing_admission_is_returned_without_another_read() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let token = port_contracts::visitor::visitor(1).token;
        let first = port_contracts::visitor::admission(1, 1);
        assert_eq!(test.store.admit(token, first).await.unwrap(), Admitted::Now);
        let second = port_contracts::visitor::admission(1, 2);
        assert_eq!(test.store.admit(token, second).await.unwrap(), Admitted::Before(first));
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn an_admission_is_deleted_after_fourteen_days() {
    run(async {
        let test = TestRoom::new().await;
        let token = port_contracts::visitor::visitor(1).token;
        let admission = port_contracts::visitor::admission(1, 1);
        test.store.admit(token, admission).await.unwrap();
        let item = test.item(&format!("admission/{token}")).await.unwrap();
        assert_eq!(item["delete_after"], n(admission.at.as_secs() + 14 * 24 * 3600));
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn two_hundred_and_seventy_slices_are_all_counted() {
    run(async {
        let test = TestRoom::on_localemu().await;
        let plan = write_plan(&test, None, Rate::MAX).await;
        assert_eq!(test.store.given_away(plan).await.unwrap(), []);
        for slice in plan.slice_ids() {
            assert_eq!(
                test.store.take(slice, ConsumerRun(u128::MAX)).await.unwrap(),
                Taken::Here { released: 0 }
            );
            test.store.record(slice, progress(1000, 1)).await.unwrap();
        }
        let expected = LineProgress { reached: 1, released: 270_000, ..Default::default() };
        assert_eq!(test.store.progress().await.unwrap(), expected);
        assert_eq!(test.store.recent().await.unwrap()[0].released, 270_000);
        assert_eq!(test.store.given_away(plan).await.unwrap().len(), 270);
        // DynamoDB charges a write by the kilobytes of the whole item.
        let group = test.item("window/1/15").await.unwrap();
        let size: usize = group
            .iter()
            .map(|(name, value)| name.len() + value.as_s().or(value.as_n()).map_or(0, String::len))
            .sum();
        assert!(size <= 1024, "{size} bytes");
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_repeated_record_needs_no_request() {
    run(async {
        let test = TestRoom::new().await;
        write_plan(&test, None, Rate::MIN).await;
        let slice = SliceId { plan: 1, index: 0 };
        assert_eq!(test.store.take(slice, ConsumerRun(1)).await.unwrap(), Taken::Here { released: 0 });
        test.store.record(slice, progress(10, 7)).await.unwrap();
        test.delete_table().await;
        test.store.record(slice, progress(10, 7)).await.expect("no request");
        test.store.record(slice, progress(10, 8)).await.unwrap_err();
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_claim_on_a_missing_plan_writes_nothing() {
    run(async {
        let test = TestRoom::new().await;
        let slice = SliceId { plan: 5, index: 0 };
        assert_eq!(test.store.take(slice, ConsumerRun(1)).await.unwrap(), Taken::Elsewhere);
        test.store.record(slice, progress(10, 0)).await.unwrap();
        assert_eq!(test.item("window/5/0").await, None);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn only_closed_plans_expire() {
    run(async {
        let test = TestRoom::new().await;
        let mut last = None;
        for _ in 0..5 {
            last = Some(write_plan(&test, last.as_ref(), Rate::MIN).await);
        }
        for number in 1..=5 {
            let expire = number <= 2;
            for id in [format!("window/{number}"), format!("window/{number}/0")] {
                let item = test.item(&id).await.unwrap();
                assert_eq!(item.contains_key("delete_after"), expire, "{id}");
            }
        }
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_plan_that_leaves_a_gap_is_an_error() {
    run(async {
        let test = TestRoom::new().await;
        let first = write_plan(&test, None, Rate::MIN).await;
        let third = Plan { number: 3, ..first };
        assert_eq!(test.store.write(third).await.unwrap_err().fault, Fault::Broken);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn one_failed_status_does_not_stop_the_others() {
    run(async {
        let test = TestRoom::new().await;
        test.delete("status/3").await;
        let status = LineStatus {
            reached: 4100,
            overtaken: 0,
            disorder: 300,
            waiting: 9120,
            rate: Rate::MIN,
            slow: true,
            left: None,
        };
        assert_eq!(test.store.publish(status).await.unwrap_err().fault, Fault::Broken);
        assert_eq!(test.item("status/3").await, None, "an incomplete item must not be created");
        for digit in "012456789abcdef".chars() {
            let item = test.item(&format!("status/{digit}")).await.unwrap();
            assert_eq!((&item["served"], &item["waiting"], &item["rate"]), (&n(4100), &n(9120), &n(1)));
            assert_eq!(item["slow"], AttributeValue::Bool(true));
            assert_eq!(item["cors"], AttributeValue::S("https://shop.example".into()), "settings stay");
        }
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn the_throttle_changes_the_version_too() {
    run(async {
        let test = TestRoom::new().await;
        test.store.hold(Some(Rate::MIN)).await.unwrap();
        let room = test.another_store().room().await.unwrap();
        assert_eq!((room.throttled, room.version), (Some(Rate::MIN), 1));
    });
}
