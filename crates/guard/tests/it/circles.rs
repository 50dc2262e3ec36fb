//! A pass straight from the room's door is refused: guard and room disagree, and no other pass will be better.

use std::time::Duration;

use guard::{Decision, GuardRules, WhenUnreachable};
use http::Method;
use pass::Claims;

use crate::fixture::{Browser, DOOR, Shop, answer, entered, location, rules, shop};

async fn arrives(shop: &mut Shop, browser: &mut Browser, claims: &Claims) -> Decision {
    let pass = shop.room.signs(claims);
    shop.get(browser, &format!("/sale?bk_pass={pass}")).await
}

fn is_told_to_wait_a_moment(decision: Decision) -> bool {
    let answer = answer(decision);
    let page = answer.body.contains("This page tries again by itself");
    page && (answer.status, answer.location, answer.set_cookie) == (503, None, None)
}

/// The guard was given another name or another URL than the room's, or its clock is slow or fast.
#[tokio::test]
async fn nobody_goes_in_circles() {
    let mut shop = shop();
    let (now, old) = (shop.now, shop.now - 3600);
    let good = shop.claims("visitor");
    for (visitor, (what, wrong)) in [
        ("name", Claims { aud: "other".into(), ..good.clone() }),
        ("URL", Claims { iss: "https://other.example".into(), ..good.clone() }),
        ("slow clock", Claims { iat: now + 600, nbf: now + 600, ..good.clone() }),
        ("fast clock", Claims { iat: old, nbf: old, exp: old + 300, ..good.clone() }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut browser = Browser::default();
        assert_eq!(location(&shop.get(&mut browser, "/tickets/7").await), DOOR, "{what}");
        assert_eq!(location(&arrives(&mut shop, &mut browser, &wrong).await), DOOR, "{what}: it may be old");
        for _ in 0..3 {
            assert!(is_told_to_wait_a_moment(arrives(&mut shop, &mut browser, &wrong).await), "{what}");
        }
        // The operator has mended it, and the page tries again.
        let mended = shop.claims(&format!("visitor-{visitor}"));
        assert_eq!(location(&arrives(&mut shop, &mut browser, &mended).await), "/tickets/7", "{what}");
    }
}

#[tokio::test]
async fn once_a_minute_the_door_is_tried_again() {
    let mut shop = shop();
    let mut browser = Browser::default();
    for _ in 0..5 {
        let wrong = Claims { aud: "other".into(), ..shop.claims("visitor") };
        assert_eq!(location(&arrives(&mut shop, &mut browser, &wrong).await), DOOR);
        for _ in 0..3 {
            shop.pass_time(15);
            assert!(is_told_to_wait_a_moment(arrives(&mut shop, &mut browser, &wrong).await));
        }
        shop.pass_time(15);
    }
}

/// The room gives passes, and its keys are not to be had.
#[tokio::test]
async fn without_keys_nobody_goes_in_circles() {
    let mut shop = shop();
    shop.room.answers_only(503);
    let (mut browser, claims) = (Browser::default(), shop.claims("visitor"));
    assert_eq!(location(&arrives(&mut shop, &mut browser, &claims).await), DOOR);
    assert!(is_told_to_wait_a_moment(arrives(&mut shop, &mut browser, &claims).await));
    shop.room.answers_again();
    shop.pass_time(5);
    assert_eq!(location(&arrives(&mut shop, &mut browser, &claims).await), "/sale");
}

/// The shop leads from its first name, to which the door leads, on to its second one. Each name has cookies of its own.
#[tokio::test]
async fn a_shop_that_leads_to_another_name_sends_nobody_in_circles() {
    let mut shop = shop();
    let (mut first, mut second) = (Browser::default(), Browser::default());
    for (tries, trips) in [3, 1, 1].into_iter().enumerate() {
        for _ in 0..trips {
            assert_eq!(location(&shop.get(&mut second, "/sale").await), DOOR, "{tries}");
            let claims = shop.claims("visitor");
            assert_eq!(location(&arrives(&mut shop, &mut first, &claims).await), "/sale");
            assert_eq!(entered(&shop.get(&mut first, "/sale").await), (Some("visitor"), Some(4711)));
            shop.pass_time(1);
        }
        assert!(is_told_to_wait_a_moment(shop.get(&mut second, "/sale").await), "{tries}");
        let form = shop.request(&mut second, Method::POST, "/sale", &[("sec-fetch-mode", "navigate")]).await;
        assert_eq!(answer(form).status, 303, "a form goes to the room, as ever");
        // The page tries again by itself.
        shop.pass_time(15);
    }
}

/// More tabs, more luck; or the door is busy, and they try the link again.
#[tokio::test]
async fn opening_the_same_link_again_and_again_is_no_circle() {
    let mut shop = shop();
    let mut browser = Browser::default();
    for _ in 0..12 {
        assert_eq!(location(&shop.get(&mut browser, "/sale").await), DOOR);
        shop.pass_time(5);
    }
}

/// The clock that remembered the last trip was an hour ahead.
#[tokio::test]
async fn a_clock_that_was_set_back_holds_nobody_up() {
    let mut shop = shop();
    let (mut waiting, mut refused) = (Browser::default(), Browser::default());
    for _ in 0..3 {
        shop.get(&mut waiting, "/sale").await;
    }
    let wrong = Claims { aud: "other".into(), ..shop.claims("visitor") };
    arrives(&mut shop, &mut refused, &wrong).await;
    shop.now -= 3600;
    assert_eq!(location(&shop.get(&mut waiting, "/sale").await), DOOR);
    assert_eq!(location(&arrives(&mut shop, &mut refused, &wrong).await), DOOR);
}

/// As a browser opens them that was closed with many tabs.
#[tokio::test]
async fn different_pages_are_no_circle() {
    let mut shop = shop();
    let mut browser = Browser::default();
    for page in 0..20 {
        assert_eq!(location(&shop.get(&mut browser, &format!("/tickets/{page}")).await), DOOR);
    }
}

/// The clock of the machine was an hour ahead when they came. Their cookies are gone, or the guard's key.
#[tokio::test]
async fn nobody_goes_in_circles_after_a_clock_was_set_back() {
    let mut shop = shop();
    shop.admitted("visitor").await;
    shop.now -= 3600;
    let (mut browser, claims) = (Browser::default(), shop.claims("visitor"));
    assert_eq!(location(&arrives(&mut shop, &mut browser, &claims).await), "/sale");
    shop.pass_time(5);
    let friends = &mut Browser::default();
    assert_eq!(location(&arrives(&mut shop, friends, &claims).await), DOOR, "no pass is good for two");
}

#[tokio::test]
async fn an_open_shop_lets_them_in() {
    let minute = Duration::from_mins(1);
    let mut shop = Shop::with(GuardRules { unreachable: WhenUnreachable::Open { after: minute }, ..rules() });
    shop.room.falls_silent();
    let mut browser = Browser::default();
    for _ in 0..=6 {
        let claims = shop.claims("visitor");
        assert_eq!(location(&arrives(&mut shop, &mut browser, &claims).await), DOOR);
        shop.get(&mut browser, "/").await;
        shop.guard.check_room(shop.now).await;
        shop.pass_time(10);
    }
    let claims = shop.claims("visitor");
    for _ in 0..2 {
        assert_eq!(entered(&arrives(&mut shop, &mut browser, &claims).await), (None, None));
    }
}
