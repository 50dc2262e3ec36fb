//! Every `/beekeeper` row of the routes table.

use std::time::Duration;

use fault_simulation::{Call, Faults, World};
use producer::{DoorAnswer, DoorRequest, Method};
use waitroom::Place;
use waitroom::ports::Fault;

const MINUTE: Duration = Duration::from_mins(1);
const GET: DoorRequest<'_> = DoorRequest { method: Method::Get, cookies: &[], sec_purpose: None };
const LOOKS: [DoorRequest<'_>; 2] =
    [DoorRequest { method: Method::Head, ..GET }, DoorRequest { sec_purpose: Some("prefetch"), ..GET }];

fn world() -> World {
    World::new(31, 60)
}

/// From here on nobody leaves the line, so that its length tells who joined.
fn pause(world: &mut World) {
    world.change_room(|room| room.paused = true);
    world.run(Duration::from_secs(2));
}

/// A first visit: the answer, and the `Cookie` header of the visits after it.
fn newcomer(world: &mut World) -> (DoorAnswer, String) {
    let answer = world.ask(&GET).unwrap();
    let set_cookie = answer.set_cookie.clone().expect("a newcomer gets a cookie");
    let cookie = set_cookie.split(';').next().unwrap().to_owned();
    (answer, cookie)
}

fn place(cookie: &str) -> Place {
    cookie.strip_prefix("bk_sale=").unwrap().parse().unwrap()
}

fn again(world: &mut World, cookie: &str) -> DoorAnswer {
    world.ask(&DoorRequest { cookies: &[cookie], ..GET }).unwrap()
}

/// What the pass in a redirect to the shop says.
fn pass(answer: &DoorAnswer) -> serde_json::Value {
    use base64::Engine;

    let location = answer.location.as_deref().expect("a redirect");
    let pass = location.strip_prefix("https://shop.example/sale?bk_pass=").expect("the shop, with a pass");
    let claims = pass.split('.').nth(1).unwrap();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    serde_json::from_slice(&claims).unwrap()
}

fn is_page(answer: &DoorAnswer, place: Place) {
    let page = format!("wait/index.html#{}-{}", place.epoch, place.ticket);
    assert_eq!((answer.status, answer.location.as_deref()), (302, Some(&*page)));
}

#[test]
fn a_newcomer_gets_a_place_and_the_page() {
    let mut world = world();
    pause(&mut world);
    for number in 1..=3 {
        let (answer, cookie) = newcomer(&mut world);
        assert_eq!(place(&cookie).ticket.get(), number);
        is_page(&answer, place(&cookie));
        let attributes = "; Path=/; HttpOnly; Secure; SameSite=None; Max-Age=1209600";
        assert_eq!(answer.set_cookie, Some(format!("{cookie}{attributes}")));
        world.run(Duration::from_secs(1));
    }
    assert_eq!(world.waiting(), 3);
}

#[test]
fn a_line_that_cannot_take_a_newcomer_gives_no_cookie() {
    let mut world = world();
    for weather in [Faults::Refused(Fault::Broken), Faults::Refused(Fault::Busy), Faults::Unconfirmed] {
        world.set_sky(move |call| (if call == Call::Join { weather } else { Faults::Fine }, Duration::ZERO));
        let trouble = world.ask(&GET).unwrap_err();
        assert_eq!(trouble.to_string(), "could not Join");
    }
    let busy = DoorAnswer::busy();
    assert_eq!(
        (busy.status, busy.retry_after, &busy.set_cookie, &busy.location),
        (503, Some(5), &None, &None)
    );
    assert!(
        busy.body.contains(r#"<meta http-equiv="refresh" content="5">"#),
        "the page tries again by itself"
    );
}

#[test]
fn who_waits_keeps_their_place() {
    let mut world = world();
    pause(&mut world);
    let (_, cookie) = newcomer(&mut world);
    world.join(200);
    world.run(Duration::from_secs(5));
    let before = world.waiting();
    for header in [cookie.clone(), format!("theme=dark; {cookie};lang=de")] {
        let answer = again(&mut world, &header);
        is_page(&answer, place(&cookie));
        assert_eq!(answer.set_cookie, None);
    }
    assert_eq!(world.waiting(), before, "nobody joined");
}

#[test]
fn a_cookie_that_is_none_makes_a_newcomer() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    for none in ["bk_sale=", "bk_sale=zz99-00112233445566778899aabbccddeeff-1", "bk_other=1", &cookie[..20]] {
        let answer = again(&mut world, none);
        assert!(answer.set_cookie.is_some(), "{none}");
    }
}

#[test]
fn whom_the_line_passed_without_admitting_joins_again_with_the_same_token() {
    let mut world = world();
    // The line loses this one's message: nobody ever put it there.
    let lost: Place = "ab12-00112233445566778899aabbccddeeff-1".parse().unwrap();
    let cookie = format!("bk_sale={lost}");
    world.join(400);
    world.run(2 * MINUTE);
    is_page(&again(&mut world, &cookie), lost);
    world.run(MINUTE);
    pause(&mut world);
    let before = world.waiting();
    let answer = again(&mut world, &cookie);
    let rejoined: Place =
        answer.set_cookie.as_deref().unwrap()[8..].split(';').next().unwrap().parse().unwrap();
    assert_eq!(rejoined.token, lost.token);
    assert!(rejoined.ticket.get() > 400, "at the back: a made-up ticket gains nothing");
    is_page(&answer, rejoined);
    assert_eq!(world.waiting(), before + 1);
    again(&mut world, &format!("bk_sale={rejoined}"));
    assert_eq!(world.waiting(), before + 1, "once");
}

#[test]
fn the_admitted_go_on_with_a_fresh_pass_until_their_claim_ends() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    let first = again(&mut world, &cookie);
    let claims = pass(&first);
    assert_eq!((first.status, &first.set_cookie), (302, &None));
    assert_eq!(claims["iss"], "https://room.example/prod");
    assert_eq!((&claims["aud"], &claims["queue_position"]), (&"sale".into(), &1.into()));
    world.run(10 * MINUTE);
    let second = pass(&again(&mut world, &cookie));
    assert_eq!(second["sub"], claims["sub"]);
    assert!(second["iat"].as_u64() > claims["iat"].as_u64());
    world.run(Duration::from_hours(1));
    let late = again(&mut world, &cookie);
    assert_ne!(place(late.set_cookie.unwrap().split(';').next().unwrap()).token, place(&cookie).token);
}

