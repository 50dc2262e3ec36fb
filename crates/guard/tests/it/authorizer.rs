//! Whom an authorizer lets in, in front of an API of a guarded shop.

use guard::{AuthorizedVisitor, Authorizer, NotAuthorized, RoomKeys, SessionKey};
use http::HeaderMap;
use pass::{Claims, Refused};

use crate::fixture::{Browser, Shop, TestRoom, rules, shop};

fn authorizer(shop: &Shop) -> Authorizer<TestRoom> {
    let key = SessionKey::new(&shop.key).unwrap();
    Authorizer::new(rules(), Some(key), RoomKeys::of_room(&rules(), shop.room.clone()))
}

fn cookies(browser: &Browser) -> HeaderMap {
    HeaderMap::from_iter([(http::header::COOKIE, browser.header().parse().unwrap())])
}

type Authorized = Result<AuthorizedVisitor, NotAuthorized>;

fn is_visitor(answer: &Authorized) -> bool {
    answer.as_ref().is_ok_and(|visitor| visitor.subject == "visitor" && visitor.number == Some(4711))
}

fn is_refused(answer: &Authorized, why: Option<Refused>) -> bool {
    answer.as_ref().is_err_and(|error| *error == NotAuthorized::Refused(why))
}

#[tokio::test]
async fn the_session_of_the_shops_site_lets_its_visitor_into_the_api() {
    let mut shop = shop();
    let browser = shop.admitted("visitor").await;
    let authorizer = authorizer(&shop);
    let start = shop.now;
    let visits = async |browser: &Browser, now| authorizer.visitor(&cookies(browser), None, now).await;
    assert!(is_visitor(&visits(&browser, start).await));
    assert_eq!(shop.room.asked(), 1, "a cookie needs no key of the room; the guard asked for the pass");
    let last = start + 2 * 3600 - 1;
    assert!(is_visitor(&visits(&browser, last).await));
    assert!(is_refused(&visits(&browser, last + 1).await, None));

    let changed = Browser::with_cookie(&browser.cookie().replace("4711", "1"));
    assert!(is_refused(&visits(&changed, start).await, None));
    assert!(is_refused(&authorizer.visitor(&HeaderMap::new(), None, start).await, None));
    let without_key = Authorizer::new(rules(), None, RoomKeys::of_room(&rules(), shop.room.clone()));
    assert!(is_refused(&without_key.visitor(&cookies(&browser), None, start).await, None));
}

#[tokio::test]
async fn a_pass_lets_its_visitor_in_until_it_expires() {
    let shop = shop();
    let authorizer = authorizer(&shop);
    let visits = async |pass: String, now| authorizer.visitor(&HeaderMap::new(), Some(&pass), now).await;
    let pass = shop.pass("visitor");
    for now in [shop.now, shop.now + 3599] {
        assert!(is_visitor(&visits(pass.clone(), now).await));
    }
    assert!(is_refused(&visits(pass, shop.now + 3631).await, Some(Refused::Expired)));
    let claims = |visitor| shop.claims(visitor);
    for (pass, why) in [
        (shop.room.signs(&Claims { aud: "other".into(), ..claims("visitor") }), Refused::Audience),
        (shop.room.signs(&claims("visitor\r\nx-admin: 1")), Refused::Malformed),
        (TestRoom::new().signs(&claims("visitor")), Refused::Signature),
        ("not a pass".into(), Refused::Malformed),
    ] {
        assert!(is_refused(&visits(pass, shop.now).await, Some(why)), "{why}");
    }
}

#[tokio::test]
async fn a_pass_is_not_called_bad_while_no_key_is_known() {
    let shop = shop();
    shop.room.falls_silent();
    let authorizer = authorizer(&shop);
    authorizer.warm_up(shop.now).await;
    let visits =
        async |pass: &str, later| authorizer.visitor(&HeaderMap::new(), Some(pass), shop.now + later).await;
    let pass = shop.pass("visitor");
    assert_eq!(visits(&pass, 60).await, Err(NotAuthorized::NoKeys));
    assert!(is_refused(&visits("not a pass", 60).await, Some(Refused::Malformed)));
    shop.room.answers_again();
    assert!(is_visitor(&visits(&pass, 120).await));
    shop.room.falls_silent();
    assert!(is_visitor(&visits(&pass, 3000).await), "known keys serve");
}
