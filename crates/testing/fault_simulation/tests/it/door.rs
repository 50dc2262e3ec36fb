//! Every answer of `GET /beekeeper`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use memory::LineBehaviour;
use producer::{DoorAnswer, DoorRequest, PlaceLimit, ShownIn};
use waitroom::ports::{Clock, Fault};
use waitroom::{ActiveLimit, Mode, Place, Room, RoomState};

const MINUTE: Duration = Duration::from_mins(1);
const GET: DoorRequest<'_> = DoorRequest::GET;
const LOOK: DoorRequest<'_> = DoorRequest { shown: ShownIn::Nothing, ..GET };
const FRAME: DoorRequest<'_> = DoorRequest { shown: ShownIn::Frame, ..GET };

fn world() -> World {
    World::new(31, 60)
}

/// From now on nobody is released, so the line's length shows who joined.
fn pause(world: &mut World) {
    world.change_room(|room| room.state = RoomState::Paused);
    world.run(Duration::from_secs(2));
}

/// A first visit. Returns the answer and the `Cookie` header for later visits.
fn newcomer(world: &mut World) -> (DoorAnswer, String) {
    let answer = world.request(&GET).unwrap();
    let set_cookie = answer.set_cookie.clone().expect("a newcomer gets a cookie");
    let cookie = set_cookie.split(';').next().unwrap().to_owned();
    (answer, cookie)
}

fn place(cookie: &str) -> Place {
    cookie.strip_prefix("bk_sale=").unwrap().parse().unwrap()
}

/// The place that an answer gives.
fn place_set(answer: &DoorAnswer) -> Place {
    place(answer.set_cookie.as_deref().expect("a place").split(';').next().unwrap())
}

fn visit_with(world: &mut World, cookie: &str) -> DoorAnswer {
    world.request(&DoorRequest { cookies: &[cookie], ..GET }).unwrap()
}

/// The claims of the pass in a redirect to the shop.
fn pass(answer: &DoorAnswer) -> serde_json::Value {
    use base64::Engine;

    let location = answer.location.as_deref().expect("a redirect");
    let pass = location.strip_prefix("https://shop.example/sale?bk_pass=").expect("the shop, with a pass");
    let claims = pass.split('.').nth(1).unwrap();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    serde_json::from_slice(&claims).unwrap()
}

fn assert_redirects_to_page(answer: &DoorAnswer, place: Place) {
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
        assert_redirects_to_page(&answer, place(&cookie));
        let attributes = "; Path=/; HttpOnly; Secure; SameSite=None; Max-Age=1209600";
        assert_eq!(answer.set_cookie, Some(format!("{cookie}{attributes}")));
        let proof = answer.set_proof.unwrap();
        assert!(proof.starts_with("bk_sale_proof=") && proof.ends_with(attributes), "{proof}");
        world.run(Duration::from_secs(1));
    }
    assert_eq!(world.waiting(), 3);
}

#[test]
fn the_browser_sends_the_proof_to_the_door_alone_if_its_path_is_known() {
    let mut world = world();
    let answer = world.request(&DoorRequest { path: Some("/prod/beekeeper"), ..GET }).unwrap();
    assert!(answer.set_proof.unwrap().contains("; Path=/prod/beekeeper; "));
    assert!(answer.set_cookie.unwrap().contains("; Path=/; "), "polls need the place");
}

#[test]
fn a_visitor_who_cannot_join_gets_no_cookie() {
    let mut world = world();
    for fault in [
        InjectedFault::Refused(Fault::Broken),
        InjectedFault::Refused(Fault::Busy),
        InjectedFault::Unconfirmed,
    ] {
        world.inject(fault, |call| call == PortCall::Join);
        let error = world.request(&GET).unwrap_err();
        assert_eq!(error.to_string(), "could not Join");
    }
    let busy = DoorAnswer::busy();
    assert_eq!(
        (busy.status, busy.retry_after, &busy.set_cookie, &busy.location),
        (503, Some(30), &None, &None)
    );
    for retry in ["location.reload();", r#"<noscript><meta http-equiv="refresh" content="50">"#] {
        assert!(busy.body.contains(retry), "the page retries by itself");
    }
}

