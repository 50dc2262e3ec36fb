//! `GET /beekeeper` from a newcomer, a waiting visitor and an admitted visitor, and requests that must not take a
//! place.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use control::Order;
use serde_json::Value;

use crate::room::pause;
use crate::{Client, HttpAnswer, RoomUnderTest};

pub(crate) fn check(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let place = a_newcomer_gets_a_place(client);
    a_waiting_visitor_keeps_it(client, &place);
    the_link_in_a_mailing_leads_to_it(client, &place);
    every_newcomer_gets_another(client);
    a_window_takes_a_place(client);
    requests_of_nobody_take_no_place(client);
    a_frame_leads_to_a_window(client);
    room.order(Order::On);
    an_admitted_visitor_is_sent_to_the_shop(room, client, &place);
}

/// Checks that `<epoch>-<ticket>` in the fragment and `<epoch>-<token>-<ticket>` in the cookie are the same place.
fn place_of(client: &Client, answer: &HttpAnswer) -> String {
    assert_eq!(answer.status, 302, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let cookie = client.cookie(answer);
    let value = cookie.split_once('=').map(|(_, value)| value).unwrap_or_default();
    let parts: Vec<_> = value.split('-').collect();
    let [epoch, token, ticket] = parts[..] else { panic!("{value} is not <epoch>-<token>-<ticket>") };
    assert!(epoch.len() == 4 && token.len() == 32, "{value}");
    assert!(token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{value}");
    assert_eq!(
        answer.location(),
        format!("wait/index.html#{epoch}-{ticket}"),
        "relative, and of the same place"
    );
    cookie
}

/// Until the room has its first key, which takes longer on a busy machine, visitors join without a proof.
fn newcomer_with_proof(client: &Client) -> HttpAnswer {
    for _ in 0..60 {
        let answer = client.newcomer(&[]);
        if answer.headers("set-cookie").len() > 1 {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("nobody gets a proof")
}

fn a_newcomer_gets_a_place(client: &Client) -> String {
    let answer = newcomer_with_proof(client);
    let cookie = place_of(client, &answer);
    let set = answer.header("set-cookie").unwrap_or_default();
    for attribute in ["; Path=/", "; HttpOnly", "; Max-Age=1209600", "; SameSite="] {
        assert!(set.contains(attribute), "{attribute} in {set}");
    }
    let sets = answer.headers("set-cookie");
    let [_, proof] = sets[..] else { panic!("the place and its proof: {sets:?}") };
    assert!(proof.starts_with(&format!("{}_proof=", client.cookie_name())), "{proof}");
    let attributes = |set: &str| set.split("; ").skip(1).map(ToOwned::to_owned).collect::<Vec<_>>();
    let (of_place, mut of_proof) = (attributes(set), attributes(proof));
    // The proof is for the door alone, where the room knows its path.
    assert!(of_proof[0] == "Path=/" || of_proof[0].ends_with("/beekeeper"), "{proof}");
    of_proof[0].clone_from(&of_place[0]);
    assert_eq!(of_proof, of_place);
    let page = client.get(&format!("/{}", answer.location().split('#').next().unwrap_or_default()));
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
    cookie
}

fn a_waiting_visitor_keeps_it(client: &Client, place: &str) {
    for cookies in
        [place.to_owned(), format!("a=1; {place}"), format!("{place};b=2"), format!("x=y=z;  {place} ; c")]
    {
        let answer = client.get_with("/beekeeper", &cookies);
        assert_eq!((answer.status, answer.header("set-cookie")), (302, None), "{cookies}");
        let ticket = place.rsplit('-').next().unwrap_or_default();
        assert!(answer.location().ends_with(&format!("-{ticket}")), "{}", answer.location());
    }
    let answer = client.send("GET", "/beekeeper", &[("cookie", place)]);
    assert_eq!(answer.header("set-cookie"), None, "header names in either case");
}

/// Whoever sends mailings adds something to each link. An edge signs that too.
fn the_link_in_a_mailing_leads_to_it(client: &Client, place: &str) {
    let link = "/beekeeper?utm_campaign=Spring%20Sale%21&x=a+b%2Bc&y=%C3%A4('*)";
    let answer = client.get_with(link, place);
    assert_eq!((answer.status, answer.header("set-cookie")), (302, None), "{link}");
}

fn every_newcomer_gets_another(client: &Client) {
    let places: HashSet<_> = (0..20).map(|_| place_of(client, &client.newcomer(&[]))).collect();
    assert_eq!(places.len(), 20);
    let tickets: HashSet<_> =
        places.iter().map(|place| place.rsplit('-').next().map(str::to_owned)).collect();
    assert_eq!(tickets.len(), 20, "no number twice");
}

fn a_window_takes_a_place(client: &Client) {
    for (dest, mode) in [("document", "navigate"), ("empty", "navigate")] {
        place_of(client, &client.newcomer(&[("Sec-Fetch-Dest", dest), ("Sec-Fetch-Mode", mode)]));
    }
}

/// On AWS, polls show a count that is published once a minute. That may happen during these requests, but not three times.
fn requests_of_nobody_take_no_place(client: &Client) {
    let waiting = || client.get("/polling").json()["waiting"].clone();
    let take_none = || {
        let before = waiting();
        let looks = [
            client.send("HEAD", "/beekeeper", &[]),
            client.send("GET", "/beekeeper", &[("Sec-Purpose", "prefetch")]),
            client.send("GET", "/beekeeper", &[("Sec-Purpose", "prefetch;prerender")]),
            client.send("GET", "/beekeeper", &[("Purpose", "prefetch")]),
            client.send("GET", "/beekeeper", &[("X-Purpose", "preview")]),
            client.send("GET", "/beekeeper", &[("User-Agent", "facebookexternalhit/1.1")]),
            client.send("GET", "/beekeeper", &[("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Mode", "no-cors")]),
            client.send("GET", "/beekeeper", &[("sec-fetch-dest", "script")]),
            client.send("GET", "/beekeeper", &[("SEC-FETCH-DEST", "video")]),
            client.send("GET", "/beekeeper", &[("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors")]),
        ];
        for look in looks {
            assert_eq!((look.status, look.header("set-cookie")), (302, None), "{look:?}");
            assert_eq!(look.location(), "wait/index.html");
        }
        waiting() == before
    };
    assert!((0..3).any(|_| take_none()), "more wait after each time");
}

fn a_frame_leads_to_a_window(client: &Client) {
    let answer =
        client.send("GET", "/beekeeper", &[("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Mode", "navigate")]);
    assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{answer:?}");
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
    assert_eq!(answer.header("x-frame-options"), None, "a browser shows it in the frame");
    assert!(answer.body.contains(r#"<a href="" target="_top">Open the waiting room</a>"#), "{answer:?}");
}

/// What the pass at the end of this URL says.
pub fn claim(url: &str, name: &str) -> Value {
    let claims = url.split('.').rev().nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
    let claims: Value = claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default();
    claims[name].clone()
}

fn an_admitted_visitor_is_sent_to_the_shop(room: &impl RoomUnderTest, client: &Client, place: &str) {
    // A batch that a busy machine misses is delivered again after half a minute.
    let patience = (room.minute().as_secs() * 3).max(90);
    let mut tries = 0;
    while client.get_with("/polling", place).json()["allow"] != true {
        tries += 1;
        assert!(tries <= patience * 5, "not admitted in {patience} s");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(client.get_with("/client", place).json()["allow"], true);
    let passes: Vec<_> = (0..2)
        .map(|_| {
            let answer = client.get_with("/beekeeper", place);
            assert_eq!((answer.status, answer.header("set-cookie")), (302, None), "{answer:?}");
            let pass =
                answer.location().strip_prefix(&room.shop()).and_then(|rest| rest.split_once("bk_pass="));
            pass.unwrap_or_else(|| panic!("{} with a pass", answer.location())).1.to_owned()
        })
        .collect();
    assert!(passes.iter().all(|pass| pass.split('.').count() == 3), "{passes:?}");
    let picture = [("Cookie", place), ("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Mode", "no-cors")];
    assert_eq!(
        client.send("GET", "/beekeeper", &picture).location(),
        "wait/index.html",
        "no pass for a picture"
    );
    let nonce = "c29tZS1ub25jZS0xMjM0NQ";
    let bound = client.get_with(&format!("/beekeeper?nonce={nonce}"), place);
    assert_eq!(claim(bound.location(), "nonce"), nonce, "the room signs the shop's nonce: {bound:?}");
    let ignored = client.get_with("/beekeeper?nonce=%3Cb%3E", place);
    assert_eq!((ignored.status, claim(ignored.location(), "nonce")), (302, Value::Null));
    let again = client.get_with("/polling", place).json();
    assert_eq!(again["origin"], room.shop());
    assert!(again["until"].is_u64(), "until when they may come back");
}
