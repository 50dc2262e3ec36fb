//! `beekeeper local`, and orders to the room that it runs.

use std::process::Output;
use std::time::Duration;

use emulators::{console, free_port};
use http_contract::{Client, Order, RoomUnderTest};
use rexpect::process::{Signal, WaitStatus};

use crate::support::{Home, Local, eventually, operate, text, web_server};

#[test]
fn conforms() {
    http_contract::check(&Local::start(&["--rate", "3000"]));
}

#[test]
fn continues_after_a_restart() {
    let room = Local::start(&["--rate", "7"]);
    room.order(Order::Pause);
    let client = Client::new(&room.base(), "demo");
    let place = client.join();
    let (directory, farewell) = room.interrupt();
    let kept = format!(
        "stopped. 1 waiting; every place is kept in {}. To continue, run the same command",
        directory.path().display()
    );
    assert_eq!(farewell.trim(), kept);
    assert!(!directory.path().join("control.sock").exists(), "nothing is left behind but the room");

    let room = Local::start_in(directory, &[]);
    let client = Client::new(&room.base(), "demo");
    let poll = client.get_with("/polling", &place).json();
    assert_eq!((&poll["state"], &poll["rate"], &poll["waiting"]), (&"paused".into(), &7.into(), &1.into()));
    room.order(Order::On);
    eventually("who waited before the restart is admitted", || {
        client.get_with("/polling", &place).json()["allow"] == true
    });
}

#[test]
fn a_cookie_of_the_shop_that_is_not_ascii_hides_no_place() {
    let room = Local::start(&["--rate", "1", "--minute", "1m"]);
    let client = Client::new(&room.base(), "demo");
    let (first, place) = (client.join(), client.join());
    assert_ne!(first, place);
    for other in [&b"city=Z\xfcrich; "[..], "city=Zürich; ".as_bytes()] {
        let head = client.head("GET", "/beekeeper");
        let request = [head.as_bytes(), b"Cookie: ", other, place.as_bytes(), b"\r\n\r\n"].concat();
        let answer = client.raw(&request).unwrap();
        assert_eq!((answer.status, answer.header("set-cookie")), (302, None), "{answer:?}");
    }
}

#[test]
fn behind_https_its_cookies_are_for_https() {
    let shop = ["--shop", "https://shop.example/sale"];
    let room = Local::start(&shop);
    assert_eq!(room.shop(), "https://shop.example/sale");
    let plain = Client::new(&room.base(), "demo").get("/beekeeper");
    assert!(plain.header("set-cookie").unwrap().contains("SameSite=Lax"));
    let (directory, _) = room.interrupt();
    let port = free_port().unwrap();
    let behind = ["--url", "https://wait.example/q", "--port", &port.to_string()];
    let room = Local::start_in(directory, &[&behind[..], &shop].concat());
    assert_eq!(room.base(), "https://wait.example/q");
    let client = Client::new(&format!("http://127.0.0.1:{port}"), "demo");
    assert!(client.get("/beekeeper").header("set-cookie").unwrap().contains("Secure; SameSite=None"));
    let old = ("user-agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 12_5_7 like Mac OS X) Version/12.1.2");
    let old = client.send("GET", "/beekeeper", &[old]);
    assert!(old.headers("set-cookie").iter().all(|set| set.contains("Secure") && !set.contains("SameSite")));
}

#[test]
fn orders_show_what_changed() {
    let room = Local::start(&["--rate", "60"]);
    let said = |arguments: &[&str]| console::without_seconds(&text(&room.command(arguments).stdout));
    assert_eq!(said(&["set-rate", "--local", "600", "--yes"]), "rate: 60 -> 600, in force in … s\n");
    assert_eq!(said(&["set-rate", "--local", "600", "--yes"]), "nothing changed: the rate is 600 already\n");
    assert_eq!(said(&["stretch", "--local", "3"]), "stretch: 1 -> 3\n");
    assert_eq!(said(&["message", "--local", "Back soon"]), "message: \"\" -> \"Back soon\"\n");
    assert_eq!(said(&["pause", "--local"]), "room: on -> paused, in force in … s\n");
    assert_eq!(said(&["off", "--local"]), "room: paused -> off\n");
    assert_eq!(said(&["on", "--local"]), "room: off -> on, in force in … s\n");
    let status = said(&["status", "--local"]);
    assert!(
        status.starts_with("The demonstration room (demo), on\njoined         0\nwaiting        0\n"),
        "{status}"
    );
    let json = room.status();
    assert_eq!((&json["line"]["rate"], &json["room"]["state"]), (&600.into(), &"on".into()));
}

