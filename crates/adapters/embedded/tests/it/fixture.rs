//! Opens what earlier versions wrote, from `tests/fixtures`:
//!
//! - `room-format-1.redb.gz`: a file that the first version with this format wrote.
//! - `room-format-1-complete.redb.gz`: a file with everything that this format got since. Its room is about to take its keys out
//!   of where they were kept before there was a record.
//! - `room-format-1-closing.redb.gz`: a file with the closing record of a rehearsal.
//! - `room-format-1-10000.redb.gz`: ten thousand browsers in line, as `beekeeper local` kept them before there was a release.
//! - `room-format-2.redb.gz`: two hundred who joined together, and some of them left.
//! - `room-format-2-stock.redb.gz`: a room with a stock of three, of which one was taken.
//! - `room-format-2-help.redb.gz`: a visitor in line who asked for help and was let in.
//! - `room-format-2-release.redb.gz`: a room that releases more than its rate allows, for a minute.
//! - `room-format-2-turnout.redb.gz`: a room that oversubscribes: of three whom it released, one came.
//! - `room-format-2-reports.redb.gz`: what a guard reported of active visitors.
//! - `room-format-2-epoch.redb.gz`: a room that was reset.
//!
//! The files are never written again. Another format gets another file next to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use embedded::EmbeddedStore;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use frozen_names::{Section, assert_fixture, assert_frozen};
use futures_executor::block_on;
use futures_util::future::try_join_all;
use pass::{GuardReport, KeyRing, ProofKey, SecretKeys};
use port_contracts::slices::progress;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use tempfile::TempDir;
use waitroom::ports::{
    ActiveVisitors, Admissions, Admitted, AuditTrail, ConsumerRun, GuardReports, HelpCalls, HelpDesk,
    KeyAdmin, KeyBoard, Keys, LineBack, LineFront, LineLength, MinuteLog, PlanRecord, Plans, RoomAdmin,
    RoomReader, Slices, StatusBoard, StockCount, Taken, ThrottleMemory, ThrottleStore, TicketCounter,
    TurnoutCount,
};
use waitroom::throttle_rules::{Finding, Sample, Verdict};
use waitroom::{
    Admission, AdmittedBy, AuditNote, AuditSubject, AuditedChange, Author, HelpCall, KeptReport, KeyOrder,
    LineProgress, LineTotals, MinuteRecord, Place, Plan, Rate, Room, RoomState, SliceId, Stretch, Ticket,
    Timestamp, Token, Turnout, Valve, Window,
};

use crate::support::room;

const SINGLE: TableDefinition<&str, &[u8]> = TableDefinition::new("single");
const SLICE: SliceId = SliceId { plan: 1, index: 0 };

const FIRST: &str = "room-format-1.redb.gz";
const COMPLETE: &str = "room-format-1-complete.redb.gz";
const CLOSING: &str = "room-format-1-closing.redb.gz";
const CROWD: &str = "room-format-1-10000.redb.gz";
const TOGETHER: &str = "room-format-2.redb.gz";
const STOCK: &str = "room-format-2-stock.redb.gz";
const HELP: &str = "room-format-2-help.redb.gz";
const RELEASE: &str = "room-format-2-release.redb.gz";
const TURNOUT: &str = "room-format-2-turnout.redb.gz";
const REPORTS: &str = "room-format-2-reports.redb.gz";
const EPOCH: &str = "room-format-2-epoch.redb.gz";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A directory with this file, unpacked.
fn unpacked(name: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut packed = GzDecoder::new(File::open(path(name)).unwrap());
    std::io::copy(&mut packed, &mut File::create(directory.path().join(EmbeddedStore::FILE)).unwrap())
        .unwrap();
    directory
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_030_000)
}

fn waiting(ticket: u64) -> Place {
    let token = Token::from_bytes([u8::try_from(ticket).unwrap(); Token::BYTES]);
    Place { epoch: room().epoch, token, ticket: Ticket::new(ticket).unwrap() }
}

fn admission(by: AdmittedBy) -> Admission {
    let expires = now() + Duration::from_hours(1);
    Admission { ticket: Ticket::new(1).unwrap(), by, at: now(), expires }
}

