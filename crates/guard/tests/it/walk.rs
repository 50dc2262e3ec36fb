//! What a visitor sees who does as expected.

use guard::{Bypass, Decision, GuardOutcome, GuardRules, GuardedRequest, Moment, OneSession};
use http::{HeaderMap, HeaderValue, Method};

use crate::fixture::{Browser, DOOR, Shop, answer, entered, location, rules, shop};

/// Which session counts, and whether the visitor came to the shop first, so that the guard can tell the browser. Where the first counts, it has to.
const ARRIVALS: [(OneSession, bool); 3] =
    [(OneSession::Newest, false), (OneSession::Newest, true), (OneSession::First, true)];

/// The shop and the browser of a visitor before they arrive with their pass.
async fn arriving(one_session: OneSession, came_first: bool) -> (Shop, Browser) {
    let mut shop = Shop::with(GuardRules { one_session, ..rules() });
    let mut browser = Browser::default();
    if came_first {
        shop.get(&mut browser, "/").await;
    }
    (shop, browser)
}

#[tokio::test]
async fn a_visitor_comes_back_to_the_page_that_they_asked_for() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let sent = answer(shop.get(&mut browser, "/tickets/7?seat=a&row=2").await);
    assert_eq!((sent.status, sent.location.as_deref()), (302, Some(DOOR)));
    let attributes = "; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Lax";
    assert!(sent.set_cookie.unwrap().ends_with(attributes));
    shop.pass_time(7200);
    let pass = shop.pass("visitor");
    let exchanged = answer(shop.get(&mut browser, &format!("/?bk_pass={pass}")).await);
    assert_eq!((exchanged.status, exchanged.location.as_deref()), (302, Some("/tickets/7?seat=a&row=2")));
    let attributes = "; Path=/; Max-Age=7200; HttpOnly; Secure; SameSite=Lax";
    assert!(exchanged.set_cookie.unwrap().ends_with(attributes));
    assert_eq!(exchanged.outcome, GuardOutcome::Exchanged);
    for target in ["/tickets/7?seat=a&row=2", "/"] {
        assert_eq!(entered(&shop.get(&mut browser, target).await), (Some("visitor"), Some(4711)));
    }
    let posted = shop.request(&mut browser, Method::POST, "/order", &[("sec-fetch-mode", "cors")]).await;
    assert_eq!(entered(&posted), (Some("visitor"), Some(4711)));
}

#[tokio::test]
async fn a_visitor_who_came_to_the_room_first_ends_where_the_room_leads() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let pass = shop.pass("visitor");
    let exchanged = shop.get(&mut browser, &format!("/sale?ref=mail&bk_pass={pass}&x=1")).await;
    assert_eq!(location(&exchanged), "/sale?ref=mail&x=1");
    assert_eq!(entered(&shop.get(&mut browser, "/sale?ref=mail&x=1").await), (Some("visitor"), Some(4711)));
}

#[tokio::test]
async fn somebody_who_never_waited_has_no_number() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let pass = shop.room.signs(&pass::Claims { queue_position: None, ..shop.claims("visitor") });
    shop.get(&mut browser, &format!("/?bk_pass={pass}")).await;
    assert_eq!(entered(&shop.get(&mut browser, "/").await), (Some("visitor"), None));
}

#[tokio::test]
async fn a_session_lives_while_the_visitor_is_active_and_no_longer_than_its_length() {
    let mut shop = shop();
    let mut browser = shop.admitted("visitor").await;
    for _ in 0..6 {
        shop.pass_time(19 * 60);
        assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
    }
    shop.pass_time(6 * 60 - 1);
    assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
    shop.pass_time(1);
    assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR, "two hours are over");
}

