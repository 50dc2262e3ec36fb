//! Compares the keys and attributes of the ledger's items with `infra/frozen-names.txt`.

use std::time::Duration;

use frozen_names::{Section, assert_frozen};
use pass::KeyRecord;
use port_contracts::slices::plan_from;
use waitroom::ports::{ConsumerRun, ThrottleMemory};
use waitroom::{
    Admission, AdmittedBy, AuditNote, AuditSubject, Author, DoorPermits, HelpCall, HelpCode, LineStatus,
    LineTotals, MinuteRecord, Mode, ObservedLine, Place, Rate, Room, RoomState, SliceId, Ticket, Timestamp,
    Token, UsedTime, VirtualLine,
};

use crate::active::GuardsItem;
use crate::expressions::{self, Statement};
use crate::items::{
    Item, ProgressItem, delete_later, encode_admission, encode_entry, encode_memory, encode_plan, item,
    number, text,
};
use crate::keys::Key;
use crate::operator::write_room;
use crate::room_item::tests::room;
use crate::room_item::{encode_first_status, encode_room};
use crate::signing_keys::encode_record;

const TOKEN: [u8; Token::BYTES] = [7; Token::BYTES];
const SLICE: SliceId = SliceId { plan: 28, index: 35 };

/// The key as the list writes it. A new kind of item does not compile until it is listed in `KEYS` as well.
fn pattern(key: Key) -> String {
    let id = key.id();
    match key {
        Key::Admission(token) => id.replace(&token.to_string(), "<token>"),
        Key::Status(digit) => id.replace(&format!("{digit:x}"), "<digit>"),
        Key::Window(plan) => id.replace(&plan.to_string(), "<plan>"),
        Key::Slices(plan, group) => {
            id.replace(&plan.to_string(), "<plan>").replace(&format!("/{group}"), "/<page>")
        }
        Key::Came(plan, index) => {
            id.replace(&plan.to_string(), "<plan>").replace(&format!("/{index}"), "/<slice>")
        }
        Key::Stock(order, share) => {
            id.replace(&order.to_string(), "<order>").replace(&format!("/{share}"), "/<share>")
        }
        Key::Help(code) => id.replace(&code.digits(), "<code>"),
        Key::Audit(number) => id.replace(&number.to_string(), "<slot>"),
        Key::Minute(number) => id.replace(&number.to_string(), "<minute>"),
        Key::Room
        | Key::Progress
        | Key::Tickets
        | Key::Permits
        | Key::Guards
        | Key::Throttle
        | Key::Private
        | Key::Public
        | Key::Proof => id,
    }
}

fn keys() -> [Key; 18] {
    [
        Key::Admission(Token::from_bytes(TOKEN)),
        Key::Room,
        Key::Status(15),
        Key::Progress,
        Key::Tickets,
        Key::Window(28),
        Key::Slices(28, 2),
        Key::Throttle,
        Key::Private,
        Key::Public,
        Key::Proof,
        Key::Audit(28),
        Key::Minute(28),
        Key::Permits,
        Key::Guards,
        Key::Stock(28, 15),
        Key::Came(28, 35),
        Key::Help(code()),
    ]
}

fn code() -> HelpCode {
    let [code, ..] = HelpCode::of(Token::from_bytes(TOKEN));
    code
}

#[test]
fn items_keep_their_keys() {
    assert_frozen(Section::LedgerKeys, keys().map(pattern));
}

/// The attributes of an encoded item. The items here have all optional attributes.
fn encoded(key: Key, item: &Item) -> Vec<String> {
    let attributes = item.keys().filter(|name| !matches!(name.as_str(), "id" | "format"));
    attributes.map(|name| format!("{} {name}", pattern(key))).collect()
}

/// The attributes that an update names.
fn updated(key: Key, statement: &Statement) -> Vec<String> {
    let names = statement.names().unwrap_or_default().into_values();
    let names = names.filter(|name| !matches!(name.as_str(), "id" | "format"));
    let varying = format!("_{}", SLICE.index);
    names.map(|name| format!("{} {}", pattern(key), name.replace(&varying, "_<slice>"))).collect()
}

