//! Reads what earlier versions wrote, from `tests/fixtures`:
//!
//! - `ledger-format-1.json`: items as the first version with this format wrote them.
//! - `ledger-format-1-complete.json`: every kind of item, with every attribute that this format got since.
//! - `ledger-format-1-closing.json`: a minute of a rehearsal, with the closing record before it.
//! - `ledger-format-1-closed.json`: a room that closes and ends by itself, and what it tells those who come too late.
//! - `ledger-format-1-overflow.json`: a room in which newcomers go straight in, with its permits and somebody who had one.
//! - `ledger-format-1-observe.json`: a room that observes, who came when, and what the line would have been.
//! - `ledger-format-1-stock.json`: a room with a stock, and what was taken of one of its shares.
//! - `ledger-format-1-release.json`: a room that releases more than its rate allows, for a minute.
//! - `ledger-format-1-turnout.json`: a room that oversubscribes, a visitor who came, and how many did.
//! - `ledger-format-1-active.json`: a room with a limit of active visitors, a slice that is over, and a guard's report.
//! - `ledger-format-1-help.json`: a visitor who asked for help.
//! - `ledger-format-1-edge.json`: a room behind an edge.
//! - `ledger-format-1-epoch.json`: a room that was reset.
//! - `key-secret.json`: a version of the secret with the keys.
//!
//! The files are never written again. Another format gets another file next to them.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use frozen_names::{Section, assert_fixture, assert_frozen};
use pass::{GuardReport, KeyRecord, KeyRing, ProofKey, ReportKeyDigest, SecretKeys};
use serde_json::{Map, Value};
use waitroom::ports::ThrottleMemory;
use waitroom::throttle_rules::{Finding, Sample, Verdict};
use waitroom::{
    ActiveLimit, Admission, AdmittedBy, AuditEntry, AuditNote, AuditSubject, Author, CountedSlot, HelpCall,
    IssuedTickets, KeptReport, Lifetimes, LineTotals, MinuteRecord, Mode, Notice, ObservedLine, Place, Plan,
    Rate, Room, RoomState, Settings, SliceAdmissions, SliceId, Stretch, Ticket, Timestamp, Token, UsedTime,
    VirtualLine, Window, fixture,
};

use crate::active::GuardsItem;
use crate::expressions::{close_count, note_minute};
use crate::help::decode_call;
use crate::item_json::item_json;
use crate::items::{
    Item, ItemError, PermitItem, ProgressItem, Reader, SlicesItem, decode_admission, decode_closing,
    decode_entry, decode_memory, decode_minute, decode_newcomers, decode_plan, decode_tickets, delete_later,
    encode_admission, encode_entry, encode_memory, encode_plan, flag, item, number, text, time,
};
use crate::keys::Key;
use crate::room_item::{decode_last_entry, decode_room, encode_first_status, encode_room};
use crate::signing_keys::{decode_record, decode_table_keys, encode_record};
use crate::stock::decode_taken;
use crate::turnout::decode_came;

const SLICES: Key = Key::Slices(7, 0);
const SHARE: Key = Key::Stock(17, 3);
const CAME: Key = Key::Came(7, 2);

const FIRST: &str = "ledger-format-1.json";
const COMPLETE: &str = "ledger-format-1-complete.json";
const CLOSING: &str = "ledger-format-1-closing.json";
const CLOSED: &str = "ledger-format-1-closed.json";
const OVERFLOW: &str = "ledger-format-1-overflow.json";
const OBSERVE: &str = "ledger-format-1-observe.json";
const STOCK: &str = "ledger-format-1-stock.json";
const EDGE: &str = "ledger-format-1-edge.json";
const EPOCH: &str = "ledger-format-1-epoch.json";
const RELEASE: &str = "ledger-format-1-release.json";
const TURNOUT: &str = "ledger-format-1-turnout.json";
const ACTIVE: &str = "ledger-format-1-active.json";
const HELP: &str = "ledger-format-1-help.json";
const SECRET: &str = "key-secret.json";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
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
        title: "Seal's Brewing".parse().unwrap(),
        shop: "https://shop.example:8443/sale?a=1".parse().unwrap(),
        ..fixture::settings(3300)
    };
    let (url, throttled) = ("https://room.example/prod".parse().unwrap(), Some(Rate::new(1650).unwrap()));
    let room = Room { settings, url, throttled, version: 7, ..fixture::room(3300) };
    Room { stretch: Stretch::MAX, state: RoomState::Paused, ..room }
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
        ahead: 0,
        valve_from: Timestamp::default(),
        made_at: Timestamp::default(),
        planned_before: Timestamp::default(),
        needs_permits: false,
    }
}

