//! The keys that sign passes, while calls fail, the room is killed and the operator changes the keys.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fault_simulation::{InjectedFault, PortCall, World};
use pass::{Claims, Jwks, KeyRecord, KeyState, Refused, Verifier};
use producer::{DoorRequest, ShownIn};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waitroom::ports::Fault;
use waitroom::{KeyOrder, RoomState};

const GET: DoorRequest<'_> = DoorRequest::GET;
const SECOND: Duration = Duration::from_secs(1);

/// A room that is off: everybody gets a pass at once.
fn world(seed: u64) -> World {
    let mut world = World::new(seed, 60);
    world.change_room(|room| room.state = RoomState::Off);
    world.run(2 * SECOND);
    world
}

/// A visitor's pass, if the door is not busy.
fn pass(world: &mut World) -> Option<String> {
    let location = world.request(&GET).ok()?.location?;
    location.strip_prefix("https://shop.example/sale?bk_pass=").map(ToOwned::to_owned)
}

fn part(pass: &str, index: usize) -> serde_json::Value {
    let part = pass.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn kid(pass: &str) -> String {
    part(pass, 0)["kid"].as_str().unwrap().to_owned()
}

/// The check of a shop that knows these keys, at the moment at which the pass was signed.
fn verify(keys: Jwks, pass: &str) -> Result<Claims, Refused> {
    let (issuer, audience) = ("https://room.example/prod".into(), "sale".into());
    Verifier { issuer, audience, keys }.verify(pass, part(pass, 1)["iat"].as_u64().unwrap())
}

fn ids(record: &KeyRecord) -> Vec<String> {
    record.keys().iter().map(|key| key.jwk.kid().to_owned()).collect()
}

#[test]
fn a_rotation_is_published_six_minutes_before_it_signs_and_old_passes_stay_valid() {
    let mut world = world(1);
    let first = pass(&mut world).unwrap();
    world.order_keys(KeyOrder::ROTATE);
    world.run(10 * SECOND);
    let published = pass(&mut world).unwrap();
    assert_eq!(kid(&published), kid(&first), "the new key is not used yet");
    let record = world.key_record();
    let [old, new] = &*ids(&record) else { panic!("both are published: {record:?}") };
    assert_eq!((record.is_asked_for_another(), old), (false, &kid(&first)));
    world.run(KeyRecord::LEAD_TIME.saturating_sub(2 * SECOND));
    let last = pass(&mut world).unwrap();
    assert_eq!(kid(&last), *old);
    world.run(3 * SECOND);
    assert_eq!(kid(&pass(&mut world).unwrap()), *new);
    // A pass is valid for an hour. The last one of the old key is verified until then.
    world.run(Duration::from_hours(1));
    pass(&mut world).unwrap();
    assert!(verify(world.key_record().jwks(), &last).is_ok());
    world.run(2 * Duration::from_mins(1));
    pass(&mut world).unwrap();
    assert_eq!(ids(&world.key_record()), std::slice::from_ref(new));
}

/// A shop that keeps the published keys for two hours, as an HTTP API of Amazon API Gateway does.
#[test]
fn a_shop_that_keeps_keys_for_two_hours_knows_every_key_that_was_rotated_so_far_ahead() {
    let two_hours = Duration::from_hours(2);
    let mut world = world(4);
    let first = kid(&pass(&mut world).unwrap());
    // The shop reads the keys just before the new one is published.
    let mut known = world.key_record().jwks();
    world.order_keys(KeyOrder::Rotate { lead_time: two_hours });
    for minute in 0..240 {
        if minute % 120 == 119 {
            known = world.key_record().jwks();
        }
        let pass = pass(&mut world).unwrap();
        assert!(verify(known.clone(), &pass).is_ok(), "minute {minute}");
        world.run(60 * SECOND);
    }
    assert_ne!(kid(&pass(&mut world).unwrap()), first, "it was rotated after all");
}

#[test]
fn a_dropped_key_signs_for_ten_seconds_at_most_and_another_takes_its_place() {
    let mut world = world(2);
    let first = pass(&mut world).unwrap();
    world.order_keys(KeyOrder::Drop { id: kid(&first) });
    world.run(10 * SECOND);
    let next = pass(&mut world).unwrap();
    assert_ne!(kid(&next), kid(&first));
    let keys = world.key_record().jwks();
    assert_eq!(verify(keys.clone(), &first), Err(Refused::Signature));
    assert!(verify(keys, &next).is_ok());
}

#[test]
fn proofs_outlive_every_key() {
    let mut world = World::new(3, 60);
    world.change_room(|room| room.state = RoomState::Paused);
    world.run(2 * SECOND);
    let joined = world.request(&GET).unwrap();
    let cookie = |set: &Option<String>| set.as_deref().unwrap().split(';').next().unwrap().to_owned();
    let cookies = format!("{}; {}", cookie(&joined.set_cookie), cookie(&joined.set_proof));
    world.change_room(|room| room.state = RoomState::Off);
    world.run(2 * SECOND);
    for _ in 0..2 {
        let signing = kid(&pass(&mut world).unwrap());
        world.order_keys(KeyOrder::Drop { id: signing });
        world.run(SECOND);
        // Nobody has read the next secret yet.
        world.kill();
        world.boot();
    }
    let answer = world.request(&DoorRequest { cookies: &[&cookies], ..GET }).unwrap();
    let location = answer.location.unwrap();
    assert_eq!(part(location.split_once('=').unwrap().1, 1)["queue_position"], 1, "the number is proven");
}

/// Calls about the keys fail before or after they take effect, the room is killed in between, and the operator rotates and
/// drops. Whatever happens, a pass that the door gives is verified by the keys that are published then, and the room can sign
/// again as soon as nothing fails.
#[test]
fn no_pass_is_signed_with_a_key_that_is_not_published_and_the_room_can_always_sign() {
    for seed in 0..12 {
        let mut world = world(seed);
        let mut rng = StdRng::seed_from_u64(seed);
        let mut faults = StdRng::seed_from_u64(seed + 100);
        world.set_faults(move |call| {
            let is_about_keys = matches!(call, PortCall::Keys | PortCall::PublishKeys | PortCall::SecretKeys);
            let fault = match is_about_keys.then(|| faults.random_range(0..6)) {
                Some(0) => InjectedFault::Refused(Fault::Busy),
                Some(1) => InjectedFault::Unconfirmed,
                _ => InjectedFault::None,
            };
            (fault, Duration::ZERO)
        });
        let (mut passes, mut signed_with) = (0, std::collections::BTreeSet::new());
        let mut dropped = false;
        for step in 0..60 {
            match rng.random_range(0..8) {
                0 => world.order_keys(KeyOrder::ROTATE),
                1 => {
                    let record = world.key_record();
                    if let Some(key) = record.keys().first() {
                        world.order_keys(KeyOrder::Drop { id: key.jwk.kid().to_owned() });
                        dropped = true;
                    }
                }
                2 => {
                    world.kill();
                    world.boot();
                }
                _ => {}
            }
            // After a drop, the room trusts the record that it holds for a minute, if it cannot read it.
            world.run(if dropped { 61 * SECOND } else { rng.random_range(1..200) * SECOND });
            dropped = false;
            if let Some(pass) = pass(&mut world) {
                let record = world.key_record();
                assert!(verify(record.jwks(), &pass).is_ok(), "seed {seed}, step {step}: {record:?}");
                let iat = part(&pass, 1)["iat"].as_u64().unwrap();
                let signing: Vec<_> =
                    record.keys().iter().filter(|key| key.state(iat) == KeyState::Signing).collect();
                assert!(signing.len() <= 1, "seed {seed}, step {step}: {record:?}");
                passes += 1;
                signed_with.insert(kid(&pass));
            }
        }
        assert!(passes >= 8 && signed_with.len() >= 3, "seed {seed}: {passes} passes, {signed_with:?}");
        world.clear_faults();
        world.run(11 * SECOND);
        assert!(pass(&mut world).is_some(), "seed {seed}");
    }
}

/// Whoever looks at the door gets no place and no pass. So `beekeeper deploy` finds keys in a room that nobody has joined.
#[test]
fn a_look_at_the_door_makes_the_keys_that_could_not_be_made_before() {
    let mut world = World::new(1, 60);
    let look = DoorRequest { shown: ShownIn::Nothing, ..GET };
    let status = |world: &mut World| world.request(&look).unwrap().status;
    for too_slow in [Duration::ZERO, 10 * SECOND] {
        world.set_faults(move |call| match call {
            PortCall::SecretKeys if too_slow.is_zero() => {
                (InjectedFault::Refused(Fault::Busy), Duration::ZERO)
            }
            PortCall::SecretKeys => (InjectedFault::None, too_slow),
            _ => (InjectedFault::None, Duration::ZERO),
        });
        assert_eq!(status(&mut world), 302);
        assert!(world.key_record().keys().is_empty());
        world.run(10 * SECOND);
    }
    world.clear_faults();
    assert_eq!(status(&mut world), 302);
    assert_eq!(world.key_record().keys().len(), 1);
}
