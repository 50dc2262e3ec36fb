//! Rooms are created by `beekeeper deploy` and removed by `beekeeper destroy`, with the permissions that the docs
//! list. Afterwards the account is the same as before.

use std::thread;
use std::time::{Duration, Instant};

use deployed_rooms::{Operator, Signal, until};
use emulators::{LocalEmu, Options};
use http_contract::{Client, IN_FORCE};

/// An account for this test alone, so that no other test creates or removes anything in it.
pub(super) fn account() -> &'static LocalEmu {
    Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()))
}

/// A client for the room on this machine, from the output of `beekeeper deploy`.
fn client(aws: &LocalEmu, deployed: &serde_json::Value, room: &str) -> Client {
    Client::new(&aws.stage(deployed["urls"]["stage"].as_str().unwrap()), room)
}

/// How many visitors join, each with a place of their own.
const CROWD: usize = 100;

pub(super) const DEPLOY: &[&str] = &["--yes", "--json"];

fn joined(client: &Client) -> Vec<String> {
    let join = || (0..CROWD / 4).map(|_| client.join()).collect::<Vec<_>>();
    thread::scope(|scope| {
        let joining = [(); 4].map(|()| scope.spawn(join));
        joining.into_iter().flat_map(|joined| joined.join().unwrap()).collect()
    })
}

