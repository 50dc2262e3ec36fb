//! A test for each attack in the table of docs/guard-security.md.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guard::{Decision, GuardOutcome, GuardRules, OneSession};
use http::{HeaderMap, Method};
use pass::{Claims, Refused};

use crate::fixture::{Browser, DOOR, Headers, Shop, TestRoom, answer, entered, location, rules, shop};

/// Arrives with this pass in a new browser.
async fn arrive(shop: &mut Shop, pass: &str) -> Decision {
    shop.get(&mut Browser::default(), &format!("/?bk_pass={pass}")).await
}

/// The pass is refused for this reason, opens nothing, and the browser is sent to the room.
async fn refused(shop: &mut Shop, pass: &str) -> Refused {
    let mut browser = Browser::default();
    let answer = answer(shop.get(&mut browser, &format!("/?bk_pass={pass}")).await);
    assert_eq!((answer.status, answer.location.as_deref()), (302, Some(DOOR)));
    assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR, "no session was opened");
    match answer.outcome {
        GuardOutcome::PassRefused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn decoded(part: &str) -> String {
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn direct_url() {
    let mut shop = shop();
    for target in ["/", "/order", "/?bk_pass=", "/?bk_pass", "/?BK_PASS=x", "/#bk_pass=x"] {
        assert_eq!(location(&shop.get(&mut Browser::default(), target).await), DOOR, "{target}");
    }
}

#[tokio::test]
async fn forged_pass() {
    let mut shop = shop();
    let forged = TestRoom::new().signs(&shop.claims("visitor"));
    assert_eq!(refused(&mut shop, &forged).await, Refused::Signature);
    // With the id of the room's own key.
    let good = shop.pass("visitor");
    let header = good.split('.').next().unwrap();
    let forged = format!("{header}.{}", forged.split_once('.').unwrap().1);
    assert_eq!(refused(&mut shop, &forged).await, Refused::Signature);
}

#[tokio::test]
async fn mutated_pass() {
    let mut shop = shop();
    let pass = shop.pass("visitor");
    for at in (0..pass.len()).step_by(7) {
        let other = if pass.as_bytes()[at] == b'A' { 'B' } else { 'A' };
        let mutated = format!("{}{other}{}", &pass[..at], &pass[at + 1..]);
        refused(&mut shop, &mutated).await;
    }
    for cut in 0..20 {
        refused(&mut shop, &pass[..pass.len() - 1 - cut]).await;
    }
    assert_eq!(location(&arrive(&mut shop, &pass).await), "/", "the pass itself is good");
}

#[tokio::test]
async fn algorithm_none() {
    let mut shop = shop();
    let pass = shop.pass("visitor");
    let claims = pass.split('.').nth(1).unwrap();
    for algorithm in ["none", "None", "nOnE", ""] {
        let header = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"{algorithm}","typ":"JWT"}}"#));
        for unsigned in
            [format!("{header}.{claims}."), format!("{header}.{claims}"), format!("{header}.{claims}.AAAA")]
        {
            refused(&mut shop, &unsigned).await;
        }
    }
}

#[tokio::test]
async fn hmac_with_the_public_key() {
    let mut shop = shop();
    let pass = shop.pass("visitor");
    let (claims, jwks) = (pass.split('.').nth(1).unwrap(), serde_json::to_value(shop.room.jwks()).unwrap());
    let key = &jwks["keys"][0];
    let modulus = key["n"].as_str().unwrap();
    let secrets = [
        modulus.as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(modulus).unwrap(),
        key.to_string().into(),
        jwks.to_string().into(),
    ];
    for (algorithm, why) in [("HS256", Refused::Malformed), ("RS256", Refused::Signature)] {
        let header = format!(r#"{{"alg":"{algorithm}","kid":{},"typ":"JWT"}}"#, key["kid"]);
        let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header));
        for secret in &secrets {
            let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
            let forged = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
            assert_eq!(refused(&mut shop, &forged).await, why);
        }
    }
}

