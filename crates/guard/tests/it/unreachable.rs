//! The room does not answer.

use std::time::Duration;

use guard::{GuardOutcome, GuardRules, ReachabilityChange, WhenUnreachable};

use crate::fixture::{Browser, DOOR, Shop, entered, location, rules};

fn opening() -> Shop {
    Shop::with(GuardRules { unreachable: WhenUnreachable::Open { after: Duration::from_mins(1) }, ..rules() })
}

/// Checks the room every ten seconds. Returns what changed.
async fn watch(shop: &mut Shop, seconds: u64) -> Vec<ReachabilityChange> {
    let mut changes = Vec::new();
    for _ in 0..seconds / 10 {
        changes.extend(shop.guard.check_room(shop.now).await);
        shop.pass_time(10);
    }
    changes
}

#[tokio::test]
async fn closed_is_the_default() {
    let mut shop = Shop::with(rules());
    let mut inside = shop.admitted("visitor").await;
    shop.room.falls_silent();
    watch(&mut shop, 600).await;
    assert_eq!(location(&shop.get(&mut Browser::default(), "/").await), DOOR);
    assert_eq!(entered(&shop.get(&mut inside, "/").await).0, Some("visitor"), "who is in stays in");
    let pass = shop.pass("another");
    let arrival = shop.get(&mut Browser::default(), &format!("/?bk_pass={pass}")).await;
    assert_eq!(location(&arrival), "/", "who has a pass enters");
}

#[tokio::test]
async fn open_by_choice_ends_with_the_rooms_first_answer() {
    let mut shop = opening();
    watch(&mut shop, 30).await;
    shop.room.falls_silent();
    assert_eq!(watch(&mut shop, 60).await, [], "a minute is not over yet");
    assert_eq!(location(&shop.get(&mut Browser::default(), "/").await), DOOR);
    assert_eq!(watch(&mut shop, 60).await, [ReachabilityChange::Opened]);
    let mut stranger = Browser::default();
    let inside = shop.get(&mut stranger, "/a").await;
    assert_eq!(entered(&inside), (None, None), "in, and nobody");
    assert!(
        matches!(inside, guard::Decision::Enter(to_shop) if to_shop.outcome == GuardOutcome::EnteredUnguarded)
    );
    shop.room.answers_again();
    assert_eq!(watch(&mut shop, 10).await, [ReachabilityChange::Closed]);
    assert_eq!(location(&shop.get(&mut stranger, "/a").await), DOOR, "no session was given away");
}

#[tokio::test]
async fn an_overloaded_room_answers() {
    for status in [429, 503, 403, 404] {
        let mut shop = opening();
        shop.room.answers_only(status);
        assert_eq!(watch(&mut shop, 600).await, [], "{status}");
        assert_eq!(location(&shop.get(&mut Browser::default(), "/").await), DOOR, "{status}");
    }
    for status in [500, 502, 504, 520, 530] {
        let mut shop = opening();
        shop.room.answers_only(status);
        assert_eq!(watch(&mut shop, 600).await, [ReachabilityChange::Opened], "{status}");
    }
}
