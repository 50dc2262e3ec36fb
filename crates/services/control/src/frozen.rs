//! Compares the fields of orders and replies with `infra/frozen-names.txt`. The command line and the room may be of different
//! versions, and scripts read the same fields from `--json`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use frozen_names::{Section, assert_frozen};
use futures_executor::block_on;
use pass::ReportKeyDigest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use waitroom::ports::{Fault, PortError, ThrottleStore};
use waitroom::throttle_rules::{Baseline, Finding, SAMPLE_SIZE, Sample, Verdict};
use waitroom::{
    ActiveCount, ActiveLimit, AuditedChange, Extra, HelpCode, Mode, Notice, Rate, Refusals, StockSize,
    Stretch, Timestamp,
};

use crate::fixture::{NOW, WaitingRoom};
use crate::{Ability, ActiveStatus, Alarm, AlarmMail, AlarmMailState, AlarmState, Order, Reply, UpkeepOrder};

const DOCUMENTATION: &str = include_str!("../../../../docs/cli.md");

/// Takes back whatever was changed last.
const LAST_CHANGE: Order = Order::Undo { number: u64::MAX };

const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// One order of each kind: a test compares them with those that a room can read. The rehearsal is refused, so that one reply is.
fn orders(key: &str, code: HelpCode) -> Vec<Order> {
    vec![
        Order::SetRate { rate: Rate::MAX },
        Order::Message { text: "Soon".parse().unwrap() },
        Order::Stretch { factor: Stretch::MAX },
        Order::Pause,
        Order::On,
        Order::Release { visitors: 50.try_into().unwrap() },
        Order::Off,
        Order::OpenAt { at: NOON },
        Order::OpenAt { at: NOON + Duration::from_mins(1) },
        Order::EndAt { at: NOON + Duration::from_hours(2), notice: Some(notice()) },
        Order::CloseAt { at: NOON + Duration::from_hours(1), notice: Some(notice()), then_off: true },
        Order::CloseAfter { size: StockSize::MAX, notice: Some(notice()) },
        Order::CloseNever,
        Order::EndNever,
        Order::End { notice: Some(notice()) },
        Order::Close { notice: Some(notice()), then_off: true },
        Order::On,
        LAST_CHANGE,
        // It cannot be taken back: the first entry is the throttle's.
        Order::Undo { number: 1 },
        Order::On,
        Order::Mode { mode: Mode::Observe },
        Order::Status,
        Order::Mode { mode: Mode::Line },
        Order::Find { code },
        Order::Admit { code },
        Order::RotateKeys,
        Order::RotateKeysAhead { seconds: 7200 },
        Order::DropKey { id: key.to_owned() },
        Order::GuardKey { digest: digest() },
        Order::Rehearse { mark: "abcdefghijkmnpqr".parse().unwrap() },
        Order::Reset { epoch: "cd34".parse().unwrap() },
        Order::Keys,
        Order::Minutes { since: WaitingRoom::MINUTE },
        Order::Status,
        Order::History { most: 500 },
    ]
}

fn digest() -> ReportKeyDigest {
    ReportKeyDigest::stored("5e")
}

fn notice() -> Notice {
    Notice { text: "Sold out".parse().unwrap(), link: Some("https://shop.example/next".parse().unwrap()) }
}

/// The order's or the reply's word, alone and before the path of each field: `status line.reached`.
fn fields(tag: &str, message: &impl Serialize) -> Vec<String> {
    let json = serde_json::to_value(message).unwrap();
    let mut found = Vec::new();
    collect(&json, "", &mut found);
    let word = json[tag].as_str().unwrap();
    found.retain(|path| path != tag);
    let named = found.into_iter().map(|path| format!("{word} {path}"));
    named.chain([word.to_owned()]).collect()
}

fn collect(json: &Value, path: &str, found: &mut Vec<String>) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, &path, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, &format!("{path}[]"), found)),
        _ => found.push(path.to_owned()),
    }
}

/// A status with everything that only some rooms have.
fn complete(reply: Reply) -> Reply {
    let Reply::Status(mut status) = reply else { return reply };
    let sample = Sample { answered: vec![Duration::from_millis(80); SAMPLE_SIZE], failed: 0 };
    let finding = Finding::new(NOON, &sample, Baseline::of(&sample), Verdict::Well, Rate::MIN);
    status.line.left = Some(7);
    let count = ActiveCount { sessions: 5, expected: 2, planned: 1, guards: 1, reported: Some(NOON) };
    status.active = Some(ActiveStatus { limit: 9, count });
    status.room.extra = Some(Extra { visitors: 50.try_into().unwrap(), until: NOON });
    (status.room.while_full, status.room.report_key) = (Some(Rate::MIN), Some(digest()));
    let (idle, session) = (ActiveLimit::DEFAULT_IDLE, ActiveLimit::DEFAULT_SESSION);
    status.room.settings.active = Some(ActiveLimit { visitors: 9, idle, session });
    status.findings = vec![Finding { refused: true, why: Some("w".to_owned()), ..finding }];
    let refusals = Refusals { requests: 1, since: NOON, reason: "r".to_owned() };
    (status.refusals, status.limited) = (Some(refusals.clone()), Some(refusals));
    (status.refusals_missing, status.alarms_missing) = (Some("m".to_owned()), Some("m".to_owned()));
    (status.stopped_at, status.dead_letters) = (Some(NOON), Some(1));
    status.alarms = vec![Alarm {
        name: "a".to_owned(),
        state: AlarmState::Ringing,
        reason: "r".to_owned(),
        meaning: "m".to_owned(),
    }];
    status.alarm_mail = Some(AlarmMail {
        address: "a@shop.example".to_owned(),
        topic: "arn".to_owned(),
        state: AlarmMailState::Unknown,
        error: Some("e".to_owned()),
    });
    Reply::Status(status)
}

