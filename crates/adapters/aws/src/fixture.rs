//! Reads `tests/fixtures/ledger-format-1.json`: every kind of item, as the first version with this format wrote it.
//!
//! The file is never written again. Another format gets another file next to it.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use pass::KeyRing;
use serde_json::{Map, Value, json};
use waitroom::ports::ThrottleMemory;
use waitroom::throttle_rules::{Finding, Sample, Verdict};
use waitroom::{
    Admission, AdmittedBy, Lifetimes, Place, Plan, Rate, Room, RoomState, Settings, SliceId, Stretch, Ticket,
    Timestamp, Token, Window,
};

use crate::items::{
    Item, ItemError, ProgressItem, Reader, decode_admission, decode_memory, decode_plan, decode_slices,
    encode_admission, encode_memory, encode_plan, item, number, text,
};
use crate::keys::Key;
use crate::room_item::{decode_room, encode_first_status, encode_room};
use crate::signing_keys::{decode_record, decode_table_keys};

const SLICES: Key = Key::Slices(7, 0);

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ledger-format-1.json")
}

fn token_of_waiter() -> Token {
    "00112233445566778899aabbccddeeff".parse().unwrap()
}

fn token_of_walk_in() -> Token {
    "ffeeddccbbaa99887766554433221100".parse().unwrap()
}

fn room() -> Room {
    let settings = Settings {
        health: Some("https://shop.example/health".parse().unwrap()),
        message: "It's \"on\" 🦭\nzwei".parse().unwrap(),
        lifetimes: Lifetimes { admission: Duration::from_mins(90), pass: Duration::from_mins(30) },
        ..Settings::new(
            "sale".parse().unwrap(),
            "Seal's Brewing".parse().unwrap(),
            "https://shop.example:8443/sale?a=1".parse().unwrap(),
            Rate::new(3300).unwrap(),
        )
    };
    let room = Room::new(settings, "https://room.example/prod".parse().unwrap(), "ab12".parse().unwrap());
    let throttled = Some(Rate::new(1650).unwrap());
    Room { throttled, stretch: Stretch::MAX, state: RoomState::Paused, version: 7, ..room }
}

fn admission(by: AdmittedBy) -> Admission {
    Admission {
        ticket: Ticket::new(4711).unwrap(),
        by,
        at: Timestamp::from_millis(1_700_000_000_123),
        expires: Timestamp::from_millis(1_700_003_600_123),
    }
}

fn plan() -> Plan {
    let window = Window {
        start: Timestamp::from_millis(1_700_000_000_000),
        end: Timestamp::from_millis(1_700_000_060_000),
    };
    Plan {
        number: 7,
        window,
        rate: Rate::new(3300).unwrap(),
        quota: 3300,
        releases_from: Timestamp::default(),
        valve_from: Timestamp::default(),
        made_at: Timestamp::default(),
        planned_before: Timestamp::default(),
    }
}

fn memory() -> ThrottleMemory {
    let at = Timestamp::from_millis(1_700_000_000_000);
    let sample = Sample { answered: vec![Duration::from_millis(80); 18], failed: 2 };
    let finding = Finding::new(at, &sample, None, Verdict::Well, Rate::new(1650).unwrap());
    ThrottleMemory { baseline: None, history: vec![finding], version: 3 }
}

fn progress() -> ProgressItem {
    ProgressItem { served: 4100, passed: 0, latest: 7, closed: 4, released: 4090, before_epoch: 2 }
}

fn read() -> HashMap<String, Item> {
    let value = |value: &Value| match value.as_object().unwrap().iter().next().unwrap() {
        (kind, Value::String(text)) if kind == "S" => AttributeValue::S(text.clone()),
        (kind, Value::String(number)) if kind == "N" => AttributeValue::N(number.clone()),
        (kind, Value::Bool(flag)) if kind == "BOOL" => AttributeValue::Bool(*flag),
        other => panic!("{other:?}"),
    };
    let items: Map<String, Value> = serde_json::from_str(&fs::read_to_string(path()).unwrap()).unwrap();
    let attributes = |item: &Value| {
        item.as_object().unwrap().iter().map(|(name, found)| (name.clone(), value(found))).collect()
    };
    items.iter().map(|(id, item)| (id.clone(), attributes(item))).collect()
}

