//! Who asks for help, and is let in by hand.

use std::time::Duration;

use futures_util::future;
use waitroom::ports::{Admissions, Admitted, AuditTrail, HelpCalls, HelpDesk, RoomReader, StockCount};
use waitroom::{
    Admission, AdmittedBy, AuditEntry, AuditedChange, Author, HelpCall, HelpCode, Place, StockSize,
};

use crate::Fixture;
use crate::visitor::{admission, visitor};

/// This visitor's call, now.
fn call<F: Fixture>(fixture: &F, number: u64) -> HelpCall {
    let place = visitor(number);
    let [code, ..] = HelpCode::of(place.token);
    HelpCall { code, place, at: fixture.now() }
}

fn by_hand(number: u64) -> Admission {
    Admission { by: AdmittedBy::Door, ..admission(number, 1) }
}

async fn let_in<F: Fixture>(fixture: &F, number: u64) -> Option<Admitted> {
    let (call, anna) = (call(fixture, number), Author::new("anna"));
    fixture.ledger().let_in(call, by_hand(number), anna).await.expect("let in")
}

/// The entries about visitors who were let in by hand.
async fn entries<F: Fixture>(fixture: &F) -> Vec<AuditEntry> {
    let mut entries = fixture.ledger().entries(AuditEntry::KEPT).await.expect("entries");
    entries.retain(|entry| matches!(entry.change, AuditedChange::LetIn { .. }));
    entries
}

pub async fn a_code_is_one_visitors_for_an_hour<F: Fixture>() {
    let fixture = F::new().await;
    let (ledger, first) = (fixture.ledger(), call(&fixture, 1));
    assert_eq!(ledger.call(first.code).await.expect("read"), None);
    assert!(ledger.note_call(first).await.expect("note"));
    let again = HelpCall { at: first.at + Duration::from_secs(30), ..first };
    assert!(ledger.note_call(again).await.expect("note"), "it is theirs");
    assert_eq!(ledger.call(first.code).await.expect("read"), Some(again));
    let joined_again = Place { ticket: visitor(9).ticket, ..first.place };
    let again = HelpCall { place: joined_again, ..again };
    assert!(ledger.note_call(again).await.expect("note"), "it stays theirs at the back of the line");
    assert_eq!(ledger.call(first.code).await.expect("read"), Some(again));
    let other = HelpCall { place: visitor(2), ..first };
    assert!(!ledger.note_call(other).await.expect("note"), "it is somebody else's");
    let later = HelpCall { at: again.at + HelpCall::KEPT, ..other };
    assert!(ledger.note_call(later).await.expect("note"), "the call is over");
    assert_eq!(ledger.call(first.code).await.expect("read"), Some(later));
}

pub async fn who_is_let_in_by_hand_is_admitted_once_with_an_entry<F: Fixture>() {
    let fixture = F::new().await;
    let (call, admission) = (call(&fixture, 1), by_hand(1));
    assert_eq!(let_in(&fixture, 1).await, Some(Admitted::Now));
    let found = fixture.ledger().admission(call.place.token).await.expect("read");
    assert_eq!(found, Some(admission));
    assert_eq!(let_in(&fixture, 1).await, Some(Admitted::Before(admission)));
    let written: Vec<_> =
        entries(&fixture).await.into_iter().map(|entry| (entry.at, entry.who, entry.change)).collect();
    assert_eq!(written, [(admission.at, Author::new("anna"), AuditedChange::let_in(&call))]);
}

pub async fn who_is_let_in_by_hand_takes_of_the_stock<F: Fixture>() {
    let fixture = F::new().await;
    fixture.change_room(|room| room.sell(StockSize::new(2).expect("not 0"))).await;
    for (number, admitted) in [(1, true), (2, true), (3, false)] {
        assert_eq!(let_in(&fixture, number).await.is_some(), admitted, "{number}");
    }
    let room = fixture.ledger().room_now().await.expect("room");
    let stock = room.stock.expect("a stock");
    assert_eq!(fixture.ledger().left(stock).await.expect("count"), 0);
    assert_eq!(entries(&fixture).await.len(), 2);
    assert!(matches!(let_in(&fixture, 1).await, Some(Admitted::Before(_))), "also when nothing is left");
    let ends = fixture.now() + Duration::from_secs(10);
    fixture.change_room(move |room| room.ends = Some(ends)).await;
    fixture.wait_until(ends).await;
    assert_eq!(let_in(&fixture, 3).await, Some(Admitted::Now), "a room that has ended has none");
}

pub async fn of_concurrent_hands_one_lets_a_visitor_in<F: Fixture>() {
    let fixture = F::new().await;
    let answers = future::join_all((0..4).map(|_| let_in(&fixture, 1))).await;
    assert_eq!(answers.iter().filter(|answer| **answer == Some(Admitted::Now)).count(), 1, "{answers:?}");
    assert!(answers.iter().all(Option::is_some));
    assert_eq!(entries(&fixture).await.len(), 1);
}