fn plan() -> Plan {
    let start = Timestamp::from_millis(1_700_000_000_000);
    let window = Window { start, end: start + Duration::from_mins(1) };
    Plan {
        number: 1,
        window,
        rate: Rate::new(300).unwrap(),
        quota: 300,
        releases_from: Timestamp::default(),
        ahead: 0,
        valve_from: Timestamp::default(),
        made_at: Timestamp::default(),
        planned_before: Timestamp::default(),
        needs_permits: false,
    }
}

fn memory() -> ThrottleMemory {
    let sample = Sample { answered: vec![Duration::from_millis(80); 18], failed: 2 };
    let finding = Finding::new(now(), &sample, None, Verdict::Well, Rate::new(150).unwrap());
    ThrottleMemory { history: vec![finding], version: 1, ..ThrottleMemory::default() }
}

fn change(room: &mut Room) {
    room.state = RoomState::Paused;
    room.stretch = Stretch::MAX;
    room.settings.message = "It's \"on\" 🦭\nzwei".parse().unwrap();
    room.settings.health = Some("https://shop.example/health".parse().unwrap());
}

/// A store that would create a different room if the directory were empty.
fn open(directory: &Path) -> EmbeddedStore {
    let mut other = room();
    other.epoch = "zz99".parse().unwrap();
    EmbeddedStore::open(directory, other, now).unwrap()
}

/// The store of this file, and the directory that it's in.
fn opened(name: &str) -> (TempDir, EmbeddedStore) {
    let directory = unpacked(name);
    let store = open(directory.path());
    (directory, store)
}

#[test]
fn a_file_of_format_1_is_opened() {
    let (_directory, store) = opened(FIRST);

    let mut expected = room();
    change(&mut expected);
    expected.version = 1;
    expected.throttled = Some(Rate::new(150).unwrap());
    assert_eq!(*block_on(store.room()).unwrap(), expected);
    assert_eq!(block_on(store.waiting()).unwrap(), 2);
    let received: Vec<_> = block_on(store.receive(10, Duration::ZERO)).unwrap();
    assert!(
        received.iter().all(|delivery| delivery.joined.is_none()),
        "this format did not keep it at first"
    );
    let received: Vec<_> = received.into_iter().map(|delivery| delivery.visitor.unwrap()).collect();
    assert_eq!(received, [waiting(3), waiting(4)]);
    assert_eq!(block_on(store.lease(1)).unwrap(), 5);
    for (ticket, by) in [(1, AdmittedBy::Slice(SLICE)), (2, AdmittedBy::Door)] {
        assert_eq!(block_on(store.admission(waiting(ticket).token)).unwrap(), Some(admission(by)));
    }
    assert_eq!(block_on(store.recent()).unwrap(), [PlanRecord { plan: plan(), released: 1, lowest: None }]);
    assert_eq!(
        block_on(store.progress()).unwrap(),
        LineProgress { reached: 1, released: 1, ..Default::default() }
    );
    assert_eq!(block_on(store.take(SLICE, ConsumerRun(2))).unwrap(), Taken::Here { released: 1 });
    assert_eq!(block_on(store.recall()).unwrap(), memory());
    assert_eq!(block_on(store.entries(10)).unwrap(), [], "this format had no audit trail at first");
    assert_eq!(block_on(store.minutes(Timestamp::default())).unwrap(), [], "no history either");
    assert_eq!(block_on(store.longest_wait(Timestamp::default())).unwrap(), None);
    assert_eq!(block_on(store.joined()).unwrap(), Some(3), "as many as were released and as wait");
    block_on(store.hold(None)).unwrap();
    assert_eq!(block_on(store.entries(10)).unwrap().len(), 1);
    let record = block_on(store.key_record()).unwrap();
    assert_eq!(
        (record.keys().len(), record.keys()[0].since),
        (1, None),
        "this format had no record at first"
    );
    let unused = SecretKeys::generate(None).unwrap();
    let moved = block_on(store.create_secret_keys(1, unused.clone())).unwrap();
    assert_eq!(moved.signing.public().unwrap(), record.keys()[0].jwk);
    assert_eq!(moved.proof, unused.proof, "it had no proof key either");
    assert_eq!(block_on(store.secret_keys(1)).unwrap(), Some(moved));
}

fn open_later(room: &mut Room) {
    change(room);
    room.settings.rate = Rate::new(600).unwrap();
    room.open_at(now() + Duration::from_mins(10));
}