#[tokio::test]
async fn another_rooms_pass() {
    let mut shop = shop();
    let pass = shop.room.signs(&Claims { aud: "other".into(), ..shop.claims("visitor") });
    assert_eq!(refused(&mut shop, &pass).await, Refused::Audience);
}

#[tokio::test]
async fn another_issuers_pass() {
    let mut shop = shop();
    for issuer in ["https://wait.example", "https://evil.example/prod", "https://wait.example/prod/"] {
        let pass = shop.room.signs(&Claims { iss: issuer.into(), ..shop.claims("visitor") });
        assert_eq!(refused(&mut shop, &pass).await, Refused::Issuer);
    }
}

#[tokio::test]
async fn a_token_for_another_use() {
    let mut shop = shop();
    let pass = shop.room.signs(&Claims { token_use: "id".into(), ..shop.claims("visitor") });
    assert_eq!(refused(&mut shop, &pass).await, Refused::TokenUse);
}

#[tokio::test]
async fn expired_pass() {
    let mut shop = shop();
    let short = shop.room.signs(&Claims { exp: shop.now + 60, ..shop.claims("a") });
    let (long, good) = (shop.pass("b"), shop.pass("c"));
    shop.pass_time(89);
    assert_eq!(location(&arrive(&mut shop, &short).await), "/", "half a minute for the clocks");
    shop.pass_time(1);
    assert_eq!(refused(&mut shop, &short).await, Refused::Expired);
    shop.pass_time(239);
    assert_eq!(
        location(&arrive(&mut shop, &good).await),
        "/",
        "five minutes, and half a minute for the clocks"
    );
    shop.pass_time(1);
    assert_eq!(refused(&mut shop, &long).await, Refused::Expired, "although the room says an hour");
}

#[tokio::test]
async fn pass_that_is_not_valid_yet() {
    let mut shop = shop();
    let early = |shop: &Shop, seconds| {
        let nbf = shop.now + seconds;
        shop.room.signs(&Claims { nbf, iat: nbf, ..shop.claims("visitor") })
    };
    let pass = early(&shop, 31);
    assert_eq!(refused(&mut shop, &pass).await, Refused::NotYet);
    let pass = early(&shop, 30);
    assert_eq!(location(&arrive(&mut shop, &pass).await), "/", "clocks may differ");
}

#[tokio::test]
async fn pass_replayed_in_the_same_browser() {
    let mut shop = shop();
    let mut browser = Browser::default();
    let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
    shop.get(&mut browser, &arrival).await;
    shop.pass_time(10);
    assert_eq!(answer(shop.get(&mut browser, &arrival).await).outcome, GuardOutcome::Cleaned);
    assert_eq!(entered(&shop.get(&mut browser, "/a").await).0, Some("visitor"), "the session goes on");
}

#[tokio::test]
async fn pass_replayed_in_another_browser() {
    for one_session in [OneSession::Newest, OneSession::First] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let (mut owner, mut friend) = (Browser::default(), Browser::default());
        for browser in [&mut owner, &mut friend] {
            shop.get(browser, "/a").await;
        }
        let arrival = format!("/a?bk_pass={}", shop.pass("visitor"));
        shop.get(&mut owner, &arrival).await;
        shop.pass_time(4);
        let replayed = answer(shop.get(&mut friend, &arrival).await);
        assert_eq!((replayed.location.as_deref(), replayed.outcome), (Some(DOOR), GuardOutcome::PassUsed));
        assert_eq!(location(&shop.get(&mut friend, "/a").await), DOOR);
        assert_eq!(
            entered(&shop.get(&mut owner, "/a").await).0,
            Some("visitor"),
            "the owner notices nothing"
        );
    }
}

/// How many of these browsers have a session.
async fn inside(shop: &mut Shop, browsers: &mut [Browser]) -> u32 {
    let mut inside = 0;
    for browser in browsers {
        inside += u32::from(matches!(shop.get(browser, "/").await, Decision::Enter(_)));
    }
    inside
}