fn memory() -> ThrottleMemory {
    let at = Timestamp::from_millis(1_700_000_000_000);
    let sample = Sample { answered: vec![Duration::from_millis(80); 18], failed: 2 };
    let finding = Finding::new(at, &sample, None, Verdict::Well, Rate::new(1650).unwrap());
    ThrottleMemory { history: vec![finding], version: 3, ..ThrottleMemory::default() }
}

fn progress() -> ProgressItem {
    ProgressItem {
        reached: 4100,
        overtaken: 0,
        disorder: 0,
        latest: 7,
        closed: 4,
        released: 4090,
        before_epoch: 2,
    }
}

fn read(name: &str) -> HashMap<String, Item> {
    let value = |value: &Value| match value.as_object().unwrap().iter().next().unwrap() {
        (kind, Value::String(text)) if kind == "S" => AttributeValue::S(text.clone()),
        (kind, Value::String(number)) if kind == "N" => AttributeValue::N(number.clone()),
        (kind, Value::Bool(flag)) if kind == "BOOL" => AttributeValue::Bool(*flag),
        other => panic!("{other:?}"),
    };
    let items: Map<String, Value> = serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap();
    let attributes = |item: &Value| {
        item.as_object().unwrap().iter().map(|(name, found)| (name.clone(), value(found))).collect()
    };
    items.iter().map(|(id, item)| (id.clone(), attributes(item))).collect()
}

#[test]
fn items_of_format_1_are_read() {
    let items = read(FIRST);
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
    assert_eq!(
        SlicesItem::decode(SLICES, item(SLICES)),
        Ok(said(15, None, &[(0, SliceAdmissions::Unsaid), (1, SliceAdmissions::Unsaid)]))
    );
    assert_eq!(ProgressItem::decode(item(Key::Progress)), Ok(progress()));
    let tickets = Reader::open(Key::Tickets, item(Key::Tickets)).unwrap();
    assert_eq!(tickets.number("last"), Ok(4800));
    assert_eq!(decode_memory(item(Key::Throttle)), Ok(memory()));
    let keys = decode_table_keys(item(Key::Private), None).unwrap().unwrap();
    let record = decode_record(item(Key::Public)).unwrap();
    assert_eq!(keys.ring.jwks().unwrap(), record.jwks());
    // Only mapping templates read the status, so it is compared with what is written today.
    let mut status = encode_first_status(15, &room());
    for later in ["passed", "disorder"] {
        status.remove(later).expect("written since then; without it the templates answer 0");
    }
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

fn complete_room() -> Room {
    let opens = Some(Timestamp::from_millis(1_700_000_600_000));
    let valves = "0=3300 1700000000000=closed 1700000600001=3300".parse().unwrap();
    let rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
    Room { opens, valves, highest_rate: Some(Rate::MAX), quiet: true, rehearsal, ..room() }
}

/// Closes and ends by itself.
fn closed_room() -> Room {
    let [closes, ends] = [1_700_000_700_000, 1_700_000_800_000].map(|at| Some(Timestamp::from_millis(at)));
    let link = Some("https://shop.example/next?a=1".parse().unwrap());
    let notice = Notice { text: "\"Sold out\" 🦭\nzwei".parse().unwrap(), link };
    Room { closes, ends, then_off: true, notice, ..room() }
}

#[test]
fn a_room_that_closes_by_itself_is_read() {
    let items = read(CLOSED);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(closed_room()));
    assert_eq!(items[&Key::Status(15).id()], encode_first_status(15, &closed_room()));
}