#[test]
fn what_reads_like_a_rooms_name_is_not_told_to_visitors() {
    let home = Home::new();
    let room = Local::start_at_home(&home, "demo");
    let told = || Client::new(&room.base(), "demo").get("/polling").json()["message"].clone();
    let expected = "error: it is unclear whether sommer is the room or the text; nothing was changed\n\
        hint: for the room sommer: beekeeper message --local sommer \"More beer at noon\"; \
        to tell \"sommer\" to the visitors of demo: beekeeper message --local demo sommer\n";
    assert_eq!(home.refused(&["message", "--local", "sommer"]), (2, expected.into()));
    for name in ["demo", "Demo", " sommer-sale "] {
        let (code, said) = home.refused(&["message", name, "--local"]);
        assert!(code == 2 && said.contains("the room or the text"), "{name}: {said}");
    }
    assert_eq!(told(), "");
    // As the hint says, and what cannot be a name.
    for line in [&["demo", "sommer"][..], &["Sorry"], &["soon!"], &["More beer at noon"]] {
        home.printed(&[&["message", "--local"], line].concat());
        assert_eq!(told(), *line.last().unwrap());
    }
    home.printed(&["message", "--local", ""]);
    assert_eq!(told(), "");

    let expected = "error: it is unclear whether sommer is the room or the file; nothing was copied\n\
        hint: for the room sommer: beekeeper backup --local sommer FILE; \
        to copy demo into the file: beekeeper backup --local demo ./sommer\n";
    assert_eq!(home.refused(&["backup", "--local", "sommer"]), (2, expected.into()));
}

#[test]
fn a_room_with_a_directory_of_its_own_is_named_as_the_hint_says() {
    let room = Local::start(&[]);
    let refused = room.command(&["message", "--local", "sommer"]);
    let hint = format!("beekeeper message demo --data {} sommer\n", room.directory.path().display());
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.ends_with(&hint), "{said}");
}

#[test]
fn off_and_reset_ask_first_if_visitors_wait() {
    let room = Local::start(&["--rate", "60"]);
    room.order(Order::Pause);
    let client = Client::new(&room.base(), "demo");
    client.join();
    let off = room.command(&["off", "--local"]);
    assert_eq!(off.status.code(), Some(6));
    let expected = "error: without a terminal, this needs --yes: 1 visitor waits in demo, and would enter within minutes\nhint: nothing was changed; to go ahead, add --yes\n";
    assert_eq!(text(&off.stderr), expected);
    let reset = room.command(&["reset", "--local"]);
    assert_eq!(reset.status.code(), Some(6));
    let expected = "error: without a terminal, this needs --yes: 1 visitor would lose their place in demo, and numbers start again at 1\nhint: nothing was changed; to go ahead, add --yes\n";
    assert_eq!(text(&reset.stderr), expected);
    let off = text(&room.command(&["off", "--local", "--yes"]).stdout);
    assert_eq!(off, "room: paused -> off\n");
    assert_eq!(text(&room.command(&["off", "--local"]).stdout), "nothing changed: the room is off already\n");
    assert_eq!(text(&room.command(&["pause", "--local"]).stdout), "room: off -> paused\n");
    let reset = text(&room.command(&["reset", "--local", "--yes"]).stdout);
    assert!(reset.ends_with("\n1 visitor lost their place\n"), "{reset}");
}