/// Sixteen browsers in half a minute. Each was sent to the room before, so that the guard can tell them apart.
#[tokio::test]
async fn one_pass_opens_one_browser() {
    for one_session in [OneSession::Newest, OneSession::First] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let mut browsers = vec![Browser::default(); 16];
        for browser in &mut browsers {
            shop.get(browser, "/a").await;
        }
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        for (at, browser) in browsers.iter_mut().enumerate() {
            let outcome = shop.get(browser, &arrival).await.outcome();
            let expected = if at == 0 { GuardOutcome::Exchanged } else { GuardOutcome::PassUsed };
            assert_eq!(outcome, expected, "browser {at} of {one_session:?}");
            shop.pass_time(2);
        }
        assert_eq!(inside(&mut shop, &mut browsers).await, 1, "{one_session:?}");
    }
}

/// The same with browsers that the guard has never seen: the first of them went to the room by its own URL. Where the first session
/// counts, the guard opens none before it can tell the browser.
#[tokio::test]
async fn one_pass_opens_no_new_browser_after_three_seconds() {
    for (one_session, opens, live) in [(OneSession::Newest, 3, 1), (OneSession::First, 0, 0)] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        let mut browsers = Vec::new();
        for second in 0..30 {
            let mut browser = Browser::default();
            let outcome = shop.get(&mut browser, &arrival).await.outcome();
            assert_eq!(
                outcome == GuardOutcome::Exchanged,
                second < opens,
                "second {second} of {one_session:?}"
            );
            browsers.push(browser);
            shop.pass_time(1);
        }
        assert_eq!(inside(&mut shop, &mut browsers).await, live, "one at a time: {one_session:?}");
    }
}

#[tokio::test]
async fn an_older_pass_makes_no_used_one_good_again() {
    for one_session in [OneSession::Newest, OneSession::First] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let older = format!("/?bk_pass={}", shop.pass("visitor"));
        shop.pass_time(10);
        let used = format!("/?bk_pass={}", shop.pass("visitor"));
        let mut owner = Browser::default();
        shop.get(&mut owner, "/a").await;
        shop.get(&mut owner, &used).await;
        for (later, link) in [(1, &older), (1, &used), (5, &older), (5, &used)] {
            shop.pass_time(later);
            let mut friend = Browser::default();
            shop.get(&mut friend, "/b").await;
            let outcome = shop.get(&mut friend, link).await.outcome();
            assert_eq!(outcome, GuardOutcome::PassUsed, "{later} s later, {one_session:?}");
        }
        assert_eq!(entered(&shop.get(&mut owner, "/").await).0, Some("visitor"));
    }
}

#[tokio::test]
async fn a_copied_link_does_not_take_over_the_first_session() {
    let mut shop = Shop::with(GuardRules { one_session: OneSession::First, ..rules() });
    let mut owner = Browser::default();
    shop.get(&mut owner, "/a").await;
    let copied = format!("/?bk_pass={}", shop.pass("visitor"));
    shop.pass_time(1);
    shop.get(&mut owner, &format!("/?bk_pass={}", shop.pass("visitor"))).await;
    shop.pass_time(1);
    let newer = format!("/?bk_pass={}", shop.pass("visitor"));
    for (link, expected) in [(copied, GuardOutcome::PassUsed), (newer, GuardOutcome::Taken)] {
        let mut friend = Browser::default();
        assert_eq!(shop.get(&mut friend, &link).await.outcome(), GuardOutcome::SentForNonce);
        assert_eq!(shop.get(&mut friend, &link).await.outcome(), expected);
    }
    assert_eq!(entered(&shop.get(&mut owner, "/a").await).0, Some("visitor"));
}

