//! `beekeeper report`: what the room keeps anyway, told after the event.

use std::fs;

use http_contract::{Client, Order, RoomUnderTest};
use serde_json::Value;

use crate::support::{Home, Local, awaited, text};

fn report(room: &Local) -> Value {
    let output = room.command(&["report", "--local", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).unwrap()
}

/// Waits until the records have this many who joined, were released and came for their pass.
fn wait_for(room: &Local, expected: [u64; 3]) -> Value {
    let counts = |report: &Value| {
        ["joined", "released", "entered"].map(|name| report["summary"][name].as_u64().unwrap_or_default())
    };
    let what = format!("{expected:?} joined, were released and came");
    awaited(&what, || report(room), |report| counts(report) == expected)
}

#[test]
fn a_report_survives_off_and_is_shown_again_from_its_file() {
    let room = Local::start(&["--rate", "6000"]);
    let nobody = room.command(&["report", "--local"]);
    assert!(text(&nobody.stdout).contains("Nobody came, from "), "{}", text(&nobody.stdout));

    let random = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let visitors = 20 + u64::from(random % 30);
    let client = Client::new(&room.base(), "demo");
    let places: Vec<_> = (0..visitors).map(|_| client.join()).collect();
    wait_for(&room, [visitors, visitors, 0]);
    let came = visitors / 3;
    for place in places.iter().take(usize::try_from(came).unwrap()) {
        let answer = client.get_with("/beekeeper", place);
        assert!(answer.header("location").unwrap().contains("bk_pass="), "{answer:?}");
    }
    wait_for(&room, [visitors, visitors, came]);
    room.order(Order::SetRate { rate: "1200".parse().unwrap() });
    room.order(Order::Off);
    // Somebody who was released before comes now.
    let late = client.get_with("/beekeeper", &places[usize::try_from(came).unwrap()]);
    assert!(late.location().contains("bk_pass="), "{late:?}");
    let told = wait_for(&room, [visitors, visitors, came + 1]);
    let (summary, minutes) = (&told["summary"], told["minutes"].as_array().unwrap());
    assert_eq!(
        (&told["format"], &told["range"], &told["room"]),
        (&1.into(), &"last-event".into(), &"demo".into())
    );
    assert_eq!((&summary["orders"], &summary["throttled_minutes"]), (&2.into(), &0.into()), "{told}");
    let orders: Vec<_> = told["orders"].as_array().unwrap().iter().map(|order| &order["what"]).collect();
    assert_eq!(orders, ["rate", "state"]);
    let joined: u64 = minutes.iter().map(|minute| minute["joined"].as_u64().unwrap()).sum();
    assert_eq!(joined, visitors);

    // The file tells the same without the room.
    let (directory, _) = room.interrupt();
    let [json, html, csv] = ["sale.json", "sale.html", "sale.csv"].map(|name| directory.path().join(name));
    fs::write(&json, told.to_string()).unwrap();
    let home = Home::new();
    let [json, html, csv] = [&json, &html, &csv].map(|path| path.to_str().unwrap());
    let again = home.printed(&["report", json, "--html", html, "--csv", csv]);
    assert!(
        again.contains("rate: 6000 -> 1200") && again.contains(&format!("joined         {visitors}\n")),
        "{again}"
    );
    let same: Value = serde_json::from_str(&home.printed(&["report", json, "--json"])).unwrap();
    assert_eq!(same, told);
    let csv = fs::read_to_string(csv).unwrap();
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("at,joined,released,entered,waiting,rate,"), "{csv}");
    let joined: u64 = lines.map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(joined, visitors);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("<svg") && html.contains("rate: 6000 -&gt; 1200"), "{html}");
}

