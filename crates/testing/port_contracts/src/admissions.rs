//! Admissions in the ledger.

use futures_util::future;
use waitroom::ports::{Admissions, Admitted, EntryCount};
use waitroom::{AdmittedBy, Token};

use crate::Fixture;
use crate::visitor::{admission, visitor};

pub async fn nobody_is_admitted_at_first<F: Fixture>() {
    let fixture = F::new().await;
    assert_eq!(fixture.ledger().admission(visitor(1).token).await.expect("look up"), None);
}

pub async fn the_first_admission_wins<F: Fixture>() {
    let fixture = F::new().await;
    let token = visitor(1).token;
    let first = admission(1, 1);
    assert_eq!(fixture.ledger().admit(token, first).await.expect("admit"), Admitted::Now);
    for again in [admission(1, 2), waitroom::Admission { by: AdmittedBy::Door, ..first }, first] {
        let answer = fixture.ledger().admit(token, again).await.expect("admit");
        assert_eq!(answer, Admitted::Before(first));
    }
    assert_eq!(fixture.ledger().admission(token).await.expect("look up"), Some(first));
    assert_eq!(fixture.ledger().admission(visitor(2).token).await.expect("look up"), None);
}

pub async fn of_concurrent_admissions_one_wins<F: Fixture>() {
    let fixture = F::new().await;
    let token = visitor(1).token;
    let at_once = (1..=10).map(|plan| fixture.ledger().admit(token, admission(1, plan)));
    let answers: Vec<_> =
        future::join_all(at_once).await.into_iter().map(|answer| answer.expect("admit")).collect();
    let now = answers.iter().filter(|answer| **answer == Admitted::Now).count();
    assert_eq!(now, 1, "{answers:?}");
    let stored = fixture.ledger().admission(token).await.expect("look up").expect("is admitted");
    let before = |answer: &&Admitted| **answer == Admitted::Before(stored);
    assert_eq!(answers.iter().filter(before).count(), 9, "{answers:?}");
}

pub async fn asking_whether_the_ledger_takes_admissions_changes_nothing<F: Fixture>() {
    let fixture = F::new().await;
    let (store, zeros) = (fixture.ledger(), Token::from_bytes([0; Token::BYTES]));
    store.takes_admissions().await.expect("an empty ledger does");
    assert_eq!(store.admission(zeros).await.expect("look up"), None);
    let first = admission(1, 1);
    assert_eq!(store.admit(zeros, first).await.expect("admit"), Admitted::Now);
    store.takes_admissions().await.expect("it still does");
    assert_eq!(store.admission(zeros).await.expect("look up"), Some(first), "whatever the visitor's token");
}

pub async fn entries_are_counted_each_or_not_at_all<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let before = store.entered();
    store.count_entry();
    store.count_entry();
    assert_eq!(store.entered(), before.map(|before| before + 2));
}
