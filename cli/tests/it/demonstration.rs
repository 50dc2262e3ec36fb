//! The demonstration: its shop behind a guard, and the visitors who wait ahead of whoever tries it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;

use crate::support::{Home, Local, eventually, operate, text};

fn waiting(room: &Local) -> u64 {
    room.status()["line"]["waiting"].as_u64().unwrap()
}

fn joined(room: &Local) -> u64 {
    room.status()["joined"].as_u64().unwrap()
}

fn shop(room: &Local) -> Client {
    Client::new(room.shop().trim_end_matches("/demo-shop"), "demo_guard")
}

#[test]
fn its_shop_lets_in_who_waited_and_sends_everybody_else_to_the_room() {
    let room = Local::start(&["--rate", "6000"]);
    let (client, shop) = (Client::new(&room.base(), "demo"), shop(&room));
    let door = format!("{}/beekeeper", room.base().replace("127.0.0.1", "localhost"));
    let sent = shop.get("/demo-shop");
    assert_eq!((sent.status, sent.location()), (302, door.as_str()));

    let pass = client.wait_for_pass(&client.join());
    let arrival = format!("/demo-shop?bk_pass={pass}");
    let exchanged = shop.get(&arrival);
    assert_eq!((exchanged.status, exchanged.location()), (302, "/demo-shop"));
    let session = shop.cookie(&exchanged);
    for _ in 0..2 {
        let page = shop.get_with("/demo-shop", &session);
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.body.contains("You waited with number 1, and your pass was good."), "{}", page.body);
        assert!(page.body.contains("20 minutes") && page.body.contains("2 hours"), "{}", page.body);
    }
    let forged = session.replace("demo_guard=", "demo_guard=x");
    for (target, cookie) in [("/demo-shop?bk_pass=x", ""), ("/demo-shop", &forged)] {
        let refused = shop.get_with(target, cookie);
        assert_eq!((refused.status, refused.location()), (302, door.as_str()), "{target} {cookie}");
    }

    room.order(Order::Off);
    let straight = client.get("/beekeeper").location().to_owned();
    let (_, pass) = straight.split_once("bk_pass=").unwrap();
    let session = shop.cookie(&shop.get(&format!("/demo-shop?bk_pass={pass}")));
    let page = shop.get_with("/demo-shop", &session);
    assert!(page.body.contains("You came straight here, without a number in the line."), "{}", page.body);
}

#[test]
fn its_visitors_wait_ahead_of_a_newcomer_who_still_enters() {
    let room = Local::start(&["--visitors", "8", "--rate", "600", "--minute", "10s"]);
    let client = Client::new(&room.base(), "demo");
    eventually("they come", || joined(&room) >= 8);
    room.order(Order::Pause);
    eventually("as many wait as were asked for", || waiting(&room) == 8);
    let before = joined(&room);
    let place = client.join();
    // They look twice a second whether somebody is missing.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!((joined(&room), waiting(&room)), (before + 1, 9), "nobody joins while enough wait");
    assert_eq!(client.get_with("/polling", &place).json()["allow"], false);

    room.order(Order::On);
    eventually("the newcomer enters", || client.get_with("/polling", &place).json()["allow"] == true);
    room.order(Order::Pause);
    eventually("others came for those who entered", || waiting(&room) == 8);
    assert!(joined(&room) > before + 1);
}

#[test]
fn its_visitors_come_again_after_a_reset_and_stay_away_while_the_room_is_off() {
    let room = Local::start(&["--visitors", "3", "--rate", "1", "--minute", "60s"]);
    eventually("they come", || waiting(&room) == 3);
    room.order(Order::Reset { epoch: "ab12".parse().unwrap() });
    eventually("they come again", || waiting(&room) == 3);
    room.order(Order::Off);
    let joined_before = joined(&room);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(joined(&room), joined_before);
}

#[test]
fn it_is_not_rehearsed_while_its_visitors_wait() {
    let room = Local::start(&["--visitors", "8"]);
    let refused = room.command(&["rehearse", "--local", "--yes"]);
    let expected = "error: the room demo always has 8 demonstration visitors in its line, and a rehearsal needs an empty one\n\
        hint: stop the room, start it again as before but with --visitors 0, and rehearse it when nobody waits\n";
    assert_eq!((refused.status.code(), text(&refused.stderr)), (Some(1), expected.into()));
}

#[test]
fn real_visitors_wait_behind_nobody_who_is_none() {
    let home = Home::new();
    home.write(
        "sale",
        "title = 'Sale'\nregion = 'eu-central-1'\nshop = 'https://shop.example'\nrate = 300\n",
    );
    let data = tempfile::tempdir().unwrap();
    let path = data.path().to_str().unwrap();
    for (more, why) in [
        (&["--shop", "https://shop.example/sale"][..], "has a shop of its own, https://shop.example/sale"),
        (&["sale"], "has a shop of its own, https://shop.example/"),
        (&["--url", "https://wait.example"], "has a public URL, https://wait.example/"),
    ] {
        let local = ["local", "--listen", "0", "--data", path, "--visitors", "5"];
        let (code, said) = home.refused(&[&local[..], more].concat());
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(why) && said.contains("\nhint: leave --visitors out; "), "{said}");
        assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing is kept of a room that is refused");
    }
    let too_many = text(&operate(data.path(), &["local", "--listen", "0", "--visitors", "1001"]).stderr);
    assert!(too_many.contains("must be a whole number from 0 to 1000"), "{too_many}");
}

#[test]
fn its_shop_is_beside_the_room_or_anywhere_if_that_port_is_taken() {
    // Other tests take free ports too, so the one before may be theirs.
    let (taken, room_port) = std::iter::repeat_with(|| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let before = taken.local_addr().unwrap().port() - 1;
        TcpListener::bind(("127.0.0.1", before)).is_ok().then_some((taken, before))
    })
    .take(100)
    .flatten()
    .next()
    .unwrap();
    let beside = format!("http://localhost:{}/demo-shop", room_port + 1);
    let listen = ["--listen", &room_port.to_string()];
    let room = Local::start(&listen);
    assert_ne!(room.shop(), beside);
    assert_eq!(shop(&room).get("/demo-shop").status, 302, "the guard answers at {}", room.shop());
    let (directory, _) = room.interrupt();
    drop(taken);
    assert_eq!(Local::start_in(directory, &listen).shop(), beside);
}

#[test]
fn it_has_visitors_unless_it_has_a_public_url() {
    let visitors = |more: &[&str]| {
        let data = tempfile::tempdir().unwrap();
        let mut room = Command::new(env!("CARGO_BIN_EXE_beekeeper"))
            .args(["local", "--json", "--listen", "0", "--data"])
            .arg(data.path())
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        BufReader::new(room.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
        room.kill().unwrap();
        room.wait().unwrap();
        serde_json::from_str::<Value>(&greeting).unwrap()["demonstration_visitors"].clone()
    };
    assert_eq!(visitors(&[]), 8);
    assert_eq!(visitors(&["--visitors", "0"]), 0);
    assert_eq!(visitors(&["--url", "https://wait.example"]), 0);
    assert_eq!(visitors(&["--shop", "https://shop.example", "--visitors", "0"]), 0);
}
