//! How the operator's orders change what visitors see.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use control::Order;
use waitroom::{HelpCode, Message, Mode, Notice, Rate, Timestamp};

use crate::room::{eventually, pause};
use crate::{Client, RoomUnderTest};

pub(crate) fn check(room: &impl RoomUnderTest, client: &Client) {
    messages_arrive_as_they_were_written(room, client);
    rates_arrive(room, client);
    a_release_lets_in_who_waits_and_leaves_the_rate(room, client);
    paused_keeps_places(room, client);
    whoever_asks_for_help_is_let_in_by_hand(room, client);
    a_room_opens_by_itself(room, client);
    closed_turns_newcomers_away_and_ended_everybody(room, client);
    off_lets_everybody_through(room, client);
    a_room_that_observes_lets_everybody_pass(room, client);
    a_new_epoch_makes_everybody_a_newcomer(room, client);
}

fn a_room_opens_by_itself(room: &impl RoomUnderTest, client: &Client) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    // A full second, and time enough for the order.
    let opens = Duration::from_secs(now().as_secs() + 15);
    let millis = u64::try_from(opens.as_millis()).expect("a time of today");
    room.order(Order::OpenAt { at: Timestamp::from_millis(millis) });
    let poll = eventually("an opening", || {
        let poll = client.get("/polling").json();
        (poll["opens"] == millis).then_some(poll)
    });
    assert_eq!((&poll["allow"], &poll["state"]), (&false.into(), &"paused".into()));
    assert!(client.newcomer(&[]).header("set-cookie").is_some(), "visitors join until then");
    let poll = eventually("open", || {
        let poll = client.get("/polling").json();
        (poll["state"] == "on").then_some(poll)
    });
    assert!(now() >= opens, "not before");
    assert_eq!(poll.get("opens"), None);
}

fn a_new_epoch_makes_everybody_a_newcomer(room: &impl RoomUnderTest, client: &Client) {
    let admitted = client.join();
    client.wait_for_pass(&admitted);
    pause(room, client);
    let place = client.join();
    let before = client.get_with("/polling", &place).json()["epoch"].clone();
    room.order(Order::Reset { epoch: "next".parse().expect("an epoch") });
    let poll = eventually("the new epoch", || {
        let poll = client.get_with("/polling", &place).json();
        (poll["epoch"] != before).then_some(poll)
    });
    assert_eq!(
        (&poll["join"], &poll["waiting"]),
        (&true.into(), &0.into()),
        "a place of an earlier epoch does not count"
    );
    // The door may read the new epoch a moment later than the polls.
    let refused = client.refused_joins();
    let second = eventually("the new epoch, at the door", || {
        let answer = client.newcomer(&[("Cookie", &place)]);
        answer.header("set-cookie").is_some().then(|| client.cookie(&answer))
    });
    assert_ne!(second, place);
    let ticket: usize = second.rsplit('-').next().and_then(|ticket| ticket.parse().ok()).expect("a ticket");
    // A join that was refused may have taken a ticket.
    let refused = client.refused_joins() - refused;
    assert!((1..=1 + refused).contains(&ticket), "tickets start again: {second}");
    // Whoever was admitted before reads the new epoch, and writes it into the cookie.
    let epoch = |json: &serde_json::Value| json.as_str().expect("an epoch").to_owned();
    let rewritten = admitted.replacen(&epoch(&before), &epoch(&poll["epoch"]), 1);
    assert_ne!(rewritten, admitted);
    let answer = client.get_with("/beekeeper", &rewritten);
    assert!(!answer.location().contains("bk_pass="), "{answer:?}");
    room.order(Order::On);
    eventually("on", || (client.get("/polling").json()["state"] == "on").then_some(()));
}

fn messages_arrive_as_they_were_written(room: &impl RoomUnderTest, client: &Client) {
    for text in ["It's \"on\"", "zwölf Uhr 🦭\nzweite Zeile", "\\ / </script> {{x}} $util", ""] {
        let message: Message = text.parse().expect("a message");
        room.order(Order::Message { text: message });
        eventually(text, || (client.get("/polling").json()["message"] == text).then_some(()));
    }
}