#[tokio::test]
async fn a_cookie_of_the_shop_that_is_not_ascii_hides_no_session() {
    let mut shop = shop();
    let session = shop.admitted("visitor").await.header();
    let after = |other: &[u8]| [other, session.as_bytes()].concat();
    for (cookies, enters) in [
        (after(b"city=Berlin; "), true),
        (after("city=Zürich; ".as_bytes()), true),
        (after(b"city=Z\xfcrich;"), true),
        (after(b"\xff; "), true),
        // Another subdomain can set such a cookie.
        (after("\u{2003}".as_bytes()), false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("cookie", HeaderValue::from_bytes(&cookies).unwrap());
        let request = GuardedRequest { method: &Method::GET, target: "/", headers: &headers, client: None };
        let decision = shop.guard.decide(&request, Moment { now: shop.now, random: [0; 16] }).await;
        assert_eq!(matches!(decision, Decision::Enter(_)), enters, "{}", String::from_utf8_lossy(&cookies));
    }
}

#[tokio::test]
async fn an_idle_session_ends() {
    let mut shop = shop();
    let mut browser = shop.admitted("visitor").await;
    shop.pass_time(20 * 60 - 1);
    assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
    shop.pass_time(21 * 60);
    let mut copy = browser.clone();
    assert_eq!(location(&shop.get(&mut browser, "/a").await), DOOR);
    let pass = shop.pass("visitor");
    let back = shop.get(&mut browser, &format!("/?bk_pass={pass}")).await;
    assert_eq!(location(&back), "/a", "the same visitor again, with a new pass");
    assert_eq!(location(&shop.get(&mut copy, "/").await), DOOR, "what has ended stays ended");
}

#[tokio::test]
async fn reload_and_back_button_change_nothing() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
    assert_eq!(location(&shop.get(&mut browser, &arrival).await), "/a");
    shop.pass_time(30);
    let again = answer(shop.get(&mut browser, &arrival).await);
    assert_eq!((again.location.as_deref(), again.outcome), (Some("/a"), GuardOutcome::Cleaned));
    assert!(matches!(shop.get(&mut browser, "/a").await, Decision::Enter(_)));
    let head = shop.request(&mut Browser::default(), Method::HEAD, &arrival, &[]).await;
    assert_eq!(location(&head), DOOR, "whoever only looks uses no pass up");
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_may_be_repeated() {
    for (one_session, came_first) in ARRIVALS {
        let (mut shop, mut browser) = arriving(one_session, came_first).await;
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        for _ in 0..2 {
            shop.get(&mut browser.clone(), &arrival).await;
            shop.pass_time(1);
        }
        assert_eq!(location(&shop.get(&mut browser, &arrival).await), "/");
        assert!(matches!(shop.get(&mut browser, "/").await, Decision::Enter(_)));
    }
}

/// The door gives a newer pass to whoever comes back to it. So nobody is sent there and back for longer than a second, also not
/// to a session that keeps others out.
#[tokio::test]
async fn a_used_pass_costs_its_visitor_one_way_to_the_door() {
    for one_session in [OneSession::Newest, OneSession::First] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let mut browser = Browser::default();
        shop.get(&mut browser, "/tickets/7").await;
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        shop.get(&mut browser.clone(), &arrival).await;
        // The answer was lost, and the visitor reloads the page ten seconds later.
        shop.pass_time(10);
        let used = answer(shop.get(&mut browser, &arrival).await);
        assert_eq!((used.outcome, used.location.as_deref()), (GuardOutcome::PassUsed, Some(DOOR)));
        let again = format!("/?bk_pass={}", shop.pass("visitor"));
        assert_eq!(location(&shop.get(&mut browser, &again).await), "/tickets/7", "{one_session:?}");
        assert!(matches!(shop.get(&mut browser, "/tickets/7").await, Decision::Enter(_)));
    }
}