/// All of it within a minute or two, so most of it is in no record of a whole minute.
#[test]
fn no_report_counts_a_rehearsal_among_customers() {
    let room = Local::start(&["--rate", "6000"]);
    let rehearse = |visitors: &str| {
        let order = ["rehearse", "--local", "--json", "--yes", "--visitors", visitors, "--arrivals", "1s"];
        let output = room.command(&order);
        let rehearsed: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        assert_eq!(rehearsed["end"], "all-done", "{rehearsed}");
    };
    rehearse("5");
    let told = wait_for(&room, [5, 5, 5]);
    assert_eq!(told["rehearsal"], true, "nobody else came: {told}");
    let shown = text(&room.command(&["report", "--local"]).stdout);
    assert!(shown.contains("\nThe last rehearsal, from "), "{shown}");

    let client = Client::new(&room.base(), "demo");
    let join = |customers| (0..customers).for_each(|_| drop(client.join()));
    join(3);
    let told = wait_for(&room, [3, 3, 0]);
    assert_eq!(told["rehearsal"], false, "{told}");
    rehearse("10");
    join(4);
    let told = wait_for(&room, [7, 7, 0]);
    let marked = |minutes: &[Value]| -> u64 {
        let marked = minutes.iter().filter(|minute| minute["rehearsal"] == true);
        marked.map(|minute| minute["joined"].as_u64().unwrap()).sum()
    };
    assert_eq!(marked(told["minutes"].as_array().unwrap()), 15, "{told}");
    let history = text(&room.command(&["history", "--minutes", "--local", "--json"]).stdout);
    let minutes: Vec<Value> = history.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(marked(&minutes), 15, "{history}");

    let csv = room.directory.path().join("sale.csv");
    let shown = text(&room.command(&["report", "--local", "--csv", csv.to_str().unwrap()]).stdout);
    assert!(shown.contains("\nrehearsed      15 visitors, who count in no other number\n"), "{shown}");
    assert!(shown.lines().any(|line| line.ends_with("  rehearsal")), "{shown}");
    let csv = fs::read_to_string(csv).unwrap();
    let joined: u64 =
        csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(joined, 7, "{csv}");
}

#[test]
fn who_came_for_their_pass_just_before_a_stop_is_counted() {
    let room = Local::start(&["--rate", "6000"]);
    let client = Client::new(&room.base(), "demo");
    let place = client.join();
    wait_for(&room, [1, 1, 0]);
    let answer = client.get_with("/beekeeper", &place);
    assert!(answer.location().contains("bk_pass="), "{answer:?}");
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &["--rate", "6000"]);
    wait_for(&room, [1, 1, 1]);
}

/// A report as `report --json` wrote it. Every later version reads it.
#[test]
fn a_report_of_format_1_is_shown() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/report-format-1.json");
    let told = Home::new().printed(&["report", file]);
    for line in [
        "Spring Sale (spring-sale)",
        "The last event, from 2027-03-05 11:59:31 UTC to 2027-03-05 12:04:31 UTC.",
        "joined         about 1,600",
        "released       1,600",
        "came for pass  1,510",
        "longest line   about 1,200 at 12:00:31",
        "longest wait   3 min at 12:04:31",
        "line empty     12:04:31",
        "throttled      1 minute",
        "orders         2",
        "alarms         1",
        "12:00:35  arn:aws:iam::123456789012:user/anna room: paused -> on",
        "12:02:05  throttle rate in force: 600 -> 300",
        "12:02:20  CloudWatch alarm LineStalledAlarm: quiet -> ringing",
        "12:00:31   1,200         0     0    1,200  paused        -       -",
        "12:02:31     100       300   290      700     300    2 min   110 s  throttled",
        "12:04:31       0       100   110        0     off    3 min   3 min",
        "On AWS, joined and waiting are counted roughly.",
    ] {
        assert!(told.lines().any(|told| told == line), "{line} in {told}");
    }
}

#[test]
fn a_report_that_was_kept_is_not_written_over() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let saved = include_str!("../fixtures/report-format-1.json");
    let [kept, other, link] = ["sale.json", "sale.html", "latest"].map(|name| folder.path().join(name));
    fs::write(&kept, saved).unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    let [kept, other, link] = [&kept, &other, &link].map(|path| path.to_str().unwrap());
    for flags in
        [&["--html", kept][..], &["--html", other, "--csv", link], &["--html", other, "--csv", other]]
    {
        let (code, error) = home.refused(&[&["report", kept][..], flags].concat());
        assert!(code == 2 && error.contains(" is named twice"), "{flags:?}: {error}");
    }
    assert_eq!(fs::read_to_string(kept).unwrap(), saved);
    assert!(!fs::exists(other).unwrap(), "refused before anything is written");
}

#[test]
fn a_file_that_is_no_report_is_refused() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    let file = file.to_str().unwrap();
    let error = |arguments: &[&str]| {
        let output = home.run(arguments);
        (output.status.code().unwrap(), text(&output.stderr))
    };
    assert_eq!(error(&["report", file]), (3, format!("error: there is no report {file}\n")));
    fs::write(file, "{}").unwrap();
    let (code, told) = error(&["report", file]);
    assert!(code == 1 && told.contains("is not what `beekeeper report --json` writes"), "{told}");
    fs::write(file, r#"{"format": 2, "events": []}"#).unwrap();
    let (code, told) = error(&["report", file]);
    assert!(code == 1 && told.contains("was written by a newer beekeeper"), "{told}");
    let (code, told) = error(&["report", file, "--since", "1h"]);
    assert!(code == 2 && told.contains("belong to a room"), "{told}");
}
