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

fn visitor() -> Result<AuthorizedVisitor, NotAuthorized> {
    Ok(AuthorizedVisitor { subject: "visitor".into(), number: Some(4711) })
}

fn refused(why: Refused) -> Result<AuthorizedVisitor, NotAuthorized> {
    Err(NotAuthorized::Refused(Some(why)))
}

#[tokio::test]
async fn the_session_of_the_shops_site_lets_its_visitor_into_the_api() {
    let mut shop = shop();
    let browser = shop.admitted("visitor").await;
    let authorizer = authorizer(&shop);
    assert_eq!(authorizer.visitor(&cookies(&browser), None, shop.now).await, visitor());
    assert_eq!(shop.room.asked(), 1, "a cookie needs no key of the room; the guard asked for the pass");

    let changed = Browser::with_cookie(&browser.cookie().replace("4711", "1"));
    let nobody = Err(NotAuthorized::Refused(None));
    assert_eq!(authorizer.visitor(&cookies(&changed), None, shop.now).await, nobody);
    let without_key = Authorizer::new(rules(), None, RoomKeys::of_room(&rules(), shop.room.clone()));
    assert_eq!(without_key.visitor(&cookies(&browser), None, shop.now).await, nobody);
    assert_eq!(authorizer.visitor(&HeaderMap::new(), None, shop.now).await, nobody);

    let last = shop.now + 2 * 3600 - 1;
    assert_eq!(authorizer.visitor(&cookies(&browser), None, last).await, visitor());
    assert_eq!(authorizer.visitor(&cookies(&browser), None, last + 1).await, nobody);
}

#[tokio::test]
async fn a_pass_lets_its_visitor_in_until_it_expires() {
    let shop = shop();
    let authorizer = authorizer(&shop);
    let none = HeaderMap::new();
    let pass = shop.pass("visitor");
    for now in [shop.now, shop.now + 3599] {
        assert_eq!(authorizer.visitor(&none, Some(&pass), now).await, visitor());
    }
    assert_eq!(authorizer.visitor(&none, Some(&pass), shop.now + 3631).await, refused(Refused::Expired));
    let other = shop.room.signs(&Claims { aud: "other".into(), ..shop.claims("visitor") });
    assert_eq!(authorizer.visitor(&none, Some(&other), shop.now).await, refused(Refused::Audience));
    let header = shop.room.signs(&shop.claims("visitor\r\nx-admin: 1"));
    assert_eq!(authorizer.visitor(&none, Some(&header), shop.now).await, refused(Refused::Malformed));
    let stranger = TestRoom::new().signs(&shop.claims("visitor"));
    assert_eq!(authorizer.visitor(&none, Some(&stranger), shop.now).await, refused(Refused::Signature));
}

#[tokio::test]
async fn a_pass_is_not_called_bad_while_no_key_is_known() {
    let shop = shop();
    shop.room.falls_silent();
    let authorizer = authorizer(&shop);
    authorizer.warm_up(shop.now).await;
    let (none, pass) = (HeaderMap::new(), shop.pass("visitor"));
    let visits = |pass, now| authorizer.visitor(&none, Some(pass), now);
    assert_eq!(visits(&pass, shop.now + 60).await, Err(NotAuthorized::NoKeys));
    assert_eq!(visits("not a pass", shop.now + 60).await, refused(Refused::Malformed));
    shop.room.answers_again();
    assert_eq!(visits(&pass, shop.now + 120).await, visitor());
    shop.room.falls_silent();
    assert_eq!(visits(&pass, shop.now + 3000).await, visitor(), "known keys serve");
}
