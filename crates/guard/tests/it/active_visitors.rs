//! In a room that counts the active visitors: an admission is good for one session. And in every room: the shop can end it.

use std::time::Duration;

use guard::{
    Bypass, Decision, GuardOutcome, GuardRules, LiveSession, LiveSessions, OneSession, SessionCounts, ToShop,
    WhenUnreachable,
};
use pass::{Claims, SessionRules};

use crate::fixture::{Browser, DOOR, Shop, answer, entered, location, rules};

const RULES: SessionRules = SessionRules { idle: 300, session: 1800, counted: 7200 };

/// A shop whose room has answered a report.
fn counted(rules: GuardRules) -> Shop {
    let shop = Shop::with(rules);
    shop.guard.follow(Some(RULES));
    shop
}

/// What a browser gets for a new pass of this visitor.
async fn arrives(shop: &mut Shop, browser: &mut Browser, visitor: &str) -> Decision {
    let pass = shop.room.signs(&Claims { window: Some(7), ..shop.claims(visitor) });
    shop.get(browser, &format!("/?bk_pass={pass}")).await
}

async fn enters(shop: &mut Shop, browser: &mut Browser, visitor: &str) {
    let arrived = arrives(shop, browser, visitor).await;
    assert_eq!(arrived.outcome(), GuardOutcome::Exchanged);
}

/// What the shop tells the guard of a visitor whom it has let in: the cookie for a guard that does not see the shop's answers.
async fn visitor(shop: &mut Shop, browser: &mut Browser) -> ToShop {
    match shop.get(browser, "/").await {
        Decision::Enter(visitor) => visitor,
        Decision::Answer(answer) => panic!("not in the shop: {answer:?}"),
    }
}

fn again(visitor: &str) -> String {
    format!("{DOOR}?again={visitor}")
}

#[tokio::test]
async fn the_room_says_how_long_sessions_last() {
    let mut shop = counted(rules());
    let mut browser = Browser::default();
    let exchanged = answer(arrives(&mut shop, &mut browser, "visitor").await);
    assert!(exchanged.set_cookie.unwrap().contains("; Max-Age=1800;"));
    for _ in 0..6 {
        shop.pass_time(299);
        assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
    }
    shop.pass_time(6);
    assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR, "half an hour is over");

    let mut browser = Browser::default();
    enters(&mut shop, &mut browser, "idle").await;
    shop.pass_time(360);
    assert_eq!(
        location(&shop.get(&mut browser, "/").await),
        DOOR,
        "five minutes are over, and the minute is full"
    );

    shop.guard.follow(None);
    let mut browser = shop.admitted("other").await;
    shop.pass_time(1199);
    assert_eq!(
        entered(&shop.get(&mut browser, "/").await).0,
        Some("other"),
        "without a limit, as the guard says"
    );
}

#[tokio::test]
async fn whoever_has_left_the_shop_waits_again() {
    for one_session in [OneSession::Newest, OneSession::First] {
        for (how, seconds) in [("by doing nothing", 360), ("by its length", 1800), ("by the shop", 1)] {
            let mut shop = counted(GuardRules { one_session, ..rules() });
            let mut browser = Browser::default();
            shop.get(&mut browser, "/").await;
            enters(&mut shop, &mut browser, "visitor").await;
            if seconds == 1800 {
                for _ in 0..7 {
                    shop.pass_time(250);
                    assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
                }
                shop.pass_time(50);
            } else {
                let visitor = visitor(&mut shop, &mut browser).await;
                if seconds == 1 {
                    shop.guard.end(&visitor, shop.now).await;
                }
                shop.pass_time(seconds);
            }
            // Also in another browser, while the shop's last page is still in the first.
            let away = answer(arrives(&mut shop, &mut Browser::default(), "visitor").await);
            assert_eq!(away.location, Some(again("visitor")), "{how}");
            assert_eq!((away.status, away.outcome), (302, GuardOutcome::SessionEnded));
            shop.pass_time(LiveSession::FAREWELL);
            assert_eq!(location(&shop.get(&mut browser, "/a").await), DOOR, "{how}");
            let away = arrives(&mut shop, &mut browser, "visitor").await;
            assert_eq!(location(&away), again("visitor"), "{how}");
            // The room gives a new place, and so another subject.
            let back = arrives(&mut shop, &mut browser, "anew").await;
            assert_eq!(location(&back), "/a", "{how}: the page that they asked for");

            shop.guard.follow(None);
            shop.pass_time(1);
            let mut other = Browser::default();
            shop.get(&mut other, "/").await;
            enters(&mut shop, &mut other, "visitor").await;
        }
    }
}

