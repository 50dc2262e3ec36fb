//! A room that the SAM CLI deployed is operated, keeps to its roles, and is updated while it runs. Whether its answers conform to
//! the HTTP contract, a step of the trial checks: `trying.rs`.

use std::time::{Duration, Instant};

use deployed_rooms::{Operator, SamRoom, sam, until};
use serde_json::Value;

use super::roles;

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_that_sam_deployed_keeps_its_roles_and_can_be_changed() {
    let begun = Instant::now();
    let room = SamRoom::deploy("updating", 600).unwrap();
    println!("deployed after {:?}", begun.elapsed());
    the_page_was_put_into_the_bucket(&room);
    beekeeper_operates_it_as_if_it_had_deployed_it(&room);
    whoever_comes_for_their_pass_is_in_the_metric(&room);
    roles::check(&room);
    a_changed_route_and_title_are_live_after_an_update(&room);
    println!("updated after {:?}", begun.elapsed());
    a_request_that_the_gateway_refuses_gets_html(&room);
}

fn beekeeper_operates_it_as_if_it_had_deployed_it(room: &SamRoom) {
    let operator = Operator::new(room.aws, "sam").unwrap();
    operator.profile("updating", "Seal's Sale").unwrap();
    let status = operator.done(&["status", "updating", "--json"]).unwrap();
    assert_eq!(status["room"]["settings"]["title"], "Seal's Sale", "{status}");
    let ordered = operator.done(&["set-rate", "updating", "600", "--yes", "--json"]).unwrap();
    assert_eq!(ordered["after"]["settings"]["rate"], 600);
}

fn the_page_was_put_into_the_bucket(room: &SamRoom) {
    let page = room.stage.client().get("/wait/index.html");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("Seal"), "the room's title: {}", page.body);
}

fn whoever_comes_for_their_pass_is_in_the_metric(room: &SamRoom) {
    let entered = || -> u64 {
        let log = room.log("ProducerFunction").unwrap();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let metrics = lines.filter(|line| line["_aws"].is_object());
        metrics.filter_map(|line| line["Entered"].as_u64()).sum()
    };
    let (client, before) = (room.stage.client(), entered());
    let place = client.join();
    assert_eq!(entered(), before, "whoever joins has not entered");
    client.wait_for_pass(&place);
    client.wait_for_pass(&place);
    // The log may arrive later than the answer.
    until("both are in the log", Duration::from_secs(20), || Ok(entered() - before >= 2)).unwrap();
    assert_eq!(entered() - before, 2, "whoever comes twice counts twice");
}

fn a_request_that_the_gateway_refuses_gets_html(room: &SamRoom) {
    let client = room.stage.client();
    room.stage.reserve("ProducerFunction", Some(0)).unwrap();
    let refused = || client.send_once("GET", "/beekeeper", &[("Accept", "*/*")]);
    until("nobody joins", Duration::from_secs(20), || Ok(refused().status != 302)).unwrap();
    let refused = refused();
    let header = |name| refused.header(name);
    // A server error keeps its own status, or CloudWatch would count it as a client error.
    assert!(refused.status >= 500 && header("retry-after") == Some("30"), "{refused:?}");
    // The emulator sends a body of its own here; a test of the template compares the page.
    assert_eq!(header("content-type"), Some("text/html; charset=utf-8"));
}

fn a_changed_route_and_title_are_live_after_an_update(room: &SamRoom) {
    let client = room.stage.client();
    let place = client.join();
    let changed = sam::changed(sam::built().unwrap(), "there is nothing here", "nobody lives here").unwrap();
    room.deploy_again(&changed, "Another Title").unwrap();
    let said = || client.get("/nowhere").json()["error"].to_string();
    until("the route is changed", Duration::from_secs(20), || Ok(said().contains("nobody lives here")))
        .unwrap();
    let page = client.get("/wait/index.html");
    assert!(page.body.contains("Another Title"), "{}", page.body);
    let poll = client.get_with("/polling", &place).json();
    assert_eq!(poll.get("join"), None, "who waits keeps the place: {poll}");
}