fn overflow_room() -> Room {
    let settings = Settings { mode: Mode::Overflow, ..room().settings };
    let valves = "0=3300 1700000000000=doors-3300".parse().unwrap();
    Room { settings, valves, quiet: true, ..room() }
}

fn overflow_plan() -> Plan {
    Plan { number: 8, needs_permits: true, ..complete_plan() }
}

fn permits() -> PermitItem {
    PermitItem { used: UsedTime(1_700_000_000_018_182), straight: 41 }
}

#[test]
fn a_room_in_which_newcomers_go_straight_in_is_read() {
    let items = read(OVERFLOW);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(overflow_room()));
    assert_eq!(decode_plan(8, &items[&Key::Window(8).id()]), Ok(overflow_plan()));
    assert_eq!(PermitItem::decode(&items[&Key::Permits.id()]), Ok(permits()));
    let visitor = &items[&Key::Admission(token_of_walk_in()).id()];
    assert_eq!(decode_admission(token_of_walk_in(), visitor), Ok(admission(AdmittedBy::Permit)));
}

fn overflow_items() -> Vec<Item> {
    let PermitItem { used, straight } = permits();
    vec![
        encode_room(&overflow_room()),
        encode_plan(&overflow_plan()),
        item(Key::Permits, [("used", number(used.0)), ("straight", number(straight))]),
        encode_admission(token_of_walk_in(), &admission(AdmittedBy::Permit)),
    ]
}

fn observing_room() -> Room {
    let settings = Settings { mode: Mode::Observe, ..room().settings };
    Room { settings, state: RoomState::On, quiet: true, ..room() }
}

fn observed_minute() -> MinuteRecord {
    let line = ObservedLine { waited: 613, waiting: 401, longest_wait: 74, longest_line: 412, busiest: 2011 };
    let (until, used) = (Timestamp::from_millis(1_699_999_995_000), UsedTime(1_700_000_067_000_000));
    let observed = Some(VirtualLine { until, used, line });
    MinuteRecord { totals: LineTotals { observed, ..minute().totals }, longest_wait: None }
}

fn newcomers() -> Vec<CountedSlot> {
    let slot = |(millis, newcomers)| CountedSlot { from: Timestamp::from_millis(millis), newcomers };
    [(1_699_999_990_000, 131), (1_699_999_995_000, 7)].map(slot).into()
}

#[test]
fn a_room_that_observes_is_read() {
    let items = read(OBSERVE);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(observing_room()));
    assert_eq!(items[&Key::Status(15).id()], encode_first_status(15, &observing_room()));
    assert_eq!(decode_newcomers(&items[&Key::Permits.id()]), Ok(newcomers()));
    assert_eq!(decode_minute(0, &items[&minute_key().id()]), Ok(Some(observed_minute())));
}

fn observing_items() -> Vec<Item> {
    let note = note_minute(&observed_minute().totals).unwrap();
    let mut minute = item(minute_key(), []);
    minute.extend(
        note.values.into_iter().map(|(name, value)| (name.trim_start_matches(':').to_owned(), value)),
    );
    let mut permits = item(Key::Permits, [("straight", number(138u64))]);
    let slots = newcomers().into_iter();
    permits.extend(slots.map(|slot| (format!("at_{}", slot.from.as_millis()), number(slot.newcomers))));
    vec![encode_room(&observing_room()), encode_first_status(15, &observing_room()), permits, minute]
}

/// Ends by itself after so many more.
fn selling_room() -> Room {
    Room { stock: Some("5000/17".parse().unwrap()), ..room() }
}

