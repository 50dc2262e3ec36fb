//! The count of a stock.

use futures_util::future;
use waitroom::ports::{Admissions, Admitted, AuditTrail, RoomReader, StockCount};
use waitroom::{Admission, AuditedChange, RoomState, Stock, Token};

use crate::Fixture;
use crate::visitor::{admission, visitor};

fn stock(size: u32, order: u64) -> Stock {
    Stock { size: size.try_into().expect("not 0"), order }
}

fn batch(numbers: impl IntoIterator<Item = u64>) -> Vec<(Token, Admission)> {
    numbers.into_iter().map(|number| (visitor(number).token, admission(number, 1))).collect()
}

fn admitted(answers: &[Option<Admitted>]) -> usize {
    answers.iter().filter(|answer| **answer == Some(Admitted::Now)).count()
}

pub async fn a_stock_admits_as_many_as_it_has_and_the_first_come_first<F: Fixture>() {
    let fixture = F::new().await;
    let (store, stock) = (fixture.ledger(), stock(25, 1));
    assert_eq!(store.left(stock).await.expect("count"), 25);
    for (numbers, left) in [(1..=10, 15), (11..=20, 5)] {
        let answers = store.admit_from(stock, batch(numbers)).await.expect("admit");
        assert_eq!((answers, store.left(stock).await.expect("count")), (vec![Some(Admitted::Now); 10], left));
    }
    let answers = store.admit_from(stock, batch(21..=30)).await.expect("admit");
    assert_eq!(answers, [[Some(Admitted::Now); 5], [None; 5]].concat());
    assert_eq!(store.left(stock).await.expect("count"), 0);
    for (number, is_admitted) in [(1, true), (25, true), (26, false), (30, false)] {
        let found = store.admission(visitor(number).token).await.expect("look up");
        assert_eq!(found.is_some(), is_admitted, "visitor {number}");
    }
}

pub async fn whoever_is_admitted_already_takes_nothing<F: Fixture>() {
    let fixture = F::new().await;
    let (store, stock) = (fixture.ledger(), stock(3, 1));
    let first = admission(2, 7);
    store.admit(visitor(2).token, first).await.expect("admit");
    let answers = store.admit_from(stock, batch([1, 2, 3])).await.expect("admit");
    let before = Some(Admitted::Before(first));
    assert_eq!(answers, [Some(Admitted::Now), before, Some(Admitted::Now)]);
    // As after an answer that was lost.
    let again = store.admit_from(stock, batch([1, 2, 3])).await.expect("admit");
    let own = |number| Some(Admitted::Before(admission(number, 1)));
    assert_eq!((again, store.left(stock).await.expect("count")), (vec![own(1), before, own(3)], 1));
    let answers = store.admit_from(stock, batch([4, 5, 2])).await.expect("admit");
    assert_eq!(answers, [Some(Admitted::Now), None, before], "also when nothing is left");
}

pub async fn of_concurrent_batches_exactly_as_many_are_admitted<F: Fixture>() {
    let fixture = F::new().await;
    let (store, stock) = (fixture.ledger(), stock(33, 1));
    let at_once = (0..6).map(|slice| {
        let visitors = batch(slice * 10 + 1..=slice * 10 + 10);
        async move {
            // A store may be too busy, and then has admitted some of them or nobody.
            for _ in 0..20 {
                if let Ok(answers) = store.admit_from(stock, visitors.clone()).await {
                    return answers;
                }
            }
            panic!("busy for too long")
        }
    });
    future::join_all(at_once).await;
    let mut found = 0;
    for number in 1..=60 {
        found += u32::from(store.admission(visitor(number).token).await.expect("look up").is_some());
    }
    assert_eq!((found, store.left(stock).await.expect("count")), (33, 0));
}

pub async fn each_order_counts_for_itself<F: Fixture>() {
    let fixture = F::new().await;
    let (store, first, second) = (fixture.ledger(), stock(4, 1), stock(4, 2));
    let answers = store.admit_from(first, batch([1, 2, 3])).await.expect("admit");
    assert_eq!(admitted(&answers), 3);
    let answers = store.admit_from(second, batch([4, 5])).await.expect("admit");
    assert_eq!(admitted(&answers), 2);
    let left = (store.left(first).await.expect("count"), store.left(second).await.expect("count"));
    assert_eq!(left, (1, 2));
}

/// Not among the clauses for every adapter: DynamoDB Local does not accept as many writes in one transaction.
pub async fn whole_batches_are_taken_from_a_large_stock<F: Fixture>() {
    let fixture = F::new().await;
    let (store, stock) = (fixture.ledger(), stock(5000, 1));
    for (from, left) in [(1, 4990), (11, 4980)] {
        let answers = store.admit_from(stock, batch(from..from + 10)).await.expect("admit");
        assert_eq!((answers, store.left(stock).await.expect("count")), (vec![Some(Admitted::Now); 10], left));
    }
    // Some of a batch are admitted already.
    let answers = store.admit_from(stock, batch(16..=25)).await.expect("admit");
    assert_eq!((admitted(&answers), store.left(stock).await.expect("count")), (5, 4975));
}

/// The same.
pub async fn a_room_ends_when_its_stock_is_sold_and_not_before<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    store.end_if_sold_out().await.expect("it has none");
    fixture.change_room(|room| room.sell(2.try_into().expect("not 0"))).await;
    let selling = store.room_now().await.expect("room");
    let stock = selling.stock.expect("a stock");
    assert_eq!(store.left_in(&selling).await.expect("count"), Some(2));
    store.admit_from(stock, batch([1])).await.expect("admit");
    store.end_if_sold_out().await.expect("not yet");
    assert_eq!(store.room_now().await.expect("room").state, RoomState::On);
    store.admit_from(stock, batch([2])).await.expect("admit");
    for _ in 0..2 {
        store.end_if_sold_out().await.expect("end");
        let ended = store.room_now().await.expect("room");
        assert_eq!((ended.state, ended.stock), (RoomState::Ended, None));
        assert_eq!(store.left_in(&ended).await.expect("count"), None);
        let entries = store.entries(10).await.expect("entries");
        let ends = entries.iter().filter(|entry| entry.change == AuditedChange::SoldOut { stock: 2 });
        assert_eq!(ends.count(), 1);
    }
}
