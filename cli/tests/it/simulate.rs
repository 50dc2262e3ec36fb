//! `beekeeper simulate`, with small crowds.

use std::fs;

use emulators::console;
use html5gum::{Token, Tokenizer};
use rexpect::process::WaitStatus;
use serde_json::Value;

use crate::support::{Home, text};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/scenario.toml");
const CROWD: [&str; 5] = ["simulate", "--visitors", "2k", "--rate", "600"];

fn simulated(home: &Home, more: &[&str]) -> String {
    home.printed(&[&CROWD, more].concat())
}

#[test]
fn a_shop_that_becomes_slow_is_simulated_with_a_throttle_that_the_room_may_lack() {
    let home = Home::new();
    let shop = ["simulate", "sale", "--visitors", "90", "--shop-answers-in", "200ms", "--shop-bears", "600"];
    let said = |throttle: bool| {
        let file = format!(
            "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example\"\nrate = 300\nthrottle = {throttle}\n"
        );
        home.write("sale", &file);
        let output = home.run(&shop);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert_eq!(said(true), "");
    assert!(
        said(false).contains("this is with the throttle, and sale has none: beekeeper init sale --throttle")
    );
}

#[test]
fn what_is_sold_out_is_told_with_those_who_come_too_late() {
    let home = Home::new();
    let said = simulated(&home, &["--local", "--order", "0s close --after 200"]);
    let verdict = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        verdict.contains("It's sold out after ")
            && verdict.contains(", and 1,800 of 2,000 visitors come too late."),
        "{said}"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let home = Home::new();
    let of_seed = |seed| simulated(&home, &["--json", "--seed", seed]);
    let first = of_seed("7");
    assert_eq!(first, of_seed("7"));
    assert_ne!(first, of_seed("8"));
    let answer: Value = serde_json::from_str(&first).unwrap();
    let scenario = &answer["scenario"];
    assert_eq!(
        (&scenario["seed"], &scenario["visitors"], &scenario["rate"]),
        (&7.into(), &2000.into(), &600.into())
    );
    assert_eq!(answer["visitors"]["entered"], 2000);
}

/// Each wait, request and cent of docs/simulate.md.
#[test]
fn the_documentation_shows_what_is_printed() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("sale.html");
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/simulate.md")).unwrap();
    let commands = console::commands(&guide);
    for (command, told) in &commands {
        let words = console::words(command.strip_prefix("beekeeper ").unwrap());
        let words: Vec<_> = words
            .iter()
            .map(|word| match word.as_str() {
                "sale.html" => page.to_str().unwrap(),
                "docs/examples/scenario.toml" => SCENARIO,
                other => other,
            })
            .collect();
        let said = home.printed(&words);
        assert!(console::is_as_told(&said, told), "paste into docs/simulate.md:\n$ {command}\n{said}");
    }
    assert_eq!(commands.len(), 3);
}

#[test]
fn the_text_begins_with_the_answer_and_the_page_is_one_file() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("simulation.html");
    let text = simulated(&home, &["--html", page.to_str().unwrap(), "--new-account"]);
    let mut lines = text.lines();
    for begins in
        ["Simulation of a room", "It doesn't hold: after ", "2,000 visitors come within a minute", ""]
    {
        assert!(lines.next().unwrap().starts_with(begins), "{begins}: {text}");
    }
    for told in [
        " of 2,000 visitors are refused at least once. What to do: ",
        "longest line",
        "The line",
        "allowed",
        "together",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    // The sentences are wrapped by the terminal, the charts and tables are not.
    let wide = lines.skip_while(|line| !line.is_empty()).find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "off a terminal, for one of 80 columns");
    assert!(!text.contains('\x1b'), "{text}");
    let html = fs::read_to_string(page).unwrap();
    for token in Tokenizer::new(&html) {
        match token.unwrap() {
            Token::StartTag(tag) => assert_ne!(&tag.name[..], b"script"),
            Token::Error(error) => panic!("{error:?}"),
            _ => {}
        }
    }
    assert!(html.contains("<h1>Simulation of a room</h1>") && html.contains("<svg"), "{html}");
    // The cards say what the lines say, each short enough for a phone.
    let value = |card: &str| {
        let (_, rest) =
            html.split_once(&format!("<dt>{card}</dt><dd>")).unwrap_or_else(|| panic!("{card}: {html}"));
        rest.split_once("</dd>").unwrap().0.to_owned()
    };
    for (card, line) in [
        ("Half wait at most", "half wait at most"),
        ("95% wait at most", "95% wait at most"),
        ("Longest wait", "longest wait"),
    ] {
        let wait = value(card);
        assert!(wait.len() <= 12 && text.contains(&format!("\n{line:<21}  {wait}\n")), "{wait}: {text}");
    }
}