fn selling_items() -> Vec<Item> {
    let mut status = encode_first_status(15, &selling_room());
    status.insert("left".into(), number(4687u64));
    vec![encode_room(&selling_room()), status, item(SHARE, [("taken", number(313u64))])]
}

#[test]
fn a_room_with_a_stock_is_read() {
    let items = read(STOCK);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(selling_room()));
    assert_eq!(decode_taken(SHARE, &items[&SHARE.id()]), Ok(313));
    assert_eq!(items[&Key::Status(15).id()]["stock"], number(5000u64));
}

/// Releases more than its rate allows, for a minute.
fn releasing_room() -> Room {
    let valves = "0=3300 1700000000005=3350 1700000060005=3300".parse().unwrap();
    Room { extra: Some("50/1700000060005".parse().unwrap()), valves, ..room() }
}

#[test]
fn a_room_that_releases_more_than_its_rate_allows_is_read() {
    assert_eq!(decode_room(&read(RELEASE)[&Key::Room.id()]), Ok(releasing_room()));
}

fn reset_room() -> Room {
    Room { epoch_began: Some(Timestamp::from_millis(1_700_000_000_000)), ..room() }
}

#[test]
fn a_room_that_was_reset_knows_when_its_epoch_began() {
    assert_eq!(decode_room(&read(EPOCH)[&Key::Room.id()]), Ok(reset_room()));
}

/// Releases more than its rate, because some don't come.
fn oversubscribed_room() -> Room {
    let settings = Settings { oversubscribe: Some(30.try_into().unwrap()), ..room().settings };
    Room { settings, turnout: Some("4800/6000".parse().unwrap()), ..room() }
}

fn oversubscribed_items() -> Vec<Item> {
    let mut visitor =
        encode_admission(token_of_waiter(), &admission(AdmittedBy::Slice(SliceId { plan: 7, index: 2 })));
    visitor.insert("came".into(), flag(true));
    let came = item(CAME, [("came", number(4711u64)), ("delete_after", number(1_701_209_600u64))]);
    vec![encode_room(&oversubscribed_room()), visitor, came]
}

#[test]
fn a_room_that_counts_who_comes_is_read() {
    let items = read(TURNOUT);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(oversubscribed_room()));
    let visitor = decode_admission(token_of_waiter(), &items[&Key::Admission(token_of_waiter()).id()]);
    assert_eq!(visitor, Ok(admission(AdmittedBy::Slice(SliceId { plan: 7, index: 2 }))));
    assert_eq!(decode_came(CAME, &items[&CAME.id()]), Ok(4711));
}

fn room_behind_edge() -> Room {
    Room { settings: Settings { edge: true, ..room().settings }, ..room() }
}

fn items_behind_edge() -> Vec<Item> {
    vec![encode_room(&room_behind_edge()), encode_first_status(15, &room_behind_edge())]
}

#[test]
fn a_room_behind_an_edge_is_read() {
    let items = read(EDGE);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(room_behind_edge()));
    assert_eq!(items[&Key::Status(15).id()]["edge"], flag(true));
}

/// Lets in at most so many active visitors, and is full.
fn limited_room() -> Room {
    let active =
        ActiveLimit { visitors: 900, idle: Duration::from_mins(15), session: Duration::from_mins(90) };
    let settings = Settings { active: Some(active), ..room().settings };
    let report_key = Some(ReportKeyDigest::stored(pass::sha256_hex(b"the key of a test")));
    Room { settings, while_full: Some(Rate::MIN), report_key, ..room() }
}

fn guards() -> GuardsItem {
    let guard = "0123456789abcdef".to_owned().try_into().unwrap();
    let (made, opened) = (1_700_000_000_000, BTreeMap::from([(6, 50), (7, 13)]));
    let report = GuardReport { guard, made, pass: 300, live: 40, opened };
    let reports = vec![KeptReport { report, received: Timestamp::from_millis(made + 30) }];
    GuardsItem { reports, version: 4711 }
}

