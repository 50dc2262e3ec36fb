//! A guard that tells its room how many visitors are in the shop.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use http_contract::Client;
use pass::{Claims, Discovery, GuardReport, KeyRing, Signer, fixture};
use tempfile::TempDir;

use super::fixture::{Guard, cookie};
use crate::support::{Home, eventually, text};

/// What a room with a limit answers.
const TAKEN: (&str, &str) = ("200 OK", r#"{ "idle": 300, "session": 1800, "counted": 7200 }"#);

/// A room that takes reports, and signs the passes that a test asks for.
#[derive(Clone)]
struct TestRoom {
    url: String,
    keys: Arc<KeyRing>,
    answer: Arc<Mutex<(&'static str, &'static str)>>,
    reports: Arc<Mutex<Vec<String>>>,
}

impl TestRoom {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let room = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            keys: Arc::new(KeyRing::generate().unwrap()),
            answer: Arc::new(Mutex::new(TAKEN)),
            reports: Arc::default(),
        };
        let serving = room.clone();
        std::thread::spawn(move || {
            for visitor in listener.incoming() {
                serving.serve(visitor.unwrap());
            }
        });
        room
    }

    fn serve(&self, mut visitor: TcpStream) {
        let mut request = BufReader::new(visitor.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && request.read_line(&mut head).unwrap_or(0) > 0 {}
        let (status, body) = match head.split(' ').nth(1) {
            Some("/.well-known/jwks.json") => {
                ("200 OK", serde_json::to_string(&self.keys.jwks().unwrap()).unwrap())
            }
            Some("/.well-known/openid-configuration") => {
                ("200 OK", serde_json::to_string(&Discovery::of(self.url.clone(), "demo")).unwrap())
            }
            _ => {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let mut report = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                request.read_exact(&mut report).unwrap();
                self.reports.lock().unwrap().push(head + &text(&report));
                let (status, body) = *self.answer.lock().unwrap();
                (status, body.to_owned())
            }
        };
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        drop(visitor.write_all(answer.as_bytes()));
    }

    fn answers(&self, answer: (&'static str, &'static str)) {
        *self.answer.lock().unwrap() = answer;
    }

    fn count(&self) -> usize {
        self.reports.lock().unwrap().len()
    }

    /// Waits until there are so many reports.
    fn reported(&self, count: usize) -> GuardReport {
        eventually(&format!("{count} reports"), || self.count() >= count);
        let reports = self.reports.lock().unwrap();
        serde_json::from_str(reports[count - 1].split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    /// A visitor whom the guard lets in: their session.
    fn enters(&self, guard: &Guard, visitor: &str, window: u64) -> String {
        cookie(&guard.asked(&format!("/?bk_pass={}", self.pass(visitor, window)), &[]))
    }

    fn pass(&self, visitor: &str, window: u64) -> String {
        let claims = Claims {
            iss: self.url.clone(),
            aud: "demo".into(),
            sub: visitor.into(),
            window: Some(window),
            ..fixture::claims(millis() / 1000)
        };
        Signer::new(&self.keys.current).unwrap().sign(&claims).unwrap()
    }
}

fn millis() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn guard(room: &TestRoom, directory: TempDir) -> Guard {
    let key = directory.path().join("report-key");
    fs::write(&key, "  key_of-the-room\n").unwrap();
    Guard::start(&room.url, directory, &["--report-key", key.to_str().unwrap()])
}

#[test]
fn a_room_with_a_limit_learns_who_is_in_the_shop() {
    let room = TestRoom::start();
    let begun = millis();
    let first = guard(&room, tempfile::tempdir().unwrap());
    let started = millis();
    let report = room.reported(1);
    assert!((begun..=started).contains(&report.made), "before the first visitor: {report:?}");
    assert!(first.greeting.contains("\nEvery 10 s it tells the room how many visitors are in the shop.\n"));
    let sent = room.reports.lock().unwrap()[0].clone();
    assert!(sent.starts_with("POST /guard HTTP/1.1\r\n"), "{sent}");
    for line in ["beekeeper-key: key_of-the-room", "content-type: application/json"] {
        assert!(sent.lines().any(|found| found == line), "{line} in {sent}");
    }
    assert!(report.live == 0 && report.opened.is_empty() && report.pass == 300, "{report:?}");
    let name = report.guard;

    let entered = first.asked(&format!("/?bk_pass={}", room.pass("a", 7)), &[]);
    assert!(
        entered.header("set-cookie").unwrap().contains("; Max-Age=1800;"),
        "the room says how long: {entered:?}"
    );
    room.enters(&first, "b", 8);
    let report = room.reported(2);
    assert_eq!((&report.guard, report.live, report.opened), (&name, 2, [(7, 1), (8, 1)].into()));

    // This one is lost, and nothing is missing from the next.
    room.answers(("503 Service Unavailable", ""));
    room.enters(&first, "c", 8);
    room.reported(3);
    room.answers(TAKEN);
    let report = room.reported(4);
    assert_eq!((report.live, report.opened), (3, [(7, 1), (8, 2)].into()));
    eventually("it knows that the room took its report", || {
        let metrics = Client::new(&first.metrics, "demo").get("/metrics").body;
        let age = metrics.lines().find_map(|line| line.strip_prefix("beekeeper_guard_report_age_seconds "));
        age.unwrap().parse::<u32>().unwrap() <= 10
    });

    let again = guard(&room, first.kill());
    let report = room.reported(5);
    assert_eq!(
        (&report.guard, report.live, report.opened),
        (&name, 3, [(7, 1), (8, 2)].into()),
        "the same one"
    );

    let directory = again.kill();
    fs::remove_file(directory.path().join("sessions")).unwrap();
    drop(guard(&room, directory));
    let report = room.reported(6);
    assert_ne!(report.guard, name, "what it knew is gone");
    assert!(report.live == 0 && report.opened.is_empty(), "{report:?}");
}

#[test]
fn a_session_that_ended_stays_ended_while_the_room_takes_no_report() {
    let room = TestRoom::start();
    room.answers(("503 Service Unavailable", ""));
    let first = guard(&room, tempfile::tempdir().unwrap());
    let session = room.enters(&first, "a", 7);
    let entered = first.asked("/", &[("Cookie", &session)]);
    let end = entered.header("x-beekeeper-end-cookie").unwrap().split(';').next().unwrap();
    first.asked("/", &[("Cookie", &format!("{session}; {end}"))]);
    let comes_back = |guard: &Guard| {
        let back = guard.asked(&format!("/?bk_pass={}", room.pass("a", 7)), &[]);
        assert_eq!(back.location(), format!("{}/beekeeper?again=a", room.url));
    };
    comes_back(&first);
    comes_back(&guard(&room, first.kill()));
}

#[test]
fn each_kind_of_failure_is_logged_once_until_it_changes() {
    let room = TestRoom::start();
    room.answers(("401 Unauthorized", ""));
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("report-key");
    fs::write(&key, "wrong").unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.stderr(File::options().append(true).open(log.path()).unwrap());
    let guard = Guard::started(command, &room.url, directory, &["--report-key", key.to_str().unwrap()]);
    let logged = |text: &str| fs::read_to_string(log.path()).unwrap().matches(text).count();
    let wrong = "the room does not know this guard's report key";
    eventually("the key is wrong", || logged(wrong) == 1);
    assert_eq!(logged("beekeeper keys guard NAME > FILE"), 1);
    room.reported(2);
    room.answers(("404 Not Found", r#"{"error":"this room counts no active visitors"}"#));
    room.reported(3);
    eventually("the room has no limit", || logged("the room has no limit of active visitors") == 1);
    room.answers(("401 Unauthorized", ""));
    room.reported(4);
    eventually("the key is wrong again", || logged(wrong) == 2);
    drop(guard);
}

#[test]
fn mistakes_with_the_report_key_are_explained() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (empty, lines, good) = (file("empty", " \n"), file("lines", "a\nb\n"), file("good", "key\n"));
    let table = "arn:aws:dynamodb:eu-central-1:123456789012:table/sessions";
    let refused = |extra: &[&str]| {
        let arguments = ["guard", "demo", "--listen", "0", "--room", "https://a.example", "--report-key"];
        home.refused(&[&arguments, extra].concat())
    };
    let from =
        "hint: on the machine of the room's operator, this writes it: beekeeper keys guard demo > FILE\n";
    for (file, problem) in [
        (&*empty, "it is empty"),
        (&lines, "a report key is one line of letters, digits, - and _"),
        ("/nowhere/key", "No such file or directory"),
    ] {
        let (code, error) = refused(&[file]);
        assert!(code == 1 && error.contains(problem) && error.ends_with(from), "{error}");
        assert!(error.starts_with(&format!("error: could not use the report key in {file}: ")), "{error}");
    }
    for (extra, reason) in [
        (["--sessions-table", table], "each of those guards knows a part of the sessions only"),
        (["--keys", "keys.json"], "the guard never asks the room"),
    ] {
        let (code, error) = refused(&[&[&*good][..], &extra].concat());
        assert!(code == 2 && error.contains(reason), "{error}");
    }
}
