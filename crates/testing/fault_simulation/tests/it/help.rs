//! Whoever asks for help gets a code, by which the operator lets them in by hand: once, whatever fails meanwhile.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use producer::{DoorAnswer, DoorRequest};
use waitroom::ports::{Admitted, Fault};
use waitroom::{HelpCall, HelpCode, Place, RoomState};

const MINUTE: Duration = Duration::from_mins(1);

/// The cookies of somebody who waits: a place, and its proof.
fn cookies(world: &World, place: Place) -> [String; 2] {
    let observations = world.observations.lock();
    let proof = &observations.proofs[&place];
    [format!("bk_sale={place}"), proof.clone()]
}

fn ask(world: &mut World, cookies: &[String]) -> DoorAnswer {
    let cookies: Vec<_> = cookies.iter().map(String::as_str).collect();
    let request = DoorRequest { cookies: &cookies, asks_for_help: true, ..DoorRequest::GET };
    world.request(&request).unwrap_or_else(|_| DoorAnswer::busy())
}

fn code(answer: &DoorAnswer) -> Option<HelpCode> {
    answer.body.split(['>', '<']).find_map(|text| text.parse().ok())
}

/// A paused room with so many in line.
fn paused(visitors: usize) -> (World, Vec<Place>) {
    let mut world = World::new(1, 60);
    world.change_room(|room| room.turn(RoomState::Paused));
    world.run(MINUTE);
    world.join(visitors);
    world.run(MINUTE);
    let places = world.places();
    (world, places)
}

#[test]
fn who_is_let_in_by_hand_enters_at_once_and_the_line_counts_them_never() {
    let (mut world, places) = paused(100);
    let last = *places.last().unwrap();
    let cookies = cookies(&world, last);
    let answer = ask(&mut world, &cookies);
    let code = code(&answer).unwrap();
    let call = world.help_call(code).unwrap();
    assert_eq!((call.place, answer.status), (last, 200));
    assert_eq!(world.let_in(call), Some(Admitted::Now));
    let entering = ask(&mut world, &cookies);
    assert!(entering.location.unwrap().starts_with("https://shop.example/sale?"));
    world.change_room(|room| room.turn(RoomState::On));
    world.drain(30);
    let outcome = world.outcome();
    assert_eq!((outcome.released(), outcome.lost.len(), outcome.twice.len()), (99, 0, 0));
    assert_eq!(outcome.above_rate(), None);
}

#[test]
fn without_a_proof_there_is_no_code() {
    let (mut world, places) = paused(3);
    let place = format!("bk_sale={}", places[0]);
    for cookies in [&[][..], std::slice::from_ref(&place), &[place.clone(), "bk_sale_proof=AAAA".to_owned()]]
    {
        let answer = ask(&mut world, cookies);
        assert_eq!((code(&answer), answer.status), (None, 302), "{cookies:?}");
    }
}

#[test]
fn a_code_outlives_a_crash_and_refused_writes_only_make_a_visitor_ask_again() {
    let (mut world, places) = paused(3);
    let cookies = cookies(&world, places[0]);
    world.set_faults(|call| match call {
        PortCall::NoteCall => (InjectedFault::Refused(Fault::Busy), Duration::ZERO),
        _ => (InjectedFault::None, Duration::ZERO),
    });
    assert_eq!(ask(&mut world, &cookies).status, 503);
    world.set_faults(|call| match call {
        PortCall::NoteCall => (InjectedFault::Unconfirmed, Duration::ZERO),
        _ => (InjectedFault::None, Duration::ZERO),
    });
    assert_eq!(ask(&mut world, &cookies).status, 503);
    world.set_faults(|_| (InjectedFault::None, Duration::ZERO));
    let code = code(&ask(&mut world, &cookies)).unwrap();
    world.lose_power();
    world.boot();
    world.run(MINUTE);
    let call = world.help_call(code).unwrap();
    assert_eq!(world.let_in(call), Some(Admitted::Now));
    world.kill();
    world.boot();
    world.run(MINUTE);
    assert!(matches!(world.let_in(call), Some(Admitted::Before(_))));
    let entering = ask(&mut world, &cookies);
    assert!(entering.location.unwrap().starts_with("https://shop.example/sale?"));
    // An hour later the room has forgotten whose code it was.
    world.run(HelpCall::KEPT + 2 * MINUTE);
    assert_eq!(world.help_call(code), None);
}
