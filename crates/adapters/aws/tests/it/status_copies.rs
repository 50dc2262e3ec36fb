//! What is written when a status is published, at the wire.

use std::sync::{Arc, Mutex};

use aws::{AwsStore, STATUS_COPIES};
use serde_json::{Value, json};
use waitroom::ports::StatusBoard;
use waitroom::{LineStatus, Rate};

use crate::failures::resources;
use crate::room::{config, run};
use crate::stub::stub;

const STATUS: LineStatus = LineStatus {
    reached: 4100,
    overtaken: 7,
    disorder: 300,
    waiting: 9120,
    rate: Rate::MIN,
    slow: false,
    left: None,
};

/// The copies of the status, as DynamoDB answers with them, and the ids of those that were written.
#[derive(Clone, Default)]
struct Table {
    copies: Arc<Mutex<Vec<Value>>>,
    written: Arc<Mutex<Vec<String>>>,
}

impl Table {
    /// Every copy has this status.
    fn with(status: LineStatus) -> Self {
        let LineStatus { reached, overtaken, disorder, waiting, rate, slow, left: _ } = status;
        let number = |number: u64| json!({ "N": number.to_string() });
        let copy = |digit: u8| {
            json!({
                "id": { "S": format!("status/{digit:x}") }, "format": { "N": "1" }, "state": { "S": "on" },
                "served": number(reached), "passed": number(overtaken), "disorder": number(disorder),
                "waiting": number(waiting), "rate": number(rate.get().into()), "slow": { "BOOL": slow },
            })
        };
        let copies = (0..STATUS_COPIES).map(copy).collect();
        Self { copies: Arc::new(Mutex::new(copies)), ..Self::default() }
    }

    fn store(&self) -> AwsStore {
        let table = self.clone();
        let aws = stub(move |operation, body| (200, table.answer(operation, body).to_string()));
        AwsStore::new(&config(&aws), resources())
    }

    /// Answers one request.
    fn answer(&self, operation: &str, body: &str) -> Value {
        match operation {
            "batchgetitem" => {
                json!({ "Responses": { (resources().ledger_table): *self.copies.lock().unwrap() } })
            }
            "updateitem" => {
                let asked: Value = serde_json::from_str(body).unwrap();
                self.written.lock().unwrap().push(asked["Key"]["id"]["S"].as_str().unwrap().to_owned());
                json!({})
            }
            other => panic!("{other} was not expected"),
        }
    }

    fn take_written(&self) -> Vec<String> {
        let mut written = std::mem::take(&mut *self.written.lock().unwrap());
        written.sort();
        written
    }
}

#[test]
fn an_unchanged_status_is_not_written_again() {
    run(async {
        let table = Table::with(STATUS);
        let store = table.store();
        store.publish_if_changed(STATUS).await.unwrap();
        assert_eq!(table.take_written(), Vec::<String>::new());
        store.publish(STATUS).await.unwrap();
        assert_eq!(table.take_written().len(), usize::from(STATUS_COPIES), "a consumer compares by itself");
    });
}

#[test]
fn a_changed_status_is_written_to_every_copy() {
    run(async {
        let changes = [
            LineStatus { reached: 4101, ..STATUS },
            LineStatus { overtaken: 8, ..STATUS },
            LineStatus { disorder: 301, ..STATUS },
            LineStatus { waiting: 9121, ..STATUS },
            LineStatus { rate: Rate::MAX, ..STATUS },
            LineStatus { slow: true, ..STATUS },
            LineStatus { left: Some(200), ..STATUS },
        ];
        for changed in changes {
            let table = Table::with(STATUS);
            table.store().publish_if_changed(changed).await.unwrap();
            assert_eq!(table.take_written().len(), usize::from(STATUS_COPIES), "{changed:?}");
        }
    });
}

#[test]
fn only_the_copies_that_differ_are_written() {
    run(async {
        let table = Table::with(STATUS);
        // One that an earlier version wrote, one whose last write failed, and one that is missing.
        table.copies.lock().unwrap()[3].as_object_mut().unwrap().remove("passed");
        table.copies.lock().unwrap()[10]["waiting"] = json!({ "N": "9000" });
        table.copies.lock().unwrap().remove(15);
        table.store().publish_if_changed(STATUS).await.unwrap();
        assert_eq!(table.take_written(), ["status/3", "status/a", "status/f"]);
    });
}