#[test]
fn items_of_format_1_are_read() {
    let items = read();
    let item = |key: Key| &items[&key.id()];
    let slice = AdmittedBy::Slice(SliceId { plan: 7, index: 2 });
    assert_eq!(decode_room(item(Key::Room)), Ok(room()));
    assert_eq!(
        decode_admission(token_of_waiter(), item(Key::Admission(token_of_waiter()))),
        Ok(admission(slice))
    );
    assert_eq!(
        decode_admission(token_of_walk_in(), item(Key::Admission(token_of_walk_in()))),
        Ok(admission(AdmittedBy::Door))
    );
    assert_eq!(decode_plan(7, item(Key::Window(7))), Ok(plan()));
    assert_eq!(decode_slices(SLICES, item(SLICES)), Ok((15, None)));
    assert_eq!(ProgressItem::decode(item(Key::Progress)), Ok(progress()));
    let tickets = Reader::open(Key::Tickets, item(Key::Tickets)).unwrap();
    assert_eq!(tickets.number("last"), Ok(4800));
    assert_eq!(decode_memory(item(Key::Throttle)), Ok(memory()));
    let keys = decode_table_keys(item(Key::Private), None).unwrap().unwrap();
    let record = decode_record(item(Key::Public)).unwrap();
    assert_eq!(keys.ring.jwks().unwrap(), record.jwks());
    // Only mapping templates read the status, so it is compared with what is written today.
    let mut status = encode_first_status(15, &room());
    status.remove("passed").expect("written since then; without it the templates answer 0");
    assert_eq!(item(Key::Status(15)), &status);
}

/// A message in the line is a place, written as in the cookie.
#[test]
fn a_message_in_the_line_is_read() {
    let place: Place = "ab12-00112233445566778899aabbccddeeff-4711".parse().unwrap();
    assert_eq!((place.token, place.ticket.get()), (token_of_waiter(), 4711));
}

#[test]
fn an_item_of_a_newer_format_is_an_error_that_says_what_to_do() {
    let mut item = encode_room(&room());
    item.insert("format".into(), number(2u64));
    let error = decode_room(&item).unwrap_err();
    assert_eq!(error, ItemError::NewerFormat { item: Key::Room, format: 2 });
    let expected = "the item room of the ledger has format 2, and this version of Beekeeper reads formats up to 1; \
                    use the version that deployed the room";
    assert_eq!(error.to_string(), expected);
}

/// Writes the file if it is missing: once for each format, before it is released.
/// `cargo test -p aws --lib fixture::write -- --ignored`
#[test]
#[ignore = "writes a missing fixture"]
fn write() {
    if path().exists() {
        return;
    }
    let slices = [
        ("claim_0", text("00000000000000000000000000000001")),
        ("released_0", number(10u64)),
        ("claim_1", text("00000000000000000000000000000002")),
        ("released_1", number(5u64)),
    ];
    let ring = KeyRing::generate().unwrap();
    let (jwks, ring) =
        (serde_json::to_string(&ring.jwks().unwrap()).unwrap(), serde_json::to_string(&ring).unwrap());
    let private = item(Key::Private, [("ring", text(&ring))]);
    let public = item(Key::Public, [("jwks", text(&jwks))]);
    let items = [
        encode_room(&room()),
        encode_first_status(15, &room()),
        encode_admission(token_of_waiter(), &admission(AdmittedBy::Slice(SliceId { plan: 7, index: 2 }))),
        encode_admission(token_of_walk_in(), &admission(AdmittedBy::Door)),
        encode_plan(&plan()),
        item(SLICES, slices),
        progress().encode(),
        item(Key::Tickets, [("last", number(4800u64))]),
        encode_memory(&memory()).unwrap(),
        private,
        public,
    ];
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        other => panic!("{other:?}"),
    };
    let object =
        |item: &Item| -> Value { item.iter().map(|(name, found)| (name.clone(), value(found))).collect() };
    let all: Map<String, Value> =
        items.iter().map(|item| (item["id"].as_s().unwrap().clone(), object(item))).collect();
    fs::create_dir_all(path().parent().unwrap()).unwrap();
    fs::write(path(), serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
}
