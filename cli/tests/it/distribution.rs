//! A room behind CloudFront: a stand-in for it, made from the distribution that a room on AWS has.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use cloud::template::Stack;
use embedded::EmbeddedStore;
use emulators::{EdgeProxy, EdgeVisitors, free_port};
use http_contract::{Client, Order, RoomUnderTest};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use waitroom::ports::{LineBack, RoomReader, TicketCounter};
use waitroom::{Place, Ticket, Timestamp, Token, fixture};

use crate::crowd::{ask, authority};
use crate::hosting::metric;
use crate::support::{Local, even_on_a_busy_machine};

/// What stacks with an edge have made, in the words of `emulators::LocalEmu::distributions`.
fn distributions() -> Value {
    let room = [("Room", "demo"), ("Title", "Sale"), ("Shop", "https://shop.example"), ("Rate", "300")];
    let mut stack = Stack::with(&[&room[..], &[("Edge", "yes")]].concat()).unwrap();
    let origin = "/Resources/Distribution/Properties/DistributionConfig/Origins/0/DomainName";
    // AWS draws it.
    *stack.template.pointer_mut(origin).unwrap() = "door.lambda-url.eu-central-1.on.aws".into();
    let of = |resource: &str| stack.properties(resource).unwrap();
    let (edge, access) = (of("Distribution"), of("DoorAccess"));
    let policy = |resource: &str| of(resource)["ResponseHeadersPolicyConfig"].clone();
    let mut of_page = policy("PageHeaders");
    // It is for Lambda's error. The room here is on one machine, so its page has no header of its own that overrules it.
    of_page.as_object_mut().unwrap().remove("CustomHeadersConfig").unwrap();
    json!({
        "Distributions": [{
            "Id": "edge", "Arn": "arn:aws:cloudfront::000000000000:distribution/edge", "DomainName": "edge.cloudfront.net",
            "DistributionConfig": edge["DistributionConfig"],
        }],
        "OriginAccessControls": [{
            "Id": "DoorAccess.Id", "OriginAccessControlConfig": access["OriginAccessControlConfig"],
        }],
        "ResponseHeadersPolicies": [
            { "Id": "DoorHeaders", "ResponseHeadersPolicyConfig": policy("DoorHeaders") },
            { "Id": "PageHeaders", "ResponseHeadersPolicyConfig": of_page },
        ],
    })
}

/// Before a room that is yet to be started with [`behind`].
fn edge() -> (EdgeProxy, u16) {
    let port = free_port().unwrap();
    (EdgeProxy::before(&distributions(), "edge", port).unwrap(), port)
}

/// The room at this port, behind its edge. It takes nobody in yet.
fn behind(edge: &EdgeProxy, port: u16, directory: TempDir, extra: &[&str]) -> Local {
    let (url, port) = (edge.base(), port.to_string());
    let flags = ["--edge", "--url", &url, "--port", &port, "--trust-proxy", "127.0.0.1", "--rate", "300"];
    let room = Local::start_in(directory, &[&flags[..], extra].concat());
    room.order(Order::Pause);
    room
}

/// Does as Lambda does while no function is free, in place of the room, until it has refused somebody.
fn refuse_one(port: u16) {
    const ERROR: &str =
        r#"{"Reason":"ConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}"#;
    let lambda = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let (mut visitor, _) = lambda.accept().unwrap();
    assert!(visitor.read(&mut [0; 4096]).unwrap() > 0);
    let length = ERROR.len();
    write!(
        visitor,
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{ERROR}"
    )
    .unwrap();
}

#[test]
#[ignore = "needs nginx, openssl, Node.js and Chromium: cargo xtask test beekeeper"]
fn a_browser_asks_the_edge_while_its_turn_is_far_and_the_room_when_it_is_near() {
    let (edge, port) = edge();
    let mut visitors = EdgeVisitors::come(&edge).unwrap();
    // The first one comes while no function is free, and comes again without doing anything.
    refuse_one(port);
    let room = behind(&edge, port, tempfile::tempdir().unwrap(), &[]);
    ask(&authority(&room), "/beekeeper", 200);
    visitors.wait().unwrap();
    // Their pages expect their turn in 40 s, and ask after half of that. By then it has come, in this room's short minutes.
    room.order(Order::On);
    assert!(visitors.arrive().unwrap(), "the first one came while no function was free");
}

/// Lets so many join the room in this directory, which doesn't run meanwhile.
fn join(directory: &TempDir, visitors: u32) {
    let store = EmbeddedStore::open(directory.path(), fixture::room(1), Timestamp::default).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let epoch = store.room().await.unwrap().epoch;
        let first = store.lease(visitors).await.unwrap();
        let crowd: Vec<_> = (first..first + u64::from(visitors)).collect();
        for some in crowd.chunks(4096) {
            let mut joining = JoinSet::new();
            for &number in some {
                let token = Token::from_bytes(u128::from(number).to_be_bytes());
                let (store, ticket) = (store.clone(), Ticket::new(number).unwrap());
                joining.spawn(async move { store.join(Place { epoch, token, ticket }).await });
            }
            joining.join_all().await.into_iter().for_each(Result::unwrap);
        }
    });
    store.close();
}

#[test]
#[ignore = "needs nginx and openssl: cargo xtask test beekeeper"]
fn a_million_wait_and_the_room_is_asked_once_a_second() {
    even_on_a_busy_machine(a_million_ask_once_a_second);
}

fn a_million_ask_once_a_second() {
    let (edge, port) = edge();
    let (directory, _) = behind(&edge, port, tempfile::tempdir().unwrap(), &[]).interrupt();
    join(&directory, 1_000_000);
    let room = behind(&edge, port, directory, &["--metrics", "0"]);
    let count = |name: &str| -> u64 { metric(&Client::new(room.monitor(), "demo"), name).parse().unwrap() };
    assert_eq!(count("beekeeper_waiting"), 1_000_000);

    let begun = Instant::now();
    let ask = || {
        let client = Client::new(&edge.base(), "demo");
        let mut answers = 0_u64;
        while begun.elapsed() < Duration::from_secs(5) {
            let answer = client.get("/status");
            assert_eq!((answer.status, &answer.json()["waiting"]), (200, &1_000_000.into()));
            answers += 1;
        }
        answers
    };
    let answers: u64 = thread::scope(|scope| {
        let asking = [(); 8].map(|()| scope.spawn(ask));
        asking.into_iter().map(|asking| asking.join().unwrap()).sum()
    });
    let (seconds, asked) = (begun.elapsed().as_secs(), count("beekeeper_edge_asked_total"));
    println!("{answers} answers in {seconds} s, and the room was asked {asked} times");
    assert!(answers > 100 && (2..=2 + seconds).contains(&asked), "{asked} of {answers}");
}
