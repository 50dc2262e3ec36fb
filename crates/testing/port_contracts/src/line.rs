//! The line and its ticket counter.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future;
use waitroom::ports::{Delivery, LineBack, LineFront, LineLength, Receipt, TicketCounter};

use waitroom::Timestamp;

use crate::Fixture;
use crate::visitor::visitor;

const AT_ONCE: Duration = Duration::ZERO;

async fn join<F: Fixture>(fixture: &F, tickets: impl IntoIterator<Item = u64>) {
    for ticket in tickets {
        fixture.line().join(visitor(ticket)).await.expect("join");
    }
}

/// Receives until `people` visitors were delivered. One empty answer does not mean an empty line, but ten seconds of them do:
/// an emulator returns visitors to the line once a second.
async fn receive<F: Fixture>(fixture: &F, people: usize) -> Vec<Delivery> {
    let mut received = Vec::new();
    for _ in 0..500 {
        let most = u32::try_from(people - received.len()).expect("a small number").min(10);
        let batch = fixture.line().receive(most, AT_ONCE).await.expect("receive");
        if batch.is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        received.extend(batch);
        if received.len() == people {
            break;
        }
    }
    received
}

async fn assert_nobody_is_delivered<F: Fixture>(fixture: &F) {
    for _ in 0..5 {
        assert_eq!(fixture.line().receive(10, AT_ONCE).await.expect("receive"), []);
    }
}

fn receipts(deliveries: &[Delivery]) -> Vec<Receipt> {
    deliveries.iter().map(|delivery| delivery.receipt.clone()).collect()
}

fn tickets(deliveries: &[Delivery]) -> Vec<u64> {
    let mut tickets: Vec<_> = deliveries
        .iter()
        .map(|delivery| delivery.visitor.as_ref().expect("a visitor").ticket.get())
        .collect();
    tickets.sort_unstable();
    tickets
}

pub async fn a_visitor_who_joins_is_delivered<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=25).await;
    let received = receive(&fixture, 25).await;
    assert_eq!(tickets(&received), (1..=25).collect::<Vec<_>>());
    for delivery in received {
        let delivered = delivery.visitor.expect("a visitor");
        assert_eq!(delivered, visitor(delivered.ticket.get()));
    }
}

pub async fn receive_returns_at_most_what_was_asked_for_and_at_most_ten<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=30).await;
    for most in [1, 3, 10, 50] {
        let mut received = Vec::new();
        for _ in 0..100 {
            received = fixture.line().receive(most, AT_ONCE).await.expect("receive");
            if !received.is_empty() {
                break;
            }
        }
        assert!((1..=most.min(10) as usize).contains(&received.len()), "{} for {most}", received.len());
    }
}

pub async fn a_received_visitor_is_hidden_and_then_delivered_again<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=3).await;
    let first = receive(&fixture, 3).await;
    assert_nobody_is_delivered(&fixture).await;
    fixture.wait_for_redelivery().await;
    assert_eq!(tickets(&receive(&fixture, 3).await), tickets(&first));
}

pub async fn a_visitor_who_is_kept_is_hidden_for_longer<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=3).await;
    let received = receive(&fixture, 3).await;
    fixture.wait_until(fixture.now() + F::HIDDEN_FOR / 5).await;
    let (kept_at, kept) = (fixture.now(), &received[..2]);
    fixture.line().keep(receipts(kept)).await.expect("keep");
    fixture.wait_until(kept_at + F::HIDDEN_FOR * 4 / 5).await;
    let again = receive(&fixture, 1).await;
    assert_eq!(tickets(&again), tickets(&received[2..]), "only the visitor who was not kept");
    fixture.line().remove(receipts(&again)).await.expect("remove");
    assert_nobody_is_delivered(&fixture).await;
    fixture.wait_until(kept_at + Delivery::HIDDEN_FOR).await;
    assert_eq!(tickets(&receive(&fixture, 2).await), tickets(kept), "and then delivered again");
}

pub async fn a_visitor_who_is_handed_back_is_delivered_at_once<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=25).await;
    let received = receive(&fixture, 25).await;
    fixture.line().keep(receipts(&received)).await.expect("keep");
    fixture.line().hand_back(receipts(&received[..13])).await.expect("hand back");
    let again = receive(&fixture, 13).await;
    assert_eq!(tickets(&again), tickets(&received[..13]));
    assert_nobody_is_delivered(&fixture).await;
}

pub async fn a_removed_visitor_can_be_neither_kept_nor_handed_back<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=2).await;
    let received = receive(&fixture, 2).await;
    fixture.line().remove(receipts(&received[..1])).await.expect("remove");
    fixture.line().keep(receipts(&received)).await.expect("one that is removed is no error");
    fixture.line().hand_back(receipts(&received)).await.expect("one that is removed is no error");
    assert_eq!(tickets(&receive(&fixture, 1).await), tickets(&received[1..]));
    assert_nobody_is_delivered(&fixture).await;
}

