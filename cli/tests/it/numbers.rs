//! The numbers that the operator sees agree with each other.

use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;

use crate::crowd::{ask, authority};
use crate::support::{Local, awaited, text};

/// Joined, waiting and released.
fn counts(room: &Local) -> [u64; 3] {
    let status = room.status();
    [&status["joined"], &status["line"]["waiting"], &status["released"]].map(|count| count.as_u64().unwrap())
}

/// Waits until the numbers are these. On the way, nobody is missing: those who are not counted as released were released within
/// the last two seconds.
fn wait_for(room: &Local, expected: [u64; 3]) {
    let what = format!("{expected:?} joined, wait and are released");
    awaited(&what, || counts(room), |found| *found == expected);
}

/// Joined and released over all minutes.
fn history(room: &Local) -> [u64; 2] {
    let minutes = room.command(&["history", "--local", "--minutes", "--json"]);
    let minutes: Vec<Value> =
        text(&minutes.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    ["joined", "released"].map(|count| minutes.iter().map(|minute| minute[count].as_u64().unwrap()).sum())
}

fn wait_for_history(room: &Local, expected: [u64; 2]) {
    awaited(&format!("{expected:?} joined and were released"), || history(room), |found| *found == expected);
}

#[test]
fn the_numbers_of_a_room_agree_after_a_crowd_off_and_a_reset() {
    // Whom a busy room refuses may be in its line all the same. Then it begins again.
    assert!((0..10).any(|_| the_numbers_agree()), "somebody was refused each time");
}

/// Whether nobody was refused.
fn the_numbers_agree() -> bool {
    let room = Local::start(&["--rate", "6000"]);
    let crowd: Vec<_> = (0..3)
        .map(|_| {
            let authority = authority(&room);
            std::thread::spawn(move || ask(&authority, "/beekeeper", 100))
        })
        .collect();
    let crowd: Vec<_> = crowd.into_iter().map(|part| part.join().unwrap()).collect();
    if crowd.iter().any(|(_, refusals)| *refusals > 0) {
        return false;
    }
    assert_eq!(crowd.iter().map(|(places, _)| places.len()).sum::<usize>(), 300);
    wait_for(&room, [300, 0, 300]);
    wait_for_history(&room, [300, 300]);
    let shown = text(&room.command(&["status", "--local"]).stdout);
    assert!(shown.contains("\njoined         300\nwaiting        0\nreleased       300\n"), "{shown}");
    assert!(shown.contains(", of those released in the last two minutes\n"), "{shown}");

    room.order(Order::Pause);
    let client = Client::new(&room.base(), "demo");
    let places: Vec<_> = (0..20).map(|_| client.cookies(&client.newcomer(&[]))).collect();
    if client.refused_joins() > 0 {
        return false;
    }
    wait_for(&room, [320, 20, 300]);
    room.order(Order::Off);
    for place in &places[..15] {
        assert!(client.get_with("/beekeeper", place).location().contains("bk_pass="));
    }
    wait_for(&room, [320, 20, 300]);
    room.order(Order::On);
    wait_for(&room, [320, 0, 305]);
    wait_for_history(&room, [320, 305]);
    let shown = text(&room.command(&["status", "--local"]).stdout);
    assert!(shown.contains("\nreleased       305, and 15 not counted yet or left otherwise\n"), "{shown}");

    room.order(Order::Reset { epoch: "next".parse().unwrap() });
    wait_for(&room, [0, 0, 0]);
    let (places, refusals) = ask(&authority(&room), "/beekeeper", 40);
    if refusals > 0 {
        return false;
    }
    assert_eq!(places.len(), 40);
    wait_for(&room, [40, 0, 40]);

    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &[]);
    wait_for(&room, [40, 0, 40]);
    let [joined, released] = history(&room);
    assert!(joined >= 40 && released >= 40, "the new epoch is in the history: {joined}, {released}");
    let shown = text(&room.command(&["history", "--local", "--minutes"]).stdout);
    assert!(shown.lines().all(|line| line.contains(" UTC  ") && line.contains(" joined, ")), "{shown}");
    true
}