fn totals() -> LineTotals {
    let rate = Some(Rate::new(600).unwrap());
    LineTotals {
        at: now(),
        epoch: room().epoch,
        joined: 4,
        released: 1,
        entered: Some(1),
        waiting: 2,
        rate,
        rehearsal: false,
        observed: None,
    }
}

#[test]
fn a_file_with_everything_is_opened() {
    let (_directory, store) = opened(COMPLETE);

    let found = block_on(store.room()).unwrap();
    let mut expected = room();
    open_later(&mut expected);
    expected.throttled = Some(Rate::new(150).unwrap());
    let (valves, version) = (found.valves.clone(), found.version);
    assert_eq!(*found, Room { valves, version, highest_rate: Some(expected.settings.rate), ..expected });
    assert_eq!(found.valve_at(now() + Duration::from_mins(11)).valve, Valve::Open(found.rate()));
    assert_eq!(block_on(store.joined()).unwrap(), Some(4));
    let received: Vec<_> = block_on(store.receive(10, Duration::ZERO)).unwrap();
    assert!(received.iter().all(|delivery| delivery.joined == Some(now())));
    let minutes = block_on(store.minutes(Timestamp::default())).unwrap();
    let uncounted = LineTotals { entered: None, ..totals() };
    let expected = MinuteRecord { totals: uncounted, longest_wait: Some(90) };
    assert_eq!(minutes, [expected], "entries were not counted when this file was written");
    let subjects: Vec<_> =
        block_on(store.entries(10)).unwrap().iter().map(|entry| entry.change.subject()).collect();
    assert_eq!(
        subjects,
        [AuditSubject::Reset, AuditSubject::State, AuditSubject::Throttle, AuditSubject::Keys]
    );

    let record = block_on(store.key_record()).unwrap();
    assert_eq!(record.keys().len(), 2);
    let second = block_on(store.secret_keys(2)).unwrap().unwrap();
    assert_eq!(second.signing.public().unwrap(), record.keys()[1].jwk);
    let moved = block_on(store.create_secret_keys(1, SecretKeys::generate(None).unwrap())).unwrap();
    assert_eq!(moved.signing.public().unwrap(), record.keys()[0].jwk);
    assert_eq!(moved.proof, second.proof);
}

#[test]
fn a_file_with_a_closing_record_is_opened() {
    let (_directory, store) = opened(CLOSING);
    let minutes = block_on(store.minutes(Timestamp::default())).unwrap();
    let closing = LineTotals { joined: 0, released: 0, entered: Some(0), waiting: 0, ..totals() };
    let closing = LineTotals { rate: Some(room().rate()), ..closing };
    let expected = [closing, LineTotals { joined: 1, waiting: 1, rehearsal: true, ..closing }];
    let totals: Vec<_> = minutes.iter().map(|minute| minute.totals).collect();
    assert_eq!(totals[1..], expected, "after the epoch that the file began with");
}

#[test]
fn ten_thousand_in_the_line_of_format_1_are_received_once_each() {
    let (_directory, store) = opened(CROWD);
    assert_eq!(block_on(store.waiting()).unwrap(), 10_000);
    let mut places = Vec::new();
    loop {
        let batch = block_on(store.receive(10, Duration::ZERO)).unwrap();
        if batch.is_empty() {
            break;
        }
        places.extend(batch.into_iter().map(|delivery| delivery.visitor.unwrap()));
    }
    // Who joined in the same moment may stand in either order.
    let tickets: BTreeSet<_> = places.iter().map(|place| place.ticket.get()).collect();
    assert!(places.len() == 10_000 && tickets.into_iter().eq(1..=10_000), "{} were received", places.len());
    let tokens: BTreeSet<_> = places.iter().map(|place| place.token.to_string()).collect();
    assert_eq!(tokens.len(), 10_000);
}

