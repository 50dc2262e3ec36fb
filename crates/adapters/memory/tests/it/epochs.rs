//! A reset empties the line and the ledger's counts, and nothing of the epoch before it counts in the new one.

use std::time::Duration;

use futures_executor::block_on;
use port_contracts::slices::{plan_from, progress};
use port_contracts::visitor::{admission, visitor};
use waitroom::ports::{
    Admissions, AuditTrail, ConsumerRun, EntryCount, LineBack, LineFront, LineLength, MinuteLog, Plans,
    RoomAdmin, RoomReader, Slices, StatusBoard, TicketCounter,
};
use waitroom::{AdmittedBy, Author, LineProgress, Rate, SliceId};

use crate::fixture::MemoryRoom;

#[test]
fn a_reset_begins_anew_and_what_is_late_from_before_does_not_count() {
    let room = MemoryRoom::new();
    let (store, line) = (&room.ledger, &room.line);
    block_on(async {
        assert_eq!(line.lease(8).await.unwrap(), 1);
        for ticket in 1..=5 {
            line.join(visitor(ticket)).await.unwrap();
        }
        let received = line.receive(1, Duration::ZERO).await.unwrap();
        assert!(store.write(plan_from(None, room.now(), Rate::MAX)).await.unwrap());
        let slice = SliceId { plan: 1, index: 3 };
        store.take(slice, ConsumerRun(1)).await.unwrap();
        let of_slice = waitroom::Admission { by: AdmittedBy::Slice(slice), ..admission(1, 1) };
        store.admit(visitor(1).token, of_slice).await.unwrap();
        store.count_entry();

        let (before, epoch) = (store.room_now().await.unwrap(), "cd34".parse().unwrap());
        assert_eq!(store.start_epoch(epoch, Author::new("anna")).await.unwrap(), 5);
        assert_eq!((line.waiting().await.unwrap(), line.joined().await.unwrap()), (0, Some(0)));
        assert_eq!((line.lease(1).await.unwrap(), store.entered()), (1, Some(0)));
        let after = store.room_now().await.unwrap();
        assert_eq!((after.epoch, after.version), (epoch, before.version + 1));
        assert_eq!(store.entries(10).await.unwrap().len(), 1);
        let closing = store.minutes(room.now()).await.unwrap()[0].totals;
        assert_eq!((closing.epoch, closing.joined, closing.waiting), (before.epoch, 5, 5));
        assert_eq!((closing.released, closing.entered), (1, Some(1)), "also whom no slice has recorded");

        let receipts: Vec<_> = received.into_iter().map(|delivery| delivery.receipt).collect();
        line.hand_back(receipts).await.unwrap();
        assert_eq!(line.receive(10, Duration::ZERO).await.unwrap(), []);
        store.record(slice, progress(1, 90)).await.unwrap();
        store.overtake(1, 80).await.unwrap();
        assert_eq!(store.progress().await.unwrap(), LineProgress::default());
        store.record(slice, progress(4, 90)).await.unwrap();
        let released = LineProgress { released: 3, ..LineProgress::default() };
        assert_eq!(store.progress().await.unwrap(), released, "whom it admits from now on");
    });
}

#[test]
fn what_is_no_visitor_lies_with_the_dead_letters() {
    let room = MemoryRoom::new();
    room.line.put_stray("hello");
    let received = block_on(room.line.receive(10, Duration::ZERO)).unwrap();
    let [stray] = &*received else { panic!("{received:?}") };
    for _ in 0..2 {
        block_on(room.line.bury(stray.receipt.clone(), "hello".to_owned())).unwrap();
    }
    assert_eq!((room.line.dead_letters(), room.line.len()), (vec!["hello".to_owned()], 0));
}
