//! The errors that handlers get when AWS cannot be reached or rejects a request.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use aws::{AwsStore, RoomResources};
use clock::SystemClock;
use serde_json::{Value, json};
use waitroom::ports::{
    Admissions, Clock, Fault, LineBack, LineFront, LineLength, PermitHolder, Permits, PortError, PortResult,
    QuietSwitch, Receipt, RoomAdmin, RoomReader, Store, ThrottleMemory, ThrottleStore,
};
use waitroom::{AuditNote, AuditSubject, Author, DoorPermits, Mode, Rate, Room, Timestamp, fixture};

use crate::operator::InstantClock;
use crate::room::{TestRoom, config, now, run};
use crate::stub::stub;

pub(crate) fn resources() -> RoomResources {
    RoomResources {
        ledger_table: "nowhere".into(),
        line_url: "http://localhost/000000000000/nowhere".into(),
        dead_letters_url: "http://localhost/000000000000/nowhere-dead".into(),
    }
}

fn why(error: &PortError) -> String {
    error.source().unwrap().to_string()
}

#[test]
fn a_refused_connection_is_busy() {
    run(async {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = config(&format!("http://{free}"));
        let store = AwsStore::new(&config, resources());
        let error = store.line().join(port_contracts::visitor::visitor(1)).await.unwrap_err();
        assert_eq!(error.fault, Fault::Busy, "{}", why(&error));
        assert_eq!(error.to_string(), "could not put a visitor in line");
        let receipts = || vec![Receipt("any".into())];
        let others = [
            store.takes_admissions().await,
            store.line().keep(receipts()).await,
            store.line().hand_back(receipts()).await,
        ];
        assert!(others.iter().all(|answer| answer.as_ref().is_err_and(|error| error.fault == Fault::Busy)));
    });
}

#[test]
fn a_broken_connection_is_unsure() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = config(&format!("http://{}", listener.local_addr().unwrap()));
        // Three attempts. Each request is read and not answered.
        let hangs_up = std::thread::spawn(move || {
            for connection in listener.incoming().take(3) {
                let mut request = [0; 64];
                assert!(connection.unwrap().read(&mut request).unwrap() > 0);
            }
        });
        let store = AwsStore::new(&config, resources());
        let error = store.line().join(port_contracts::visitor::visitor(1)).await.unwrap_err();
        assert_eq!(error.fault, Fault::Unsure, "{}", why(&error));
        hangs_up.join().unwrap();
    });
}

#[test]
fn orders_are_dated_by_the_clock_of_aws() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = config(&format!("http://{}", listener.local_addr().unwrap()));
        let store = AwsStore::new(&config, resources());
        assert!(store.now().since(SystemClock.now()) < Duration::from_mins(1), "nothing is known yet");
        let answers = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
            let date = "Date: Fri, 05 Mar 2100 12:00:00 GMT";
            write!(connection, "HTTP/1.1 400 Bad Request\r\n{date}\r\nContent-Length: 0\r\n\r\n").unwrap();
        });
        store.room().await.unwrap_err();
        answers.join().unwrap();
        let noon = Timestamp::from_millis(4_107_931_200_000);
        assert!(store.now().since(noon) < Duration::from_mins(1) && noon.since(store.now()).is_zero());
    });
}