/// A program of before reads the file until somebody joins. Then it refuses it, instead of taking a record of many for none.
#[test]
fn whoever_joins_makes_a_file_of_format_1_one_of_format_2() {
    let directory = unpacked(CROWD);
    let format = || -> Vec<u8> {
        let database = Database::open(directory.path().join(EmbeddedStore::FILE)).unwrap();
        let singles = database.begin_read().unwrap().open_table(SINGLE).unwrap();
        singles.get("format").unwrap().unwrap().value().to_vec()
    };
    let store = open(directory.path());
    let batch = block_on(store.receive(10, Duration::ZERO)).unwrap();
    block_on(store.remove(batch.into_iter().map(|delivery| delivery.receipt).collect())).unwrap();
    store.close();
    drop(store);
    assert_eq!(format(), b"1");

    let store = open(directory.path());
    let epoch = block_on(store.room()).unwrap().epoch;
    block_on(store.join(Place { epoch, ..waiting(200) })).unwrap();
    assert_eq!(block_on(store.waiting()).unwrap(), 9_991);
    store.close();
    drop(store);
    assert_eq!(format(), b"2");
    assert_eq!(block_on(open(directory.path()).waiting()).unwrap(), 9_991);
}

#[test]
fn those_who_joined_together_are_received_in_their_order() {
    let (_directory, store) = opened(TOGETHER);
    assert_eq!(block_on(store.waiting()).unwrap(), 197);
    let mut tickets = Vec::new();
    while let [first, ..] = &*block_on(store.receive(10, Duration::ZERO)).unwrap() {
        assert_eq!(first.joined, Some(now()));
        tickets.push(first.visitor.as_ref().unwrap().ticket.get());
    }
    assert_eq!(tickets[..3], [4, 14, 24]);
    assert_eq!((tickets.len(), tickets.is_sorted()), (20, true));
    block_on(store.join(waiting(201))).unwrap();
    let newcomer = block_on(store.receive(10, Duration::ZERO)).unwrap();
    assert_eq!(newcomer.into_iter().map(|it| it.visitor).collect::<Vec<_>>(), [Ok(waiting(201))]);
}

#[test]
fn the_fixtures_have_every_table_and_every_record() {
    let (mut tables, mut singles) = (Vec::new(), Vec::new());
    for name in [FIRST, COMPLETE, CLOSING, STOCK, HELP, TURNOUT, REPORTS] {
        let directory = unpacked(name);
        let database = Database::open(directory.path().join(EmbeddedStore::FILE)).unwrap();
        let transaction = database.begin_read().unwrap();
        tables.extend(transaction.list_tables().unwrap().map(|table| table.name().to_owned()));
        let table = transaction.open_table(SINGLE).unwrap();
        singles.extend(table.iter().unwrap().map(|single| single.unwrap().0.value().to_owned()));
    }
    assert_frozen(Section::FileTables, tables);
    assert_frozen(Section::FileSingles, singles);
}

#[test]
fn no_fixture_is_lost() {
    assert_fixture(&path(FIRST), || panic!("only the first version can write it"));
    assert_fixture(&path(COMPLETE), write_complete);
    assert_fixture(&path(CROWD), || panic!("only the version before the first release can write it"));
    for (name, write) in [
        (CLOSING, write_closing as fn(&EmbeddedStore)),
        (TOGETHER, write_together),
        (STOCK, write_stock),
        (HELP, write_help),
        (RELEASE, write_release),
        (TURNOUT, write_turnout),
        (REPORTS, write_reports),
        (EPOCH, write_epoch),
    ] {
        assert_fixture(&path(name), || {
            let directory = tempfile::tempdir().unwrap();
            let store = open(directory.path());
            write(&store);
            store.close();
            pack(directory.path(), name);
        });
    }
}

fn admissions(tickets: impl IntoIterator<Item = u64>) -> Vec<(Token, Admission)> {
    let by = AdmittedBy::Slice(SLICE);
    tickets.into_iter().map(|ticket| (waiting(ticket).token, admission(by))).collect()
}

fn write_stock(store: &EmbeddedStore) {
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    let sell = |room: &mut Room| room.sell(3.try_into().unwrap());
    let (_, selling) = block_on(store.change("set how many more are let in", note, sell)).unwrap();
    block_on(store.admit_from(selling.stock.unwrap(), admissions([1]))).unwrap();
}

#[test]
fn a_stock_is_counted_on() {
    let (_directory, store) = opened(STOCK);
    let room = block_on(store.room()).unwrap();
    let stock = room.stock.unwrap();
    assert_eq!((stock.size.get(), block_on(store.left(stock)).unwrap()), (3, 2));
    assert_eq!(room.valves.last().unwrap().valve.stock(), Some(stock));
    let answers = block_on(store.admit_from(stock, admissions([2, 3, 4]))).unwrap();
    assert_eq!(answers, [Some(Admitted::Now), Some(Admitted::Now), None]);
}