/// Their own session keeps out every browser that isn't theirs, so the guard has to know theirs before it opens one.
#[tokio::test]
async fn whoever_came_to_the_room_first_is_not_locked_out_by_a_lost_answer() {
    let mut shop = Shop::with(GuardRules { one_session: OneSession::First, ..rules() });
    let mut browser = Browser::default();
    for _ in 0..2 {
        let arrival = format!("/sale?ref=mail&bk_pass={}", shop.pass("visitor"));
        let unknown = answer(shop.get(&mut browser.clone(), &arrival).await);
        assert_eq!((unknown.outcome, unknown.location.as_deref()), (GuardOutcome::SentForNonce, Some(DOOR)));
        shop.pass_time(10);
    }
    let arrival = format!("/sale?ref=mail&bk_pass={}", shop.pass("visitor"));
    shop.get(&mut browser, &arrival).await;
    let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
    let lost = shop.get(&mut browser.clone(), &arrival).await;
    assert_eq!((location(&lost), lost.outcome()), ("/sale?ref=mail", GuardOutcome::Exchanged));
    shop.pass_time(10);
    assert_eq!(shop.get(&mut browser, &arrival).await.outcome(), GuardOutcome::PassUsed);
    let again = format!("/?bk_pass={}", shop.pass("visitor"));
    assert_eq!(location(&shop.get(&mut browser, &again).await), "/sale?ref=mail");
    assert_eq!(entered(&shop.get(&mut browser, "/sale").await).0, Some("visitor"));
}

/// Both tabs were sent to the door before either came back, and the answer of one overtakes that of the other.
#[tokio::test]
async fn two_tabs_that_arrive_at_once_share_one_session() {
    for (one_session, came_first) in ARRIVALS {
        let (mut shop, mut browser) = arriving(one_session, came_first).await;
        let before = browser.clone();
        let older = format!("/?bk_pass={}", shop.pass("visitor"));
        shop.pass_time(1);
        let newer = format!("/?bk_pass={}", shop.pass("visitor"));
        shop.get(&mut browser, &newer).await;
        let session = browser.clone();
        let late = answer(shop.get(&mut before.clone(), &older).await);
        assert_eq!(
            (late.outcome, late.set_cookie),
            (GuardOutcome::PassUsed, None),
            "it would replace the session of the other tab"
        );
        assert!(matches!(shop.get(&mut session.clone(), "/").await, Decision::Enter(_)));
    }
}

#[tokio::test]
async fn a_lost_store_gives_no_pass_back() {
    let mut shop = shop();
    // The room's clock is ahead of the guard's.
    let ahead = shop.now + 20;
    let pass = shop.room.signs(&pass::Claims { iat: ahead, nbf: ahead, ..shop.claims("visitor") });
    let mut owner = Browser::default();
    shop.get(&mut owner, &format!("/?bk_pass={pass}")).await;
    shop.loses_its_sessions();
    shop.pass_time(1);
    assert_eq!(entered(&shop.get(&mut owner, "/").await).0, Some("visitor"), "the cookie proves it");
    let friend = shop.get(&mut Browser::default(), &format!("/?bk_pass={pass}")).await;
    assert_eq!(friend.outcome(), GuardOutcome::PassUsed);
    shop.pass_time(4);
    let friend = shop.get(&mut Browser::default(), &format!("/?bk_pass={pass}")).await;
    assert_eq!(friend.outcome(), GuardOutcome::PassUsed);
}

#[tokio::test]
async fn a_pass_from_the_future_does_not_lock_its_visitor_out() {
    let mut shop = shop();
    let early = shop.room.signs(&pass::Claims { iat: shop.now + 31, ..shop.claims("visitor") });
    let refused = shop.get(&mut Browser::default(), &format!("/?bk_pass={early}")).await;
    assert_eq!(refused.outcome(), GuardOutcome::PassRefused(pass::Refused::NotYet));
    shop.admitted("visitor").await;
}

