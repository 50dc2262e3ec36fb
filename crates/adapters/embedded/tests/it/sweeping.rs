//! Old records are removed, and their space is used again.

use std::time::Duration;

use embedded::Swept;
use futures_executor::block_on;
use futures_util::future::try_join_all;
use port_contracts::slices::plan_from;
use port_contracts::visitor::visitor;
use waitroom::ports::{Admissions, LineBack, LineFront, LineLength, Plans};
use waitroom::{Admission, AdmittedBy, Place, Plan, Rate, SliceId};

use crate::support::TestStore;

const HOUR: Duration = Duration::from_hours(1);

fn admit(test: &TestStore, tickets: impl Iterator<Item = u64>) {
    let at = test.time.now();
    let by = AdmittedBy::Slice(SliceId { plan: 1, index: 0 });
    block_on(try_join_all(tickets.map(|n| {
        let admission = Admission { ticket: visitor(n).ticket, by, at, expires: at + HOUR };
        test.store.admit(visitor(n).token, admission)
    })))
    .unwrap();
}

#[test]
fn admissions_are_removed_when_their_cookies_have_expired() {
    let test = TestStore::new();
    admit(&test, 1..=2500);
    test.time.pass(HOUR);
    admit(&test, 2501..=2600);
    test.time.pass(Place::MAX_AGE.saturating_sub(HOUR));
    assert_eq!(block_on(test.store.sweep()).unwrap(), Swept { admissions: 2500, plans: 0, minutes: 0 });
    assert_eq!(block_on(test.store.admission(visitor(1).token)).unwrap(), None);
    assert!(block_on(test.store.admission(visitor(2501).token)).unwrap().is_some());
    assert_eq!(block_on(test.store.sweep()).unwrap(), Swept { admissions: 0, plans: 0, minutes: 0 });
}

#[test]
fn old_plans_are_removed_but_never_the_latest() {
    let test = TestStore::new();
    let rate = Rate::new(300).unwrap();
    let mut last = None;
    for _ in 0..5 {
        let plan = plan_from(last.as_ref(), test.time.now(), rate);
        assert!(block_on(test.store.write(plan)).unwrap());
        last = Some(plan);
        test.time.pass(Duration::from_mins(1));
    }
    test.time.pass(48 * HOUR);
    assert_eq!(block_on(test.store.sweep()).unwrap().plans, 4);
    let recent = block_on(test.store.recent()).unwrap();
    assert_eq!(recent.iter().map(|record| record.plan.number).collect::<Vec<_>>(), [5]);
}

#[test]
fn a_plan_of_a_clock_that_was_ahead_keeps_no_others() {
    let test = TestStore::new();
    let (rate, year) = (Rate::new(300).unwrap(), 365 * 24 * HOUR);
    let mut number = 0;
    let mut write = |start| {
        number += 1;
        let plan = Plan { number, ..plan_from(None, start, rate) };
        assert!(block_on(test.store.write(plan)).unwrap());
    };
    write(test.time.now() + year);
    for _ in 0..4 {
        write(test.time.now());
        test.time.pass(Duration::from_mins(1));
    }
    test.time.pass(48 * HOUR);
    assert_eq!(block_on(test.store.sweep()).unwrap().plans, 3, "all but the latest");
    test.time.pass(year);
    assert_eq!(block_on(test.store.sweep()).unwrap().plans, 1);
}

#[test]
fn space_is_used_again() {
    let test = TestStore::new();
    let size = || test.directory.path().join("room.redb").metadata().unwrap().len();
    let mut sizes = Vec::new();
    for round in 0..12 {
        let tickets = round * 5000 + 1..=(round + 1) * 5000;
        block_on(try_join_all(tickets.clone().map(|n| test.store.join(visitor(n))))).unwrap();
        admit(&test, tickets);
        while block_on(test.store.waiting()).unwrap() > 0 {
            let batch = block_on(test.store.receive(10, Duration::ZERO)).unwrap();
            let receipts = batch.into_iter().map(|delivery| delivery.receipt).collect();
            block_on(test.store.remove(receipts)).unwrap();
        }
        test.time.pass(Place::MAX_AGE);
        block_on(test.store.sweep()).unwrap();
        sizes.push(size());
    }
    // How the database groups its commits differs from run to run, and so does the size after one round.
    let (first, later) = sizes.split_at(4);
    let (first, later) = (first.iter().max().copied(), later.iter().max().copied());
    assert!(later <= first.map(|size| 3 * size), "{sizes:?} bytes after each round");
}