fn write_release(store: &EmbeddedStore) {
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    let release = |room: &mut Room| room.release_more(50.try_into().unwrap());
    block_on(store.change("release more", note, release)).unwrap();
}

#[test]
fn a_release_beyond_the_rate_goes_on_until_its_end() {
    let (_directory, store) = opened(RELEASE);
    let room = block_on(store.room()).unwrap();
    let extra = room.extra.unwrap();
    let (more, back) = (room.valve_at(extra.until - Duration::from_millis(1)), room.valve_at(extra.until));
    assert_eq!((extra.visitors.get(), more.from + Duration::from_mins(1)), (50, back.from));
    assert_eq!(
        [more, back].map(|change| change.valve.rate()),
        [Some(room.rate().plus(50)), Some(room.rate())]
    );
    let entries = block_on(store.entries(1)).unwrap();
    let told: Vec<_> = entries.into_iter().map(|entry| entry.change.to_string()).collect();
    assert_eq!(told, [format!("release: none -> 50 more until {}", extra.until)]);
}

fn call() -> HelpCall {
    let at = Timestamp::from_millis(1_700_000_000_000);
    HelpCall { code: "7K3M-Q01X".parse().unwrap(), place: waiting(7), at }
}

fn write_help(store: &EmbeddedStore) {
    block_on(store.join(waiting(7))).unwrap();
    assert!(block_on(store.note_call(call())).unwrap());
    block_on(store.let_in(call(), admission(AdmittedBy::Door), Author::new("anna"))).unwrap();
}

#[test]
fn who_asked_for_help_is_found() {
    let (_directory, store) = opened(HELP);
    assert_eq!(block_on(store.call(call().code)).unwrap(), Some(call()));
    let admission = admission(AdmittedBy::Door);
    assert_eq!(block_on(store.admission(call().place.token)).unwrap(), Some(admission));
    let entries = block_on(store.entries(1)).unwrap();
    assert_eq!(
        entries.into_iter().map(|entry| entry.change).collect::<Vec<_>>(),
        [AuditedChange::let_in(&call())]
    );
}

fn write_turnout(store: &EmbeddedStore) {
    let oversubscribe = |room: &mut Room| room.settings.oversubscribe = Some(30.try_into().unwrap());
    block_on(store.change_room("oversubscribe", None, oversubscribe)).unwrap();
    assert!(block_on(store.write(plan())).unwrap());
    block_on(store.take(SLICE, ConsumerRun(1))).unwrap();
    for (token, admission) in admissions(1..=3) {
        block_on(store.admit(token, admission)).unwrap();
    }
    block_on(store.record(SLICE, progress(3, 3))).unwrap();
    assert!(block_on(store.note_came(waiting(1).token, SLICE)).unwrap());
    let turnout = Some(Turnout { came: 480, released: 600 });
    block_on(store.keep_turnout(turnout)).unwrap();
}

#[test]
fn who_came_is_counted_on() {
    let (_directory, store) = opened(TURNOUT);
    let room = block_on(store.room()).unwrap();
    assert_eq!((room.surplus(), room.settings.oversubscribe.unwrap().get()), (25, 30));
    assert!(!block_on(store.note_came(waiting(1).token, SLICE)).unwrap());
    assert!(block_on(store.note_came(waiting(2).token, SLICE)).unwrap());
    let Window { start, end } = plan().window;
    let counted = Window { start, end: end + Duration::from_secs(1) };
    assert_eq!(block_on(store.turnout(counted)).unwrap(), Turnout { came: 2, released: 3 });
}

fn report() -> KeptReport {
    let (guard, opened) = ("0123456789abcdef".to_owned().try_into().unwrap(), BTreeMap::from([(1, 20)]));
    let report = GuardReport { guard, made: now().as_millis(), pass: 300, live: 17, opened };
    KeptReport { report, received: now() }
}

fn write_reports(store: &EmbeddedStore) {
    block_on(store.keep_report(report())).unwrap();
}

#[test]
fn what_a_guard_reported_is_kept() {
    let (_directory, store) = opened(REPORTS);
    assert_eq!(block_on(store.reports()).unwrap(), [report()]);
}