/// The limit was just removed, or a proxy drops the query.
#[tokio::test]
async fn a_door_that_gives_no_new_place_is_asked_again_once_a_minute() {
    let mut shop = counted(rules());
    let mut browser = Browser::default();
    enters(&mut shop, &mut browser, "visitor").await;
    shop.pass_time(400);
    let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
    // The door was asked for a better pass before, which is another question.
    let refused = shop.get(&mut browser, "/?bk_pass=x").await;
    assert!(matches!(refused.outcome(), GuardOutcome::PassRefused(_)), "{refused:?}");
    for _ in 0..2 {
        let sent = shop.get(&mut browser, &arrival).await;
        assert_eq!((location(&sent), sent.outcome()), (&*again("visitor"), GuardOutcome::SessionEnded));
        for _ in 0..3 {
            shop.pass_time(15);
            let page = answer(shop.get(&mut browser, &arrival).await);
            assert_eq!((page.status, page.location, page.outcome), (503, None, GuardOutcome::NoNewPlace));
            assert!(page.body.contains("no new place") && page.body.contains("http-equiv=\"refresh\""));
        }
        shop.pass_time(15);
    }
    assert_eq!(location(&shop.get(&mut browser, &arrival).await), again("visitor"));
    let mut other = browser.clone();
    assert_eq!(
        location(&arrives(&mut shop, &mut other, "anew").await),
        "/",
        "a new place, of the same minute"
    );
    shop.guard.follow(None);
    assert_eq!(
        shop.get(&mut browser, &arrival).await.outcome(),
        GuardOutcome::Exchanged,
        "no limit any more"
    );
}

#[tokio::test]
async fn a_bound_pass_of_whoever_waits_again_is_for_their_browser() {
    let mut shop = counted(GuardRules { binds: true, ..rules() });
    let mut browser = Browser::default();
    let sent = shop.get(&mut browser, "/").await;
    let (_, nonce) = location(&sent).split_once("?nonce=").unwrap();
    let pass = shop.bound_pass("visitor", nonce);
    let exchanged = shop.get(&mut browser, &format!("/?bk_pass={pass}")).await;
    assert_eq!(exchanged.outcome(), GuardOutcome::Exchanged);
    shop.pass_time(400);
    let sent = shop.get(&mut browser, "/").await;
    let (_, nonce) = location(&sent).split_once("?nonce=").unwrap();
    let pass = shop.bound_pass("visitor", nonce);
    let away = shop.get(&mut browser, &format!("/?bk_pass={pass}")).await;
    assert_eq!(location(&away), format!("{}&nonce={nonce}", again("visitor")));
}

#[tokio::test]
async fn while_a_session_lives_a_room_that_counts_changes_nothing() {
    let mut shop = counted(rules());
    let mut browser = Browser::default();
    let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
    for _ in 0..2 {
        // The answer was lost.
        assert_eq!(shop.get(&mut Browser::default(), &arrival).await.outcome(), GuardOutcome::Exchanged);
        shop.pass_time(1);
    }
    shop.pass_time(10);
    enters(&mut shop, &mut browser, "visitor").await;
    shop.pass_time(1);
    let mut second = Browser::default();
    enters(&mut shop, &mut second, "visitor").await;
    assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR, "the newest session has ended it");
    shop.pass_time(1);
    enters(&mut shop, &mut browser, "visitor").await;
    shop.loses_its_sessions();
    shop.guard.follow(Some(RULES));
    assert_eq!(entered(&shop.get(&mut browser, "/").await).0, Some("visitor"), "the cookie brings it back");
    shop.pass_time(1);
    enters(&mut shop, &mut Browser::default(), "visitor").await;
}