#[test]
fn items_keep_their_attributes() {
    let [admission, status, window] = [keys()[0], keys()[2], keys()[5]];
    let token = Token::from_bytes(TOKEN);
    let now = Timestamp::from_millis(1_700_000_000_000);
    let minute = Duration::from_mins(1);
    let by = AdmittedBy::Slice(SLICE);
    let admitted = Admission { ticket: Ticket::new(7).unwrap(), by, at: now, expires: now + minute };
    let plan = plan_from(None, now, Rate::MAX);
    let call = HelpCall {
        code: code(),
        place: Place { epoch: room().epoch, token, ticket: admitted.ticket },
        at: now,
    };
    let straight = Admission { by: AdmittedBy::Permit, ..admitted };
    let doors = Room { state: RoomState::On, valves: "0=doors-60".parse().unwrap(), ..room() };
    let permits = DoorPermits::of(&doors, now, minute).unwrap();
    let public = encode_record("test", &KeyRecord::default()).unwrap();
    // As the first versions wrote them.
    let private = item(Key::Private, [("ring", text("")), ("moved_at", number(1u64))]);
    let proof = item(Key::Proof, [("key", text(""))]);
    let slices = Key::slices_with(SLICE);
    let note = AuditNote::new(Author::new("anna"), AuditSubject::Rate);
    let (entry, audit) = (Key::Audit(28), note.entry(28, now, &room(), &room()).unwrap());
    let line =
        LineStatus::of(&room(), waitroom::LineReach { reached: 1, overtaken: 1, disorder: 1 }, 2, Some(3));
    let minute = Key::Minute(28);
    let totals = LineTotals {
        at: now,
        epoch: room().epoch,
        joined: 3,
        released: 2,
        entered: None,
        waiting: 1,
        rate: Some(Rate::MIN),
        rehearsal: true,
        observed: Some(VirtualLine { until: now, used: UsedTime::at(now), line: ObservedLine::default() }),
    };
    let mut observing = Room { stock: None, ..room() };
    (observing.settings.mode, observing.settings.active) = (Mode::Observe, None);
    let closing = MinuteRecord { totals, longest_wait: None };
    let found = [
        encoded(admission, &encode_admission(token, &admitted)),
        encoded(admission, &encode_admission(token, &straight)),
        encoded(Key::Room, &encode_room(&room())),
        encoded(status, &encode_first_status(15, &room())),
        encoded(status, &encode_first_status(15, &observing)),
        encoded(window, &encode_plan(&plan)),
        encoded(window, &delete_later(window, &plan)),
        encoded(slices, &delete_later(slices, &plan)),
        encoded(Key::Progress, &ProgressItem::default().encode()),
        encoded(Key::Throttle, &encode_memory(&ThrottleMemory::default()).unwrap()),
        encoded(entry, &encode_entry(&audit).unwrap()),
        updated(minute, &expressions::note_minute(&totals).unwrap()),
        updated(minute, &expressions::note_wait(now, Duration::ZERO)),
        updated(minute, &expressions::close_count(&closing, SLICE.index.into()).unwrap())
            .into_iter()
            .map(|name| name.replace("closing_<slice>", "closing_<version>"))
            .collect(),
        updated(Key::Room, &write_room(&room(), &room(), Some(1))),
        encoded(Key::Private, &private),
        encoded(Key::Public, &public),
        encoded(Key::Proof, &proof),
        updated(status, &expressions::publish(line)),
        updated(Key::Stock(28, 15), &expressions::take_from(313, 10)),
        updated(admission, &expressions::mark_came()),
        updated(Key::Came(28, 35), &expressions::add_came(now)),
        updated(Key::Help(code()), &expressions::note_call(&call)),
        updated(slices, &expressions::take(SLICE, ConsumerRun(1))),
        updated(slices, &expressions::record(SLICE, 1, Some(1))),
        updated(slices, &expressions::say_at_most(SLICE, 1)),
        encoded(Key::Guards, &GuardsItem::default().encode().unwrap()),
        updated(Key::Progress, &expressions::reset_progress()),
        updated(Key::Tickets, &expressions::reset_tickets()),
        updated(Key::Tickets, &expressions::lease(1, Timestamp::default())),
        updated(Key::Throttle, &expressions::if_has_version(0)),
        updated(Key::Permits, &expressions::take_first_permits(&permits, 1, now)),
        updated(Key::Permits, &expressions::counting_straight(expressions::reset_permits(), 1)),
        updated(Key::Permits, &expressions::count_newcomers(Timestamp::from_millis(SLICE.index.into()), 1))
            .into_iter()
            .map(|name| name.replace("at_<slice>", "at_<slot>"))
            .collect(),
    ];
    assert_frozen(Section::LedgerAttributes, found.concat());
}