#[test]
fn a_limit_that_refuses_nobody_here_is_named() {
    let home = Home::new();
    let told = simulated(&home, &["--limit", "table-writes=10"]);
    let verdict = "a limit is exceeded, the account's writes a second of a table, and AWS would refuse requests, which is not simulated";
    assert!(
        told.contains(verdict) && told.contains("\nThe other limits are compared, and refuse nobody here.\n"),
        "{told}"
    );
    let answer: Value = serde_json::from_str(&simulated(&home, &["--json"])).unwrap();
    let limits = answer["limits"].as_array().unwrap();
    let refusing: Vec<_> =
        limits.iter().filter(|used| used["refuses"] == true).map(|used| &used["limit"]).collect();
    assert_eq!(refusing, ["api-requests", "concurrency"]);
}

#[test]
fn a_scenario_file_says_what_flags_say_and_flags_count_first() {
    let home = Home::new();
    let of_file = |more: &[&str]| home.printed(&[&["simulate", "--scenario", SCENARIO], more].concat());
    let json =
        |more: &[&str]| -> Value { serde_json::from_str(&of_file(&[more, &["--json"]].concat())).unwrap() };

    let answer = json(&[]);
    let visitors = &answer["visitors"];
    assert_eq!((&visitors["came"], &visitors["entered"]), (&20_000.into(), &20_000.into()));
    let released = |minutes: std::ops::Range<usize>| -> u64 {
        answer["minutes"].as_array().unwrap()[minutes]
            .iter()
            .map(|one| one["released"].as_u64().unwrap())
            .sum()
    };
    // It opens after half an hour at 600 a minute, goes faster ten minutes later, and pauses for five.
    assert_eq!(released(0..30), 0);
    assert!(released(30..40).abs_diff(6000) <= 20 && released(40..45).abs_diff(4500) <= 60, "{answer}");
    assert!(released(45..50) <= 60, "{answer}");
    let text = of_file(&[]);
    assert!(text.contains(" It opens after 30 min, and 40% come before, evenly; "), "{text}");
    assert!(text.contains(" Orders: 40m set-rate 900, 45m pause, 50m on.\n"), "{text}");
    assert!(text.contains("\nThe rate in force (visitors a minute)\n"), "{text}");

    let changed = json(&["--visitors", "3k", "--order", "31m set-rate 60"]);
    let scenario = &changed["scenario"];
    assert_eq!((&scenario["visitors"], &scenario["rate"]), (&3000.into(), &600.into()));
    assert_eq!(scenario["orders"], serde_json::json!(["31m set-rate 60"]));
}