#[test]
fn an_opening_that_would_pause_a_sale_is_asked_about() {
    let room = Local::start(&["--rate", "1", "--minute", "60s"]);
    let open_at = |yes: &[&str]| {
        let output = room.command(&[&["on", "--local", "--at", "in 1h"], yes].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    (0..3).for_each(|_| drop(Client::new(&room.base(), "demo").join()));
    // At this rate two wait for minutes when one is in.
    while !text(&room.command(&["status", "--local"]).stdout).contains("released       1\n") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, stdout, stderr) = open_at(&[]);
    assert_eq!((code, &*stdout), (Some(6), ""), "{stderr}");
    assert!(
        stderr.starts_with(
            "error: without a terminal, this needs --yes: demo is on, and 2 visitors wait to enter; nobody would enter until it opens at "
        ) && stderr.ends_with("\nhint: nothing was changed; to go ahead, add --yes\n"),
        "{stderr}"
    );
    let (code, stdout, stderr) = open_at(&["-y"]);
    assert!(code == Some(0) && stdout.starts_with("room: on -> paused"), "{stdout}{stderr}");
    // A room that is paused already lets nobody in, whatever its opening.
    let moved = room.command(&["on", "--local", "--at", "in 2h"]);
    assert!(moved.status.success() && text(&moved.stdout).contains("(not at "), "{moved:?}");

    // While it is off everybody enters, so an opening far ahead shuts the shop for as long.
    assert!(room.command(&["off", "--local", "--yes"]).status.success());
    let early = room.command(&["on", "--local", "--at", "in 2h"]);
    let stderr = text(&early.stderr);
    assert_eq!((early.status.code(), text(&early.stdout)), (Some(6), String::new()), "{stderr}");
    assert!(
        stderr.contains("from now on visitors would join and wait, and nobody would enter until"),
        "{stderr}"
    );
    assert_eq!(open_at(&[]).0, Some(0), "in the hour before");
}

#[test]
fn off_offers_to_pause_instead() {
    let room = Local::start(&["--rate", "1", "--minute", "60s"]);
    let client = Client::new(&room.base(), "demo");
    for _ in 0..5 {
        client.join();
    }
    let directory = room.directory.path().to_str().unwrap();
    let off = room.command(&["off", "--local"]);
    let hold = format!("to keep them waiting: beekeeper pause --data {directory}\n");
    assert!(text(&off.stderr).ends_with(&hold), "{}", text(&off.stderr));
    let mut person = Home::new().person(&["off", "--local", "--data", directory]);
    person.exp_string("visitors wait in demo, and all of them would enter within minutes").unwrap();
    person.exp_string("pause instead").unwrap();
    person.send("\r").unwrap();
    person.flush().unwrap();
    person.exp_string("room: on -> paused").unwrap();
    person.exp_eof().unwrap();
    let mut person = Home::new().person(&["off", "--local", "--data", directory]);
    person.exp_string("change nothing").unwrap();
    person.send("\r").unwrap();
    person.flush().unwrap();
    person.exp_string("error: nothing was changed").unwrap();
    person.exp_eof().unwrap();
}

/// As after Ctrl-S, or a click into a console of Windows.
#[test]
fn a_terminal_that_takes_no_more_stops_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let shop = ["--shop", "https://shop.example", "--rate", "60"];
    let mut person = Home::new().person(&[&["local", "--data", data, "--port", "0"], &shop[..]].concat());
    let base = person.exp_regex("http://localhost:[0-9]+").unwrap().1;
    person.exp_string(" joined, ").unwrap();
    person.send("\u{13}").unwrap();
    person.flush().unwrap();
    // It writes a line each second.
    std::thread::sleep(Duration::from_secs(3));
    let client = Client::new(&base, "demo");
    for _ in 0..3 {
        client.join();
    }
    let status = operate(directory.path(), &["status", "--local", "--json"]);
    assert!(status.status.success(), "{}", text(&status.stderr));
    person.process_mut().signal(Signal::SIGTERM).unwrap();
    let ended = person.process().wait().unwrap();
    assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{ended:?}");
}

/// As of `| less`, or of `| tee` after Ctrl-S.
#[test]
fn a_log_that_nobody_reads_stops_no_room() {
    let mut room = Local::start(&["--rate", "60", "--access-log"]);
    let client = Client::new(&room.base(), "demo");
    // More than a pipe holds.
    for _ in 0..2000 {
        client.get("/polling");
    }
    client.join();
    let status = room.command(&["status", "--local", "--json"]);
    assert!(status.status.success(), "{}", text(&status.stderr));
    let polls = room.log().filter(|line| line.contains("GET /polling 200"));
    assert_eq!(polls.take(2000).count(), 2000, "whoever reads later has lost nothing");
}

#[test]
fn json_is_one_object_a_line() {
    let room = Local::start(&["--rate", "60"]);
    let json = |arguments: &[&str]| {
        let output = room.command(&[arguments, &["--json"]].concat());
        let said = if output.status.success() { output.stdout } else { output.stderr };
        let said = text(&said);
        assert_eq!(said.lines().count(), 1, "{said}");
        serde_json::from_str::<serde_json::Value>(&said).unwrap()
    };
    let changed = json(&["set-rate", "--local", "600", "--yes"]);
    assert_eq!(
        (&changed["before"]["settings"]["rate"], &changed["after"]["settings"]["rate"]),
        (&60.into(), &600.into())
    );
    assert_eq!(json(&["reset", "--local", "--yes"])["lost_places"], 0);
    let status = json(&["status", "--local"]);
    for field in ["room", "line", "released", "windows", "findings"] {
        assert!(!status[field].is_null(), "{field} in {status}");
    }
    assert_eq!(status.get("alarms"), None);
    let unasked = json(&["reset", "--local"]);
    assert_eq!(unasked["kind"], "declined");
    assert_eq!(unasked["advice"], "nothing was changed; to go ahead, add --yes");
    let nonsense = json(&["set-rate", "--local", "many"]);
    assert_eq!(nonsense["kind"], "usage");
    let said = nonsense["error"].as_str().unwrap();
    let rate = "a rate is a whole number of visitors a minute, from 1 to 270000, like 1200 or 3k";
    assert!(said.ends_with(rate), "{said}");
}

