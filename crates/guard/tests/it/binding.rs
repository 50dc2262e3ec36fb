//! Passes that open the shop to one browser only.

use guard::{GuardOutcome, GuardRules};

use crate::fixture::{Browser, DOOR, Shop, answer, entered, location, rules};

fn shop() -> Shop {
    Shop::with(GuardRules { binds: true, ..rules() })
}

/// The nonce that a redirect to the door carries.
#[track_caller]
fn nonce(location: &str) -> &str {
    location
        .strip_prefix(DOOR)
        .and_then(|rest| rest.strip_prefix("?nonce="))
        .unwrap_or_else(|| panic!("{location}"))
}

#[tokio::test]
async fn a_visitor_goes_through_the_door_once_more_and_enters() {
    let mut shop = shop();
    let mut browser = Browser::default();
    shop.get(&mut browser, "/tickets/7").await;
    shop.pass_time(3600);
    // The waiting page leads to the door without the nonce.
    let unbound = format!("/?bk_pass={}", shop.pass("visitor"));
    let asked = answer(shop.get(&mut browser, &unbound).await);
    assert_eq!(asked.outcome, GuardOutcome::SentForNonce);
    let bound = format!("/?bk_pass={}", shop.bound_pass("visitor", nonce(&asked.location.unwrap())));
    assert_eq!(location(&shop.get(&mut browser, &bound).await), "/tickets/7");
    assert_eq!(entered(&shop.get(&mut browser, "/tickets/7").await).0, Some("visitor"));
}

#[tokio::test]
async fn who_is_already_admitted_needs_no_second_way() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let away = shop.get(&mut browser, "/a").await;
    let bound = format!("/?bk_pass={}", shop.bound_pass("visitor", nonce(location(&away))));
    assert_eq!(location(&shop.get(&mut browser, &bound).await), "/a");
}

#[tokio::test]
async fn a_forwarded_link_opens_nothing() {
    let mut shop = shop();
    let mut owner = Browser::default();
    let away = shop.get(&mut owner, "/a").await;
    for link in [shop.pass("visitor"), shop.bound_pass("visitor", nonce(location(&away)))] {
        let mut friend = Browser::default();
        let sent = answer(shop.get(&mut friend, &format!("/?bk_pass={link}")).await);
        assert_eq!(sent.outcome, GuardOutcome::SentForNonce, "to the door, where the friend has no place");
        assert_ne!(nonce(&sent.location.unwrap()), nonce(location(&away)));
    }
    let bound = shop.bound_pass("visitor", nonce(location(&away)));
    assert_eq!(
        location(&shop.get(&mut owner, &format!("/?bk_pass={bound}")).await),
        "/a",
        "it was not used up"
    );
}

/// Whoever has a link can read the pass, and write any cookie into a browser of their own.
#[tokio::test]
async fn what_a_link_says_is_worth_nothing_in_a_cookie() {
    let mut shop = shop();
    let away = shop.get(&mut Browser::default(), "/a").await;
    let nonce = nonce(location(&away));
    let arrival = format!("/?bk_pass={}", shop.bound_pass("visitor", nonce));
    for forged in [
        format!("sent.{nonce}.."),
        format!("sent.{nonce}.{}.L2E", shop.now),
        format!("sent..{}..{nonce}", shop.now),
        format!("sent.{nonce}..L2E.{nonce}"),
        "sent.....".into(),
    ] {
        let outcome = shop.get(&mut Browser::with_cookie(&forged), &arrival).await.outcome();
        assert_eq!(outcome, GuardOutcome::SentForNonce, "{forged}");
    }
}

/// A guard of the version before wrote the nonce itself into the cookie, and the pass is on its way with it.
#[tokio::test]
async fn a_visitor_whose_guard_was_replaced_goes_to_the_door_once_more() {
    let mut shop = shop();
    let older = "AQEBAQEBAQEBAQEBAQEBAQ";
    let mut browser = Browser::with_cookie(&format!("sent.{older}..L2E"));
    let arrival = format!("/?bk_pass={}", shop.bound_pass("visitor", older));
    let again = answer(shop.get(&mut browser, &arrival).await);
    assert_eq!(again.outcome, GuardOutcome::SentForNonce);
    let bound = shop.bound_pass("visitor", nonce(&again.location.unwrap()));
    assert_eq!(location(&shop.get(&mut browser, &format!("/?bk_pass={bound}")).await), "/a");
}

#[tokio::test]
async fn a_room_that_signs_no_nonces_is_noticed() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let unbound = format!("/?bk_pass={}", shop.pass("visitor"));
    shop.get(&mut browser, &unbound).await;
    shop.pass_time(1);
    let again = format!("/?bk_pass={}", shop.pass("visitor"));
    let stuck = answer(shop.get(&mut browser, &again).await);
    assert_eq!((stuck.status, stuck.outcome, stuck.location), (503, GuardOutcome::NoNonce, None));
    shop.pass_time(60);
    let later = format!("/?bk_pass={}", shop.pass("visitor"));
    assert_eq!(answer(shop.get(&mut browser, &later).await).outcome, GuardOutcome::SentForNonce);
}

#[tokio::test]
async fn two_tabs_share_a_nonce() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let first = shop.get(&mut browser, "/a").await;
    let second = shop.get(&mut browser, "/b").await;
    assert_eq!(location(&first), location(&second));
}
