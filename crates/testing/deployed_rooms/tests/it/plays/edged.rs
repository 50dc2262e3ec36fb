//! A room with an edge: its stack has a distribution, and visitors come through a stand-in for it that is made from the distribution's
//! own properties.

use std::time::{Duration, Instant};

use deployed_rooms::{Operator, SamRoom};
use emulators::{Edge, LocalEmu};
use http_contract::{Client, Order, RoomUnderTest};

use super::lifecycle::{DEPLOY, account};

/// A room, reached through its edge alone.
struct BehindEdge {
    room: SamRoom,
    edge: Edge,
}

impl BehindEdge {
    fn deploy(name: &str) -> Self {
        let room =
            SamRoom::deploy_with(LocalEmu::shared().unwrap(), name, 3000, &[("Edge", "yes")]).unwrap();
        let edge = Edge::of(room.aws, room.stage.output("Edge").unwrap()).unwrap();
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
}

#[test]
#[ignore = "needs LocalEmu, nginx, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_with_an_edge_answers_as_any_other_and_nobody_gets_what_is_anothers() {
    let behind = BehindEdge::deploy("edged");
    http_contract::check_behind_edge(&behind);
    behind.order(Order::On);
    nobody_gets_what_is_anothers(&behind.client());
    the_door_is_asked_once_for_all(&behind);
    let around = Client::new(&behind.room.aws.endpoint(), &behind.name());
    assert!(around.get("/prod/polling").status >= 400, "there is no API to go around the edge");
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

/// However many ask, the door says about once a second how the line stands.
fn the_door_is_asked_once_for_all(behind: &BehindEdge) {
    let asked = || behind.room.log("ProducerFunction").unwrap().matches("START RequestId").count();
    let (before, begun) = (asked(), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while begun.elapsed() < Duration::from_secs(5) {
                    assert_eq!(behind.client().get("/status").status, 200);
                }
            });
        }
    });
    let (asked, seconds) = (asked() - before, begun.elapsed().as_secs());
    assert!((1..=2 + seconds).contains(&(asked as u64)), "{asked} in {seconds} s");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn an_edge_comes_with_deploy_stays_where_visitors_are_and_goes_with_destroy() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    operator.profile("sale", "Sale").unwrap();
    operator.configure_more("sale", "edge = \"yes\"\n").unwrap();
    let deploy = [&["deploy", "sale"], DEPLOY].concat();
    let deployed = operator.done(&deploy).unwrap();
    let url = deployed["urls"]["room"].as_str().unwrap();
    assert!(url.ends_with(".cloudfront.net/beekeeper"), "{deployed}");

    operator.profile("sale", "Sale").unwrap();
    let refused = operator.run(&deploy).unwrap();
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("could not move the room sale from edge = \"yes\" to \"no\""), "{complaint}");

    operator.configure_more("sale", "edge = \"yes\"\n").unwrap();
    operator.done(&["destroy", "sale", "--yes", "--json"]).unwrap();
    assert_eq!(operator.listing().unwrap(), before);
}