#[test]
fn orders_and_replies_keep_their_fields() {
    let store = WaitingRoom::new();
    let key = store.publish_key();
    block_on(store.ledger.hold(Some(Rate::MIN))).unwrap();
    store
        .ledger
        .change_room(|room| room.settings.health = Some("https://shop.example/health".parse().unwrap()));
    store.ledger.change_room(|room| room.sell(StockSize::MAX));
    store.sell_out(store.room().stock.unwrap());
    let code = store.ask_for_help(38, NOW);
    let unsure = PortError::new("end the room", Fault::Unsure, "the connection was reset");
    let (mut sent, mut replied) = (Vec::new(), fields("reply", &Reply::unsure(&unsure)));
    for mut order in orders(&key, code) {
        if order == LAST_CHANGE {
            order = Order::Undo { number: store.last_entry() };
        }
        sent.extend(fields("order", &order));
        replied.extend(fields("reply", &complete(store.execute(order))));
    }
    let words = |fields: &[String]| -> BTreeSet<String> {
        fields.iter().map(|field| field.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&sent), known::<Order>("order"), "an order is missing in this test");
    assert_eq!(words(&replied), known::<Reply>("reply"), "a reply is missing in this test");
    assert_frozen(Section::OrderFields, sent);
    assert_frozen(Section::ReplyFields, replied);
}

/// The words that can be read for this tag: what serde expects in place of one that it does not know.
fn known<T: DeserializeOwned + Debug>(tag: &str) -> BTreeSet<String> {
    let unknown = serde_json::from_value::<T>(json!({ tag: "?" })).unwrap_err().to_string();
    let (_, expected) = unknown.split_once("expected one of ").unwrap_or_else(|| panic!("{unknown}"));
    expected.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// Only what is in `ALL` is compared with what a stack knows, and a room on AWS refuses for ever what it doesn't.
#[test]
fn orders_need_all_abilities_and_no_others() {
    let modes = Mode::ALL.map(|mode| Order::Mode { mode });
    let orders = [orders("key", "7K3M-Q01X".parse().unwrap()), modes.into()].concat();
    let needed: Vec<_> = orders.iter().filter_map(Order::needs).collect();
    for ability in Ability::ALL {
        assert!(needed.contains(&ability), "{ability:?} in {needed:?}");
    }
    for ability in needed {
        assert!(Ability::ALL.contains(&ability), "{ability:?}");
    }
}

/// A line on the socket is the one or the other.
#[test]
fn no_order_is_also_one_of_upkeep() {
    let both = known::<Order>("order").intersection(&known::<UpkeepOrder>("order")).count();
    assert_eq!(both, 0);
}

#[test]
fn every_field_of_an_entry_is_documented() {
    let (_, section) = DOCUMENTATION.split_once("\n## Who changed what\n").unwrap();
    let (_, table) = section.split_once("\n| field of `--json` | |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let frozen = include_str!("../../../../infra/frozen-names.txt");
    let fields = frozen.lines().filter_map(|line| line.strip_prefix("history entries[]."));
    let fields = fields.map(|path| path.split('.').next().unwrap().to_owned());
    let missing: BTreeSet<_> = fields
        .chain(known::<AuditedChange>("what"))
        .filter(|name| !table.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/cli.md does not have these in the table of an entry: {missing:?}");
}

/// A script's author finds each field where the documentation lists them.
#[test]
fn every_field_of_a_status_is_documented() {
    let (_, table) = DOCUMENTATION.split_once("\nThe fields of a status:\n").unwrap();
    let rows: Vec<_> = table.lines().collect();
    for name in fields("reply", &complete(WaitingRoom::new().execute(Order::Status))) {
        let Some(path) = name.strip_prefix("status ") else { continue };
        let mut parts = path.split('.').map(|part| part.trim_end_matches("[]"));
        let begins = format!("| `{}` |", parts.next().unwrap());
        let Some(at) = rows.iter().position(|row| row.starts_with(&begins)) else {
            panic!("docs/cli.md has no row {begins}")
        };
        let row = if rows[at].contains("the same fields") { rows[at - 1] } else { rows[at] };
        let is_in_row = parts.next().is_none_or(|field| row.contains(&format!("`{field}`")));
        assert!(is_in_row, "docs/cli.md does not have {path} in: {row}");
    }
}
