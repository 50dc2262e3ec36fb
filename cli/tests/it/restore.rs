//! `beekeeper restore`: a backup in the place of a stopped room, with people in line.

use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clock::SystemClock;
use embedded::EmbeddedStore;
use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;
use tempfile::TempDir;
use waitroom::ports::Clock;

use crate::support::{Home, Local, awaited, eventually, operate, text};

fn order(room: &Local, arguments: &[&str]) {
    let output = room.command(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
}

fn join(room: &Local, visitors: usize) -> Vec<String> {
    let client = Client::new(&room.base(), "demo");
    (0..visitors).map(|_| client.join()).collect()
}

/// The number in a place: `bk_demo=<epoch>-<token>-<ticket>`.
fn ticket(place: &str) -> u64 {
    place.split(';').next().unwrap().rsplit('-').next().unwrap().parse().unwrap()
}

fn poll(room: &Local, place: &str) -> Value {
    Client::new(&room.base(), "demo").get_with("/polling", place).json()
}

fn is_admitted(room: &Local, place: &str) -> bool {
    poll(room, place)["allow"] == true
}

/// How many joined, as the report of the event tells.
fn reported(room: &Local) -> u64 {
    let report: Value =
        serde_json::from_slice(&room.command(&["report", "--local", "--json"]).stdout).unwrap();
    report["summary"]["joined"].as_u64().unwrap()
}

fn backup(room: &Local, name: &str) -> PathBuf {
    let file = room.directory.path().join(name);
    order(room, &["backup", "--local", file.to_str().unwrap()]);
    file
}

/// Restores, and returns what was said about it.
fn restore(directory: &TempDir, file: &Path) -> (Value, String) {
    let output = operate(directory.path(), &["restore", file.to_str().unwrap(), "--yes", "--json"]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn refused(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.arg("restore").args(arguments).arg("--data").arg(directory).stdin(Stdio::null());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), text(&output.stderr))
}

#[test]
fn nobody_is_lost_or_released_twice_by_a_restore() {
    let room = Local::start(&["--rate", "6000"]);
    let entered = join(&room, 3);
    eventually("three are admitted", || entered.iter().all(|place| is_admitted(&room, place)));
    room.order(Order::Pause);
    let waiting = join(&room, 4);
    let file = backup(&room, "noon.redb");
    room.order(Order::On);
    eventually("four are released", || waiting.iter().all(|place| is_admitted(&room, place)));
    let both = join(&room, 2);
    eventually("two joined and were released", || both.iter().all(|place| is_admitted(&room, place)));
    room.order(Order::Pause);
    let later = join(&room, 3);
    let directory = room.kill();

    let before = fs::read(directory.path().join(EmbeddedStore::FILE)).unwrap();
    let (restored, said) = restore(&directory, &file);
    assert!(said.contains("demo, paused, 6000 a minute, 7 joined and 4 waiting, written 20"), "{said}");
    assert!(said.contains("demo, paused, 6000 a minute, 12 joined and 3 waiting, written 20"), "{said}");
    assert!(said.contains("whoever joined since the backup keeps the place"), "{said}");
    let counts =
        ["waiting", "admissions", "joined_since", "admitted_since"].map(|name| restored[name].as_u64());
    assert_eq!(counts, [3, 9, 3, 4].map(Some), "{restored}");
    assert_eq!(
        fs::read(restored["kept"].as_str().unwrap()).unwrap(),
        before,
        "the old file is kept as it was"
    );

    let room = Local::start_in(directory, &[]);
    let told = room.status();
    assert_eq!((&told["room"]["state"], &told["line"]["waiting"]), (&"paused".into(), &3.into()));
    assert_eq!((&told["joined"], &told["released"]), (&12.into(), &9.into()));
    for place in entered.iter().chain(&waiting).chain(&both) {
        assert!(is_admitted(&room, place), "who was released need not wait again");
    }
    let newest = join(&room, 1);
    assert!(ticket(&newest[0]) > later.iter().map(|place| ticket(place)).max().unwrap(), "{newest:?}");
    room.order(Order::On);
    eventually("everybody is admitted", || {
        later.iter().chain(&newest).all(|place| is_admitted(&room, place))
    });
    eventually("nobody waits", || room.status()["line"]["waiting"] == 0);
    awaited("thirteen are released", || room.status(), |status| status["released"] == 13);
    // The history goes on where it was.
    eventually("thirteen are reported", || reported(&room) == 13);
}

/// After a reset by mistake, a room gets its line back.
#[test]
fn a_line_that_was_reset_comes_back() {
    let room = Local::start(&["--rate", "6000"]);
    room.order(Order::Pause);
    let waiting = join(&room, 5);
    let file = backup(&room, "noon.redb");
    let unkept = join(&room, 2);
    order(&room, &["reset", "--local", "--yes"]);
    let anew = join(&room, 1);
    let (directory, _) = room.interrupt();
    let (restored, said) = restore(&directory, &file);
    assert!(
        said.contains(
            "the line was reset since the backup: the 1 who wait now lose their places and join again, behind the 5 of the backup"
        ),
        "{said}"
    );
    assert!(
        said.contains(
            "; 1 joined the new line, and whoever of them had a place in the backup's has it no longer"
        ),
        "{said}"
    );
    assert!(
        said.contains("the 2 who joined after the backup and before the reset get a new place"),
        "{said}"
    );
    assert_eq!((&restored["waiting"], &restored["joined_since"]), (&5.into(), &0.into()));

    let room = Local::start_in(directory, &[]);
    assert_eq!(poll(&room, &anew[0])["join"], true, "a newcomer");
    let newest = join(&room, 1);
    // The closing record of the reset says how many had joined.
    assert!(ticket(&newest[0]) > unkept.iter().map(|place| ticket(place)).max().unwrap(), "{newest:?}");
    room.order(Order::On);
    eventually("they are admitted", || waiting.iter().chain(&newest).all(|place| is_admitted(&room, place)));
    eventually("six were released", || room.status()["released"] == 6);
    eventually("each of the nine is reported once", || reported(&room) == 9);
}

/// Somebody started the room without its file, and then found the backup.
#[test]
fn a_room_that_was_begun_anew_gets_the_keys_of_the_backup_again() {
    let keys = |room: &Local| Client::new(&room.base(), "demo").get("/.well-known/jwks.json").json();
    let room = Local::start(&["--rate", "60"]);
    room.order(Order::Pause);
    let waiting = join(&room, 2);
    let file = backup(&room, "noon.redb");
    let published = keys(&room);
    let directory = room.kill();
    fs::remove_file(directory.path().join(EmbeddedStore::FILE)).unwrap();
    let room = Local::start_in(directory, &["--rate", "60"]);
    assert_ne!(keys(&room), published);
    let (directory, _) = room.interrupt();
    let (_, said) = restore(&directory, &file);
    assert!(said.contains("nothing is known of what came after the backup"), "{said}");
    let room = Local::start_in(directory, &[]);
    assert_eq!(keys(&room), published, "the passes that people have were signed with them");
    assert!(waiting.iter().all(|place| poll(&room, place)["join"] != true), "they wait as before");
    let history = text(&room.command(&["history", "--local"]).stdout);
    assert!(history.contains("room: on -> paused"), "{history}");
}

/// Whoever has a backup may have its keys.
#[test]
fn a_key_that_was_dropped_since_the_backup_stays_dropped() {
    for resets in [false, true] {
        let published = |room: &Local| {
            let keys = Client::new(&room.base(), "demo").get("/.well-known/jwks.json").json();
            keys["keys"].as_array().unwrap().clone()
        };
        let room = Local::start(&["--rate", "60"]);
        let [dropped] = &*published(&room) else { panic!("one key") };
        let dropped = dropped["kid"].clone();
        let file = backup(&room, "noon.redb");
        order(
            &room,
            &["keys", "drop", "--local", "--yes", dropped.as_str().unwrap().trim_start_matches('-')],
        );
        if resets {
            order(&room, &["reset", "--local", "--yes"]);
        }
        let (directory, _) = room.interrupt();
        restore(&directory, &file);
        let room = Local::start_in(directory, &[]);
        assert!(published(&room).iter().all(|key| key["kid"] != dropped), "{resets}");
    }
}

#[test]
fn a_file_that_is_lost_or_damaged_is_replaced() {
    let room = Local::start(&["--rate", "60"]);
    room.order(Order::Pause);
    join(&room, 4);
    let file = backup(&room, "noon.redb");
    let (directory, _) = room.interrupt();
    let place = directory.path().join(EmbeddedStore::FILE);
    let unknown = "nothing is known of what came after the backup";

    fs::write(&place, "damaged").unwrap();
    let (restored, said) = restore(&directory, &file);
    assert!(said.contains("is not the file of a room") && said.contains(unknown), "{said}");
    assert_eq!(fs::read_to_string(restored["kept"].as_str().unwrap()).unwrap(), "damaged");
    let shown = text(&operate(directory.path(), &["status", "--local"]).stdout);
    assert!(shown.contains("\nwaiting        4"), "{shown}");

    let elsewhere = tempfile::tempdir().unwrap();
    let (restored, said) = restore(&elsewhere, &file);
    assert!(said.contains(unknown) && restored["kept"].is_null(), "{said}");
    let room = Local::start_in(elsewhere, &[]);
    assert_eq!(room.status()["line"]["waiting"], 4);
}

/// The version that wrote it still knows everybody.
#[test]
fn a_file_of_a_newer_version_is_not_replaced() {
    let room = Local::start(&["--rate", "60"]);
    let file = backup(&room, "noon.redb");
    let (directory, _) = room.interrupt();
    let place = directory.path().join(EmbeddedStore::FILE);
    let database = redb::Database::open(&place).unwrap();
    let singles: redb::TableDefinition<&str, &[u8]> = redb::TableDefinition::new("single");
    let transaction = database.begin_write().unwrap();
    transaction.open_table(singles).unwrap().insert("format", b"3".as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let before = fs::read(&place).unwrap();
    let (code, said) = refused(directory.path(), &[file.to_str().unwrap(), "--yes"]);
    assert_eq!((code, said.contains("use the version that wrote it")), (1, true), "{said}");
    assert!(said.contains("or move it away and restore again"), "{said}");
    assert!(fs::read(&place).unwrap() == before, "it was changed");
}

/// It opens visitors' way by itself, perhaps into a shop that is down by now.
#[test]
fn a_backup_with_an_opening_says_when_the_room_opens() {
    let with_opening = |ahead: Duration| {
        let room = Local::start(&["--rate", "60"]);
        let opens = SystemClock.now() + ahead;
        room.order(Order::OpenAt { at: opens });
        let file = backup(&room, "noon.redb");
        room.order(Order::Pause);
        (room.kill(), file, opens)
    };
    let (directory, file, opens) = with_opening(Duration::from_hours(1));
    let (_, said) = restore(&directory, &file);
    assert!(said.contains(&format!("demo, paused until {opens}, 60 a minute")), "{said}");
    assert!(said.contains(&format!("the room opens by itself at {opens}")), "{said}");
    let (directory, file, opens) = with_opening(Duration::from_secs(20));
    eventually("it is late", || SystemClock.now() > opens);
    let (_, said) = restore(&directory, &file);
    assert!(
        said.contains(&format!("the room is on as soon as you start it: in the backup it opens at {opens}")),
        "{said}"
    );
}

/// Without privileges over the directory, which belongs to the room's user.
#[cfg(target_os = "linux")]
#[test]
fn a_user_who_may_not_look_is_not_told_that_the_room_runs() {
    let room = Local::start(&["--rate", "60"]);
    let file = backup(&room, "noon.redb");
    let own = tempfile::tempdir().unwrap();
    let copy = own.path().join("noon.redb");
    fs::copy(&file, &copy).unwrap();
    let (directory, _) = room.interrupt();
    let closed = |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    closed(0o000);
    let mut restore = Command::new("unshare");
    restore.args(["--user", env!("CARGO_BIN_EXE_beekeeper"), "restore"]).arg(&copy);
    let output = restore.arg("--yes").arg("--data").arg(directory.path()).output().unwrap();
    closed(0o700);
    let said = text(&output.stderr);
    assert!(said.contains("this user may not use ") && said.contains("or with sudo"), "{said}");
}

/// What is in the way isn't to be moved away then: it knows who has entered.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_does_not_blame_the_file_that_is_replaced() {
    let room = Local::start(&["--rate", "60"]);
    let file = backup(&room, "noon.redb");
    let directory = tempfile::tempdir().unwrap();
    let mut restore = emulators::unshared().unwrap();
    let mount = "mount -t tmpfs -o size=16k tmpfs \"$0\" && exec \"$@\"";
    restore.args(["sh", "-c", mount]).arg(directory.path());
    restore.args([env!("CARGO_BIN_EXE_beekeeper"), "restore", file.to_str().unwrap(), "--yes", "--data"]);
    let output = restore.arg(directory.path()).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("nothing was changed") && said.contains("No space left"), "{said}");
    assert!(!said.contains("move it away"), "{said}");
}