fn write_epoch(store: &EmbeddedStore) {
    block_on(store.start_epoch(room().epoch, Author::new("anna"))).unwrap();
}

#[test]
fn a_room_that_was_reset_knows_when_its_epoch_began() {
    let (_directory, store) = opened(EPOCH);
    assert_eq!(block_on(store.room()).unwrap().epoch_began, Some(now()));
}

fn write_together(store: &EmbeddedStore) {
    block_on(store.start_epoch(room().epoch, Author::new("anna"))).unwrap();
    block_on(try_join_all((1..=200).map(|ticket| store.join(waiting(ticket))))).unwrap();
    let left = block_on(store.receive(3, Duration::ZERO)).unwrap();
    block_on(store.remove(left.into_iter().map(|delivery| delivery.receipt).collect())).unwrap();
}

fn write_closing(store: &EmbeddedStore) {
    block_on(store.start_epoch(room().epoch, Author::new("anna"))).unwrap();
    let mark = "abcdefghijkmnpqr".parse().unwrap();
    let rehearse = move |room: &mut Room| room.rehearsal = Some(mark);
    let note = AuditNote::new(Author::new("anna"), AuditSubject::Rehearsal);
    block_on(store.change("mark the room for a rehearsal", note, rehearse)).unwrap();
    block_on(store.join(waiting(1))).unwrap();
    block_on(store.start_epoch(room().epoch, Author::new("anna"))).unwrap();
}

fn write_complete() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    block_on(store.start_epoch(room().epoch, Author::new("anna"))).unwrap();
    for ticket in 1..=4 {
        block_on(store.join(waiting(ticket))).unwrap();
    }
    let dead = block_on(store.receive(2, Duration::ZERO)).unwrap();
    block_on(store.bury(dead[0].receipt.clone(), "not a visitor".into())).unwrap();
    block_on(store.remove(vec![dead[1].receipt.clone()])).unwrap();
    assert!(block_on(store.write(plan())).unwrap());
    assert_eq!(block_on(store.take(SLICE, ConsumerRun(1))).unwrap(), Taken::Here { released: 0 });
    for (ticket, by) in [(1, AdmittedBy::Slice(SLICE)), (2, AdmittedBy::Door)] {
        let admitted = block_on(store.admit(waiting(ticket).token, admission(by))).unwrap();
        assert_eq!(admitted, Admitted::Now);
    }
    block_on(store.record(SLICE, progress(1, 1))).unwrap();
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    block_on(store.change("set when the room opens", note, open_later)).unwrap();
    block_on(store.hold(Some(Rate::new(150).unwrap()))).unwrap();
    assert!(block_on(store.remember(memory())).unwrap());
    block_on(store.note(totals())).unwrap();
    block_on(store.note_wait(now(), Duration::from_secs(90))).unwrap();
    store.close();

    let file = directory.path().join(EmbeddedStore::FILE);
    let proof = ProofKey::generate().unwrap();
    write_keys_of_before(&file, &proof);
    let store = open(directory.path());
    let rotated = block_on(store.order_keys(KeyOrder::ROTATE, Author::new("anna"))).unwrap();
    let mut record = rotated.unwrap();
    let second = SecretKeys::generate(Some(proof)).unwrap();
    record.publish(second.signing.public().unwrap(), Duration::from_mins(30), now().as_secs());
    block_on(store.create_secret_keys(2, second)).unwrap();
    assert!(block_on(store.publish_keys(record)).unwrap());
    store.close();

    pack(directory.path(), COMPLETE);
}

fn pack(directory: &Path, name: &str) {
    let mut packed = GzEncoder::new(File::create(path(name)).unwrap(), Compression::best());
    std::io::copy(&mut File::open(directory.join(EmbeddedStore::FILE)).unwrap(), &mut packed).unwrap();
    packed.finish().unwrap();
}

fn write_keys_of_before(file: &Path, proof: &ProofKey) {
    let database = Database::open(file).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(SINGLE).unwrap();
        let ring = serde_json::to_vec(&KeyRing::generate().unwrap()).unwrap();
        table.insert("keys", ring.as_slice()).unwrap();
        table.insert("proof-key", serde_json::to_vec(proof).unwrap().as_slice()).unwrap();
    }
    transaction.commit().unwrap();
}
