//! A room as an operator hosts it: behind a proxy, monitored, backed up, upgraded. docs/hosting.md describes all of it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{iter, thread};

use emulators::{Nginx, console, free_port};
use http_contract::{Client, HttpAnswer, Order, RoomUnderTest};
use pass::{GuardName, GuardReport};

use crate::support::{Local, eventually, header, operate, status, text};

const NGINX: &str = include_str!("../../../docs/hosting/nginx.conf");
const SERVICE: &str = include_str!("../../../docs/hosting/beekeeper.service");
pub(crate) const GUARD_SERVICE: &str = include_str!("../../../docs/hosting/beekeeper-guard.service");

const HOSTING: &str = include_str!("../../../docs/hosting.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn client(room: &Local) -> Client {
    Client::new(&room.base(), "demo")
}

/// Pauses the room, and waits until running slices know.
fn pause(room: &Local) {
    room.order(Order::Pause);
    thread::sleep(Duration::from_secs(2));
}

/// A visit through a proxy that says where it came from.
fn forwarded(client: &Client, hops: &str) -> HttpAnswer {
    client.send("GET", "/beekeeper", &[("X-Forwarded-For", hops)])
}

#[test]
fn the_page_of_nginx_reloads_when_hosting_md_says() {
    let (_, script) = NGINX.split_once("setTimeout(function () { location.reload(); }, ").unwrap();
    let (millis, _) = script.split_once(" * Math.random());").unwrap();
    let seconds = millis.parse::<u32>().unwrap() / 1000;
    let said = format!("It reloads by itself within {seconds} seconds, each at a random moment.");
    let hosting = HOSTING.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(hosting.contains(&said), "{said}");
}

