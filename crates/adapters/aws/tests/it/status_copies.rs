//! What is written when a status is published, at the wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use aws::{AwsStore, RoomResources, STATUS_COPIES};
use serde_json::{Value, json};
use waitroom::ports::StatusBoard;
use waitroom::{LineStatus, Rate};

use crate::room::{config, run};

const STATUS: LineStatus = LineStatus {
    reached: 4100,
    overtaken: 7,
    disorder: 300,
    waiting: 9120,
    rate: Rate::MIN,
    slow: false,
    left: None,
};

/// The copies of the status, behind the wire protocol of DynamoDB, and the ids of those that were written.
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = config(&format!("http://{}", listener.local_addr().unwrap()));
        let table = self.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let table = table.clone();
                std::thread::spawn(move || table.answer(connection.unwrap()));
            }
        });
        let resources = RoomResources {
            ledger_table: "ledger".into(),
            line_url: "http://localhost/000000000000/line".into(),
            dead_letters_url: "http://localhost/000000000000/dead".into(),
        };
        AwsStore::new(&config, resources)
    }

    /// Answers one request.
    fn answer(&self, connection: TcpStream) {
        let mut reader = BufReader::new(connection);
        let (mut operation, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else {
                if line.trim().is_empty() {
                    break;
                }
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "x-amz-target" => value.rsplit('.').next().unwrap().clone_into(&mut operation),
                "content-length" => length = value.parse().unwrap(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let answer = match operation.as_str() {
            "BatchGetItem" => json!({ "Responses": { "ledger": *self.copies.lock().unwrap() } }),
            "UpdateItem" => {
                self.written.lock().unwrap().push(asked["Key"]["id"]["S"].as_str().unwrap().to_owned());
                json!({})
            }
            other => panic!("{other} was not expected"),
        };
        let answer = answer.to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close";
        let length = answer.len();
        write!(reader.into_inner(), "{head}\r\nContent-Length: {length}\r\n\r\n{answer}").unwrap();
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