fn limited_items() -> Vec<Item> {
    let slices = [
        ("claim_0", text("00000000000000000000000000000001")),
        ("released_0", number(10u64)),
        ("at_most_0", number(11u64)),
    ];
    vec![encode_room(&limited_room()), item(SLICES, slices), guards().encode().unwrap()]
}

#[test]
fn a_room_with_a_limit_of_active_visitors_is_read() {
    let items = read(ACTIVE);
    assert_eq!(decode_room(&items[&Key::Room.id()]), Ok(limited_room()));
    assert_eq!(
        SlicesItem::decode(SLICES, &items[&SLICES.id()]),
        Ok(said(10, None, &[(0, SliceAdmissions::AtMost(11))]))
    );
    assert_eq!(GuardsItem::decode(&items[&Key::Guards.id()]), Ok(guards()));
}

fn said(recorded: u64, lowest: Option<u64>, admitted: &[(u16, SliceAdmissions)]) -> SlicesItem {
    SlicesItem { recorded, lowest, admitted: admitted.iter().copied().collect() }
}

fn call() -> HelpCall {
    let place = Place { epoch: room().epoch, token: token_of_waiter(), ticket: Ticket::new(4711).unwrap() };
    HelpCall { code: "7K3M-Q01X".parse().unwrap(), place, at: Timestamp::from_millis(1_700_000_000_000) }
}

fn call_item() -> Item {
    let HelpCall { code, place, at } = call();
    let attributes = [
        ("place", text(&place)),
        ("at", time(at)),
        ("delete_after", number((at + HelpCall::KEPT).as_secs())),
    ];
    item(Key::Help(code), attributes)
}

#[test]
fn a_visitor_who_asked_for_help_is_read() {
    let code = call().code;
    assert_eq!(decode_call(code, &read(HELP)[&Key::Help(code).id()]), Ok(call()));
}

fn complete_progress() -> ProgressItem {
    ProgressItem { overtaken: 2100, disorder: 300, ..progress() }
}

fn complete_plan() -> Plan {
    let at = plan().window.start;
    Plan { releases_from: at, valve_from: at, made_at: at, planned_before: at, ..plan() }
}

fn entry() -> AuditEntry {
    let note = AuditNote::new(Author::new("anna"), AuditSubject::Rate);
    let mut after = room();
    after.settings.rate = Rate::MAX;
    note.entry(28, Timestamp::from_millis(1_700_000_000_000), &room(), &after).unwrap()
}

fn minute() -> MinuteRecord {
    let totals = LineTotals {
        at: Timestamp::from_millis(1_700_000_000_000),
        epoch: room().epoch,
        joined: 4800,
        released: 4090,
        entered: None,
        waiting: 710,
        rate: Some(Rate::new(1650).unwrap()),
        rehearsal: false,
        observed: None,
    };
    MinuteRecord { totals, longest_wait: Some(90) }
}

fn minute_key() -> Key {
    Key::Minute(MinuteRecord::number(minute().totals.at))
}