#[test]
fn a_waiting_visitor_keeps_the_place() {
    let mut world = world();
    pause(&mut world);
    let (_, cookie) = newcomer(&mut world);
    world.join(200);
    world.run(Duration::from_secs(5));
    let before = world.waiting();
    for header in [cookie.clone(), format!("theme=dark; {cookie};lang=de")] {
        let answer = visit_with(&mut world, &header);
        assert_redirects_to_page(&answer, place(&cookie));
        assert_eq!(answer.set_cookie, None);
    }
    assert_eq!(world.waiting(), before, "nobody joined");
}

#[test]
fn an_invalid_cookie_counts_as_none() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    for invalid in
        ["bk_sale=", "bk_sale=zz99-00112233445566778899aabbccddeeff-1", "bk_other=1", &cookie[..20]]
    {
        let answer = visit_with(&mut world, invalid);
        assert!(answer.set_cookie.is_some(), "{invalid}");
    }
}

#[test]
fn a_visitor_who_was_overtaken_joins_again_with_the_same_token_if_it_is_theirs() {
    let mut world = World::new(31, 1000);
    // This visitor is lost: the place is of a world with the same keys, and was never put into this line.
    let cookie = both_cookies(&newcomer(&mut World::new(32, 1000)).0);
    let lost = place(cookie.split(';').next().unwrap());
    world.join(6000);
    // In the two minutes before, the line delivered 2001 and later: two thousand numbers are not enough.
    world.run(4 * MINUTE + MINUTE / 2);
    assert_redirects_to_page(&visit_with(&mut world, &cookie), lost);
    world.run(MINUTE);
    pause(&mut world);
    let before = world.waiting();
    let answer = visit_with(&mut world, &cookie);
    let rejoined = place_set(&answer);
    assert_eq!(rejoined.token, lost.token);
    assert!(rejoined.ticket.get() > 6000, "at the back, so that an invented ticket gains nothing");
    assert_redirects_to_page(&answer, rejoined);
    assert_eq!(world.waiting(), before + 1);
    visit_with(&mut world, &format!("bk_sale={rejoined}"));
    assert_eq!(world.waiting(), before + 1, "they join once");
}

/// Polls tell everybody the new epoch.
#[test]
fn whoever_writes_the_new_epoch_into_the_cookie_has_no_admission_of_the_old_one() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(2 * MINUTE);
    assert!(is_to_shop(&visit_with(&mut world, &cookie)));
    world.reset("next");
    world.run(Duration::from_secs(2));
    let rewritten = cookie.replace("ab12", "next");
    let orders: [fn(&mut Room); 4] = [
        |_| (),
        |room| room.state = RoomState::Paused,
        |room| room.turn(RoomState::Ended),
        |room| (room.state, room.settings.mode) = (RoomState::On, Mode::Observe),
    ];
    for order in orders {
        world.change_room(order);
        world.run(Duration::from_secs(2));
        let observes = world.room().observes();
        let answer = visit_with(&mut world, &rewritten);
        assert_eq!(is_to_shop(&answer), observes, "{answer:?}");
        assert_eq!(answer.set_cookie.is_some(), observes, "who passes there is a newcomer");
    }
    // Those of the new epoch keep theirs.
    world.change_room(|room| room.settings.mode = Mode::Line);
    world.run(Duration::from_secs(2));
    let (_, cookie) = newcomer(&mut world);
    world.run(2 * MINUTE);
    assert!(is_to_shop(&visit_with(&mut world, &cookie)));
}

/// Turns the room off, which everybody knows then.
fn turn_off(world: &mut World) {
    world.change_room(|room| room.state = RoomState::Off);
    world.run(Duration::from_secs(2));
}

/// Lets some places through.
#[derive(Debug)]
struct Places(AtomicU32);