/// What browsers send for a pass in another site's page.
const EMBEDDED: [Headers<'static>; 8] = [
    &[("sec-fetch-dest", "iframe"), ("sec-fetch-mode", "navigate")],
    &[("sec-fetch-dest", "frame"), ("sec-fetch-mode", "navigate")],
    &[("sec-fetch-dest", "object"), ("sec-fetch-mode", "navigate")],
    &[("sec-fetch-dest", "embed"), ("sec-fetch-mode", "navigate")],
    &[("sec-fetch-dest", "fencedframe"), ("sec-fetch-mode", "navigate")],
    &[("sec-fetch-dest", "image"), ("sec-fetch-mode", "no-cors")],
    &[("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")],
    &[("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate"), ("sec-purpose", "prefetch;prerender")],
];

#[tokio::test]
async fn another_sites_page_exchanges_and_ends_nothing() {
    for one_session in [OneSession::Newest, OneSession::First] {
        let mut shop = Shop::with(GuardRules { one_session, ..rules() });
        let mut owner = shop.admitted("visitor").await;
        shop.pass_time(60);
        for embedded in EMBEDDED {
            let link = format!("/other?bk_pass={}", shop.pass("visitor"));
            // The browser sends no cookie with it, as SameSite=Lax wants.
            let refused = answer(shop.request(&mut Browser::default(), Method::GET, &link, embedded).await);
            assert_eq!(
                (refused.status, refused.location, refused.set_cookie),
                (403, None, None),
                "{embedded:?}"
            );
            assert_eq!(entered(&shop.get(&mut owner, "/").await).0, Some("visitor"), "{embedded:?}");
            shop.pass_time(1);
        }
        let fresh = format!("/?bk_pass={}", shop.pass("another"));
        for embedded in EMBEDDED {
            shop.request(&mut Browser::default(), Method::GET, &fresh, embedded).await;
        }
        let mut another = Browser::default();
        shop.get(&mut another, "/").await;
        assert_eq!(location(&shop.get(&mut another, &fresh).await), "/", "it was not used up");
    }
}

#[tokio::test]
async fn unused_pass_given_to_somebody_else() {
    let mut shop = shop();
    let mut owner = shop.admitted("visitor").await;
    shop.pass_time(60);
    // The owner goes through the door again, copies the URL before it opens, and sends it to a friend.
    let second = format!("/?bk_pass={}", shop.pass("visitor"));
    let mut friend = Browser::default();
    shop.get(&mut friend, &second).await;
    assert_eq!(entered(&shop.get(&mut friend, "/").await).0, Some("visitor"));
    assert_eq!(location(&shop.get(&mut owner, "/").await), DOOR, "one of them at a time: the newest");

    let mut shop = Shop::with(GuardRules { one_session: OneSession::First, ..rules() });
    let mut owner = shop.admitted("visitor").await;
    shop.pass_time(60);
    let second = format!("/?bk_pass={}", shop.pass("visitor"));
    let mut friend = Browser::default();
    shop.get(&mut friend, "/").await;
    let taken = answer(shop.get(&mut friend, &second).await);
    assert_eq!((taken.status, taken.outcome), (403, GuardOutcome::Taken));
    assert_eq!(
        entered(&shop.get(&mut owner, "/").await).0,
        Some("visitor"),
        "one of them at a time: the first"
    );
}

#[tokio::test]
async fn stolen_cookie() {
    let mut shop = shop();
    let mut owner = shop.admitted("visitor").await;
    let mut thief = owner.clone();
    assert_eq!(entered(&shop.get(&mut thief, "/").await).0, Some("visitor"), "a cookie is the session");
    shop.pass_time(60);
    let pass = shop.pass("visitor");
    let mut other_browser = Browser::default();
    shop.get(&mut other_browser, &format!("/?bk_pass={pass}")).await;
    for ended in [&mut thief, &mut owner] {
        assert_eq!(location(&shop.get(ended, "/").await), DOOR, "the owner's next exchange ends it");
    }
    let mut thief = other_browser.clone();
    for _ in 0..8 {
        shop.pass_time(15 * 60);
        shop.get(&mut thief, "/").await;
    }
    assert_eq!(location(&shop.get(&mut thief, "/").await), DOOR, "it cannot be renewed for ever");
}