#[test]
fn a_file_of_counts_is_beside_the_scenario_that_names_it() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let [sale, counts] = ["sale.toml", "last-year.csv"].map(|name| folder.path().join(name));
    fs::write(&counts, "20\n40\n").unwrap();
    for named in ["last-year.csv", "./last-year.csv", counts.to_str().unwrap()] {
        fs::write(&sale, format!("arrivals = \"{named}\"\nrate = 600\nlocal = true")).unwrap();
        let answer = home.printed(&["simulate", "--scenario", sale.to_str().unwrap(), "--json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["visitors"]["came"], 60, "{named}");
    }
    for (named, told) in
        [("this-year.csv", "/this-year.csv: No such file"), ("often", "visitors come as a spike")]
    {
        fs::write(&sale, format!("arrivals = \"{named}\"\nrate = 600")).unwrap();
        let (code, error) = home.refused(&["simulate", "--scenario", sale.to_str().unwrap()]);
        assert!(code == 2 && error.contains("sale.toml, line 1: ") && error.contains(told), "{error}");
    }
}

#[test]
fn a_mistake_in_a_scenario_file_is_named_with_its_line() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sale.toml");
    let file = file.to_str().unwrap();
    for (text, told) in [
        (
            "visitors = 9\nrates = 60\n",
            "sale.toml, line 2: rates: simulate has no such flag; did you mean rate?",
        ),
        ("# A sale\n\nvisitors = \"many\"\n", "sale.toml, line 3: invalid value 'many' for '--visitors <N>'"),
        ("visitors = 9\nrate = 60\nearly = 30\n", "nobody can come before the opening"),
        ("visitors = 9\nlocal = true\nregion = \"us-east-1\"", "cannot be used with"),
        ("visitors = 9\nlocal = true\nregion = \"us-east-1\"", "sale.toml: a key there is a flag"),
    ] {
        fs::write(file, text).unwrap();
        let (code, error) = home.refused(&["simulate", "--scenario", file]);
        assert!(code == 2 && error.contains(told), "{text}: {code} {error}");
    }
    fs::write(file, "rates = 60\nvisitors = \"many\"\n").unwrap();
    let (_, error) = home.refused(&["simulate", "--scenario", file]);
    assert!(error.contains("sale.toml, line 1: ") && error.contains("sale.toml, line 2: "), "{error}");
    assert!(error.contains("such as give_up = 15: beekeeper simulate --help"), "{error}");
    let (code, error) = home.refused(&["simulate", "--scenario", "missing.toml"]);
    assert!(code == 2 && error.contains("missing.toml") && error.contains("docs/simulate.md"), "{error}");
}

#[test]
fn what_is_typed_wins_over_a_scenario_file() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sale.toml");
    fs::write(&file, "visitors = 9\nrate = 60\nregion = \"us-east-1\"").unwrap();
    let of_file = ["simulate", "--scenario", file.to_str().unwrap()];
    let here = home.printed(&[&of_file[..], &["--local"]].concat());
    assert!(here.contains(" to a room on one machine that releases 60 a minute"), "{here}");

    // The file's rate is for whoever doesn't search it.
    let search = [&of_file[..], &["--find", "rate", "--within", "1h"]].concat();
    let found = home.printed(&search);
    assert!(found.contains(" a minute is enough: "), "{found}");
    let (code, error) = home.refused(&[&search[..], &["--rate", "5"]].concat());
    assert!(code == 2 && error.contains("leave --rate out"), "{error}");
}

/// Many stand outside for longer than in line.
#[test]
fn a_wait_begins_with_the_click() {
    let home = Home::new();
    let crowd = ["simulate", "--visitors", "5k", "--new-account", "--rate", "3k"];
    let answer: Value = serde_json::from_str(&home.printed(&[&crowd[..], &["--json"]].concat())).unwrap();
    let longest = |part: &str| answer[part]["longest"].as_f64().unwrap();
    assert!(longest("from_link") > 2.0 * longest("waits"), "{answer}");
    assert!(longest("from_link") >= longest("until_in_line"), "{answer}");
    assert!(answer["visitors"]["refused"].as_u64().unwrap() > 4000, "{answer}");
    let told = home.printed(&crowd);
    assert!(told.contains("\nwait at most  from the click  until in line  then in line\n"), "{told}");
}

#[test]
fn a_region_is_read_as_init_reads_it() {
    let home = Home::new();
    let crowd = ["simulate", "--visitors", "9", "--rate", "60", "--region"];
    assert!(home.printed(&[&crowd[..], &["Frankfurt"]].concat()).contains(" on AWS in eu-central-1 "));
    let mistyped = home.run(&[&crowd[..], &["eu-east-9"]].concat());
    let warned = text(&mistyped.stderr);
    assert!(warned.contains("warning: unknown region eu-east-9; check the spelling"), "{warned}");
}

