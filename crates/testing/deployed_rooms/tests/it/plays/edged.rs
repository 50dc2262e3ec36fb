//! A room with an edge: its stack has a distribution, and visitors come through a stand-in for it that is made from the distribution's
//! own properties.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use deployed_rooms::{Operator, SamRoom, Signal};
use emulators::{EdgeProxy, EdgeVisitors, LocalEmu, thirds};
use http_contract::{Client, Order, RoomUnderTest, claim};

use super::lifecycle::{DEPLOY, account};

/// As many come to a room on one machine in each run.
const CROWD: u32 = 1000;
const AT_ONCE: usize = 8;

/// A room, reached through its edge alone.
struct BehindEdge {
    room: SamRoom,
    edge: EdgeProxy,
}

impl BehindEdge {
    fn deploy(name: &str) -> Self {
        let room = SamRoom::deploy_with(LocalEmu::shared().unwrap(), name, 3000, &[("Edge", "yes")]).unwrap();
        let edge = EdgeProxy::of(room.aws, room.stage.output("Edge").unwrap()).unwrap();
        Self { room, edge }
    }

    fn client(&self) -> Client {
        Client::new(&self.base(), &self.name())
    }
}

impl RoomUnderTest for BehindEdge {
    fn base(&self) -> String {
        self.edge.base()
    }

    fn name(&self) -> String {
        self.room.stage.name()
    }

    fn shop(&self) -> String {
        self.room.stage.shop()
    }

    fn order(&self, order: Order) {
        self.room.stage.order(order);
    }

    fn minute(&self) -> Duration {
        self.room.stage.minute()
    }

    fn status_of_another_method(&self) -> u16 {
        self.room.stage.status_of_another_method()
    }
}

#[test]
#[ignore = "needs LocalEmu, nginx, Chromium, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_with_an_edge_answers_as_any_other_and_nobody_gets_what_is_anothers() {
    let behind = BehindEdge::deploy("edged");
    let begun = Instant::now();
    http_contract::check_answers(&behind);
    println!("checked after {:?}", begun.elapsed());
    a_crowd_and_two_browsers_come_to_the_shop(&behind);
    println!("all were in the shop after {:?}", begun.elapsed());
    nobody_gets_what_is_anothers(&behind.client());
    whoever_reads_an_answer_may_read_on(&behind.client());
    guards_report_through_the_edge(&behind.client());
    the_door_is_asked_once_for_all(&behind);
    let around = Client::new(&behind.room.aws.endpoint(), &behind.name());
    assert!(around.get("/prod/polling").status >= 400, "there is no API to go around the edge");
}

/// They join while the room is paused. Then each is sent to the shop with a pass of their own.
fn a_crowd_and_two_browsers_come_to_the_shop(behind: &BehindEdge) {
    let crowd: Vec<_> = thirds::of_this_run(0..CROWD).collect();
    behind.order(Order::Pause);
    // All of them come within a minute.
    behind.order(Order::SetRate { rate: u32::try_from(crowd.len()).unwrap().try_into().unwrap() });
    let client = behind.client();
    let places = at_once(&crowd, |_| client.join());
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), crowd.len());
    // So far behind, their turn is far.
    let mut browsers = EdgeVisitors::come(&behind.edge).unwrap();
    browsers.wait().unwrap();
    behind.order(Order::On);
    assert!(!browsers.arrive().unwrap(), "the door answered from the first");
    at_once(&places, |place| {
        let token = place.split('-').nth(1).unwrap();
        let pass = client.wait_for_pass(place);
        assert_eq!(claim(&pass, "sub"), pass::subject(token), "{place} got {pass}");
    });
}

