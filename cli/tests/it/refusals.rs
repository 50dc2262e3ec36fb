//! What an operator sees of a room that refuses visitors.

use std::io::Write;
use std::path::Path;
use std::{fs, iter};

use http_contract::{Client, RoomUnderTest};
use serde_json::Value;

use crate::support::{Local, eventually, operate, text};

fn status(directory: &Path, more: &[&str]) -> String {
    let output = operate(directory, &[&["status", "--local"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn status_json(directory: &Path) -> Value {
    serde_json::from_str(&status(directory, &["--json"])).unwrap()
}

fn door(client: &Client) -> u16 {
    client.get("/beekeeper").status
}

#[test]
fn a_full_disk_is_in_the_status_until_visitors_join_again() {
    let room = Local::start_on_small_disk(&[]);
    let client = Client::new(&room.base(), "demo");
    assert_eq!(door(&client), 302);
    let before = status_json(&room.disk());
    assert_eq!((before.get("refusals"), before.get("limited")), (None, None));

    let ballast = room.disk().join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    // Some joins still fit into pages of the file that were used before.
    assert!((0..20_000).any(|_| door(&client) == 503), "nobody was refused");
    let refused = 1 + iter::repeat_with(|| door(&client)).take(20).filter(|status| *status == 503).count();

    let health = operate(&room.disk(), &["health"]);
    let said = text(&health.stderr);
    assert!(
        health.status.code() == Some(1) && said.contains("cannot write to its file, so nobody can join"),
        "{said}"
    );
    let json = status_json(&room.disk());
    let refusals = &json["refusals"];
    assert!(refusals["requests"].as_u64() >= Some(refused as u64), "{refused} refused: {refusals}");
    assert!(refusals["since"].as_u64() > Some(1_700_000_000_000), "{refusals}");
    let why = format!("the disk of {} is full: free some space", room.directory.path().display());
    assert!(refusals["reason"].as_str().unwrap().contains(&why), "{refusals}");
    assert_eq!(json.get("limited"), None, "no address took too many places");
    let text = status(&room.disk(), &[]);
    let line =
        text.lines().find(|line| line.starts_with("refused        ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(" at the door in the last two minutes, since ") && line.contains(&why), "{line}");

    fs::remove_file(&ballast).unwrap();
    // It is over ten seconds after the last refusal.
    eventually("visitors join, and the status says so", || {
        door(&client) == 302 && status_json(&room.disk()).get("refusals").is_none()
    });
}

/// A file system of 12 MB that only the script's processes see.
#[test]
fn a_room_that_cannot_write_its_changed_settings_runs_with_those_of_before() {
    const SCRIPT: &str = r#"
        mount -t tmpfs -o size=12m tmpfs "$1" || exit 99
        trap 'cat "$3" >&2' EXIT
        start() {
            "$2" local --data "$1" --port 0 --minute 2s --rate "$3" --visitors 1000 >/dev/null & room=$!
            until test -S "$1/control.sock"; do kill -0 $room || exit 98; sleep 0.05; done
        }
        end() { kill -INT $room; wait $room; }
        rate=600
        start "$1" "$2" $rate 2>/dev/null
        dd if=/dev/zero of="$1/ballast" bs=4k 2>/dev/null
        until grep -q "could not apply" "$3"; do
            # Visitors join until the file's own free pages are used up. A room that ends gives some back, at times enough for other
            # settings.
            while "$2" health --data "$1" >/dev/null 2>&1; do sleep 0.1; done
            end
            rate=$((rate + 1))
            start "$1" "$2" $rate 2>"$3"
        done
        echo $((rate - 1))
        "$2" status --local --data "$1" --json
        end"#;

    let [directory, said] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut shell = emulators::unshared().unwrap();
    shell.args(["sh", "-c", SCRIPT, "sh"]).arg(directory.path());
    shell.arg(env!("CARGO_BIN_EXE_beekeeper")).arg(said.path().join("said"));
    let output = shell.output().unwrap();
    let error = text(&output.stderr);
    let said = text(&output.stdout);
    let (before, status) = said.split_once('\n').unwrap_or_else(|| panic!("{error}"));
    let status: Value = serde_json::from_str(status).unwrap_or_else(|_| panic!("{error}"));
    let warning =
        "is full: free some space, and the room goes on by itself. Then restart the room: until you do";
    assert!(error.contains("warning: could not apply") && error.contains(warning), "{error}");
    assert_eq!(status["room"]["settings"]["rate"].to_string(), before, "{error}{status}");
}

/// Half a file would never open.
#[test]
fn a_room_that_a_full_disk_kept_from_beginning_begins_once_there_is_space() {
    const SCRIPT: &str = r#"
        mount -t tmpfs -o size=8k tmpfs "$1" || exit 99
        timeout 60 "$2" local --data "$1" --port 0 >/dev/null && exit 98
        mount -o remount,size=12m "$1" || exit 97
        "$2" local --data "$1" --port 0 >/dev/null & room=$!
        until test -S "$1/control.sock"; do kill -0 $room || exit 96; sleep 0.05; done
        ls -A "$1"
        kill -INT $room; wait $room"#;

    let directory = tempfile::tempdir().unwrap();
    let mut shell = emulators::unshared().unwrap();
    shell.args(["sh", "-c", SCRIPT, "sh"]).arg(directory.path());
    let output = shell.arg(env!("CARGO_BIN_EXE_beekeeper")).output().unwrap();
    let error = text(&output.stderr);
    assert!(output.status.success() && error.contains("No space left on device"), "{error}");
    assert_eq!(text(&output.stdout), "control.sock\nroom.redb\n");
}

#[test]
fn places_that_the_join_limit_refuses_are_no_failure() {
    let room = Local::start(&["--trust-proxy", "127.0.0.1", "--join-limit", "1"]);
    let client = Client::new(&room.base(), "demo");
    let visit = || client.send("GET", "/beekeeper", &[("X-Forwarded-For", "203.0.113.9")]).status;
    assert_eq!([visit(), visit(), visit()], [302, 429, 429]);
    let directory = room.directory.path();
    let json = status_json(directory);
    assert_eq!((json.get("refusals"), &json["limited"]["requests"]), (None, &2.into()));
    let text = status(directory, &[]);
    let expected = "join limit     2 refused in the last two minutes, since ";
    let line = text.lines().find(|line| line.starts_with(expected)).unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with(": 203.0.113.9 took as many places as --join-limit allows"), "{line}");
}