fn rates_arrive(room: &impl RoomUnderTest, client: &Client) {
    let order = |rate: u64| {
        let rate = u32::try_from(rate).ok().and_then(|rate| Rate::new(rate).ok()).expect("a rate");
        room.order(Order::SetRate { rate });
    };
    let before = client.get("/polling").json()["rate"].as_u64().expect("a rate");
    order(4321);
    eventually("the new rate", || (client.get("/polling").json()["rate"] == 4321).then_some(()));
    order(before);
}

fn a_release_lets_in_who_waits_and_leaves_the_rate(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let rate = client.get("/polling").json()["rate"].clone();
    let place = client.join();
    room.order(Order::On);
    room.order(Order::Release { visitors: 500.try_into().expect("a size") });
    eventually("let in", || (client.get_with("/polling", &place).json()["allow"] == true).then_some(()));
    assert_eq!(client.get("/polling").json()["rate"], rate, "pages reckon with the rate that lasts");
}

fn paused_keeps_places(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let place = client.join();
    std::thread::sleep(room.minute() + room.minute() / 2);
    let poll = client.get_with("/polling", &place).json();
    assert_eq!((&poll["allow"], poll.get("join")), (&false.into(), None), "joining goes on, releasing stops");
    room.order(Order::On);
    eventually("on again", || {
        (client.get_with("/polling", &place).json()["state"] != "paused").then_some(())
    });
}

fn whoever_asks_for_help_is_let_in_by_hand(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let waiting = client.cookies(&client.newcomer(&[]));
    let invented = client.get_with("/beekeeper?help=1", &client.invented_place());
    assert_eq!(invented.status, 302, "a place that the room did not give out has no code");
    let answer = client.get_with("/beekeeper?help=1", &waiting);
    assert_eq!((answer.status, answer.header("set-cookie")), (200, None));
    let codes = answer.body.split(['>', '<']).filter_map(|text| text.parse::<HelpCode>().ok());
    let &[code] = &*codes.collect::<Vec<_>>() else { panic!("no code: {}", answer.body) };
    room.order(Order::Find { code });
    assert_eq!(client.get_with("/polling", &waiting).json()["allow"], false);
    room.order(Order::Admit { code });
    eventually("let in by hand", || {
        (client.get_with("/polling", &waiting).json()["allow"] == true).then_some(())
    });
    let enters = eventually("into the shop", || {
        let answer = client.get_with("/beekeeper?help=1", &waiting);
        answer.header("location").filter(|to| to.starts_with(&room.shop())).map(ToOwned::to_owned)
    });
    assert!(enters.contains("bk_pass="), "{enters}");
    room.order(Order::On);
    eventually("on again", || (client.get("/polling").json()["state"] == "on").then_some(()));
}

fn closed_turns_newcomers_away_and_ended_everybody(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let waiting = client.cookies(&client.newcomer(&[]));
    let link = "https://shop.example/next?a=1&b=2";
    let notice = Notice {
        text: "\"Sold out\" <b>& gone".parse().expect("a text"),
        link: Some(link.parse().expect("a link")),
    };
    // Whoever waits would be let in while this looks.
    room.order(Order::End { notice: Some(notice) });
    let poll = |cookies: &str| client.get_with("/polling", cookies).json();
    eventually("ended", || (poll(&waiting)["state"] == "ended").then_some(()));
    let ended = poll(&waiting);
    assert_eq!((&ended["allow"], ended.get("late"), &ended["link"]), (&false.into(), None, &link.into()));
    assert_eq!(ended["message"], "\"Sold out\" <b>& gone");
    let told = |cookies: &str, text: &str| {
        eventually(text, || {
            let answer = client.get_with("/beekeeper", cookies);
            (answer.status == 200 && answer.body.contains(text)).then_some(answer)
        })
    };
    let at_door = told(&waiting, "The line has ended");
    assert_eq!(at_door.header("set-cookie"), None);
    assert!(at_door.body.contains("Sold out&#34; &#60;b&#62;&#38; gone"));

    // With a text it would stay ended: another text lets nobody in.
    room.order(Order::Close { notice: None, then_off: false });
    let late = eventually("closed", || {
        let poll = client.get("/polling").json();
        (poll["state"] == "closed").then_some(poll)
    });
    assert_eq!((&late["allow"], &late["late"], late.get("join")), (&false.into(), &true.into(), None));
    assert_eq!(late["link"], link);
    assert_eq!(told("a=1", "The line is closed").header("set-cookie"), None, "no place");
    let invented = client.get_with("/beekeeper", &client.invented_place());
    assert_eq!(invented.header("set-cookie"), None, "an invented place does not become one");
    eventually("who waited is let in", || (poll(&waiting)["allow"] == true).then_some(()));
    room.order(Order::End { notice: None });
    eventually("ended again", || (client.get("/polling").json()["state"] == "ended").then_some(()));
    assert_eq!(poll(&waiting)["allow"], true, "who was let in before may still enter");
    assert!(client.get_with("/beekeeper", &waiting).location().starts_with(&room.shop()));
    room.order(Order::On);
    let joins = eventually("on", || {
        let poll = client.get("/polling").json();
        (poll["state"] == "on").then_some(poll)
    });
    assert_eq!((&joins["join"], joins.get("late"), joins.get("link")), (&true.into(), None, None));
    eventually("on, at the door", || client.newcomer(&[]).header("set-cookie").map(drop));
}