/// Does something for each of these, a few at a time.
fn at_once<T: Sync, R: Send>(all: &[T], does: impl Fn(&T) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let running: Vec<_> = all
            .chunks(all.len().div_ceil(AT_ONCE))
            .map(|some| scope.spawn(|| some.iter().map(&does).collect::<Vec<_>>()))
            .collect();
        running.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

/// Two visitors in turn, with everything that could get an answer of one to the other.
fn nobody_gets_what_is_anothers(client: &Client) {
    let places = [client.join(), client.join()];
    assert_ne!(places[0], places[1]);
    for hostile in [
        &[][..],
        &[("Cache-Control", "public, max-age=60"), ("Vary", "Accept")],
        &[("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-Host", "evil.example"), ("Pragma", "no-cache")],
    ] {
        for place in &places {
            let headers = [&[("Cookie", &**place)], hostile].concat();
            let ticket = place.rsplit('-').next().unwrap();
            let door = client.send("GET", "/beekeeper?x=1", &headers);
            let location = door.header("location").unwrap_or_default();
            let is_own = location.ends_with(&format!("-{ticket}")) || location.contains("shop.example");
            assert!(is_own && door.header("x-cache") != Some("Hit from cloudfront"), "{hostile:?} {door:?}");
            let own = client.send("GET", "/polling", &headers);
            assert!(own.json().get("join").is_none(), "{hostile:?} {own:?}");
            let status = client.send("GET", "/status?other=key", &headers);
            assert!(status.header("set-cookie").is_none() && !status.body.contains("evil"), "{status:?}");
        }
        assert_eq!(client.send("GET", "/client", hostile).json()["known"], false, "{hostile:?}");
    }
}

/// The edge makes a browser come again soon, for whom Lambda refuses a function. What the function itself says overrules that.
fn whoever_reads_an_answer_may_read_on(client: &Client) {
    const IN_FRAME: &[(&str, &str)] = &[("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")];
    let opened: [(&str, &[(&str, &str)]); 4] =
        [("/wait/index.html", &[]), ("/wait/nothing.html", &[]), ("/nothing", &[]), ("/beekeeper", IN_FRAME)];
    for (path, headers) in opened {
        // Both from the function and from what the edge keeps.
        for _ in 0..2 {
            let answer = client.send("GET", path, headers);
            assert_eq!(answer.header("refresh"), Some("86400"), "{path} {answer:?}");
        }
    }
    assert_eq!(client.get("/").status, 302, "no browser heeds a pause before it is led on");
}

/// A guard's report reaches the room with its key, and CloudFront's signature of its own.
fn guards_report_through_the_edge(client: &Client) {
    const NO_BODY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let key = [("Beekeeper-Key", "a-key"), ("Content-Length", "0")];
    let report = client.send("POST", "/guard", &[&key[..], &[("X-Amz-Content-Sha256", NO_BODY)]].concat());
    let error = report.json()["error"].as_str().unwrap_or_default().to_owned();
    assert!(report.status == 404 && error.contains("counts no active visitors"), "{report:?}");
    assert_eq!(client.send("POST", "/guard", &key).status, 403, "Lambda takes no body without its hash");
}

/// However many ask, the door says about once a second how the line stands, with the time at which it says so.
fn the_door_is_asked_once_for_all(behind: &BehindEdge) {
    let begun = Instant::now();
    let ask = || {
        let (client, mut said, mut asked) = (behind.client(), BTreeSet::new(), 0_u64);
        while begun.elapsed() < Duration::from_secs(5) || asked < 10 {
            said.insert(client.get("/status").json()["at"].as_u64().unwrap());
            asked += 1;
        }
        (said, asked)
    };
    let heard = at_once(&[(); AT_ONCE], |()| ask());
    let (seconds, asked) = (begun.elapsed().as_secs(), heard.iter().map(|(_, asked)| asked).sum::<u64>());
    let said: BTreeSet<_> = heard.iter().flat_map(|(said, _)| said).collect();
    println!("asked {asked} times in {seconds} s, and {} times at the door", said.len());
    assert!(said.len() as u64 <= 2 + seconds, "{said:?} of {asked} in {seconds} s");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn an_edge_comes_with_deploy_stays_where_visitors_are_and_goes_with_destroy() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    let with = |settings: &str| {
        operator.profile_in("eu-central-1", "sale", "Sale").unwrap();
        operator.configure_more("sale", &format!("edge = \"yes\"\n{settings}\n")).unwrap();
    };
    let deploy = [&["deploy", "sale"], DEPLOY].concat();
    let destroy = ["destroy", "sale", "--yes", "--json"];
    let made = |what: &str| aws.distributions().unwrap()[what].as_array().unwrap().clone();
    let stopped_after_firewall = || {
        with("door_requests_per_address = 5000");
        operator.stopped(&deploy, "\"step\":\"bucket\"", Signal::KILL).unwrap();
        assert_eq!(
            (made("Firewalls").len(), made("Distributions").len()),
            (1, 0),
            "the firewall comes first"
        );
    };

    stopped_after_firewall();
    operator.done(&destroy).unwrap();
    assert_eq!(made("Firewalls").len(), 0, "it goes, although the room was never there");
    stopped_after_firewall();
    with("");
    let deployed = operator.done(&deploy).unwrap();
    let url = deployed["urls"]["room"].as_str().unwrap();
    assert!(url.ends_with(".cloudfront.net/beekeeper"), "{deployed}");
    assert_eq!(made("Firewalls").len(), 0, "nobody asks for it any more");

    with("door_requests_per_address = 5000");
    operator.done(&deploy).unwrap();
    let (firewall, distribution) = (made("Firewalls").remove(0), made("Distributions").remove(0));
    assert_eq!(distribution["DistributionConfig"]["WebACLId"], firewall["Arn"]);
    assert_eq!(firewall["Tags"]["beekeeper:room"], "sale");
    let limit = |firewall: &serde_json::Value| {
        firewall["Rules"][0]["Statement"]["RateBasedStatement"]["Limit"].clone()
    };
    assert_eq!(limit(&firewall), "5000");

    with("door_requests_per_address = 4000");
    let plan = operator.done(&["deploy", "sale", "--dry-run", "--json"]).unwrap();
    let changes: Vec<_> = plan["changes"].as_array().unwrap().iter().map(|change| &change["name"]).collect();
    assert_eq!(changes, ["Firewall"], "{plan}");
    operator.done(&deploy).unwrap();
    assert_eq!(limit(&made("Firewalls")[0]), "4000");
    assert_eq!(made("Distributions"), [distribution]);

    operator.profile_in("eu-central-1", "sale", "Sale").unwrap();
    let refused = operator.run(&deploy).unwrap();
    let complaint: serde_json::Value = serde_json::from_slice(&refused.stderr).unwrap();
    let error = complaint["error"].as_str().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{complaint}");
    assert!(error.starts_with("could not move the room sale from edge = \"yes\" to \"no\""), "{error}");

    operator.done(&destroy).unwrap();
    let left = (made("Distributions"), made("Firewalls"));
    assert_eq!((operator.listing().unwrap(), left), (before, Default::default()));
}