impl PlaceLimit for Places {
    fn take(&self) -> Result<(), Duration> {
        let less = |left: u32| left.checked_sub(1);
        let took = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        took.map(drop).map_err(|_| Duration::from_secs(3))
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_to_shop(answer: &DoorAnswer) -> bool {
    answer.location.as_deref().is_some_and(|location| location.contains("bk_pass="))
}

/// One address asks 10,000 times while the room is off, with invented places and with none.
#[test]
fn a_room_that_is_off_lets_no_address_hoard() {
    static LIMIT: Places = Places(AtomicU32::new(20));
    let mut world = world();
    turn_off(&mut world);
    let invented: Vec<String> =
        (0..5000).map(|number| format!("bk_sale=ab12-{number:032x}-{}", number % 7 + 1)).collect();
    let mut passes = 0;
    for cookie in &invented {
        for cookies in [&[][..], &[&**cookie]] {
            let answer = world.limited_request(&DoorRequest { cookies, ..GET }, Some(&LIMIT)).unwrap();
            passes += u32::from(is_to_shop(&answer));
            assert!(is_to_shop(&answer) || answer.status == 429, "{answer:?}");
        }
        world.run(Duration::from_millis(120));
    }
    assert_eq!(passes, 20, "as many as the limit allows");
    for state in [RoomState::Paused, RoomState::On] {
        world.change_room(move |room| room.state = state);
        world.run(Duration::from_secs(2));
        for cookie in invented.iter().step_by(50) {
            let request = DoorRequest { cookies: &[cookie], ..GET };
            assert!(!is_to_shop(&world.limited_request(&request, Some(&LIMIT)).unwrap()), "{state:?}");
        }
    }
    assert_eq!(world.outcome().by_door, 0);
}

#[test]
fn a_place_of_the_line_goes_to_the_shop_while_the_room_is_off_whatever_the_limit() {
    static LIMIT: Places = Places(AtomicU32::new(0));
    let mut world = world();
    let (released, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    pause(&mut world);
    let (waiting, _) = newcomer(&mut world);
    turn_off(&mut world);
    let mut visit = |cookies: &str| {
        world.limited_request(&DoorRequest { cookies: &[cookies], ..GET }, Some(&LIMIT)).unwrap()
    };
    for cookies in [&both_cookies(&released), &cookie, &both_cookies(&waiting)] {
        assert!(is_to_shop(&visit(cookies)), "{cookies}");
    }
    let unproven = both_cookies(&waiting).split(';').next().unwrap().to_owned();
    assert!(is_to_shop(&visit(&unproven)), "this one is admitted now");
    assert_eq!(visit("").status, 429);
}

/// Whoever was on the way to the shop arrives, and the guard may send them back to the door once for a pass of its own.
#[test]
fn an_admission_of_a_room_that_was_off_lasts_only_for_the_way_to_the_shop() {
    let mut world = world();
    pause(&mut world);
    let (answer, _) = newcomer(&mut world);
    let cookies = both_cookies(&answer);
    turn_off(&mut world);
    assert!(is_to_shop(&visit_with(&mut world, &cookies)));
    pause(&mut world);
    assert!(is_to_shop(&visit_with(&mut world, &cookies)), "still on the way");
    world.run(5 * MINUTE);
    let late = visit_with(&mut world, &cookies);
    let again = place_set(&late);
    assert_redirects_to_page(&late, again);
    world.change_room(|room| room.state = RoomState::On);
    world.run(3 * MINUTE);
    let cookies = format!("bk_sale={again}");
    assert_eq!(
        pass(&visit_with(&mut world, &cookies))["queue_position"],
        again.ticket.get(),
        "nobody is lost"
    );
}

/// The poll of a page that still has the place would say "your turn", and the guard send its visitor back, in a circle.
#[test]
fn whose_session_is_over_keeps_no_place_once_nobody_can_join() {
    const LIMIT: ActiveLimit =
        ActiveLimit { visitors: 120, idle: Duration::from_mins(4), session: Duration::from_mins(15) };

    let mut world = world();
    world.change_room(|room| room.settings.active = Some(LIMIT));
    let (_, cookie) = newcomer(&mut world);
    world.run(2 * MINUTE);
    assert!(is_to_shop(&visit_with(&mut world, &cookie)));
    let subject = pass::subject(&place(&cookie).token.to_string());
    for state in [RoomState::Closed, RoomState::Ended] {
        world.change_room(move |room| room.turn(state));
        world.run(Duration::from_secs(2));
        let sent_back = DoorRequest { cookies: &[&cookie], again: Some(&subject), ..GET };
        let answer = world.request(&sent_back).unwrap();
        let forgets = "bk_sale=; Path=/; HttpOnly; Secure; SameSite=None; Max-Age=0";
        assert_eq!((answer.status, answer.set_cookie.as_deref()), (200, Some(forgets)));
        assert_eq!(visit_with(&mut world, "").set_cookie, None, "who had none");
        let somebody_else = DoorRequest { again: Some("another"), ..sent_back };
        assert_eq!(world.request(&somebody_else).unwrap().set_cookie, None);
    }
}

/// Lets one place through, and counts how many were taken.
#[derive(Debug, Default)]
struct OnePlace(AtomicU32);

impl PlaceLimit for OnePlace {
    fn take(&self) -> Result<(), Duration> {
        if self.0.load(Ordering::Relaxed) == 1 {
            return Err(Duration::from_millis(6500));
        }
        self.0.store(1, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[test]
fn a_client_takes_only_as_many_new_places_as_its_limit_allows() {
    static LIMIT: OnePlace = OnePlace(AtomicU32::new(0));
    let taken = || LIMIT.0.load(Ordering::Relaxed);
    let mut world = world();
    pause(&mut world);

    for (request, status) in [(LOOK, 302), (FRAME, 200)] {
        assert_eq!(world.limited_request(&request, Some(&LIMIT)).unwrap().status, status);
    }
    assert_eq!(taken(), 0, "nobody joined");
    world.inject(InjectedFault::Refused(Fault::Busy), |call| call == PortCall::Join);
    world.limited_request(&GET, Some(&LIMIT)).unwrap_err();
    assert_eq!(taken(), 0, "the place was not stored");
    world.clear_faults();

    let joined = world.limited_request(&GET, Some(&LIMIT)).unwrap();
    assert_eq!((joined.status, taken()), (302, 1));
    let refused = world.limited_request(&GET, Some(&LIMIT)).unwrap();
    assert_eq!((refused.status, refused.retry_after, &refused.set_cookie), (429, Some(7), &None));

    let cookie = joined.set_cookie.as_deref().unwrap().split(';').next().unwrap();
    let request = DoorRequest { cookies: &[cookie], ..GET };
    let again = world.limited_request(&request, Some(&LIMIT)).unwrap();
    assert_redirects_to_page(&again, place(cookie));
}

/// Whoever closes the connection, or is told to come again, may be in line all the same.
#[test]
fn a_place_that_may_be_stored_counts_whoever_hears_of_it() {
    static LIMIT: Places = Places(AtomicU32::new(3));
    let left = || LIMIT.0.load(Ordering::Relaxed);
    let join_takes = |world: &mut World, seconds, fault| {
        let takes = Duration::from_secs(seconds);
        world.set_faults(move |call| match call {
            PortCall::Join => (fault, takes),
            _ => (InjectedFault::None, Duration::ZERO),
        });
    };
    let mut world = world();
    pause(&mut world);
    // Half the time passes before the call takes effect, and half after it.
    join_takes(&mut world, 2, InjectedFault::None);
    world.interrupted_request(&GET, Some(&LIMIT), Duration::from_millis(1500));
    assert_eq!((left(), world.waiting()), (2, 1), "the client is gone");
    join_takes(&mut world, 5, InjectedFault::None);
    world.limited_request(&GET, Some(&LIMIT)).unwrap_err();
    assert_eq!((left(), world.waiting()), (1, 2), "the door waited too long");
    join_takes(&mut world, 0, InjectedFault::Unconfirmed);
    world.limited_request(&GET, Some(&LIMIT)).unwrap_err();
    assert_eq!((left(), world.waiting()), (0, 3), "the line said nothing");
    world.clear_faults();
    assert_eq!(world.limited_request(&GET, Some(&LIMIT)).unwrap().status, 429);
}

#[test]
fn an_invented_place_that_was_overtaken_counts_as_a_new_one() {
    static LIMIT: OnePlace = OnePlace(AtomicU32::new(1));
    let mut world = world();
    let invented: Place = "ab12-00112233445566778899aabbccddeeff-1".parse().unwrap();
    let cookie = format!("bk_sale={invented}");
    world.join(100);
    // The line is empty for two minutes, so whoever is not admitted is not in it.
    world.run(5 * MINUTE);
    pause(&mut world);
    let before = world.waiting();
    let request = DoorRequest { cookies: &[&cookie], ..GET };
    let kept = world.limited_request(&request, Some(&LIMIT)).unwrap();
    assert_redirects_to_page(&kept, invented);
    assert_eq!(world.waiting(), before, "beyond the limit, nobody joins");
    LIMIT.give_back();
    let rejoined = world.limited_request(&request, Some(&LIMIT)).unwrap();
    let rejoined = place_set(&rejoined);
    assert_ne!(rejoined.token, invented.token, "it may be somebody else's");
    assert_eq!(world.waiting(), before + 1);
}

/// The place and its proof, as a browser sends them.
fn both_cookies(answer: &DoorAnswer) -> String {
    let pair = |cookie: &Option<String>| cookie.as_deref().unwrap().split(';').next().unwrap().to_owned();
    format!("{}; {}", pair(&answer.set_cookie), pair(&answer.set_proof))
}

#[test]
fn a_proven_place_that_was_overtaken_does_not_count_again() {
    static LIMIT: OnePlace = OnePlace(AtomicU32::new(1));
    let mut world = world().with_line(LineBehaviour::default());
    pause(&mut world);
    let (answer, _) = newcomer(&mut world);
    world.lose_line();
    world.join(100);
    world.change_room(|room| room.state = RoomState::On);
    // The others are released, and then nobody is in the line for two minutes.
    world.run(6 * MINUTE);
    pause(&mut world);
    let cookies = both_cookies(&answer);
    let unproven = cookies.split(';').next().unwrap();
    let forged = format!("{unproven}; bk_sale_proof={}", "A".repeat(43));
    for counted in [unproven, &forged] {
        let request = DoorRequest { cookies: &[counted], ..GET };
        let kept = world.limited_request(&request, Some(&LIMIT)).unwrap();
        assert_eq!((kept.status, kept.set_cookie), (302, None), "the limit is reached");
    }
    let request = DoorRequest { cookies: &[&cookies], ..GET };
    let rejoined = world.limited_request(&request, Some(&LIMIT)).unwrap();
    let (before, place) = (place_set(&answer), place_set(&rejoined));
    assert_eq!(place.token, before.token);
    assert!(place.ticket > before.ticket && rejoined.set_proof.is_some());
    assert_eq!(world.waiting(), 1);
}

#[test]
fn while_the_room_is_off_a_proven_number_is_in_the_pass() {
    let mut world = world();
    pause(&mut world);
    world.join(5);
    world.run(Duration::from_secs(1));
    let (answer, cookie) = newcomer(&mut world);
    let ticket = place(&cookie).ticket.get();
    let cookies = both_cookies(&answer);
    let other = newcomer(&mut world).0;
    turn_off(&mut world);
    let position = |world: &mut World, cookies: &str| {
        pass(&visit_with(world, cookies)).get("queue_position").and_then(serde_json::Value::as_u64)
    };
    let forged = cookies.replacen(&format!("-{ticket};"), "-1;", 1);
    let anothers = format!("{cookie}; {}", both_cookies(&other).split("; ").nth(1).unwrap());
    for unproven in [&cookie, &forged, &anothers, &format!("{cookie}; bk_sale_proof=x")] {
        assert_eq!(position(&mut world, unproven), None, "{unproven}");
    }
    assert_eq!(position(&mut world, &cookies), Some(ticket));
    world.kill();
    world.boot();
    assert_eq!(position(&mut world, &cookies), Some(ticket), "the key outlives the process");
}

/// Each costs an HMAC, and one request has room for hundreds.
#[test]
fn a_proof_behind_four_others_is_not_looked_at() {
    let mut world = world();
    pause(&mut world);
    let (answer, _) = newcomer(&mut world);
    turn_off(&mut world);
    let mut position_behind = |others: usize| {
        let cookies = format!("{}{}", "bk_sale_proof=; ".repeat(others), both_cookies(&answer));
        pass(&visit_with(&mut world, &cookies)).get("queue_position").cloned()
    };
    assert_eq!(position_behind(4), None);
    assert_eq!(position_behind(3), Some(1.into()));
}

#[test]
fn visitors_join_without_a_proof_while_the_key_cannot_be_read() {
    let mut world = world();
    world.inject(InjectedFault::Refused(Fault::Broken), |call| call == PortCall::Keys);
    let (answer, _) = newcomer(&mut world);
    assert_eq!((answer.status, answer.set_proof), (302, None));
    world.clear_faults();
    world.run(Duration::from_secs(10));
    assert!(newcomer(&mut world).0.set_proof.is_some());
}

#[test]
fn an_admitted_visitor_gets_a_new_pass_until_the_admission_expires() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    let first = visit_with(&mut world, &cookie);
    let claims = pass(&first);
    assert_eq!((first.status, &first.set_cookie), (302, &None));
    assert_eq!(claims["iss"], "https://room.example/prod");
    assert_eq!((&claims["aud"], &claims["queue_position"]), (&"sale".into(), &1.into()));
    world.run(10 * MINUTE);
    let second = pass(&visit_with(&mut world, &cookie));
    assert_eq!(second["sub"], claims["sub"]);
    assert!(second["iat"].as_u64() > claims["iat"].as_u64());
    world.run(Duration::from_hours(1));
    let late = visit_with(&mut world, &cookie);
    assert_ne!(place_set(&late).token, place(&cookie).token);
}

#[test]
fn a_shop_gets_its_nonce_into_the_pass_if_it_is_one() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    let mut nonce = |nonce: &str| {
        let request = DoorRequest { cookies: &[&cookie], nonce: Some(nonce), ..GET };
        pass(&world.request(&request).unwrap()).get("nonce").cloned()
    };
    assert_eq!(nonce("c29tZS1ub25jZS0xMjM0NQ"), Some("c29tZS1ub25jZS0xMjM0NQ".into()));
    for other in ["", "short", "<script>alert(1)</script>", &"a".repeat(65)] {
        assert_eq!(nonce(other), None, "{other}");
    }
    turn_off(&mut world);
    let request = DoorRequest { nonce: Some("c29tZS1ub25jZS0xMjM0NQ"), ..GET };
    let newcomer = world.request(&request).unwrap();
    assert_eq!(pass(&newcomer)["nonce"], "c29tZS1ub25jZS0xMjM0NQ", "also in a room that is off");
}

/// Each costs a signature, and whoever was admitted once may come as often as they like.
#[test]
fn a_visitor_gets_eight_passes_a_second_and_each_of_them_again() {
    let mut world = world();
    let cookies = [newcomer(&mut world).1, newcomer(&mut world).1];
    world.run(2 * MINUTE);
    let visit = |world: &mut World, visitor: usize, tab: u32| {
        let nonce = format!("{tab:016}");
        world.request(&DoorRequest { cookies: &[&cookies[visitor]], nonce: Some(&nonce), ..GET }).unwrap()
    };
    let passes: Vec<_> = (0..8).map(|tab| visit(&mut world, 0, tab)).collect();
    assert!(passes.iter().all(is_to_shop));
    let refused = visit(&mut world, 0, 8);
    assert_eq!((refused.status, refused.retry_after, refused.body), (429, Some(1), DoorAnswer::busy().body));
    assert_eq!(visit(&mut world, 0, 3), passes[3]);
    assert!(is_to_shop(&visit(&mut world, 1, 8)), "somebody else");
    world.run(Duration::from_secs(1));
    assert!(is_to_shop(&visit(&mut world, 0, 8)));
    assert_ne!(visit(&mut world, 0, 3), passes[3], "a later second");
}

#[test]
fn the_pass_has_the_ticket_of_the_admission_not_the_one_in_the_cookie() {
    let mut world = world();
    world.join(5);
    world.run(Duration::from_secs(1));
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    let forged = cookie.replace(&format!("-{}", place(&cookie).ticket), "-1");
    assert_eq!(pass(&visit_with(&mut world, &forged))["queue_position"], 6);
}

#[test]
fn while_the_room_is_off_everybody_goes_straight_to_the_shop() {
    let mut world = world();
    pause(&mut world);
    let (joined, cookie) = newcomer(&mut world);
    let (other, _) = newcomer(&mut world);
    turn_off(&mut world);
    let newcomer = world.request(&GET).unwrap();
    assert_eq!((&newcomer.set_cookie, pass(&newcomer).get("queue_position")), (&None, None));
    assert_eq!(world.waiting(), 2, "nobody joined");
    assert_eq!(
        pass(&visit_with(&mut world, &cookie)).get("queue_position"),
        None,
        "the ticket in the cookie is not proven"
    );
    assert_eq!(world.outcome().by_door, 0, "a place that is not proven may be invented");
    let cookies = both_cookies(&joined);
    assert_eq!(pass(&visit_with(&mut world, &cookies))["queue_position"], 1);
    assert_eq!(world.outcome().by_door, 1, "the visitor who was in line is recorded as admitted");
    world.inject(InjectedFault::Refused(Fault::Broken), |call| {
        matches!(call, PortCall::Admit | PortCall::LookUp)
    });
    for cookies in [&cookies, &both_cookies(&other), &cookie] {
        pass(&visit_with(&mut world, cookies));
    }
}

/// Newcomers pass at once then, because nothing is written of them.
#[test]
fn while_the_room_is_off_a_place_of_the_line_waits_for_no_slow_disk() {
    let mut world = world();
    pause(&mut world);
    let [admitted, waiting] =
        [newcomer(&mut world), newcomer(&mut world)].map(|(answer, _)| both_cookies(&answer));
    turn_off(&mut world);
    assert!(is_to_shop(&visit_with(&mut world, &admitted)));
    let writes = Arc::new(AtomicU32::new(0));
    let counted = writes.clone();
    world.set_faults(move |call| {
        let is_write = call == PortCall::Admit;
        counted.fetch_add(is_write.into(), Ordering::Relaxed);
        (InjectedFault::None, if is_write { MINUTE } else { Duration::ZERO })
    });
    for (cookies, written) in [(&admitted, 0), (&waiting, 1)] {
        assert!(is_to_shop(&visit_with(&mut world, cookies)));
        assert_eq!(writes.load(Ordering::Relaxed), written, "{cookies}");
    }
}

#[test]
fn a_visitor_admitted_before_the_room_was_off_keeps_the_ticket_in_the_pass() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    world.run(MINUTE);
    turn_off(&mut world);
    assert_eq!(pass(&visit_with(&mut world, &cookie))["queue_position"], 1);
}

#[test]
fn a_visitor_whose_admission_expired_is_a_newcomer() {
    let mut world = world();
    let (_, cookie) = newcomer(&mut world);
    for hours in [2, 24 * 13] {
        // Nobody else comes, so a minute of each hour says as much as all of it.
        for _ in 0..hours {
            world.kill();
            world.stay_down(Duration::from_mins(59));
            world.boot();
            world.run(Duration::from_mins(1));
        }
        let late = visit_with(&mut world, &cookie);
        assert!(late.set_cookie.is_some(), "after {hours} more hours");
    }
}

#[test]
fn who_is_no_person_gets_no_place_no_pass_and_no_admission() {
    let mut world = world();
    let (answer, _) = newcomer(&mut world);
    let cookies = both_cookies(&answer);
    let assert_gets_nothing = |world: &mut World| {
        for cookies in [&[][..], &[&*cookies]] {
            let look = world.request(&DoorRequest { cookies, ..LOOK }).unwrap();
            assert_eq!(
                (look.status, look.location.as_deref(), look.set_cookie),
                (302, Some("wait/index.html"), None)
            );
            let frame = world.request(&DoorRequest { cookies, ..FRAME }).unwrap();
            assert_eq!((frame.status, frame.location, frame.set_cookie), (200, None, None));
        }
    };
    assert_gets_nothing(&mut world);
    assert_eq!(world.waiting(), 1, "as before");
    world.run(MINUTE);
    assert_gets_nothing(&mut world);
    pass(&visit_with(&mut world, &cookies));
    turn_off(&mut world);
    assert_gets_nothing(&mut world);
    assert_eq!(world.outcome().by_door, 0);
}

#[test]
fn a_restart_keeps_the_signing_key() {
    let mut world = world();
    turn_off(&mut world);
    let key = |answer: DoorAnswer| answer.location.unwrap().split(['=', '.']).nth(2).unwrap().to_owned();
    let before = key(world.request(&GET).unwrap());
    world.kill();
    world.boot();
    assert_eq!(key(world.request(&GET).unwrap()), before, "the same key after a restart");
}

/// They would come again, and get another place at the back.
#[test]
fn a_place_that_the_line_has_is_handed_out_whatever_is_slow_after_it() {
    const SECOND: Duration = Duration::from_secs(1);
    for slow in [PortCall::SecretKeys, PortCall::SetQuiet] {
        let mut world = world();
        world.run(20 * MINUTE);
        assert!(world.room().quiet);
        world.set_faults(move |call| match call {
            PortCall::Join => (InjectedFault::None, 5 * SECOND / 2),
            call if call == slow => (InjectedFault::None, 20 * SECOND),
            _ => (InjectedFault::None, Duration::ZERO),
        });
        let came = world.clock.now();
        let answer = world.request(&GET).expect("not busy");
        assert!(answer.set_cookie.is_some(), "{slow:?}");
        assert_eq!(answer.set_proof.is_some(), slow != PortCall::SecretKeys);
        assert!(world.clock.now() < came + 6 * SECOND, "{slow:?}");
    }
}