/// How many orders it took.
fn a_rate_that_the_account_does_not_bear_is_warned_about(operator: &Operator) -> usize {
    let (mut orders, mut warned) = (0, String::new());
    // If AWS does not tell its limits within three seconds, nothing is said of them.
    while orders < 10 && !warned.contains(" a minute, but in this account only about ") {
        let rate = ["100000", "100001"][orders % 2];
        let too_fast = operator.run(&["set-rate", "sale", rate, "--yes"]).unwrap();
        warned = String::from_utf8_lossy(&too_fast.stderr).into_owned();
        assert!(too_fast.status.success(), "{warned}");
        orders += 1;
    }
    for warning in [
        "warning: AWS starts no more than the 10 consumers that were reserved for this room, ",
        "warning: the rate is 100,00",
    ] {
        assert!(warned.contains(warning), "{warned}");
    }
    orders
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_comes_keeps_its_crowd_through_a_second_deployment_and_goes_without_a_trace() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    operator.profile("sale", "Seal's Sale").unwrap();

    let plan = operator.done(&["deploy", "sale", "--dry-run", "--json"]).unwrap();
    assert_eq!((&plan["plan"]["action"]["kind"], &plan["changes"]), (&"create".into(), &().into()), "{plan}");
    assert_eq!(plan["plan"]["limits"][0]["value"], 1000.0, "{plan}");
    assert!(plan["plan"]["capacity"]["waiting"].as_u64().unwrap() > 1_000_000, "{plan}");
    let limits: Vec<_> =
        plan["plan"]["limits"].as_array().unwrap().iter().map(|limit| &limit["value"]).collect();
    assert_eq!(limits, [1000.0, 10_000.0, 5000.0, 40_000.0, 40_000.0], "{plan}");
    assert_eq!(plan["plan"]["outlook"], serde_json::Value::Null, "{plan}");
    let expecting = operator.done(&["deploy", "sale", "--dry-run", "--json", "--expect", "150k"]).unwrap();
    let outlook = &expecting["plan"]["outlook"];
    assert_eq!(
        (&outlook["visitors"], &outlook["last_waits_minutes"]),
        (&150_000.into(), &2500.into()),
        "{expecting}"
    );
    assert_eq!(operator.listing().unwrap(), before, "a dry run makes nothing");
    let unasked = operator.run(&["deploy", "sale"]).unwrap();
    assert_eq!(unasked.status.code(), Some(6), "{unasked:?}");
    assert_eq!(operator.listing().unwrap(), before, "whoever is not asked has not agreed");

    let begun = Instant::now();
    let deployed = operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    println!("deployed after {:?}", begun.elapsed());
    assert_eq!(deployed["found"], "on", "{deployed}");
    let client = client(aws, &deployed, "sale");
    operator.done(&["pause", "sale", "--json"]).unwrap();
    thread::sleep(IN_FORCE);
    let places = joined(&client);
    let epoch = client.get_with("/polling", &places[0]).json()["epoch"].clone();

    operator.profile("sale", "Another Title").unwrap();
    let standing = operator.listing().unwrap();
    let plan = operator.done(&["deploy", "sale", "--dry-run", "--json"]).unwrap();
    let name = |change: &serde_json::Value| change["name"].as_str().map(ToOwned::to_owned);
    let changes: Vec<_> = plan["changes"].as_array().unwrap().iter().filter_map(name).collect();
    assert_eq!(changes, ["RoomSetup"], "{plan}");
    let retitled =
        serde_json::json!({ "setting": "title", "before": "Seal's Sale", "after": "Another Title" });
    assert_eq!(plan["plan"]["settings"], serde_json::json!([retitled]));
    assert_eq!(operator.listing().unwrap(), standing, "a dry run changes nothing");
    let again = operator.done(&["deploy", "sale", "--yes", "--json"]).unwrap();
    assert_eq!((&again["urls"], &again["found"]), (&deployed["urls"], &"paused".into()));
    assert!(client.get("/wait/index.html").body.contains("Another Title"));
    for place in &places {
        let still = client.get_with("/polling", place).json();
        assert_eq!(
            (&still["allow"], &still["epoch"], still.get("join")),
            (&false.into(), &epoch, None),
            "{still}"
        );
    }
    let orders = a_rate_that_the_account_does_not_bear_is_warned_about(&operator);
    let borne = operator.run(&["set-rate", "sale", "3000", "--yes"]).unwrap();
    assert!(borne.status.success() && borne.stderr.is_empty(), "{borne:?}");
    let expecting = operator.done(&["deploy", "sale", "--dry-run", "--json", "--expect", "150k"]).unwrap();
    assert_eq!(expecting["plan"]["outlook"]["last_waits_minutes"], 50, "by the room's rate: {expecting}");
    operator.done(&["on", "sale", "--json"]).unwrap();
    let waits = |place: &&String| client.get_with("/polling", place).json()["allow"] != true;
    let took = until("all are admitted", Duration::from_mins(4), || Ok(places.iter().find(waits).is_none()))
        .unwrap();
    println!("{CROWD} admitted after {took:?}");
    // A join that was refused may have left somebody in the line.
    let most = (CROWD + client.refused_joins()) as u64;
    let report = || operator.done(&["report", "sale", "--json"]);
    let released = |report: &serde_json::Value| report["summary"]["released"].as_u64().unwrap_or_default();
    let counted = |report: &serde_json::Value| (CROWD as u64..=most).contains(&released(report));
    until("the records have all of them", Duration::from_mins(3), || Ok(counted(&report()?)))
        .unwrap_or_else(|error| panic!("{error}, but at most {most} in {}", report().unwrap()));
    let told = report().unwrap();
    assert_eq!((&told["range"], &told["rough"]), (&"last-event".into(), &true.into()), "{told}");
    let ordered: Vec<_> = told["orders"].as_array().unwrap().iter().map(|order| &order["what"]).collect();
    assert_eq!(ordered, [&["state"][..], &vec!["rate"; orders + 1], &["state"]].concat(), "{told}");
    // LocalEmu reads no metrics from logs. So nobody is counted, although the operator may read the metric.
    let says = |report: &serde_json::Value, why: &str| {
        report["entered_missing"].as_str().is_some_and(|missing| missing.starts_with(why))
    };
    assert!(says(&told, "CloudWatch has no metric Entered"), "{told}");
    operator.deny("cloudwatch:GetMetricData").unwrap();
    let told = report().unwrap();
    assert!(says(&told, "could not read the metric Entered of the room sale: "), "{told}");
    assert!(counted(&told), "and the rest is told: {told}");
    let status = operator.done(&["status", "sale", "--json"]).unwrap();
    let missing = status["refusals_missing"].as_str().unwrap_or_default();
    assert!(missing.starts_with("could not read how many requests the room sale refused: "), "{status}");
    assert!(status["released"].as_u64() > Some(0), "and the rest is told: {status}");

    let begun = Instant::now();
    let gone = operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
    println!("gone after {:?}", begun.elapsed());
    assert_eq!(gone["removal"]["unverified"], serde_json::json!([]), "{gone}");
    assert_eq!(operator.listing().unwrap(), before);
    let saved = operator.done(&["report", gone["report"].as_str().unwrap(), "--json"]).unwrap();
    assert!(saved["range"] == "kept" && counted(&saved), "{saved}");
    let again = operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
    assert_eq!(again["removal"]["removed"], serde_json::json!([]), "a room that is gone is gone: {again}");
    assert_eq!(again["report"], serde_json::Value::Null, "{again}");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_that_cannot_be_made_says_why_and_is_made_once_it_can() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    operator.profile("sale", "Sale").unwrap();
    let deploy = [&["deploy", "sale"], DEPLOY].concat();
    {
        // The setup function cannot write the room.
        let _throttled = aws.throttle_writes(None, "room").unwrap();
        let failed = operator.run(&deploy).unwrap();
        let complaint = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert!(complaint.contains("could not create the stack beekeeper-sale in us-east-1"), "{complaint}");
        assert!(
            complaint.contains("RoomSetup (Custom::Room): could not put the room into the ledger"),
            "{complaint}"
        );
    }
    let ended = operator.stopped(&deploy, "\"step\":\"schedule\"", Signal::INT).unwrap();
    assert_eq!(ended, Some(5));
    operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
    assert_eq!(operator.listing().unwrap(), before);
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn what_is_not_allowed_or_not_there_is_told_apart() {
    let mut operator = Operator::new(LocalEmu::shared().unwrap(), "operator").unwrap();
    operator.profile("sale", "Sale").unwrap();
    operator.take_policy().unwrap();
    let denied = operator.run(&["deploy", "sale", "--yes"]).unwrap();
    let complaint = String::from_utf8_lossy(&denied.stderr).into_owned();
    assert_eq!(denied.status.code(), Some(4), "{complaint}");
    assert!(complaint.contains("you need the permission cloudformation:DescribeStacks"), "{complaint}");
    operator.forget_keys();
    let nobody = operator.run(&["deploy", "sale", "--yes"]).unwrap();
    let complaint = String::from_utf8_lossy(&nobody.stderr).into_owned();
    assert_eq!(nobody.status.code(), Some(4), "{complaint}");
    assert!(complaint.contains("could not sign in to AWS in us-east-1"), "{complaint}");
    assert!(complaint.contains("run: aws configure sso"), "{complaint}");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_profile_may_have_to_ask_aws_for_a_role_first() {
    let mut operator = Operator::new(LocalEmu::shared().unwrap(), "visitor").unwrap();
    operator.profile("sale", "Sale").unwrap();
    operator.enter_by_role("sale").unwrap();
    let absent = operator.run(&["status", "sale"]).unwrap();
    let said = String::from_utf8_lossy(&absent.stderr);
    assert_eq!(absent.status.code(), Some(3), "let in, and there is no such room: {said}");
}