#[tokio::test]
async fn only_a_page_is_redirected() {
    let mut shop = shop();
    let script = [("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")];
    let refused = answer(shop.request(&mut Browser::default(), Method::GET, "/api", &script).await);
    assert_eq!((refused.status, refused.location, refused.set_cookie), (403, None, None));
    let form = [("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate")];
    let late = answer(shop.request(&mut Browser::default(), Method::POST, "/order", &form).await);
    assert_eq!((late.status, late.location.as_deref(), late.set_cookie), (303, Some(DOOR), None));
    let image = format!("/?bk_pass={}", shop.pass("visitor"));
    let no_page = [("sec-fetch-dest", "image"), ("sec-fetch-mode", "no-cors")];
    let refused = answer(shop.request(&mut Browser::default(), Method::GET, &image, &no_page).await);
    assert_eq!((refused.status, refused.set_cookie), (403, None), "no page of another site opens a session");
}

#[tokio::test]
async fn the_shops_own_frames_and_scripts_need_the_session_and_nothing_else() {
    let mut shop = shop();
    let mut browser = shop.admitted("visitor").await;
    let frame = [("sec-fetch-dest", "iframe"), ("sec-fetch-mode", "navigate")];
    let script = [("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")];
    for headers in [frame, script] {
        let inside = shop.request(&mut browser, Method::GET, "/map", &headers).await;
        assert_eq!(entered(&inside).0, Some("visitor"));
    }
    for (method, target) in [(Method::GET, "/map"), (Method::POST, "/order"), (Method::HEAD, "/map")] {
        let framed = answer(shop.request(&mut Browser::default(), method, target, &frame).await);
        assert_eq!((framed.status, framed.location, framed.set_cookie), (403, None, None));
        assert_eq!(framed.outcome, GuardOutcome::Framed);
        assert!(framed.body.contains("<a href=\"/\" target=\"_blank\""), "a way out of the frame");
    }
}

#[tokio::test]
async fn an_older_session_cookie_hides_no_newer_one() {
    let mut shop = shop();
    let older = shop.admitted("visitor").await.header();
    shop.pass_time(2 * 3600);
    let newer = shop.admitted("visitor").await.header();
    let both = [("cookie", &*format!("{older}; {newer}")), ("sec-fetch-mode", "navigate")];
    let inside = shop.request(&mut Browser::default(), Method::GET, "/", &both).await;
    assert_eq!(entered(&inside).0, Some("visitor"));
}

#[tokio::test]
async fn what_needs_no_session_reaches_the_shop_without_an_identity() {
    let bypass = Bypass {
        paths: vec!["/static/".parse().unwrap()],
        methods: vec![Method::OPTIONS],
        ..Bypass::default()
    };
    let mut shop = Shop::with(GuardRules { bypass, ..rules() });
    let mut browser = Browser::default();
    assert_eq!(entered(&shop.get(&mut browser, "/static/a.css").await), (None, None));
    let options = shop.request(&mut browser, Method::OPTIONS, "/order", &[]).await;
    assert_eq!(entered(&options), (None, None));
    assert_eq!(location(&shop.get(&mut browser, "/static/../order").await), DOOR);
    let challenge = "/.well-known/acme-challenge/token";
    assert_eq!(entered(&shop.get(&mut browser, challenge).await), (None, None));
    for path in [challenge, "/static/a.css"] {
        let bought = shop.get(&mut browser, &format!("{path}?rest_route=/wc/store/v1/checkout")).await;
        assert_eq!(location(&bought), DOOR, "{path}");
    }
    let mut more = 0;
    for _ in 0..20 {
        more += u32::from(matches!(shop.get(&mut browser, challenge).await, Decision::Enter(_)));
    }
    assert_eq!(more, 9, "anybody may ask, and the shop works for each");
    shop.pass_time(1);
    assert_eq!(entered(&shop.get(&mut browser, challenge).await), (None, None));
    let crawler = [("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1)")];
    let crawler = shop.request(&mut browser, Method::GET, "/", &crawler).await;
    assert_eq!(location(&crawler), DOOR, "anybody can claim to be a crawler");
}