/// Each would put its file in the place of the same one, and a room may start on the first.
#[test]
fn of_two_restores_at_once_the_second_is_refused() {
    let room = Local::start(&["--rate", "60"]);
    let file = backup(&room, "noon.redb");
    let (directory, _) = room.interrupt();
    let (file, data) = (file.to_str().unwrap(), directory.path().to_str().unwrap());
    let mut person = Home::new().person(&["restore", file, "--data", data]);
    person.exp_string("Restore?").unwrap();
    let (code, said) = refused(directory.path(), &[file, "--yes"]);
    assert_eq!((code, said.contains("another restore is under way in ")), (1, true), "{said}");
    person.send_line("y").unwrap();
    person.exp_string("restored demo into").unwrap();
    person.exp_eof().unwrap();
    assert_eq!(refused(directory.path(), &[file, "--yes"]).0, 0);
}

#[test]
fn what_is_not_to_be_replaced_stays() {
    let room = Local::start(&["--rate", "60"]);
    let file = backup(&room, "noon.redb");
    let (file, directory) = (file.to_str().unwrap(), room.directory.path());
    let (code, said) = refused(directory, &[file, "--yes"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("runs, and only the file of a stopped room is replaced"), "{said}");
    assert!(
        said.contains("stop demo first, with Ctrl-C in its terminal, or its container from outside;"),
        "{said}"
    );

    let stopped = tempfile::tempdir().unwrap();
    let (code, said) = refused(stopped.path(), &[file, "sale", "--yes"]);
    assert_eq!((code, said.contains("is a backup of demo, not of sale")), (2, true), "{said}");
    let (code, said) = refused(stopped.path(), &[file]);
    assert_eq!((code, said.contains("needs --yes")), (6, true), "{said}");
    let other = stopped.path().join("other.redb");
    fs::write(&other, "no backup").unwrap();
    let (code, said) = refused(stopped.path(), &[other.to_str().unwrap(), "--yes"]);
    assert_eq!((code, said.contains("other.redb is no backup of a room")), (1, true), "{said}");
    let left: Vec<_> =
        fs::read_dir(stopped.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["other.redb"], "nothing else was written");
}

/// What is to be done about a room's own file, such as to move it away, is no advice for a backup.
#[test]
fn whoever_names_no_backup_is_told_what_to_name() {
    let room = Local::start(&["--rate", "60"]);
    let whole = fs::read(backup(&room, "noon.redb")).unwrap();
    let (directory, _) = room.interrupt();
    let data = directory.path().to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("empty", &[][..]), ("cut", &whole[..whole.len() / 2]), ("noon", &whole)] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    for (typed, problem, advice) in [
        (&["empty"][..], "empty is no backup of a room", "choose another backup; nothing was changed"),
        (
            &["cut"],
            "cut can't be restored: could not open the store cut: ",
            "it may be incomplete or damaged: choose an older backup; nothing was changed",
        ),
        (&["gone"], "there is no file gone", "name a file that `beekeeper backup` wrote"),
        (
            &["demo", "noon"],
            "there is no file demo",
            &format!("the file comes first: beekeeper restore noon demo --data {data}"),
        ),
        (&[data], &format!("{data} is a directory"), &format!("name the file in it: {data}/room.redb")),
    ] {
        let mut restore = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        restore.arg("restore").args(typed).args(["--yes", "--data", data]).current_dir(folder.path());
        let output = restore.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let (expected, end) = (format!("error: {problem}"), format!("\nhint: {advice}\n"));
        assert!(said.starts_with(&expected) && said.ends_with(&end), "{said}");
    }
}