/// What one call does to a room that is on, and how often it starts the trigger. `write` is what the table does and says, with the
/// room that the call wants.
async fn changed(
    mut write: impl FnMut(&mut Value, Value) -> (u16, &'static str) + Send + 'static,
    call: impl AsyncFn(&AwsStore) -> PortResult<()>,
) -> (PortResult<()>, u32) {
    let fixture = include_str!("../fixtures/ledger-format-1.json");
    let mut room = serde_json::from_str::<Value>(fixture).unwrap()["room"].clone();
    room["state"]["S"] = "on".into();
    let starts = Arc::new(AtomicU32::new(0));
    let started = starts.clone();
    let aws = stub(move |operation, body| match operation {
        "invocations" => {
            started.fetch_add(1, Ordering::Relaxed);
            (202, String::new())
        }
        "getitem" => (200, json!({ "Item": room }).to_string()),
        _ => {
            let body: Value = serde_json::from_str(body).unwrap();
            let update = body.pointer("/TransactItems/0/Update").unwrap_or(&body);
            let values = update["ExpressionAttributeValues"].as_object().into_iter().flatten();
            let wanted = values.map(|(name, value)| (name.trim_start_matches(':').to_owned(), value.clone()));
            let (status, code) = write(&mut room, wanted.collect());
            (status, json!({ "__type": code }).to_string())
        }
    });
    let config = config(&aws);
    let store = AwsStore::new(&config, resources()).with_trigger(&config, "trigger".into());
    let done = call(&store).await;
    (done, starts.load(Ordering::Relaxed))
}

const REFUSED: (u16, &str) = (400, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException");
const LOST: (u16, &str) = (500, "com.amazonaws.dynamodb.v20120810#InternalServerError");

/// Without the trigger, nobody would be released from when the change is in force until the next minute.
#[test]
fn a_change_whose_answer_was_lost_starts_the_trigger() {
    run(async {
        let mut is_written = false;
        let lost = move |room: &mut Value, wanted: Value| {
            if std::mem::replace(&mut is_written, true) {
                return REFUSED;
            }
            *room = wanted;
            LOST
        };
        let (done, starts) = changed(lost, async |store| store.set_quiet(true).await).await;
        assert!(done.is_ok() && starts == 1, "{done:?}, {starts} starts");
        let another = |room: &mut Value, _| {
            (room["version"], room["quiet"]) = (json!({ "N": "8" }), json!({ "BOOL": true }));
            REFUSED
        };
        let (done, starts) = changed(another, async |store| store.set_quiet(true).await).await;
        assert!(done.is_ok() && starts == 0, "whoever changed it starts it: {done:?}, {starts} starts");

        let hold = async |store: &AwsStore| store.hold(Some(Rate::MIN)).await;
        for (fault, answer, expected) in
            [(Fault::Unsure, LOST, [1, 3]), (Fault::Broken, (400, "AccessDeniedException"), [0, 0])]
        {
            let (done, starts) = changed(move |_, _| answer, hold).await;
            assert_eq!((done.unwrap_err().fault, starts), (fault, expected[0]), "the throttle");
            let (done, starts) = changed(move |_, _| answer, pause).await;
            assert_eq!((done.unwrap_err().fault, starts), (fault, expected[1]), "the operator");
        }
    });
}

async fn pause(store: &AwsStore) -> PortResult<()> {
    let note = AuditNote::new(Author::new("anna"), AuditSubject::State);
    store.change("pause", note, Room::pause).await.map(drop)
}

/// Otherwise it would be in force from before it was written, when visitors were still let in by the order before it.
#[test]
fn an_order_that_is_written_again_is_in_force_later() {
    run(async {
        let (tell, told) = mpsc::channel();
        let mut lost = 1;
        let late = move |_: &mut Value, wanted: Value| {
            tell.send(wanted["valves"].clone()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            if std::mem::take(&mut lost) > 0 { LOST } else { (200, "") }
        };
        let (done, _) = changed(late, pause).await;
        let valves: Vec<_> = told.try_iter().collect();
        assert!(done.is_ok() && valves.len() == 2 && valves[0] != valves[1], "{done:?}, {valves:?}");
    });
}

/// Whoever reads that it may have failed would have to look whether it is in force.
#[test]
fn an_order_whose_answer_was_lost_is_found_in_the_room() {
    run(async {
        let (tell, told) = mpsc::channel();
        let lost = move |room: &mut Value, wanted: Value| {
            tell.send(()).unwrap();
            *room = wanted;
            LOST
        };
        let (done, starts) = changed(lost, pause).await;
        assert!(done.is_ok() && starts == 1 && told.try_iter().count() == 1, "{done:?}, {starts} starts");
    });
}

/// Otherwise the throttle would leave a failing shop its full rate for another minute.
#[test]
fn what_the_throttle_found_is_kept_although_the_answer_was_lost() {
    run(async {
        let mut kept = Value::Null;
        let aws = stub(move |operation, body| {
            if operation == "getitem" {
                return (200, json!({ "Item": kept }).to_string());
            }
            let (status, code) = if kept.is_null() { LOST } else { REFUSED };
            if kept.is_null() {
                kept = serde_json::from_str::<Value>(body).unwrap()["Item"].clone();
            }
            (status, json!({ "__type": code, "Item": kept }).to_string())
        });
        let store = AwsStore::new(&config(&aws), resources());
        let mine = ThrottleMemory { version: 1, ..ThrottleMemory::default() };
        assert!(store.remember(mine.clone()).await.unwrap());
        let measured = Some("https://shop.example/".parse().unwrap());
        assert!(!store.remember(ThrottleMemory { measured, ..mine }).await.unwrap(), "another run was first");
    });
}

/// A permit that was taken twice is one that nobody gets.
#[test]
fn a_permit_is_not_asked_for_again_if_the_answer_was_lost() {
    run(async {
        let asked = Arc::new(AtomicU32::new(0));
        let counted = asked.clone();
        let aws = stub(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            (LOST.0, json!({ "__type": LOST.1 }).to_string())
        });
        let store = AwsStore::new(&config(&aws), resources());
        let mut room = Room { quiet: true, ..fixture::room(600) };
        room.settings.mode = Mode::Overflow;
        let of = DoorPermits::of(&room, store.now(), fixture::MINUTE).unwrap();
        let error = store.take_permits(of, 1, PermitHolder::Door).await.unwrap_err();
        assert_eq!((error.fault, asked.load(Ordering::Relaxed)), (Fault::Unsure, 1));
    });
}

/// Polls would go on to say that it's closed: this change doesn't write their status.
#[test]
fn a_room_that_is_closed_while_it_is_marked_as_quiet_is_left_to_the_next_run() {
    run(async {
        let closed = |room: &mut Value, _| {
            (room["version"], room["state"]) = (json!({ "N": "8" }), json!({ "S": "closed" }));
            room["then_off"] = json!({ "BOOL": true });
            REFUSED
        };
        let (done, _) = changed(closed, async |store| store.set_quiet(true).await).await;
        assert!(done.is_ok(), "it's written once: {done:?}");
    });
}

/// What a reset says of a room that has these epochs, one after the other, whenever it's looked at, and can't be read after that. SQS
/// refuses so often to empty its line.
async fn reset(epochs: &'static [&'static str], mut refusals: u32, clock: &impl Clock) -> String {
    let fixture = include_str!("../fixtures/ledger-format-1.json");
    let mut room = serde_json::from_str::<Value>(fixture).unwrap()["room"].clone();
    let mut epochs = epochs.iter();
    let aws = stub(move |operation, _| match operation {
        "getqueueattributes" => {
            let counts = json!({
                "ApproximateNumberOfMessages": "7", "ApproximateNumberOfMessagesNotVisible": "0",
                "ApproximateNumberOfMessagesDelayed": "0",
            });
            (200, json!({ "Attributes": counts }).to_string())
        }
        "purgequeue" if refusals > 0 => {
            refusals -= 1;
            (403, json!({ "__type": "com.amazonaws.sqs#PurgeQueueInProgress" }).to_string())
        }
        "purgequeue" => (200, json!({}).to_string()),
        _ => epochs.next().map_or_else(
            || {
                let expired = "com.amazonaws.dynamodb.v20120810#ExpiredTokenException";
                (400, json!({ "__type": expired }).to_string())
            },
            |epoch| {
                room["epoch"] = json!({ "S": epoch });
                (200, json!({ "Item": room }).to_string())
            },
        ),
    });
    let store = AwsStore::new(&config(&aws), resources());
    let error = store.reset("next".parse().unwrap(), Author::new("anna"), clock).await.unwrap_err();
    assert_eq!(error.fault, Fault::Broken);
    format!("{error}: {}", why(&error))
}

/// SQS purges a queue once a minute. Whoever interrupts a reset and runs it again is inside that minute.
#[test]
fn a_reset_that_is_run_again_waits_until_the_line_may_be_emptied_again() {
    run(async {
        let clock = InstantClock::default();
        let told = reset(&["ab12", "ab12", "ab12", "ab12"], 2, &clock).await;
        assert!(told.contains("nobody who waited can enter until you run `reset` again: Expired"), "{told}");
        let waited = clock.0.into_inner();
        assert!((198_000..=200_000).contains(&waited), "twice seventy seconds, and a minute: {waited} ms");
    });
}

/// A clock that is hours ahead after each sleep, as on a laptop that was closed.
#[derive(Default)]
struct SleptClock(AtomicU32);

impl Clock for SleptClock {
    fn now(&self) -> Timestamp {
        now() + self.0.load(Ordering::Relaxed) * Duration::from_hours(8)
    }

    async fn sleep_until(&self, _: Timestamp) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whoever has joined the morning after must not lose their place to an order of the evening before.
#[test]
fn a_reset_that_slept_or_came_second_starts_no_epoch() {
    run(async {
        let told = reset(&["ab12", "ab12"], 0, &SleptClock::default()).await;
        assert!(
            told.contains("this machine slept meanwhile, and the line was emptied 480 minutes ago"),
            "{told}"
        );
        let told = reset(&["ab12"], 1, &SleptClock::default()).await;
        assert_eq!(told, "could not empty the line: this machine slept meanwhile; nothing was changed");
        let told = reset(&["ab12", "cd34"], 0, &InstantClock::default()).await;
        assert!(told.contains("somebody else has reset the room meanwhile"), "{told}");
        // Before it empties the line, into which the first of the other epoch have come.
        let told = reset(&["ab12", "cd34"], 1, &InstantClock::default()).await;
        assert!(told.starts_with("could not empty the line: somebody else has reset the room"), "{told}");
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_missing_stack_is_broken() {
    run(async {
        let test = TestRoom::new().await;
        test.delete_table().await;
        let error = test.store.room().await.unwrap_err();
        assert_eq!((error.fault, error.to_string().as_str()), (Fault::Broken, "could not read the room"));
        let why = why(&error);
        assert!(why.starts_with("ResourceNotFoundException: "), "{why}");
        assert!(why.ends_with("; check that the stack is deployed in this region"), "{why}");
        test.delete_line().await;
        assert_eq!(test.store.line().waiting().await.unwrap_err().fault, Fault::Broken);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn an_empty_ledger_is_broken() {
    run(async {
        let test = TestRoom::empty().await;
        let error = test.store.room().await.unwrap_err();
        assert_eq!(error.fault, Fault::Broken);
        let expected = "the ledger has no item room; deploy again with a changed setting, such as another title, which creates it anew";
        assert_eq!(why(&error), expected);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn one_invalid_item_affects_only_its_visitor_and_errors_have_no_token() {
    run(async {
        let test = TestRoom::new().await;
        let (affected, other) =
            (port_contracts::visitor::visitor(1).token, port_contracts::visitor::visitor(2).token);
        let admission = port_contracts::visitor::admission(1, 1);
        test.store.admit(affected, admission).await.unwrap();
        let mut item = test.item(&format!("admission/{affected}")).await.unwrap();
        item.remove("until");
        test.put(item).await;
        for error in [
            test.store.admission(affected).await.unwrap_err(),
            test.store.admit(affected, admission).await.unwrap_err(),
        ] {
            assert_eq!(error.fault, Fault::Broken);
            let expected = "until is missing in the item admission/… of the ledger; a newer beekeeper may have written it, ";
            assert!(why(&error).starts_with(expected), "{error:?}");
        }
        assert_eq!(test.store.admission(other).await.unwrap(), None);
    });
}