#[test]
fn mistakes_are_explained() {
    let complaint = |output: Output| {
        assert!(!output.status.success());
        text(&output.stderr).trim_end().to_owned()
    };
    let nowhere = tempfile::tempdir().unwrap();
    let expected = format!(
        "error: could not reach the room: no room runs in {0}\n\
         hint: there is no room in {0}: see whether --data is right; a service keeps its room in /var/lib/beekeeper",
        nowhere.path().display()
    );
    // In a home of its own, because the advice names the rooms that run in the user's.
    let home = Home::new();
    let unreached = home.run(&["status", "--local", "--data", nowhere.path().to_str().unwrap()]);
    assert_eq!(unreached.status.code(), Some(3));
    assert_eq!(complaint(unreached), expected);

    let room = Local::start(&[]);
    let port = room.url.rsplit(':').next().unwrap();
    let second = operate(nowhere.path(), &["local", "--port", port]);
    let expected = format!(
        "error: could not listen on 127.0.0.1:{port}: Address already in use (os error 98)\n\
         hint: choose another port with --listen, or any free one with --listen 0"
    );
    assert_eq!(complaint(second), expected);
    // An address for documents, which no machine has.
    let elsewhere = complaint(operate(nowhere.path(), &["local", "--listen", "192.0.2.7:8090"]));
    let expected = "error: could not listen on 192.0.2.7:8090: this machine has no address 192.0.2.7\n\
                    hint: to listen on all that it has: --listen 0.0.0.0:8090";
    assert_eq!(elsewhere, expected);

    let path = room.directory.path();
    let expected = format!(
        "error: the room demo runs already, as process {pid}, at http://localhost:{port}/beekeeper\n\
         hint: to see how it does: beekeeper status --data {}; to start it again, stop it first with Ctrl-C in its \
         terminal, or: kill {pid}",
        path.display(),
        pid = room.process(),
    );
    // Also with the port that the room itself listens on, which is not what is wrong.
    for port in ["0", port] {
        assert_eq!(complaint(operate(path, &["local", "--port", port])), expected);
    }
    room.signal("-STOP");
    let hung = operate(path, &["local", "--port", "0"]);
    room.signal("-CONT");
    let expected = format!(
        "error: the room in {} is open in another process; stop that one, or choose another directory",
        path.display()
    );
    assert_eq!(complaint(hung), expected);

    for (arguments, expected) in [
        (["local", "--rate", "0"], "a rate is a whole number of visitors a minute, from 1 to 270000"),
        (["local", "--origin", "shop.example"], "not a URL, because it has no https://"),
        (["local", "My Room", "--access-log"], "a room's name is 1 to 30 lower-case letters"),
        (["local", "--minute", "2m"], "must be from 1s to 60s"),
        (["local", "--visitors", "1e9"], "must be a whole number from 0 to 1000"),
        (["local", "--url", "http://wait.example/a/b?x=1"], "must have no query and no fragment"),
        (["local", "--url", "http://wait.example/beekeeper"], "without /beekeeper at the end"),
    ] {
        let output = operate(nowhere.path(), &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn health_says_whether_a_room_can_write_and_a_guard_answers() {
    let home = Home::new();
    let room = Local::start(&["--metrics", "0"]);
    let data = room.directory.path().to_str().unwrap();
    assert_eq!(home.printed(&["health", "--data", data]), "demo is well\n");
    assert_eq!(
        home.printed(&["health", "demo", "--local", "--data", data, "--json"]),
        "{\"well\":\"demo\"}\n"
    );
    let monitor = format!("{}/healthz", room.monitor());
    assert_eq!(home.printed(&["health", "--url", &monitor]), format!("{monitor} is well\n"));
    let missing = monitor.replace("healthz", "health");
    let (code, said) = home.refused(&["health", "--url", &missing]);
    assert!(code == 1 && said.contains("answers 404: there is nothing here"), "{said}");
    room.signal("-STOP");
    let (code, said) = home.refused(&["health", "--data", data]);
    room.signal("-CONT");
    assert!(
        code == 1 && said.starts_with("error: the room does not answer within 5 seconds\nhint: "),
        "{said}"
    );
    let (code, said) = home.refused(&["health"]);
    assert!(code == 3 && said.contains("no room runs in ~"), "{said}");
    let (code, said) = home.refused(&["health", "--url", "http://127.0.0.1:1/healthz"]);
    let silent =
        "error: http://127.0.0.1:1/healthz does not answer: Connection refused (os error 111)\nhint: ";
    assert!(code == 1 && said.starts_with(silent) && said.contains("started with --metrics"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_room_is_found_at_the_address_on_which_it_listens() {
    let room = Local::start(&["--listen", "127.0.0.2:0"]);
    assert!(room.url.starts_with("http://127.0.0.2:"), "{}", room.url);
    assert!(room.shop().starts_with("http://127.0.0.2:"), "{}", room.shop());
    let doctor = text(&room.command(&["doctor", "--local"]).stdout);
    assert!(doctor.contains(&format!("{}/wait/index.html is the built-in page", room.url)), "{doctor}");
    let rehearsed = room.command(&["rehearse", "--local", "--visitors", "5", "--arrivals", "1s", "--yes"]);
    assert!(rehearsed.status.success(), "{}", text(&rehearsed.stdout));
}

#[test]
fn a_room_that_others_reach_without_https_says_so() {
    let mut room = Local::start(&["--listen", "0.0.0.0:0"]);
    let port = room.url.rsplit(':').next().unwrap().to_owned();
    assert_eq!(room.url, format!("http://127.0.0.1:{port}"), "shown as localhost");
    let warning = format!("warning: whoever reaches 0.0.0.0:{port} can join, by http and without a domain.");
    assert!(room.log().any(|line| line.starts_with(&warning)));
    let mut behind = Local::start(&["--listen", "0.0.0.0:0", "--url", "https://wait.example"]);
    behind.signal("-TERM");
    assert!(!behind.log().any(|line| line.contains("whoever reaches")));
}

#[test]
fn advice_names_the_rooms_that_run() {
    let home = Home::new();
    let said = |arguments: &[&str]| home.refused(arguments);
    let demo = "error: could not reach the room demo: no room runs in ~/.local/share/beekeeper/demo\nhint: ";
    let start = "there is no room in ~/.local/share/beekeeper/demo: name its folder with --data DIR; a service keeps its room in \
                 /var/lib/beekeeper\n";
    assert_eq!(said(&["pause", "--local"]), (3, format!("{demo}{start}")));
    let brew = Local::start_at_home(&home, "brew");
    let run_brew = "for the room brew, which runs on this machine, use --local brew";
    // The only one that runs is meant.
    assert!(home.printed(&["pause", "--local"]).starts_with("room: on -> paused"));
    let (code, unknown) = said(&["status", "brew"]);
    assert!(code == 3 && unknown.ends_with(&format!("; or {run_brew}\n")), "{unknown}");
    let (code, unnamed) = said(&["status"]);
    assert!(code == 2 && unnamed.ends_with(&format!("; or {run_brew}\n")), "{unnamed}");
    let _ale = Local::start_at_home(&home, "ale");
    let both = "use --local NAME for one of the rooms that run on this machine: ale, brew";
    let several = "error: several rooms run on this machine, and none is named\nhint: ";
    assert_eq!(said(&["pause", "--local"]), (2, format!("{several}{both}\n")));
    assert_eq!(said(&["pause", "--local", "demo"]), (3, format!("{demo}{}; or {both}\n", start.trim_end())));
    drop(brew.interrupt());
    let (_, left) = said(&["status"]);
    assert!(left.ends_with("use --local ale\n"), "{left}");
}

#[test]
fn whoever_leaves_out_local_for_a_room_with_a_file_is_told() {
    let home = Home::new();
    let _brew = Local::start_at_home(&home, "brew");
    let file = "title = \"Brew\"\nshop = \"https://shop.example\"\nrate = 60\n";
    for (region, code) in [("", 2), ("region = \"eu-central-1\"\n", 4)] {
        home.write("brew", &format!("{file}{region}"));
        let output =
            home.command(&["pause", "brew"]).env("AWS_EC2_METADATA_DISABLED", "true").output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let hint = "; or for the room brew, which runs on this machine, use --local brew\n";
        assert!(said.ends_with(hint), "{said}");
    }
}

#[test]
fn a_shop_that_is_the_room_itself_is_refused() {
    let port = free_port().unwrap().to_string();
    let public = ["--url", "https://wait.example/queue"];
    for (shop, url) in [
        (format!("http://localhost:{port}/beekeeper"), &[][..]),
        (format!("http://127.0.0.1:{port}/"), &[]),
        ("https://wait.example/queue/beekeeper".into(), &public[..]),
        (format!("http://localhost:{port}"), &public[..]),
    ] {
        let nowhere = tempfile::tempdir().unwrap();
        let output =
            operate(nowhere.path(), &[&["local", "--port", &port, "--origin", &shop][..], url].concat());
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains("is this room: admitted visitors"),
            "{said}"
        );
        assert_eq!(nowhere.path().read_dir().unwrap().count(), 0, "nothing is kept of {shop}");
    }
    // A shop may share the domain of its room. What the room keeps is not replaced by a refused shop.
    let with_url = [&["--port", &port][..], &public].concat();
    let room = Local::start(&[&with_url[..], &["--shop", "https://wait.example/"]].concat());
    let (directory, _) = room.interrupt();
    let door = ["local", "--shop", "https://wait.example/queue/beekeeper"];
    let refused = operate(directory.path(), &[&door[..], &with_url].concat());
    assert_eq!(refused.status.code(), Some(2));
    let unnamed = operate(directory.path(), &[&["local"][..], &with_url].concat());
    assert!(
        text(&unnamed.stderr).contains("had the shop https://wait.example/,"),
        "{}",
        text(&unnamed.stderr)
    );
}

#[test]
fn a_room_that_had_a_public_url_is_not_started_without_one() {
    let shop = ["--shop", "https://shop.example/sale"];
    let room = Local::start(&[&["--url", "https://wait.example"], &shop[..]].concat());
    let (directory, _) = room.interrupt();
    let refused = operate(directory.path(), &[&["local", "--port", "0"], &shop[..]].concat());
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("demo had the URL https://wait.example, and this command names none"), "{said}");
    assert!(said.contains("\nhint: add --url https://wait.example; or, "), "{said}");
    let kept = room_of(&operate(directory.path(), &["status", "--local", "--json"]));
    assert_eq!(kept["url"], "https://wait.example/");
}

/// It would have the service's visitors, at the same port, and give them places in its own empty line.
#[cfg(target_os = "linux")]
#[test]
fn a_second_room_of_the_services_name_is_not_begun_in_another_folder() {
    const MOUNT: &str = "mount --bind \"$0\" /etc && exec \"$@\"";

    let etc = tempfile::tempdir().unwrap();
    std::fs::create_dir(etc.path().join("beekeeper")).unwrap();
    let begin = |data: &std::path::Path| {
        let service = format!("name = \"sale\"\ndata = \"{}\"\n", data.display());
        std::fs::write(etc.path().join("beekeeper/room.toml"), service).unwrap();
        let mut local = emulators::unshared().unwrap();
        local.args(["sh", "-c", MOUNT]).arg(etc.path());
        local.args([env!("CARGO_BIN_EXE_beekeeper"), "local", "sale", "--port", "0"]);
        // A room can't be begun there.
        local.env("XDG_DATA_HOME", "/dev/null").env("XDG_CONFIG_HOME", etc.path());
        let refused = local.output().unwrap();
        (refused.status.code(), text(&refused.stderr))
    };
    let data = tempfile::tempdir().unwrap();
    let expected = format!(
        "error: there is no room sale in /dev/null/beekeeper/sale; the service sale has --data {}\n\
         hint: to start the service: sudo systemctl start beekeeper; or name the other folder with --data, if you mean that\n",
        data.path().display()
    );
    assert_eq!(begin(data.path()), (Some(2), expected));
    // The package brings this file, and nobody has started it.
    let (code, said) = begin(&data.path().join("none"));
    assert!(code == Some(1) && !said.contains("the service sale"), "{code:?}: {said}");
}

#[test]
fn the_shop_is_asked_once_and_what_it_answers_is_said() {
    let shop = web_server(|path| match path {
        "/sale" => "200 OK",
        "/gone" => "404 Not Found",
        _ => "403 Forbidden",
    });
    let said = |path: &str, lines: usize| -> String {
        let shop = format!("{shop}{path}");
        let mut room = Local::start(&["--shop", &shop]);
        let said: Vec<_> = room.log().take(lines).collect();
        said.join("\n").replace(&shop, "SHOP")
    };
    assert!(said("/sale", 1).starts_with("SHOP answers 200 after "));
    assert!(said("/gone", 2).ends_with("\nwarning: visitors would see no page at SHOP"));
    let protected = said("/vip", 2);
    assert!(
        protected.ends_with("\nprotected as recommended: the shop refuses visitors without a pass"),
        "{protected}"
    );
    let mut throttled = Local::start(&["--throttle", "--shop", &format!("{shop}/vip")]);
    assert!(throttled.log().any(|line| line.contains("warning: the throttle cannot measure ")));
}

const WRITTEN: &str = "title = \"Seal's Spring Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example/sale\"\n\
    rate = 300 # agreed with Kim\nadmission_minutes = 5\n";

fn room_of(status: &Output) -> serde_json::Value {
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    status["room"].clone()
}

#[test]
fn what_is_written_down_is_used() {
    let home = Home::new();
    let page = tempfile::tempdir().unwrap();
    std::fs::write(page.path().join("page.toml"), "accent = \"#b3261e\"").unwrap();
    home.write("spring-sale", &format!("{WRITTEN}page = {:?}\n", page.path()));
    let start = |extra: &[&str]| Local::start_at_home_with(&home, "spring-sale", extra);
    let room = |_: &Local| room_of(&home.run(&["status", "spring-sale", "--local", "--json"]));
    let stop = |local: Local| drop(local.interrupt());

    let new = "This is a new room: nobody is in line.";
    let local = start(&[]);
    assert!(local.greeting.contains(new), "{}", local.greeting);
    let opened = room(&local);
    assert_eq!(opened["settings"]["title"], "Seal's Spring Sale");
    assert_eq!(opened["settings"]["shop"], "https://shop.example/sale");
    assert_eq!(opened["settings"]["rate"], 300);
    assert_eq!(opened["settings"]["lifetimes"]["admission"]["secs"], 300);
    let client = Client::new(&local.url, "spring-sale");
    assert!(client.get("/wait/index.html").body.contains("--accent: #b3261e;"));
    home.printed(&["set-rate", "spring-sale", "600", "--yes", "--local"]);
    home.printed(&["message", "spring-sale", "More beer", "--local"]);
    stop(local);

    // Orders hold. A flag does not outlive its run. An edit of the file holds from the next start.
    let local = start(&["--title", "Otter", "--page", ""]);
    assert!(!local.greeting.contains(new), "{}", local.greeting);
    let flagged = room(&local);
    assert_eq!((&flagged["settings"]["title"], &flagged["settings"]["rate"]), (&"Otter".into(), &600.into()));
    assert_eq!(flagged["settings"]["message"], "More beer");
    let client = Client::new(&local.url, "spring-sale");
    assert!(!client.get("/wait/index.html").body.contains("--accent: #b3261e;"));
    stop(local);
    home.write("spring-sale", &WRITTEN.replace("/sale", "/spring"));
    let mut local = start(&[]);
    let edited = room(&local);
    assert_eq!(edited["settings"]["title"], "Seal's Spring Sale");
    assert_eq!(edited["settings"]["shop"], "https://shop.example/spring");
    let kept =
        "the rate is 600 a minute, as it was set last; 300 in the configuration file is for a new room.";
    assert!(local.log().any(|line| line.starts_with(kept)));
    stop(local);
    let local = start(&["--rate", "7"]);
    assert_eq!(room(&local)["settings"]["rate"], 7);
    stop(local);
    assert_eq!(room(&start(&[]))["settings"]["rate"], 7, "like an order");
}

/// A service that starts again by itself orders nothing.
#[test]
fn a_restart_keeps_what_was_ordered_since_whatever_the_file_of_flags_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("room.toml");
    let write = |more: &str| {
        let flags = format!("rate = 3000\nmode = \"observe\"\nshop = \"https://shop.example\"\n{more}");
        std::fs::write(&file, flags).unwrap();
    };
    let start = |directory, typed: &[&str]| {
        Local::start_in(directory, &[&["--config", file.to_str().unwrap()], typed].concat())
    };
    let ordered = |room: &Local| {
        let status = room.status();
        let settings = &status["room"]["settings"];
        (settings["rate"].as_u64().unwrap(), settings["mode"].as_str().unwrap().to_owned())
    };
    write("");
    let room = start(tempfile::tempdir().unwrap(), &[]);
    assert_eq!(ordered(&room), (3000, "observe".into()), "a new room");
    for order in [
        &["mode", "line", "--local"][..],
        &["set-rate", "100", "--local"],
        &["close", "--after", "500", "--local", "--yes"],
    ] {
        let output = operate(room.directory.path(), order);
        assert!(output.status.success(), "{order:?}: {}", text(&output.stderr));
    }

    // The throttle was turned off and its health URL left, and the page is gone.
    write("health = \"https://shop.example/up\"\npage = \"/nowhere\"\n");
    let mut room = start(room.kill(), &[]);
    assert_eq!(ordered(&room), (100, "line".into()));
    let said: Vec<_> = room.log().take(4).collect();
    let data = room.directory.path().display();
    for expected in [
        "visitors see the built-in page, because could not read /nowhere: No such file or directory (os error 2)",
        "room.toml, line 4: health is what the throttle measures, and this room has no throttle",
        &format!("room.toml, line 1, is for a new room. To change it: beekeeper set-rate --data {data} 3000"),
        &format!("room.toml, line 2, is for a new room. To change it: beekeeper mode --data {data} observe"),
    ] {
        assert!(said.iter().any(|line| line.ends_with(expected)), "{expected}: {said:?}");
    }
    let room = start(room.kill(), &["--rate", "200"]);
    assert_eq!(ordered(&room), (200, "line".into()), "typed");

    let directory = room.kill();
    let local = ["local", "--port", "0", "--config", file.to_str().unwrap()];
    for (typed, refusal) in [
        (["--health", "https://shop.example/up"], "has no throttle\nhint: add --throttle"),
        (["--page", "/nowhere"], "could not read /nowhere"),
        (["--join-limit", "5"], "room.toml: a key there is a flag"),
    ] {
        let said = text(&operate(directory.path(), &[&local[..], &typed].concat()).stderr);
        assert!(said.contains(refusal), "{typed:?}: {said}");
    }
}

#[test]
fn save_writes_the_flags_into_the_file() {
    let home = Home::new();
    let local = ["local", "spring-sale", "--port", "0", "--save"];
    let (code, said) = home.refused(&local);
    let none = "error: cannot save: the room spring-sale has no configuration file\nhint: write one with: beekeeper init spring-sale\n";
    assert_eq!((code, said.as_str()), (3, none));
    home.write("spring-sale", WRITTEN);
    let flags = ["--rate", "500", "--throttle", "--health", "https://shop.example/up", "--save"];
    let mut room = Local::start_at_home_with(&home, "spring-sale", &flags);
    let said: Vec<_> = room.log().take(4).collect();
    assert_eq!(
        home.masked(&said.join("\n")),
        "saved in ~/beekeeper/spring-sale.toml\n  rate: 300 -> 500\n  throttle: false -> true\n  health: not set -> \"https://shop.example/up\""
    );
    let written = std::fs::read_to_string(home.config_file("spring-sale")).unwrap();
    assert!(written.contains("rate = 500 # agreed with Kim\n"), "{written}");
    drop(room.interrupt());
    // What is refused is not saved.
    for refused in
        [&["--shop", "http://localhost/beekeeper", "--url", "http://localhost"][..], &["--page", "/nowhere"]]
    {
        let output = home.run(&[&local[..], refused].concat());
        assert!(!output.status.success(), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(home.config_file("spring-sale")).unwrap(), written);
}

#[test]
fn a_room_in_a_directory_of_its_own_is_called_by_its_name() {
    let brew = Local::start(&["brew"]);
    brew.order(Order::Pause);
    let client = Client::new(&brew.base(), "brew");
    client.join();
    let said = text(&brew.command(&["off", "--local"]).stderr);
    assert!(
        said.starts_with("error: without a terminal, this needs --yes: 1 visitor waits in brew,"),
        "{said}"
    );
    let path = brew.directory.path().display().to_string();
    let said = text(&brew.command(&["off", "demo", "--local", "--yes"]).stderr);
    assert_eq!(
        said,
        format!(
            "error: {path} holds the room brew, not demo\nhint: for that room, leave out the name: --data {path}\n"
        )
    );
    let mistyped = format!(
        "error: {path} holds the room brew, not demo\n\
         hint: type brew in place of demo in this command, or leave the name out; or choose another --data directory\n"
    );
    let local = ["local", "demo", "--port", "0"];
    assert_eq!(text(&brew.command(&local).stderr), mistyped, "it runs");
    let (directory, _) = brew.interrupt();
    let again = Local::start_in(directory, &[]);
    assert_eq!(again.status()["room"]["settings"]["room"], "brew");
    let (directory, _) = again.interrupt();
    assert_eq!(text(&operate(directory.path(), &local).stderr), mistyped, "it's stopped");
    let file = directory.path().join("room.toml");
    std::fs::write(&file, "# A sale\nname = \"demo\"\n").unwrap();
    let said = text(
        &operate(directory.path(), &["local", "--config", file.to_str().unwrap(), "--port", "0"]).stderr,
    );
    let line = format!("hint: in {}, line 2: write name = \"brew\", or choose", file.display());
    assert!(said.contains(&line) && !said.contains("beekeeper local"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_lost_connection_stops_a_room_as_ctrl_c_does_unless_nohup_started_it() {
    let room = Local::start_with_nohup();
    room.signal("-HUP");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(Client::new(&room.base(), "demo").get("/wait/index.html").status, 200);
    let (directory, _) = room.interrupt();
    let room = Local::start_in(directory, &[]);
    room.signal("-HUP");
    let (_, farewell) = room.interrupt();
    assert!(farewell.contains("stopped"), "{farewell}");
}

#[test]
fn only_its_user_may_operate_it() {
    use std::os::unix::fs::PermissionsExt;

    let room = Local::start(&[]);
    let socket = room.directory.path().join("control.sock").metadata().unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
}