#[test]
fn items_with_every_attribute_are_read() {
    let items = read(COMPLETE);
    let item = |key: Key| &items[&key.id()];
    assert_eq!(decode_room(item(Key::Room)), Ok(complete_room()));
    assert_eq!(decode_last_entry(item(Key::Room)), Ok(28));
    let admitted = decode_admission(token_of_waiter(), item(Key::Admission(token_of_waiter())));
    assert_eq!(admitted, Ok(admission(AdmittedBy::Slice(SliceId { plan: 7, index: 2 }))));
    assert_eq!(decode_plan(7, item(Key::Window(7))), Ok(complete_plan()));
    assert_eq!(
        SlicesItem::decode(SLICES, item(SLICES)),
        Ok(said(10, Some(4100), &[(0, SliceAdmissions::Unsaid)]))
    );
    assert_eq!(ProgressItem::decode(item(Key::Progress)), Ok(complete_progress()));
    let issued = IssuedTickets { last: 4800, at: Timestamp::from_millis(1_700_000_000_000) };
    assert_eq!(decode_tickets(item(Key::Tickets)), Ok(issued));
    assert_eq!(decode_memory(item(Key::Throttle)), Ok(memory()));
    assert_eq!(decode_entry(28, item(Key::Audit(28))), Ok(entry()));
    assert_eq!(decode_minute(0, item(minute_key())), Ok(Some(minute())));
    assert_eq!(decode_closing(0, item(minute_key())), Ok(Vec::new()), "nobody had rehearsed");
    assert_eq!(item(Key::Status(15)), &encode_first_status(15, &complete_room()));

    let keys = decode_table_keys(item(Key::Private), Some(item(Key::Proof))).unwrap().unwrap();
    assert!(keys.proof.is_some());
    assert_eq!(keys.moved_at, Some(Timestamp::from_millis(1_700_000_000_000)));
    let record = decode_record(item(Key::Public)).unwrap();
    assert_eq!((keys.ring.jwks().unwrap(), record.version), (record.jwks(), 1));
}

#[test]
fn a_minute_of_a_rehearsal_is_read_after_the_closing_record_before_it() {
    let item = &read(CLOSING)[&minute_key().id()];
    let rehearsed = LineTotals { rehearsal: true, ..minute().totals };
    let rehearsed = MinuteRecord { totals: rehearsed, longest_wait: None };
    assert_eq!(decode_minute(0, item), Ok(Some(rehearsed)));
    assert_eq!(decode_closing(0, item), Ok(vec![minute()]));
}

/// The secret has no format of its own: the names of its fields are frozen.
#[test]
fn a_key_of_the_secret_is_read_and_written() {
    let text = fs::read_to_string(path(SECRET)).unwrap();
    let keys: SecretKeys = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&keys).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    let fields: Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert_frozen(Section::KeySecret, fields.keys());
    assert!(keys.signing.public().is_ok() && keys.proof.prover().is_ok());
}

/// The name of an attribute as the list has it.
fn pattern(id: &str, attribute: &str) -> String {
    let parts: Vec<_> = id.split('/').collect();
    match parts[..] {
        ["admission", _] => format!("admission/<token> {attribute}"),
        ["status", _] => format!("status/<digit> {attribute}"),
        ["window", _] => format!("window/<plan> {attribute}"),
        ["window", ..] => {
            let kind = attribute.trim_end_matches(|c: char| c.is_ascii_digit());
            let slice = if kind == attribute { "" } else { "<slice>" };
            format!("window/<plan>/<page> {kind}{slice}")
        }
        ["came", ..] => format!("came/<plan>/<slice> {attribute}"),
        ["help", _] => format!("help/<code> {attribute}"),
        ["stock", ..] => format!("stock/<order>/<share> {attribute}"),
        ["permits"] if attribute.starts_with("at_") => "permits at_<slot>".into(),
        ["audit", _] => format!("audit/<slot> {attribute}"),
        ["minute", _] if attribute.starts_with("closing_") => "minute/<minute> closing_<version>".into(),
        ["minute", _] => format!("minute/<minute> {attribute}"),
        _ => format!("{id} {attribute}"),
    }
}

#[test]
fn the_fixtures_have_every_attribute_that_is_stored() {
    let all = [
        FIRST, COMPLETE, CLOSING, CLOSED, OVERFLOW, OBSERVE, STOCK, RELEASE, TURNOUT, HELP, ACTIVE, EDGE,
        EPOCH,
    ];
    let items = all.into_iter().flat_map(read);
    let names = items.flat_map(|(id, item)| {
        let names = item.into_keys().filter(|name| !matches!(name.as_str(), "id" | "format"));
        names.map(|name| pattern(&id, &name)).collect::<Vec<_>>()
    });
    assert_frozen(Section::LedgerAttributes, names);
}

