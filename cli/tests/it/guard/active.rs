//! A room with a limit of active visitors, its guard, and visitors who come, leave and come again.

use std::fs;
use std::thread;
use std::time::Duration;

use http_contract::{Client, RoomUnderTest};
use serde_json::{Value, json};

use super::fixture::{Guard, cookie, issuer};
use crate::support::{Local, eventually, text};

fn active(room: &Local) -> Value {
    room.status()["active"].clone()
}

fn may_enter(client: &Client, place: &str) -> bool {
    client.get_with("/polling", place).json()["allow"] == true
}

#[test]
#[ignore = "takes a minute: cargo xtask test beekeeper"]
fn the_third_visitor_comes_in_once_the_first_has_left_who_then_waits_again() {
    let room = Local::start(&[
        "--active-visitors",
        "2",
        "--idle",
        "10m",
        "--session",
        "1h",
        "--shop",
        "https://shop.example/sale",
    ]);
    let client = Client::new(&room.base(), "demo");
    let [first, second, third] = [(); 3].map(|()| client.cookies(&client.newcomer(&[])));
    eventually("two may enter", || may_enter(&client, &first) && may_enter(&client, &second));
    thread::sleep(Duration::from_secs(5));
    assert!(!may_enter(&client, &third), "the shop is full");
    assert_eq!(active(&room), json!({ "limit": 2, "sessions": 0, "expected": 2, "planned": 0, "guards": 0 }));
    let told = text(&room.command(&["status", "--local"]).stdout);
    assert!(told.contains("2 of 2, by how long a visit lasts at most: no guard reports"), "{told}");

    let key = room.command(&["keys", "guard", "--local"]);
    assert!(key.status.success(), "{}", text(&key.stderr));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report-key");
    fs::write(&file, &key.stdout).unwrap();
    let guard = Guard::start(&issuer(&room), directory, &["--http", "--report-key", file.to_str().unwrap()]);
    let enters = |place: &str| {
        let to_shop = client.get_with("/beekeeper", place);
        let (_, pass) = to_shop.location().split_once("?bk_pass=").unwrap_or_else(|| panic!("{to_shop:?}"));
        cookie(&guard.asked(&format!("/sale?bk_pass={pass}"), &[]))
    };
    let (session, _) = (enters(&first), enters(&second));
    eventually("both are reported", || active(&room)["sessions"] == 2);
    assert_eq!(active(&room)["expected"], 0);
    assert!(!may_enter(&client, &third), "the shop is still full");

    // The shop says that the first one is done.
    let entered = guard.asked("/sale", &[("Cookie", &session)]);
    let end = entered.header("x-beekeeper-end-cookie").unwrap().split(';').next().unwrap();
    guard.asked("/sale", &[("Cookie", &format!("{session}; {end}"))]);
    eventually("the third may enter", || may_enter(&client, &third));

    let away = guard.asked("/sale", &[("Cookie", &session)]);
    let back = client.get_with("/beekeeper", &first);
    let (_, pass) = back.location().split_once("?bk_pass=").unwrap();
    let again = guard.asked(&format!("/sale?bk_pass={pass}"), &[]);
    assert_eq!((away.status, again.status), (302, 302));
    let (_, again) = again.location().split_once("/beekeeper").unwrap();
    assert!(again.starts_with("?again="), "{again}");
    assert!(client.get_with(&format!("/beekeeper{again}"), &third).header("set-cookie").is_none());
    let anew = client.get_with(&format!("/beekeeper{again}"), &first);
    assert!(anew.location().starts_with("wait/"), "{anew:?}");
    assert!(!may_enter(&client, &client.cookies(&anew)), "they wait again");
}

#[test]
fn a_limit_is_refused_with_what_contradicts_it() {
    for (flags, reason) in [
        (&["--active-visitors", "5", "--mode", "overflow"][..], "needs mode = \"line\""),
        (&["--idle", "5m"], "idle_minutes: needs active_visitors"),
        (&["--active-visitors", "5", "--idle", "3h"], "is longer than session_minutes"),
        (&["--active-visitors", "5", "--idle", "90s"], "must be whole minutes"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let line =
            [&["local", "--listen", "0", "--data", directory.path().to_str().unwrap()], flags].concat();
        let refused = crate::support::Home::new().run(&line);
        let said = text(&refused.stderr);
        assert!(!refused.status.success() && said.contains(reason), "{flags:?}: {said}");
    }
    let room = Local::start(&["--active-visitors", "5"]);
    let said = text(&room.command(&["mode", "--local", "overflow"]).stderr);
    assert!(said.contains("counts its active visitors as they leave the line"), "{said}");
    let room = Local::start(&[]);
    let said = text(&room.command(&["keys", "guard", "--local"]).stderr);
    assert!(said.contains("has no limit of active visitors"), "{said}");
}