/// The room may be the one that would have to give the place.
#[tokio::test]
async fn nobody_is_sent_to_a_room_that_is_gone() {
    let unreachable = WhenUnreachable::Open { after: Duration::from_mins(1) };
    let mut shop = counted(GuardRules { unreachable, ..rules() });
    let mut browser = Browser::default();
    enters(&mut shop, &mut browser, "visitor").await;
    shop.pass_time(360);
    shop.room.falls_silent();
    for _ in 0..=6 {
        shop.guard.check_room(shop.now).await;
        shop.pass_time(10);
    }
    let decision = arrives(&mut shop, &mut browser, "visitor").await;
    assert_eq!(decision.outcome(), GuardOutcome::EnteredUnguarded);
}

#[tokio::test]
async fn the_guard_counts_who_came_in_by_their_window() {
    let mut shop = counted(rules());
    for visitor in ["a", "b"] {
        enters(&mut shop, &mut Browser::default(), visitor).await;
    }
    shop.admitted("earlier").await;
    let counts = |shop: &Shop| shop.guard.sessions().counts(shop.now, RULES.counted).unwrap();
    assert_eq!(counts(&shop), SessionCounts { live: 3, opened: [(7, 2)].into() });
    shop.pass_time(400);
    assert_eq!(counts(&shop), SessionCounts { live: 0, opened: [(7, 2)].into() });
}

/// As nginx and Caddy say it, who see the shop's answer while the guard doesn't.
#[tokio::test]
async fn a_cookie_ends_the_session_that_it_names_and_no_other() {
    let bypass = Bypass { paths: vec!["/static/".parse().unwrap()], ..Bypass::default() };
    for target in ["/thanks.css", "/static/a.css"] {
        let mut shop = Shop::with(GuardRules { bypass: bypass.clone(), ..rules() });
        let mut browsers = [Browser::default(), Browser::default()];
        let mut cookies = Vec::new();
        for (browser, name) in browsers.iter_mut().zip(["a", "b"]) {
            enters(&mut shop, browser, name).await;
            let visitor = visitor(&mut shop, browser).await;
            cookies.push(shop.guard.end_cookie(&visitor).unwrap());
        }
        assert!(cookies[0].starts_with("__Host-bk_sale_end="), "{}", cookies[0]);
        assert!(cookies[0].ends_with("; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Lax"));
        let [theirs, ours] = &mut browsers;
        // That of another visitor, and what somebody made up.
        ours.keep(&cookies[0]);
        shop.get(ours, target).await;
        ours.keep("__Host-bk_sale_end=x");
        shop.get(ours, target).await;
        shop.pass_time(100);
        for browser in [&mut *ours, theirs] {
            assert!(matches!(shop.get(browser, "/").await, Decision::Enter(_)), "nobody's session has ended");
        }
        ours.keep(&cookies[1]);
        assert!(matches!(shop.get(ours, target).await, Decision::Enter(_)));
        for _ in 0..2 {
            shop.pass_time(LiveSession::FAREWELL / 2 - 1);
            assert!(matches!(shop.get(ours, "/").await, Decision::Enter(_)), "what the page needs");
        }
        shop.pass_time(2);
        assert_eq!(location(&shop.get(ours, "/").await), DOOR, "{target}");
        enters(&mut shop, ours, "b").await;
        for _ in 0..2 {
            assert_eq!(entered(&shop.get(ours, target).await).0.is_some(), target == "/thanks.css");
            shop.pass_time(100);
        }
        assert_eq!(entered(&shop.get(ours, "/").await).0, Some("b"), "the word was about the session before");
    }
}