#[tokio::test]
async fn tampered_number() {
    let mut shop = shop();
    let owner = shop.admitted("visitor").await;
    let cookie = owner.cookie();
    assert!(cookie.contains(".4711."), "{cookie}");
    for changed in [
        cookie.replace(".4711.", ".1."),
        cookie.replace(".visitor.", ".another."),
        cookie.replace(".18", ".19"),
    ] {
        let mut browser = Browser::with_cookie(&changed);
        assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR, "{changed}");
    }
    let pass = shop.pass("visitor");
    let [header, claims, signature] = pass.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let claims = URL_SAFE_NO_PAD.encode(decoded(claims).replace("4711", "1"));
    assert_eq!(refused(&mut shop, &format!("{header}.{claims}.{signature}")).await, Refused::Signature);
}

#[tokio::test]
async fn spoofed_identity_headers() {
    // The layer's and the process's tests send such requests; this is what both use.
    let mut headers = HeaderMap::new();
    headers.insert("x-beekeeper-number", "1".parse().unwrap());
    headers.insert("x_beekeeper_subject", "somebody".parse().unwrap());
    // A proxy behind the guard would remove what the guard writes.
    headers.insert("connection", "X-Beekeeper-Subject, X-Beekeeper-Number".parse().unwrap());
    guard::strip_identity(&mut headers);
    assert!(headers.is_empty());
    let mut shop = shop();
    let spoofed = [("x-beekeeper-number", "1"), ("x-beekeeper-subject", "somebody")];
    let nobody = shop.request(&mut Browser::default(), Method::GET, "/", &spoofed).await;
    assert_eq!(location(&nobody), DOOR);
    let mut browser = shop.admitted("visitor").await;
    let visitor = shop.request(&mut browser, Method::GET, "/", &spoofed).await;
    assert_eq!(entered(&visitor), (Some("visitor"), Some(4711)));
}

#[tokio::test]
async fn open_redirect_through_the_return_url() {
    for target in [
        "//evil.example/",
        "//evil.example/%2f..",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example/",
        "/\t/evil.example",
        "///evil.example",
        "evil.example",
    ] {
        let mut shop = shop();
        let mut browser = Browser::default();
        shop.get(&mut browser, target).await;
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        assert_eq!(location(&shop.get(&mut browser, &arrival).await), "/", "{target}");
        // With the pass in the URL itself, and in a browser whose cookie somebody wrote.
        let arrival = format!("{target}?bk_pass={}", shop.pass("another"));
        let there = shop.get(&mut Browser::default(), &arrival).await;
        assert!([DOOR, "/"].contains(&location(&there)), "{target}: {there:?}");
        let planted = format!("sent...{}", URL_SAFE_NO_PAD.encode(target));
        let arrival = format!("/?bk_pass={}", shop.pass("third"));
        assert_eq!(location(&shop.get(&mut Browser::with_cookie(&planted), &arrival).await), "/", "{target}");
    }
}

#[tokio::test]
async fn header_injection() {
    let mut shop = shop();
    for target in ["/a\r\nset-cookie: x=1", "/a\nx: y", "/\0", "/a b", "/ä"] {
        let mut browser = Browser::default();
        shop.get(&mut browser, target).await;
        assert!(browser.cookie().bytes().all(|byte| byte.is_ascii_graphic()), "{target:?}");
        let arrival = format!("/?bk_pass={}", shop.pass("visitor"));
        shop.pass_time(5);
        assert_eq!(location(&shop.get(&mut browser, &arrival).await), "/", "{target:?}");
        shop.pass_time(5);
    }
    // The room itself would have to sign this.
    for subject in ["a\r\nx-beekeeper-number: 1", "", "a.b", &"a".repeat(129)] {
        let pass = shop.pass(subject);
        assert_eq!(refused(&mut shop, &pass).await, Refused::Malformed, "{subject}");
    }
}