fn a_room_that_observes_lets_everybody_pass(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let place = client.cookies(&client.newcomer(&[]));
    let invented = client.invented_place();
    room.order(Order::Mode { mode: Mode::Observe });
    assert_eq!(client.get("/polling").json()["allow"], false, "it is paused");
    room.order(Order::On);
    eventually("it observes", || (client.get("/polling").json()["allow"] == true).then_some(()));
    let is_to_shop =
        |cookies: &str| client.get_with("/beekeeper", cookies).location().starts_with(&room.shop());
    eventually("it observes, at the door", || is_to_shop(&place).then_some(()));
    assert!(is_to_shop(&invented));
    assert_eq!(client.get("/client").json()["allow"], false, "whoever was not counted goes to the door");
    let passed = client.newcomer(&[]);
    assert!(passed.location().starts_with(&room.shop()) && passed.location().contains("bk_pass="));
    let passed = client.cookies(&passed);
    room.order(Order::Mode { mode: Mode::Line });
    eventually("a line", || (client.get("/polling").json()["allow"] == false).then_some(()));
    for cookies in [&place, &passed] {
        assert_eq!(client.get_with("/client", cookies).json()["allow"], true, "who passed can come back");
        assert!(client.get_with("/polling", cookies).json().get("until").is_some());
    }
    eventually("a line, at the door", || (!is_to_shop(&invented)).then_some(()));
}

fn off_lets_everybody_through(room: &impl RoomUnderTest, client: &Client) {
    pause(room, client);
    let place = client.cookies(&client.newcomer(&[]));
    let invented = client.invented_place();
    room.order(Order::Off);
    eventually("off", || (client.get("/polling").json()["allow"] == true).then_some(()));
    assert_eq!(client.get("/polling").json()["origin"], room.shop());
    assert!(client.get("/polling").json().get("until").is_none(), "nobody has to hurry");
    assert_eq!(client.get("/client").json()["allow"], true, "true for everybody");
    let is_to_shop =
        |cookies: &str| client.get_with("/beekeeper", cookies).location().starts_with(&room.shop());
    eventually("off, at the door", || is_to_shop(&invented).then_some(()));
    let look = client.send("HEAD", "/beekeeper", &[("Cookie", &place)]);
    assert_eq!((look.status, look.location()), (302, "wait/index.html"), "a pass is for a person");
    let newcomer = client.get("/beekeeper");
    assert_eq!((newcomer.status, newcomer.header("set-cookie")), (302, None), "nothing is enqueued");
    assert!(newcomer.location().starts_with(&room.shop()) && newcomer.location().contains("bk_pass="));
    assert!(is_to_shop(&place));
    room.order(Order::On);
    eventually("on", || (client.get("/polling").json()["allow"] == false).then_some(()));
    assert_eq!(
        client.get_with("/client", &place).json()["allow"],
        true,
        "who went through the door is on the way"
    );
    assert_eq!(
        client.get_with("/client", &invented).json()["allow"],
        false,
        "an invented place is not admitted"
    );
    eventually("on, at the door", || (!is_to_shop(&invented)).then_some(()));
}
