//! The room takes its time to answer with its keys, and visitors arrive meanwhile.

use std::time::Duration;

use guard::{Decision, GuardedRequest, Moment};
use http::{HeaderMap, Method};
use tokio::time::{Instant, timeout};

use crate::fixture::{DOOR, Shop, location, shop};

const SECOND: Duration = Duration::from_secs(1);

/// This visitor arrives with a pass. Whoever drops the future has closed the connection.
fn arrives(shop: &Shop, visitor: u128) -> impl Future<Output = Decision> + use<> {
    let target = format!("/?bk_pass={}", shop.pass(&format!("visitor-{visitor}")));
    let (guard, moment) = (shop.guard.clone(), Moment { now: shop.now, random: visitor.to_be_bytes() });
    async move {
        let (method, headers) = (Method::GET, HeaderMap::new());
        let request = GuardedRequest { method: &method, target: &target, headers: &headers, client: None };
        guard.decide(&request, moment).await
    }
}

/// A shop whose guard knows the room's key of a minute ago. The room signs with another one, and takes two seconds to say so.
async fn shop_with_old_key() -> Shop {
    let mut shop = shop();
    shop.admitted("visitor").await;
    shop.pass_time(60);
    shop.room.rotates();
    shop.room.answers_after(2 * SECOND);
    shop
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_goes_away_keeps_nobody_from_the_new_key() {
    let shop = shop_with_old_key().await;
    let asked = shop.room.asked();
    timeout(SECOND, arrives(&shop, 1)).await.unwrap_err();
    assert_eq!(location(&arrives(&shop, 2).await), "/");
    assert_eq!(shop.room.asked() - asked, 1, "the one that was under way is enough");
}

#[tokio::test(start_paused = true)]
async fn all_who_need_the_new_key_wait_for_one_answer() {
    let shop = shop_with_old_key().await;
    let asked = shop.room.asked();
    let (first, second, third) = tokio::join!(arrives(&shop, 1), arrives(&shop, 2), arrives(&shop, 3));
    for arrival in [first, second, third] {
        assert_eq!(location(&arrival), "/");
    }
    assert_eq!(shop.room.asked() - asked, 1);
}

#[tokio::test(start_paused = true)]
async fn a_room_that_does_not_answer_is_asked_once_for_all() {
    let mut shop = shop_with_old_key().await;
    shop.room.falls_silent();
    let asked = shop.room.asked();
    let (first, second) = tokio::join!(arrives(&shop, 1), arrives(&shop, 2));
    for arrival in [first, second, arrives(&shop, 3).await] {
        assert_eq!(location(&arrival), DOOR);
    }
    assert_eq!(shop.room.asked() - asked, 1);
    shop.pass_time(60);
    shop.room.answers_again();
    assert_eq!(location(&arrives(&shop, 4).await), "/");
}

#[tokio::test(start_paused = true)]
async fn known_keys_serve_while_they_are_fetched_again() {
    let mut shop = shop();
    shop.admitted("visitor").await;
    shop.pass_time(300);
    shop.room.answers_after(2 * SECOND);
    let begun = Instant::now();
    let first = tokio::spawn(arrives(&shop, 1));
    tokio::task::yield_now().await;
    assert_eq!(location(&arrives(&shop, 2).await), "/");
    assert_eq!(begun.elapsed(), Duration::ZERO, "it does not wait for the first");
    assert_eq!(location(&first.await.unwrap()), "/");
    assert_eq!(begun.elapsed(), 2 * SECOND);
}