#[tokio::test]
async fn oversized_tokens_and_headers() {
    let mut shop = shop();
    let padded = shop.room.signs(&Claims { sub: "v".repeat(4096), ..shop.claims("visitor") });
    assert_eq!(refused(&mut shop, &padded).await, Refused::Malformed);
    assert_eq!(refused(&mut shop, &"a.".repeat(100_000)).await, Refused::Malformed);
    let mut browser = Browser::with_cookie(&format!("session.{}", "a".repeat(100_000)));
    assert_eq!(location(&shop.get(&mut browser, "/").await), DOOR);
    let long = format!("/{}", "a".repeat(100_000));
    let mut browser = Browser::default();
    assert_eq!(location(&shop.get(&mut browser, &long).await), DOOR);
    assert!(browser.cookie().len() < 100, "such a page is not remembered");
    // Many cookies of the guard's name: the first few are looked at.
    let mut shop = shop_with_visitor().await;
    let many = format!("{}x; ", "__Host-bk_sale_guard=").repeat(1000);
    let cookies = format!("{many}{}", shop.1.header());
    let none = shop.0.request(&mut Browser::default(), Method::GET, "/", &[("cookie", &cookies)]).await;
    assert_eq!(location(&none), DOOR);
}

async fn shop_with_visitor() -> (Shop, Browser) {
    let mut shop = shop();
    let browser = shop.admitted("visitor").await;
    (shop, browser)
}

#[tokio::test]
async fn keys_unreachable() {
    let mut shop = shop();
    shop.room.falls_silent();
    let pass = shop.pass("visitor");
    assert_eq!(refused(&mut shop, &pass).await, Refused::Signature, "no key was ever known");
    shop.room.answers_again();
    shop.pass_time(5);
    assert_eq!(location(&arrive(&mut shop, &pass).await), "/", "asked again after five seconds");
    shop.room.falls_silent();
    for hour in 0..48 {
        shop.pass_time(3600);
        let visitor = format!("visitor-{hour}");
        let mut browser = shop.admitted(&visitor).await;
        assert_eq!(entered(&shop.get(&mut browser, "/").await).0, Some(&*visitor), "known keys serve");
    }
}

#[tokio::test]
async fn made_up_key_ids_do_not_make_the_guard_a_burden() {
    let mut shop = shop();
    shop.admitted("visitor").await;
    let before = shop.room.asked();
    for second in 0..600 {
        let header =
            URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"RS256","kid":"made-up-{second}","typ":"JWT"}}"#));
        let forged = format!("{header}.e30.AAAA");
        arrive(&mut shop, &forged).await;
        shop.pass_time(1);
    }
    let asked = shop.room.asked() - before;
    assert!((9..=10).contains(&asked), "{asked} times in ten minutes");
}

#[tokio::test]
async fn new_key() {
    let mut shop = shop();
    shop.admitted("a").await;
    let old = shop.pass("b");
    shop.pass_time(60);
    shop.room.rotates();
    let pass = shop.pass("c");
    assert_eq!(location(&arrive(&mut shop, &pass).await), "/", "an unknown key id is asked for");
    assert_eq!(location(&arrive(&mut shop, &old).await), "/", "the previous key is still published");
}

#[tokio::test]
async fn dropped_key() {
    let mut shop = shop();
    shop.admitted("a").await;
    let thief = shop.room.with_the_same_keys();
    shop.room.rotates();
    shop.pass_time(60);
    let forged = thief.signs(&shop.claims("b"));
    assert_eq!(location(&arrive(&mut shop, &forged).await), "/", "still published");
    shop.room.drops_the_previous_key();
    shop.pass_time(300);
    let forged = thief.signs(&shop.claims("c"));
    assert_eq!(refused(&mut shop, &forged).await, Refused::Signature, "five minutes later at the latest");
}