#[test]
fn the_pass_names_the_ticket_that_waited_not_the_one_in_the_cookie() {
    let mut world = world();
    world.join(5);
    world.run(Duration::from_secs(1));
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    let forged = cookie.replace(&format!("-{}", place(&cookie).ticket), "-1");
    assert_eq!(pass(&again(&mut world, &forged))["queue_position"], 6);
}

#[test]
fn while_the_room_is_off_everybody_goes_straight_on() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.change_room(|room| room.open = false);
    world.run(Duration::from_secs(2));
    let stranger = world.ask(&GET).unwrap();
    assert_eq!((&stranger.set_cookie, pass(&stranger).get("queue_position")), (&None, None));
    assert_eq!(world.waiting(), 1, "nothing is enqueued");
    assert_eq!(
        pass(&again(&mut world, &cookie)).get("queue_position"),
        None,
        "the cookie's number proves nothing"
    );
    assert_eq!(world.audit().by_door, 1, "who was in line is marked admitted");
    world.set_sky(|call| {
        let broken = call == Call::Admit;
        (if broken { Faults::Refused(Fault::Broken) } else { Faults::Fine }, Duration::ZERO)
    });
    pass(&again(&mut world, &cookie.replace("-1", "-2")));
}

#[test]
fn who_waited_before_the_room_was_off_keeps_the_number_in_their_pass() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    world.change_room(|room| room.open = false);
    world.run(Duration::from_secs(2));
    assert_eq!(pass(&again(&mut world, &cookie))["queue_position"], 1);
}

#[test]
fn who_comes_back_after_the_claim_in_a_quiet_room_is_a_newcomer() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    for hours in [2, 24 * 13] {
        world.run(Duration::from_hours(hours));
        let late = again(&mut world, &cookie);
        assert!(late.set_cookie.is_some(), "after {hours} more hours");
    }
}

#[test]
fn scanners_and_prefetches_see_where_the_link_leads_and_take_no_place() {
    let mut world = world();
    for look in LOOKS {
        let answer = world.ask(&look).unwrap();
        assert_eq!((answer.status, answer.location.as_deref()), (302, Some("wait/index.html")));
        assert_eq!(answer.set_cookie, None);
    }
    assert_eq!(world.waiting(), 0);
    let (_, cookie) = newcomer(&mut world);
    world.change_room(|room| room.open = false);
    world.run(Duration::from_secs(2));
    for look in LOOKS {
        let answer = world.ask(&DoorRequest { cookies: &[&cookie], ..look }).unwrap();
        assert_eq!(pass(&answer)["aud"], "sale");
    }
    assert_eq!(world.audit().by_door, 0);
}

#[test]
fn the_first_keys_are_made_once_and_shared() {
    let mut world = world();
    world.change_room(|room| room.open = false);
    world.run(Duration::from_secs(1));
    let key = |answer: DoorAnswer| answer.location.unwrap().split(['=', '.']).nth(2).unwrap().to_owned();
    let before = key(world.ask(&GET).unwrap());
    world.kill();
    world.boot();
    assert_eq!(key(world.ask(&GET).unwrap()), before, "a restart signs with the same key");
}