pub async fn a_removed_visitor_is_never_delivered_again<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=3).await;
    let receipts = receipts(&receive(&fixture, 3).await);
    fixture.line().remove(receipts[..2].to_vec()).await.expect("remove");
    fixture.line().remove(receipts[..1].to_vec()).await.expect("removing twice is no error");
    fixture.wait_for_redelivery().await;
    assert_eq!(receive(&fixture, 1).await.len(), 1);
    assert_nobody_is_delivered(&fixture).await;
}

pub async fn a_visitor_who_joins_twice_is_delivered_twice<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, [7, 7]).await;
    let received = receive(&fixture, 2).await;
    assert_eq!(tickets(&received), [7, 7]);
    fixture.line().remove(vec![received[0].receipt.clone()]).await.expect("remove");
    fixture.wait_for_redelivery().await;
    assert_eq!(tickets(&receive(&fixture, 1).await), [7], "a receipt removes only its own delivery");
}

pub async fn concurrent_receivers_get_different_visitors<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, 1..=40).await;
    let at_once = future::join_all((0..8).map(|_| fixture.line().receive(5, AT_ONCE))).await;
    let received: Vec<_> = at_once.into_iter().flat_map(|received| received.expect("receive")).collect();
    let tickets = tickets(&received);
    assert!(!tickets.is_empty());
    assert_eq!(tickets.iter().collect::<HashSet<_>>().len(), tickets.len(), "{tickets:?}");
}

pub async fn a_message_that_is_not_a_visitor_is_delivered_and_can_be_buried<F: Fixture>() {
    let fixture = F::with_stray_message("not a visitor").await;
    let received = receive(&fixture, 1).await;
    let stray = received.into_iter().next().expect("the stray message");
    assert_eq!(stray.visitor, Err("not a visitor".to_owned()));
    fixture.line().bury(stray.receipt, "not a visitor".into()).await.expect("bury");
    fixture.wait_for_redelivery().await;
    assert_nobody_is_delivered(&fixture).await;
}

pub async fn a_delivery_says_when_the_visitor_joined<F: Fixture>() {
    let fixture = F::new().await;
    join(&fixture, [1, 2]).await;
    let first = receive(&fixture, 2).await;
    let joined: Vec<_> = first.iter().map(|delivery| delivery.joined.expect("it is known")).collect();
    assert!(
        joined[0].since(joined[1]).max(joined[1].since(joined[0])) < Duration::from_mins(1),
        "{joined:?}"
    );
    fixture.wait_for_redelivery().await;
    let again = receive(&fixture, 2).await;
    for delivery in &first {
        let again = again.iter().find(|again| again.visitor == delivery.visitor).expect("delivered again");
        assert_eq!(again.joined, delivery.joined, "waiting in between does not change it");
    }
}

pub async fn waiting_counts_the_visitors_in_line<F: Fixture>() {
    let fixture = F::new().await;
    wait_for_count(&fixture, 0).await;
    join(&fixture, 1..=12).await;
    wait_for_count(&fixture, 12).await;
    let received = receive(&fixture, 5).await;
    fixture.line().remove(receipts(&received)).await.expect("remove");
    wait_for_count(&fixture, 7).await;
}

/// Waits until the count is right. It may lag by up to a minute on AWS.
async fn wait_for_count<F: Fixture>(fixture: &F, people: u64) {
    let mut counted = None;
    for _ in 0..60 {
        counted = Some(fixture.line().waiting().await.expect("count"));
        if counted == Some(people) {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(counted, Some(people));
}

pub async fn every_ticket_is_leased_once<F: Fixture>() {
    let fixture = F::new().await;
    let counts = [1u32, 64, 3, 8, 1, 16];
    let leases = future::join_all(counts.iter().map(|&count| fixture.line().lease(count))).await;
    let mut seen = HashSet::new();
    for (first, count) in leases.into_iter().zip(counts) {
        let first = first.expect("lease");
        assert!(first >= 1);
        for number in first..first + u64::from(count) {
            assert!(seen.insert(number), "{number} was leased twice");
        }
    }
    let later = fixture.line().lease(1).await.expect("lease");
    assert!(seen.iter().all(|&earlier| earlier < later), "later tickets are higher");
}

pub async fn the_last_leased_ticket_is_known<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.line();
    assert_eq!(store.issued().await.expect("issued").last, 0);
    for count in [1, 64, 3] {
        let first = store.lease(count).await.expect("lease");
        let issued = store.issued().await.expect("issued");
        assert_eq!(issued.last, first + u64::from(count) - 1);
        assert!(issued.at > Timestamp::default(), "{issued:?}");
    }
}