#[test]
fn no_fixture_is_lost() {
    let closed_items = || vec![encode_room(&closed_room()), encode_first_status(15, &closed_room())];
    for (name, items) in [
        (FIRST, first_items as fn() -> Vec<Item>),
        (COMPLETE, complete_items),
        (CLOSING, closing_items),
        (CLOSED, closed_items),
        (OVERFLOW, overflow_items),
        (OBSERVE, observing_items),
        (STOCK, selling_items),
        (RELEASE, || vec![encode_room(&releasing_room())]),
        (TURNOUT, oversubscribed_items),
        (HELP, || vec![call_item()]),
        (ACTIVE, limited_items),
        (EDGE, items_behind_edge),
        (EPOCH, || vec![encode_room(&reset_room())]),
    ] {
        assert_fixture(&path(name), || write_ledger(name, &items()));
    }
    assert_fixture(&path(SECRET), || {
        let keys = SecretKeys::generate(None).unwrap();
        fs::write(path(SECRET), serde_json::to_string_pretty(&keys).unwrap() + "\n").unwrap();
    });
}

fn complete_items() -> Vec<Item> {
    let at = 1_700_000_000_000u64;
    let later = 1_701_209_600u64;
    let mut room = encode_room(&complete_room());
    room.insert("last_entry".into(), number(28u64));
    let mut window = encode_plan(&complete_plan());
    window.extend(delete_later(Key::Window(7), &complete_plan()));
    let MinuteRecord { totals, longest_wait } = minute();
    let ring = KeyRing::generate().unwrap();
    let mut record = KeyRecord::default();
    record.publish(ring.current.public().unwrap(), Duration::from_mins(30), at / 1000);
    record.version = 1;
    let json = |value: serde_json::Result<String>| text(&value.unwrap());
    vec![
        room,
        encode_first_status(15, &complete_room()),
        encode_admission(token_of_waiter(), &admission(AdmittedBy::Slice(SliceId { plan: 7, index: 2 }))),
        window,
        item(
            SLICES,
            [
                ("claim_0", text("00000000000000000000000000000001")),
                ("released_0", number(10u64)),
                ("lowest_0", number(4100u64)),
                ("delete_after", number(later)),
            ],
        ),
        complete_progress().encode(),
        item(Key::Tickets, [("last", number(4800u64)), ("leased_at", number(at))]),
        encode_memory(&memory()).unwrap(),
        encode_entry(&entry()).unwrap(),
        item(
            minute_key(),
            [
                ("at", time(totals.at)),
                ("epoch", text(&totals.epoch)),
                ("joined", number(totals.joined)),
                ("released", number(totals.released)),
                ("waiting", number(totals.waiting)),
                ("rate", number(totals.rate.map_or(0, Rate::get))),
                ("longest_wait", number(longest_wait.unwrap())),
                ("delete_after", number(later)),
            ],
        ),
        item(Key::Private, [("ring", json(serde_json::to_string(&ring))), ("moved_at", number(at))]),
        item(Key::Proof, [("key", json(serde_json::to_string(&ProofKey::generate().unwrap())))]),
        encode_record("write a fixture", &record).unwrap(),
    ]
}

fn closing_items() -> Vec<Item> {
    let rehearsed = LineTotals { rehearsal: true, ..minute().totals };
    let updates = [close_count(&minute(), 28).unwrap(), note_minute(&rehearsed).unwrap()];
    let values = updates.into_iter().flat_map(|update| update.values);
    let mut item = item(minute_key(), []);
    item.extend(values.map(|(name, value)| (name.trim_start_matches(':').to_owned(), value)));
    vec![item]
}

fn first_items() -> Vec<Item> {
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
    vec![
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
    ]
}

fn write_ledger(name: &str, items: &[Item]) {
    let all: Map<String, Value> =
        items.iter().map(|item| (item["id"].as_s().unwrap().clone(), item_json(item))).collect();
    fs::write(path(name), serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
}