#[test]
fn one_visitor_is_one_visitor() {
    let told = Home::new().printed(&["simulate", "--local", "--visitors", "1", "--rate", "60"]);
    assert!(told.contains("\nIt holds: nobody is refused.\n1 visitor comes "), "{told}");
}

#[test]
fn a_page_that_cannot_be_written_does_not_cost_the_answer() {
    let output = Home::new().run(&[&CROWD[..], &["--html", "/nowhere/simulation.html"]].concat());
    let (answer, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(answer.contains("\nlongest line "), "{answer}");
    assert!(error.contains("could not write the page to /nowhere/simulation.html: "), "{error}");
}

#[test]
fn a_configured_room_is_simulated_as_it_is_configured() {
    let home = Home::new();
    let config = "title = \"Sale\"\nregion = \"eu-central-2\"\nshop = \"https://shop.example\"\nrate = 300\n\
                  requests_per_second = 900\n";
    home.write("sale", config);
    let of_room = |more: &[&str]| -> Value {
        let room = ["simulate", "sale", "--visitors", "500", "--json"];
        serde_json::from_str(&home.printed(&[&room, more].concat())).unwrap()
    };
    let answer = of_room(&[]);
    let scenario = &answer["scenario"];
    assert_eq!(
        (&scenario["room"], &scenario["region"], &scenario["rate"]),
        (&"sale".into(), &"eu-central-2".into(), &300.into())
    );
    assert_eq!(scenario["account"]["api-requests"], 2500.0, "one of the newer regions");
    let own = answer["limits"].as_array().unwrap().iter().find(|used| used["limit"] == "room-requests");
    assert_eq!(own.unwrap()["available"], 900.0);

    let changed = of_room(&["--rate", "600", "--region", "us-east-1", "--limit", "api-requests=9000"]);
    let scenario = &changed["scenario"];
    assert_eq!((&scenario["rate"], &scenario["region"]), (&600.into(), &"us-east-1".into()));
    assert_eq!(scenario["account"]["api-requests"], 9000.0);

    let here = of_room(&["--local"]);
    assert_eq!((&here["scenario"]["host"], &here["scenario"]["rate"]), (&"machine".into(), &300.into()));
}

#[test]
fn a_limit_of_active_visitors_is_simulated_as_typed_as_configured_and_as_a_file_says() {
    let home = Home::new();
    let crowd = ["simulate", "--local", "--visitors", "600", "--rate", "600"];
    let limit = ["--active-visitors", "200", "--stay", "2m", "--shop-ends", "100"];
    let usual = ["--idle", "20m", "--session", "2h"];
    let told = home.printed(&[&crowd[..], &limit].concat());
    for expected in [
        "\n600 visitors come within a minute, half of them in its first ten seconds, to a room on one machine that releases 600 a \
         minute. At most 200 are in the shop at once. They stay for 2 min on average; then the shop ends their sessions.\n",
        "\nin the shop         at most 1",
        "\nshop full           for ",
        "\nThe shop (visitors at once)\n",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let json = |more: &[&str]| -> Value { serde_json::from_str(&home.printed(more)).unwrap() };
    let typed = json(&[&crowd[..], &limit, &["--json"]].concat());
    let visits = &typed["scenario"]["visits"];
    assert_eq!(
        *visits,
        serde_json::json!({"active_visitors": 200, "stay_seconds": 120.0, "shop_ends_percent": 100.0,
            "idle_seconds": 1200.0, "session_seconds": 7200.0, "no_guard": false})
    );
    assert_eq!((&typed["shop"]["most"], &typed["visitors"]["entered"]), (&187.into(), &600.into()));
    assert!(
        typed["minutes"].as_array().unwrap().iter().all(|minute| minute["in_shop"].as_u64() <= Some(200))
    );
    assert_eq!(typed, json(&[&crowd[..], &limit, &usual, &["--json"]].concat()));
    assert_eq!(json(&[&crowd[..], &["--json"]].concat())["shop"], Value::Null);

    let config = "title = \"Sale\"\nshop = \"https://shop.example\"\nrate = 600\nactive_visitors = 300\n\
                  idle_minutes = 4\nsession_minutes = 30\nadmission_minutes = 10\n";
    home.write("sale", config);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sale.toml");
    fs::write(&file, "visitors = 600\nlocal = true\nstay = \"90s\"\nshop_ends = 25\nno_guard = true\n")
        .unwrap();
    let told = home.printed(&["simulate", "sale", "--scenario", file.to_str().unwrap()]);
    let expected = "At most 300 are in the shop at once. They stay for 1 min 30 s on average; no guard says when they leave, so \
                    everybody counts for 30 min, the length of a session.\n";
    assert!(told.contains(expected), "{told}");
    let quiet = json(&["simulate", "sale", "--local", "--visitors", "300", "--json"]);
    assert_eq!(quiet["scenario"]["visits"]["idle_seconds"], 240.0);
    assert_eq!((&quiet["shop"]["most"], &quiet["shop"]["full_for"]), (&300.into(), &0.into()));
}

#[test]
fn a_shop_that_becomes_slow_shows_what_the_throttle_does() {
    let home = Home::new();
    let crowd = ["simulate", "--local", "--visitors", "4k", "--rate", "600"];
    let shop = ["--shop-answers-in", "200ms", "--shop-bears", "300"];
    let (usual, throttled) = (home.printed(&crowd), home.printed(&[&crowd[..], &shop].concat()));
    assert!(!usual.contains("The throttle"), "{usual}");
    assert!(throttled.contains("\nThe throttle (visitors a minute)\n"), "{throttled}");
    let quiet = home.run(&[&crowd[..], &shop, &["--json"]].concat());
    assert_eq!(text(&quiet.stderr), "", "the throttle of no real room has nothing to log");
    assert!(text(&quiet.stdout).contains("\"dollars\":0.0}"), "{}", text(&quiet.stdout));
}

#[test]
fn the_throttle_is_one_more_function() {
    let home = Home::new();
    let functions = |more: &[&str]| {
        let answer: Value = serde_json::from_str(&simulated(&home, &[&["--json"], more].concat())).unwrap();
        let limits = answer["limits"].as_array().unwrap();
        limits.iter().find(|used| used["limit"] == "concurrency").unwrap()["used"].as_f64().unwrap()
    };
    // The shop bears so many that the throttle has nothing to do.
    let throttle = functions(&["--shop-answers-in", "200ms", "--shop-bears", "60k"]) - functions(&[]);
    assert!((0.5..1.5).contains(&throttle), "{throttle}");
}

#[test]
fn consumers_have_the_reservation_that_deploy_makes_if_it_fits() {
    let home = Home::new();
    let functions = |limit: &str| {
        let answer: Value = serde_json::from_str(&simulated(&home, &["--json", "--limit", limit])).unwrap();
        let limits = answer["limits"].as_array().unwrap();
        limits.iter().find(|used| used["limit"] == "concurrency").unwrap()["used"].as_f64().unwrap()
    };
    // Ten consumers instead of the one or two that run. AWS keeps a hundred functions unreserved.
    let reserved = functions("concurrency=112") - functions("concurrency=111");
    assert!((reserved - 8.5).abs() < 1e-6, "{reserved}");
}

#[test]
fn a_crowd_that_comes_at_one_moment_is_told_of_the_burst() {
    let rush = ["--arrivals", "1s", "--limit", "api-burst=1"];
    let refused = " are refused at least once: no limit is exceeded in any second, and too many come at the same moment";
    for more in [&[] as &[&str], &["--find", "quota"]] {
        let told = simulated(&Home::new(), &[&rush, more].concat());
        assert!(told.contains(refused) && told.contains("Throttle burst rate"), "{told}");
        assert!(!told.contains("No limit has to be raised"), "{told}");
    }
    let usual = simulated(&Home::new(), &["--find", "quota"]);
    assert!(usual.contains("\nNo limit has to be raised for this crowd.\n"), "{usual}");
}

/// Without Ctrl-C it would take minutes.
#[test]
fn a_terminal_shows_the_progress_and_ctrl_c_ends_the_simulation() {
    let home = Home::new();
    let mut person = home.person(&["simulate", "--local", "--visitors", "50k", "--rate", "1"]);
    person.exp_string(" simulated, ").unwrap();
    person.exp_string(" of 50,000 released").unwrap();
    person.send("\u{3}").unwrap();
    person.flush().unwrap();
    person.exp_string("error: interrupted; nothing was changed").unwrap();
    person.exp_eof().unwrap();
    assert!(matches!(person.process().wait().unwrap(), WaitStatus::Exited(_, 5)));
}

#[test]
fn one_machine_has_neither_limits_nor_costs() {
    let answer: Value = serde_json::from_str(&simulated(&Home::new(), &["--local", "--json"])).unwrap();
    assert_eq!(
        (&answer["limits"], &answer["costs"]),
        (&Value::from(Vec::<Value>::new()), &Value::from(Vec::<Value>::new()))
    );
    assert_eq!(answer["scenario"]["host"], "machine");
}

#[test]
fn an_edge_is_simulated_with_its_own_limits_and_costs_and_not_on_one_machine() {
    let home = Home::new();
    let answer: Value = serde_json::from_str(&simulated(&home, &["--edge", "--json"])).unwrap();
    assert_eq!(answer["scenario"]["edge"], true);
    assert_eq!(answer["costs"][0]["name"], "CloudFront");
    assert!(answer["answered_by_edge"].as_u64() > Some(2000), "{answer}");
    let said = simulated(&home, &["--edge"]);
    for line in [
        "a room behind CloudFront on AWS in us-east-1",
        "CloudFront's requests a second",
        "with CloudFront's free tier",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(!said.contains("API Gateway"), "{said}");
    assert!(!simulated(&home, &[]).contains("CloudFront"));
    for nonsense in [&["--local"][..], &["--limit", "api-burst=9"], &["--region", "eu-central-2"]] {
        let output = home.run(&[&CROWD[..], &["--edge"], nonsense].concat());
        assert_eq!(output.status.code(), Some(2), "{nonsense:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_rate_that_was_found_is_enough() {
    let home = Home::new();
    let json = |more: &[&str]| -> Value {
        let crowd = ["simulate", "--local", "--visitors", "500", "--json"];
        serde_json::from_str(&home.printed(&[&crowd, more].concat())).unwrap()
    };
    let found = json(&["--find", "rate", "--within", "10m"])["found_rate"].as_u64().unwrap();
    assert!((50..200).contains(&found), "{found}");
    let event = json(&["--rate", &found.to_string()]);
    assert!(event["drained_after"].as_f64().unwrap() <= 600.0, "{event}");
}

#[test]
fn a_crowd_too_large_for_a_new_account_says_what_to_raise() {
    let more = ["--new-account", "--find", "quota", "--json"];
    let answer: Value = serde_json::from_str(&simulated(&Home::new(), &more)).unwrap();
    let quotas = answer["quotas"].as_array().unwrap();
    assert!(quotas.iter().any(|quota| quota["limit"] == "concurrency"), "{quotas:?}");
    let told = simulated(&Home::new(), &["--new-account", "--find", "quota"]);
    let functions = "\nThe functions that may run at the same time: 10 are allowed, ";
    assert!(told.contains(functions), "{told}");
}

#[test]
fn whoever_cannot_join_is_not_helped_by_a_higher_rate() {
    // The consumers of such a rate take all functions of a new account.
    let told = Home::new().printed(&["simulate", "--visitors", "9", "--new-account", "--rate", "30k"]);
    assert!(told.contains("\nall released after     never\n"), "{told}");
    assert!(!told.contains("half wait at most"), "it is nobody's turn: {told}");
    let broken =
        "a limit is exceeded, the functions that may run at the same time, and 9 of 9 visitors are refused";
    assert!(told.contains(broken) && told.contains(" What to do: ask AWS"), "{told}");
    assert!(told.contains(" 9 visitors still wait when the simulation ends.\n"), "{told}");
}

#[test]
fn what_cannot_be_simulated_says_what_to_do() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts.csv");
    fs::write(&counts, "at,joined\n2027-03-05T12:00:00Z,many\n").unwrap();
    let counts = counts.to_str().unwrap();
    let cases: [(&[&str], &str); 41] = [
        (&["-5"], "[NAME]"),
        (&["--visitors", "-5"], "from 1 to 10000000"),
        (&["--visitors=-5"], "from 1 to 10000000"),
        (&["--visitors", "1e6"], "like 2000 or 50k"),
        (&["--visitors", "10 million"], "like 2000 or 50k"),
        (&["--visitors", "99999999999999999999999"], "from 1 to 10000000"),
        (&["--rate", "-5"], "from 1 to 270000"),
        (&["--rate", "1e6"], "from 1 to 270000"),
        (&["--arrivals", "0s"], "within 1s to 7d"),
        (&["--arrivals", "99999999999999999999y"], "a time like 10m"),
        (&["--seed", "-1"], "a whole number from 0 to "),
        (&["--disorder", "-1"], "a whole number of places from 0 to 10000000"),
        (&["--disorder", "1e30"], "a whole number of places from 0 to 10000000"),
        (&["--give-up", "-3"], "from 0 to 100"),
        (&["--count-lag", "1y"], "from 0s to 1h"),
        (&["--opens-after", "8d"], "from 1s to 7d"),
        (&["--limit", "concurrency=99999999999"], "from 1 to 4294967295"),
        (&["--visitors", "9", "--early", "30"], "--opens-after 30m"),
        (&["--visitors", "9", "--rate", "60", "--order", "5m pause"], "--order \"25m on\""),
        (
            &["--find", "rate", "--within", "1h", "--visitors", "9", "--order", "5m set-rate 6"],
            "sets another",
        ),
        (&["--visitors", "0"], "from 1 to 10000000"),
        (&["--visitors", "50m", "--rate", "60"], "from 1 to 10000000"),
        (&["--visitors", "9"], "--rate 3k"),
        (&["--rate", "60"], "--visitors 50k"),
        (&["--arrivals", "flood"], "a time like 10m"),
        (&["--arrivals", "missing.csv"], "missing.csv: "),
        (&["--arrivals", counts], "line 2"),
        (&["--give-up", "101"], "from 0 to 100"),
        (&["--visitors", "9", "--shop-bears", "600"], "--shop-answers-in"),
        (&["--visitors", "9", "--find", "rate"], "--within"),
        (&["--visitors", "9", "--rate", "60", "--find", "quota", "--local"], "no limits of an account"),
        (&["--visitors", "9", "--rate", "60", "--find", "quota", "--within", "1h"], "belongs to --find rate"),
        (&["--visitors", "9", "--rate", "60", "--find", "rate", "--within", "1h"], "leave --rate out"),
        (&["--visitors", "9", "--rate", "60", "--stay", "5m"], "--active-visitors 2k"),
        (&["--visitors", "9", "--rate", "60", "--no-guard"], "--active-visitors 2k"),
        (
            &["--visitors", "9", "--rate", "60", "--active-visitors", "9", "--mode", "overflow"],
            "newcomers can't go straight in",
        ),
        (&["--active-visitors", "0"], "from 1 to 16200000"),
        (
            &["--visitors", "9", "--rate", "60", "--active-visitors", "9", "--session", "10m"],
            "give a shorter --idle",
        ),
        (&["--limit", "functions=9"], "concurrency"),
        (&["--visitors", "9", "--rate", "60", "--mode", "observe"], "there is nothing to simulate"),
        (&["--visitors", "9", "--rate", "60", "--order", "5m mode observe"], "there is nothing to simulate"),
    ];
    for (flags, told) in cases {
        let (code, error) = home.refused(&[&["simulate"], flags].concat());
        assert!(code == 2 && error.contains(told), "{flags:?}: {code} {error}");
    }
    let too_late =
        ["simulate", "--local", "--visitors", "9", "--arrivals", "2h", "--find", "rate", "--within", "1m"];
    let (code, error) = home.refused(&too_late);
    assert!(code == 1 && error.contains("more time with --within"), "{error}");
    let (code, error) = home.refused(&["simulate", "nowhere", "--visitors", "9"]);
    assert!(code == 3 && error.contains("beekeeper init nowhere"), "{error}");
}