/// What dpkg runs after an upgrade, where systemd says this of the room's unit and of the files of both units, and `beekeeper health`
/// ends like that. Returns how it ended, and what it ran and then said.
fn upgraded(unit: &str, files: &str, health: &str) -> (bool, Vec<String>) {
    const SCRIPT: &str = include_str!("../../../infra/release/deb/postinst");
    const OURS: &str = "# data = \"/nowhere\"\ndata = \"/srv/room\" # ours\n";

    let folder = tempfile::tempdir().unwrap();
    let [ran, room, script] = ["ran", "room.toml", "postinst"].map(|name| folder.path().join(name));
    fs::write(&room, OURS).unwrap();
    // Before version 254, systemd failed to restart what is masked, although it doesn't run.
    let systemctl = format!(
        "case \"$1 {files}\" in is-active*) echo {unit}; exit 3 ;; is-enabled*) printf '%s\\n' {files}; exit 1 ;; \
         try-restart*masked*) exit 1 ;; esac"
    );
    for (program, does) in [
        ("systemctl", systemctl),
        ("beekeeper", health.replace("RAN", ran.to_str().unwrap())),
        ("systemd-sysusers", String::new()),
        ("sleep", String::new()),
    ] {
        let path = folder.path().join(program);
        fs::write(&path, format!("#!/bin/sh\necho {program} $* >> {}\n{does}\n", ran.display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let here = SCRIPT
        .replace("/run/systemd/system", "/")
        .replace("/etc/beekeeper", folder.path().to_str().unwrap())
        .replace("/usr/share/beekeeper", &format!("{ROOT}/docs/hosting"));
    fs::write(&script, here).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let ended =
        Command::new("sh").arg(&script).args(["configure", "0.0.9"]).env("PATH", path).output().unwrap();
    assert_eq!(fs::read_to_string(room).unwrap(), OURS, "an upgrade leaves it alone");
    assert!(folder.path().join("guard.toml").exists(), "an example where there is none");
    let ran = fs::read_to_string(ran).unwrap();
    let said = text(&ended.stdout);
    (ended.status.success(), ran.lines().skip(2).chain(said.lines()).map(str::to_owned).collect())
}

#[test]
fn after_an_upgrade_the_guard_is_restarted_once_the_room_answers_and_not_before() {
    const ROOM: [&str; 2] =
        ["systemctl try-restart beekeeper.service", "systemctl is-active beekeeper.service"];
    const ASKED: &str = "beekeeper health --data /srv/room";
    const GUARD: &str = "systemctl try-restart beekeeper-guard.service";
    const ENABLED: &str = "systemctl is-enabled beekeeper.service beekeeper-guard.service";

    let (well, ran) = upgraded("active", "enabled enabled", "[ $(grep -c ^beekeeper RAN) = 3 ]");
    assert!(well, "it took the room a moment");
    assert_eq!(ran, [ROOM[0], ROOM[1], ASKED, "sleep 1", ASKED, "sleep 1", ASKED, GUARD, ENABLED]);
    let (well, ran) = upgraded("activating", "enabled enabled", "exit 1");
    assert!(!well && !ran.iter().any(|line| line == GUARD), "it refuses to start: {ran:?}");
    assert_eq!(ran.iter().filter(|line| *line == ASKED).count(), 10);
    for files in ["disabled enabled", "masked masked"] {
        let (well, ran) = upgraded("inactive", files, "exit 1");
        assert!(well, "there is no room on this machine, and maybe a guard: {files}");
        assert_eq!(ran, [ROOM[0], ROOM[1], GUARD, ENABLED]);
    }
}

/// A package that was removed and comes back is to dpkg as one that is upgraded.
#[test]
fn where_neither_unit_is_enabled_the_package_says_what_comes_next() {
    let says =
        |files| upgraded("inactive", files, "exit 1").1.concat().contains("systemctl enable --now beekeeper");
    let of_files = ["disabled disabled", "enabled disabled", "disabled enabled", "masked disabled"].map(says);
    assert_eq!(of_files, [true, false, false, false]);
}

/// Without a proxy that names them, all addresses are one: the command refuses a limit then.
#[test]
fn every_command_of_a_page_that_limits_joins_names_the_proxy() {
    let alone = operate(Path::new("/nowhere"), &["local", "--join-limit", "20"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone.stderr));
    let pages = console::documents().unwrap();
    let lines = pages.iter().flat_map(|(path, page)| page.lines().map(move |line| (path, line)));
    let with_a_number = |line: &str| {
        let mut after = line.split("--join-limit ").skip(1);
        after.any(|after| after.starts_with(|first: char| first.is_ascii_digit()))
    };
    let commands: Vec<_> = lines.filter(|(_, line)| with_a_number(line)).collect();
    assert!(!commands.is_empty());
    for (path, line) in commands {
        assert!(line.contains("--trust-proxy "), "{path}: {line}");
    }
}

#[test]
fn an_address_takes_as_many_places_as_the_limit_says() {
    let mut room =
        Local::start(&["--trust-proxy", "127.0.0.1", "--trust-proxy", "10.0.0.0/8", "--join-limit", "3"]);
    pause(&room);
    let client = client(&room);
    let first = forwarded(&client, "203.0.113.9");
    let place = client.cookie(&first);
    for written_by_the_client in ["203.0.113.9", "198.51.100.1, 203.0.113.9"] {
        assert_eq!(forwarded(&client, written_by_the_client).status, 302);
    }
    let refused = forwarded(&client, "198.51.100.2, 203.0.113.9, 10.1.2.3");
    assert_eq!((refused.status, refused.header("content-type")), (429, Some("text/html; charset=utf-8")));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "three a minute are one in twenty seconds: {wait}");
    assert_eq!((refused.header("set-cookie"), refused.header("cache-control")), (None, Some("no-store")));
    assert!(refused.body.contains("This page tries again by itself"), "{}", refused.body);

    let headers = [("X-Forwarded-For", "203.0.113.9"), ("Cookie", place.as_str())];
    let again = client.send("GET", "/beekeeper", &headers);
    assert_eq!((again.status, again.location()), (302, first.location()), "who has a place is never limited");
    assert_eq!(client.send("HEAD", "/beekeeper", &headers[..1]).status, 302, "this takes no place");
    assert_eq!(forwarded(&client, "203.0.113.10").status, 302, "another address");
    for host in 1..=3 {
        assert_eq!(forwarded(&client, &format!("2001:db8::{host}")).status, 302);
    }
    assert_eq!(forwarded(&client, "2001:db8::ffff:4").status, 429, "the same network of 64 bits");
    assert_eq!(forwarded(&client, "2001:db8:0:1::1").status, 302);
    let named = "203.0.113.9 took as many places as --join-limit allows";
    assert!(room.log().any(|line| line.contains("refused") && line.contains(named)));
}

#[test]
fn clients_without_an_address_share_a_limit_and_the_operator_is_warned() {
    let mut room = Local::start(&["--trust-proxy", "127.0.0.1", "--join-limit", "1"]);
    let client = client(&room);
    assert_eq!(client.get("/beekeeper").status, 302, "the proxy sends no X-Forwarded-For");
    assert_eq!(client.get("/beekeeper").status, 429);
    assert_eq!(forwarded(&client, "unknown").status, 429);
    assert_eq!(forwarded(&client, "203.0.113.9").status, 302);
    assert!(room.log().any(|line| line.contains("let the proxy add X-Forwarded-For")));
}

#[test]
fn an_address_gets_no_more_passes_of_a_room_that_is_off_than_places() {
    let room = Local::start(&["--trust-proxy", "127.0.0.1", "--join-limit", "3"]);
    room.order(Order::Pause);
    let client = client(&room);
    let joined = forwarded(&client, "203.0.113.8");
    let own = client.cookies(&joined);
    let invented: Vec<_> = (0..20).map(|_| client.invented_place()).collect();
    let is_to_shop =
        |answer: &HttpAnswer| answer.header("location").is_some_and(|location| location.contains("bk_pass="));
    let visit = |cookie: &str| {
        client.send("GET", "/beekeeper", &[("X-Forwarded-For", "203.0.113.9"), ("Cookie", cookie)])
    };
    room.order(Order::Off);
    eventually("off, at the door", || is_to_shop(&visit(&own)));
    let passes = invented.iter().flat_map(|place| [visit(place), visit("a=b")]).filter(is_to_shop).count();
    assert_eq!(passes, 3);
    assert_eq!(visit("a=b").status, 429);
    assert!(is_to_shop(&visit(&own)), "who has a place is never limited");
    room.order(Order::Pause);
    eventually("paused, at the door", || !is_to_shop(&visit(&invented[0])));
    assert!(!invented.iter().any(|place| is_to_shop(&visit(place))), "nobody passes the line");
    assert!(is_to_shop(&visit(&own)), "who was on the way arrives");
}

/// Two hundred connections that send a request bit by bit, and that are opened again whenever the room closes them.
#[test]
fn slow_connections_do_not_keep_a_guard_from_the_room() {
    let room = Local::start_with_files(140, &[]);
    let address = room.base().trim_start_matches("http://").to_owned();
    let slow = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /polling HTTP/1.1\r\nHo").unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let is_over = AtomicBool::new(false);
    let opened_again = AtomicUsize::new(0);
    let mut streams: Vec<_> = iter::repeat_with(slow).take(200).collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_mins(2) {
                for stream in &mut streams {
                    let is_open =
                        stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
                    if !is_open {
                        *stream = slow();
                        opened_again.fetch_add(1, Ordering::Relaxed);
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let took = (0..10).map(|_| {
            let begun = Instant::now();
            let answer = client(&room).get("/.well-known/jwks.json");
            (answer.status, begun.elapsed())
        });
        let mut took: Vec<_> = took.collect();
        // On a busy machine the guard's questions may be over before the other thread has looked at its streams once.
        while opened_again.load(Ordering::Relaxed) == 0 && begun.elapsed() < Duration::from_mins(1) {
            thread::sleep(Duration::from_millis(5));
        }
        is_over.store(true, Ordering::Relaxed);
        let patience_of_a_guard = Duration::from_secs(5);
        assert!(took.iter().all(|(status, _)| *status == 200), "{took:?}");
        took.sort_unstable();
        assert!(took[took.len() / 2].1 < patience_of_a_guard, "{took:?}");
    });
    assert!(opened_again.load(Ordering::Relaxed) > 0, "the room had fewer slots than there were connections");
}

#[test]
fn the_header_of_an_unnamed_sender_is_not_believed() {
    let room = Local::start(&["--trust-proxy", "10.0.0.1", "--join-limit", "1"]);
    let client = client(&room);
    assert_eq!(forwarded(&client, "203.0.113.9").status, 302);
    assert_eq!(forwarded(&client, "203.0.113.10").status, 429, "both came from 127.0.0.1");
}

#[test]
fn mistakes_in_flags_are_explained() {
    let nowhere = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--join-limit", "5"][..], "--trust-proxy <ADDRESS>"),
        (&["--join-limit", "0", "--trust-proxy", "::1"], "a whole number from 1; leave it out"),
        (&["--trust-proxy", "nginx"], "not an address like 127.0.0.1 or a network like 10.0.0.0/8"),
        (&["--trust-proxy", "0.0.0.0/0"], "a network with prefix 0 is everybody"),
        (&["--metrics", "here"], "must be a port like 9180, or an address and a port like 10.0.0.5:9180"),
    ] {
        let output = operate(nowhere.path(), &[&["local", "--port", "0"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let mut room = Local::start(&["--metrics", &taken.to_string()]);
    assert_eq!(client(&room).get("/wait/index.html").status, 200, "it's there for visitors");
    let expected = format!(
        "warning: nothing answers your monitoring: could not listen on {taken}; choose another address or port with --metrics: "
    );
    assert!(room.log().next().unwrap().starts_with(&expected));
}

/// The value of a line of `/metrics`.
pub(crate) fn metric(monitor: &Client, line: &str) -> String {
    let answer = monitor.get("/metrics");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    let value = answer.body.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{line} in {}", answer.body)).to_owned()
}

#[test]
fn metrics_and_health_have_a_listener_of_their_own() {
    let room =
        Local::start(&["--rate", "600", "--metrics", "0", "--trust-proxy", "127.0.0.1", "--join-limit", "2"]);
    let (visitor, monitor) = (client(&room), Client::new(room.monitor(), "demo"));
    assert_eq!(monitor.get("/healthz").body, "ok\n");
    assert_eq!([visitor.get("/metrics").status, visitor.get("/healthz").status], [404, 404]);
    assert_eq!([monitor.get("/beekeeper").status, monitor.get("/polling").status], [404, 404]);

    pause(&room);
    let place = visitor.cookie(&forwarded(&visitor, "203.0.113.9"));
    forwarded(&visitor, "203.0.113.9");
    assert_eq!(forwarded(&visitor, "203.0.113.9").status, 429);
    for _ in 0..5 {
        visitor.get_with("/polling", &place);
    }
    let metric = |line: &str| metric(&monitor, line);
    for (line, expected) in [
        ("beekeeper_joins_total", "2"),
        ("beekeeper_limited_total", "1"),
        ("beekeeper_unavailable_total", "0"),
        ("beekeeper_polls_total", "5"),
        ("beekeeper_door_seconds_count", "3"),
        ("beekeeper_poll_seconds_bucket{le=\"+Inf\"}", "5"),
        ("beekeeper_waiting", "2"),
        ("beekeeper_rate", "600"),
        ("beekeeper_rate_in_force", "600"),
        ("beekeeper_state{state=\"on\"}", "0"),
        ("beekeeper_state{state=\"paused\"}", "1"),
        ("beekeeper_throttle_holds", "0"),
    ] {
        assert_eq!(metric(line), expected, "{line}");
    }
    room.order(Order::On);
    eventually("both are released", || {
        metric("beekeeper_releases_total") == "2" && metric("beekeeper_waiting") == "0"
    });
}

#[test]
fn a_backup_under_load_restores_with_everybody_in_it() {
    let room = Local::start(&["--rate", "600"]);
    pause(&room);
    let backups = tempfile::tempdir().unwrap();
    let file = backups.path().join("demo.redb");
    let (so_far, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (before, said) = thread::scope(|scope| {
        let joining = || {
            let client = client(&room);
            let join = || {
                let place = client.join();
                let at = Instant::now();
                so_far.fetch_add(1, Ordering::SeqCst);
                (at, place)
            };
            iter::repeat_with(join).take_while(|_| !is_over.load(Ordering::Relaxed)).collect()
        };
        let crowd: Vec<_> = (0..4).map(|_| scope.spawn(joining)).collect();
        // A busy disk may take long for a join. Nothing may fail here, because the crowd would go on for ever.
        for _ in 0..300 {
            thread::sleep(Duration::from_millis(100));
            if so_far.load(Ordering::SeqCst) > 100 {
                break;
            }
        }
        let begun = Instant::now();
        let backup = room.command(&["backup", "--local", file.to_str().unwrap()]);
        is_over.store(true, Ordering::Relaxed);
        assert!(backup.status.success(), "{}", text(&backup.stderr));
        let joined =
            crowd.into_iter().flat_map(|thread| -> Vec<(Instant, String)> { thread.join().unwrap() });
        let before: Vec<String> = joined.filter(|(at, _)| *at < begun).map(|(_, place)| place).collect();
        (before, text(&backup.stdout))
    });
    assert!(before.len() > 20, "{} joined before the backup", before.len());
    let waiting = said.strip_prefix(&format!("backed up demo into {}: ", file.display())).unwrap();
    let waiting: usize = waiting.strip_suffix(" waiting, 0 admitted\n").unwrap().parse().unwrap();
    assert!(waiting >= before.len(), "{waiting} of {}", before.len());
    let left = fs::read_dir(room.directory.path()).unwrap().count();
    assert_eq!(left, 2, "only the room's file and its socket are in the data directory");
    drop(room);

    let restored = tempfile::tempdir().unwrap();
    fs::copy(&file, restored.path().join("room.redb")).unwrap();
    let room = Local::start_in(restored, &["--rate", "60000"]);
    let client = client(&room);
    for place in &before {
        let poll = client.get_with("/polling", place).json();
        assert_eq!(poll.get("join"), None, "{poll}");
    }
    room.order(Order::On);
    for place in &before {
        eventually("admitted", || client.get_with("/polling", place).json()["allow"] == true);
    }
}

#[test]
fn a_file_of_something_else_is_not_taken_for_a_room() {
    let home = crate::support::Home::new();
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("room.redb");
    fs::write(&file, "a shopping list, long enough to have a first page ".repeat(500)).unwrap();
    let (code, said) = home.refused(&["local", "--port", "0", "--data", data.path().to_str().unwrap()]);
    let expected = format!(
        "error: {} is not the file of a room; put a backup in its place, or move it away to start with an empty line\n",
        file.display()
    );
    assert_eq!((code, said), (1, expected));
}

#[test]
fn a_backup_says_what_is_wrong() {
    let room = Local::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let existing = directory.path().join("existing");
    fs::write(&existing, "precious").unwrap();
    let refused = |arguments: &[&str]| {
        let output = room.command(arguments);
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let expected = format!(
        "error: {0} exists, and a backup never overwrites a file\nhint: choose another name\n",
        existing.display()
    );
    assert_eq!(refused(&["backup", "--local", existing.to_str().unwrap()]), (1, expected));
    assert_eq!(fs::read_to_string(&existing).unwrap(), "precious");

    let nowhere = directory.path().join("no/such");
    let (code, error) = refused(&["backup", "--local", nowhere.to_str().unwrap()]);
    let expected =
        format!("error: could not create {}: No such file or directory (os error 2)\n", nowhere.display());
    assert_eq!((code, error), (1, expected));
    assert_eq!(fs::read_dir(room.directory.path()).unwrap().count(), 2, "nothing is left");

    let fine = directory.path().join("fine");
    let json = room.command(&["backup", "--local", fine.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["waiting"], &json["bytes"]), (&0.into(), &fine.metadata().unwrap().len().into()));

    let home = crate::support::Home::new();
    let on_aws = home.refused(&["backup", "sale", "sale.redb"]);
    let expected = "error: only a room on this machine has a file to back up\nhint: name it with --local\n";
    assert_eq!(on_aws, (2, expected.into()));
    let (code, error) = home.refused(&["backup", "--local", "demo.redb"]);
    assert_eq!(code, 3);
    assert!(error.starts_with("error: could not reach the room demo: no room runs in "), "{error}");
}

/// A file system of 16 MB that only the room and the command see. With a user namespace this does not need root.
#[cfg(target_os = "linux")]
#[test]
fn a_backup_that_could_fill_the_disk_is_refused() {
    const SCRIPT: &str = r#"
        mount -t tmpfs -o size=16m tmpfs "$1" || exit 99
        # It warns on its own account that the disk is full.
        "$2" local --port 0 --data "$1" >/dev/null 2>&1 & room=$!
        until test -S "$1/control.sock"; do sleep 0.05; done
        "$2" backup --local --data "$1" "$1/copy"; code=$?
        kill $room; wait $room; exit $code"#;

    let directory = tempfile::tempdir().unwrap();
    let mut shell = emulators::unshared().unwrap();
    shell.args(["sh", "-c", SCRIPT, "sh"]).arg(directory.path());
    let output = shell.arg(env!("CARGO_BIN_EXE_beekeeper")).output().unwrap();
    let (code, error) = (output.status.code(), text(&output.stderr));
    // The room's file has some hundred kilobytes, depending on when it grew.
    let numbers = error.split(' ').filter_map(|word| word.parse().ok());
    let [needed, free] = numbers.collect::<Vec<u64>>()[..] else { panic!("{error}") };
    let directory = directory.path().display();
    let expected = format!(
        "error: the room demo needs {needed} MB for a backup on the disk of {directory}, and only {free} MB are free: free some space\n"
    );
    assert_eq!((code, error), (Some(1), expected));
    assert!(free < 16 && needed > 16, "{needed} and {free}");
}

/// What a room that was killed in the middle of a backup left is removed, and nothing else.
#[test]
fn an_unfinished_backup_is_removed_when_the_room_starts() {
    let directory = tempfile::tempdir().unwrap();
    let unfinished = directory.path().join(".unfinished-backup-0123456789abcdef");
    let finished = directory.path().join("backup-of-yesterday.redb");
    fs::write(&unfinished, "half").unwrap();
    fs::write(&finished, "whole").unwrap();
    let _room = Local::start_in(directory, &[]);
    assert_eq!((unfinished.exists(), finished.exists()), (false, true));
}

/// A command may be killed before it has taken its backup away, or before the room has written it.
#[test]
fn a_backup_that_nobody_takes_away_is_removed() {
    let room = Local::start(&[]);
    let is_removed = || {
        let mut files = fs::read_dir(room.directory.path()).unwrap();
        files.all(|file| !file.unwrap().file_name().to_str().unwrap().starts_with(".unfinished-backup-"))
    };
    let order = || {
        let mut socket = UnixStream::connect(room.directory.path().join("control.sock")).unwrap();
        socket.write_all(b"{\"order\":\"back-up\"}\n").unwrap();
        socket
    };
    let replied = |socket: &mut UnixStream| {
        let mut reply = String::new();
        socket.read_to_string(&mut reply).unwrap();
        reply
    };
    let mut one = order();
    assert!(replied(&mut one).starts_with(r#"{"reply":"backed-up","file":".unfinished-backup-"#));
    assert!(!is_removed());
    let refused = r#"{"reply":"failed","error":"is still at another backup: try again when that's done"}"#;
    assert_eq!(replied(&mut order()).trim_end(), refused);
    assert!(!is_removed());
    drop(one);
    eventually("it's removed when the command is gone", is_removed);
    drop(order());
    eventually("another one is written", || replied(&mut order()).contains("backed-up"));
    eventually("nothing is left", is_removed);
}

fn succeeds(command: &mut Command, get: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {get}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// nginx with the shipped configuration, in front of a room on this port.
fn nginx(room: u16) -> Nginx {
    Nginx::with_shipped(NGINX, "wait.example", &[("127.0.0.1:8080", &format!("127.0.0.1:{room}"))]).unwrap()
}

/// A visitor of the public URL with this address of the network 127.0.0.0/8. Returns the answer with its head.
fn visit(nginx: &Nginx, address: &str, path: &str, more: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--include",
        "--interface",
        address,
        "--max-time",
        "20",
        "--http2",
    ]);
    curl.args(["--resolve", &format!("wait.example:{}:127.0.0.1", nginx.https_port()), "--cacert"]);
    curl.arg(nginx.folder().join("certificate.pem")).args(more);
    curl.arg(format!("https://wait.example:{}{path}", nginx.https_port()));
    succeeds(&mut curl, "on Debian: apt-get install curl")
}

/// A room behind a web server, and its port.
fn behind() -> (Local, u16) {
    let port = free_port().unwrap();
    (Local::start(&[BEHIND, &["--port", &port.to_string()]].concat()), port)
}

fn place(answer: &str) -> String {
    header(answer, "set-cookie").unwrap_or_else(|| panic!("{answer}")).split(';').next().unwrap().into()
}

const BEHIND: &[&str] = &[
    "--url",
    "https://wait.example",
    "--shop",
    "https://shop.example/sale",
    "--trust-proxy",
    "127.0.0.1",
    "--join-limit",
    "2",
];

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn behind_nginx_each_address_has_its_own_limit() {
    let (room, port) = behind();
    pause(&room);
    let nginx = nginx(port);
    let visit = |address: &str, path: &str, more: &[&str]| visit(&nginx, address, path, more);

    let joined = visit("127.0.0.2", "/beekeeper", &[]);
    assert!(joined.starts_with("HTTP/2 302"), "{joined}");
    assert!(header(&joined, "location").unwrap().starts_with("wait/index.html#"), "{joined}");
    assert!(header(&joined, "set-cookie").unwrap().contains("Secure; SameSite=None"), "{joined}");
    let cookie = format!("Cookie: {}", place(&joined));
    let forged = ["--header", "X-Forwarded-For: 198.51.100.7"];
    assert_eq!(status(&visit("127.0.0.2", "/beekeeper", &forged)), "302");
    let refused = visit("127.0.0.2", "/beekeeper", &forged);
    assert_eq!(status(&refused), "429", "a visitor cannot choose an address: {refused}");
    assert!(header(&refused, "retry-after").is_some(), "{refused}");
    assert_eq!(status(&visit("127.0.0.3", "/beekeeper", &[])), "302", "another address");
    assert_eq!(status(&visit("127.0.0.2", "/beekeeper", &["--header", &cookie])), "302", "has a place");

    let poll = visit("127.0.0.2", "/polling", &["--header", &cookie]);
    assert!(status(&poll) == "200" && poll.contains("\"waiting\":3"), "{poll}");
    let page = visit("127.0.0.2", "/wait/index.html", &["--compressed"]);
    assert_eq!((status(&page), header(&page, "content-encoding")), ("200", Some("gzip")), "{page}");
    assert_eq!(status(&visit("127.0.0.2", "/polling", &["--head"])), "200");

    let mut plain = Command::new("curl");
    plain.args(["--silent", "--include", &format!("http://127.0.0.1:{}/beekeeper?x=1", nginx.http_port())]);
    let redirected = succeeds(&mut plain, "on Debian: apt-get install curl");
    assert_eq!(header(&redirected, "location"), Some("https://wait.example/beekeeper?x=1"), "{redirected}");

    let log = fs::read_to_string(nginx.folder().join("access.log")).unwrap();
    assert!(log.contains("GET /beekeeper 429") && !log.contains("/polling"), "{log}");
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn an_upgrade_behind_nginx_keeps_everybody_in_line() {
    let (room, port) = behind();
    pause(&room);
    let nginx = nginx(port);
    let visit = |path: &str, more: &[&str]| visit(&nginx, "127.0.0.2", path, more);
    let cookie = format!("Cookie: {}", place(&visit("/beekeeper", &[])));

    let stopped = Instant::now();
    let (directory, farewell) = room.interrupt();
    let stopping = stopped.elapsed();
    assert!(farewell.contains("stopped. 1 waiting"), "{farewell}");
    for path in ["/beekeeper", "/polling"] {
        let absent = visit(path, &[]);
        assert_eq!((status(&absent), header(&absent, "retry-after")), ("503", Some("30")), "{absent}");
        assert_eq!(header(&absent, "content-type"), Some("text/html; charset=utf-8"));
        assert!(absent.contains("location.reload()"), "{absent}");
    }
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
        assert_eq!(status(&visit(path, &[])), "502", "a guard with --open-after knows that the room is gone");
    }
    let started = Instant::now();
    let room = Local::start_in(directory, &[BEHIND, &["--port", &port.to_string()]].concat());
    let poll = visit("/polling", &["--header", &cookie]);
    let starting = started.elapsed();
    println!("stopped in {stopping:?}; started and answered the first poll in {starting:?}");
    assert!(status(&poll) == "200" && poll.contains("\"waiting\":1") && !poll.contains("\"join\""), "{poll}");
    // Less than the ten seconds for which the room waits for open requests.
    assert!(stopping + starting < Duration::from_secs(9), "{stopping:?} and {starting:?}");
    drop(room);
}

/// What `curl` sends for a guard of this room that counts seven visitors: its report key, and a report with every window of a day.
pub(crate) fn guards_report(room: &Local) -> [String; 4] {
    let key = room.command(&["keys", "guard", "--local"]);
    assert!(key.status.success(), "{}", text(&key.stderr));
    let guard = GuardName::try_from("0123456789abcdef".to_owned()).unwrap();
    let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let opened = (0..24 * 60).map(|window| (window, 1)).collect();
    let report = GuardReport { guard, made: made.try_into().unwrap(), pass: 300, live: 7, opened };
    let key = format!("{}: {}", GuardReport::KEY, text(&key.stdout).trim());
    ["--header".into(), key, "--data".into(), serde_json::to_string(&report).unwrap()]
}

/// The room has kept the guard's report.
pub(crate) fn is_reported(room: &Local) -> bool {
    let status = room.status();
    (&status["active"]["guards"], &status["active"]["sessions"]) == (&1.into(), &7.into())
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn behind_nginx_a_room_with_a_limit_hears_its_guard() {
    let port = free_port().unwrap();
    let extra = ["--port", &port.to_string(), "--active-visitors", "50"];
    let room = Local::start(&[BEHIND, &extra].concat());
    let nginx = nginx(port);
    let report = guards_report(&room);
    let taken = visit(&nginx, "127.0.0.2", "/guard", &report.each_ref().map(String::as_str));
    assert!(status(&taken) == "200" && taken.contains("\"session\":"), "{taken}");
    eventually("the report is kept", || is_reported(&room));
    let huge = "x".repeat(100_000);
    for path in ["/guard", "/beekeeper"] {
        let refused = visit(&nginx, "127.0.0.2", path, &["--data", &huge]);
        assert_eq!(status(&refused), "413", "nobody makes nginx keep large bodies: {refused}");
    }
}

/// nginx waits for a body as long as something of it comes now and then. So it waits for none.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_body_that_does_not_come_holds_no_connection_of_nginx() {
    let (_room, port) = behind();
    let nginx = nginx(port);
    for (method, path, said, expected) in [
        ("GET", "/polling", "Content-Length: 1000", "413"),
        ("POST", "/beekeeper", "Content-Length: 2", "413"),
        ("GET", "/polling", "Transfer-Encoding: chunked", "411"),
        ("POST", "/guard", "Transfer-Encoding: chunked", "411"),
        // The room, which counts no visitors.
        ("POST", "/guard", "Content-Length: 1000", "404"),
    ] {
        let at_once = ["--http1.1", "--max-time", "5", "--request", method, "--header", said];
        let refused = visit(&nginx, "127.0.0.2", path, &at_once);
        assert_eq!(status(&refused), expected, "{method} {path}, {said}: {refused}");
    }
}

/// Writes a shipped unit with the program that was just built, and returns its path.
fn unit(folder: &Path, name: &str, service: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, service.replace(INSTALLED, env!("CARGO_BIN_EXE_beekeeper"))).unwrap();
    path
}

const INSTALLED: &str = "/usr/bin/beekeeper";
const GET_SYSTEMD: &str = "systemd-analyze is needed; on Debian: apt-get install systemd";

#[test]
#[ignore = "needs systemd-analyze: cargo xtask test beekeeper"]
fn systemd_accepts_the_units_and_finds_them_hardened() {
    let folder = tempfile::tempdir().unwrap();
    for (name, service) in [("beekeeper.service", SERVICE), ("beekeeper-guard.service", GUARD_SERVICE)] {
        let unit = unit(folder.path(), name, service);
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no"]).arg(&unit);
        let output = verify.output().expect(GET_SYSTEMD);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        let mut security = Command::new("systemd-analyze");
        // 0 is the safest, 100 the least safe.
        security.args(["security", "--offline=true", "--threshold=15", "--no-pager"]).arg(&unit);
        succeeds(&mut security, GET_SYSTEMD);
    }
}

/// The shipped file that the command line of a unit names.
pub(crate) fn shipped_flags(service: &str, command: &str) -> String {
    let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words = console::words(line);
    let [program, subcommand, config, file] = &words[..] else { panic!("{line}") };
    assert_eq!([program, subcommand, config], [INSTALLED, command, "--config"]);
    format!("{ROOT}/docs/hosting/{}", file.strip_prefix("/etc/beekeeper/").unwrap())
}

/// Only the room's directory and ports are changed, and the shop is not measured.
#[test]
fn the_units_command_starts_a_room() {
    let flags = shipped_flags(SERVICE, "local");
    let room = Local::start(&["--config", &flags, "--no-throttle", "--health", "", "--metrics", "0"]);
    assert_eq!(
        (room.base().as_str(), room.shop().as_str()),
        ("https://wait.example", "https://shop.example/sale")
    );
    let health = room.command(&["health", "spring-sale"]);
    assert_eq!(text(&health.stdout), "spring-sale is well\n", "{}", text(&health.stderr));
    room.signal("-TERM");
    eventually("the room ended", || room.command(&["health"]).status.code() == Some(3));
}