/// Whenever it is killed, the room has its old file or the new one.
#[test]
fn a_restore_may_be_killed_at_any_moment() {
    let room = Local::start(&["--rate", "60"]);
    room.order(Order::Pause);
    join(&room, 30);
    let file = backup(&room, "noon.redb");
    order(&room, &["reset", "--local", "--yes"]);
    join(&room, 2);
    let (directory, _) = room.interrupt();
    let place = directory.path().join(EmbeddedStore::FILE);
    let before = fs::read(&place).unwrap();
    let waiting = || EmbeddedStore::look_at(&place).unwrap().0.status().waiting;
    let restoring = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        command.args(["restore", file.to_str().unwrap(), "--yes", "--data"]).arg(directory.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let begun = Instant::now();
    assert!(restoring().wait().unwrap().success());
    let whole = begun.elapsed();
    let (mut seen, mut unfinished, mut last) = ([0; 2], 0, 0);
    // Later and later, until it was killed at every stage. A busy machine takes longer than it took at first.
    for step in 0..400 {
        if step >= 40 && seen[0] > 0 && seen[1] > 0 && unfinished > 0 {
            break;
        }
        fs::write(&place, &before).unwrap();
        let mut restore = restoring();
        std::thread::sleep(whole * step / 30);
        restore.kill().unwrap();
        restore.wait().unwrap();
        last = waiting();
        match last {
            2 => seen[0] += 1,
            30 => seen[1] += 1,
            other => panic!("{other} wait"),
        }
        let left = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        unfinished += left.filter(|name| name.to_string_lossy().starts_with(".unfinished")).count();
    }
    assert!(seen[0] > 0 && seen[1] > 0, "killed only before or only after: {seen:?}");
    assert!(unfinished > 0, "never killed while it wrote");
    let room = Local::start_in(directory, &[]);
    assert_eq!(room.status()["line"]["waiting"], last);
}
