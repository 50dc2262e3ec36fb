//! Rooms that observe: everybody passes, and the room counts what the line would have been.

use std::time::Duration;

use fault_simulation::{InjectedFault, PortCall, World};
use producer::{DoorRequest, PlaceLimit};
use waitroom::ports::Fault;
use waitroom::{MinuteCount, Mode, RoomState};

use crate::straight_in::come_evenly;

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

fn observing(seed: u64, rate: u32) -> World {
    let mut world = World::new(seed, rate);
    world.change_room(|room| room.settings.mode = Mode::Observe);
    world.run(4 * MINUTE);
    assert!(world.room().quiet, "nothing runs while nobody waits");
    world
}

/// How many would have waited, the longest line, the longest wait, and the most who came in a minute.
fn would_have_been(minutes: &[MinuteCount]) -> (u64, u64, u64, u64) {
    let lines = || minutes.iter().filter_map(|minute| minute.observed);
    let most = |figure: fn(waitroom::ObservedLine) -> u64| lines().map(figure).max().unwrap_or_default();
    let waited = lines().map(|line| line.waited).sum();
    (waited, most(|line| line.longest_line), most(|line| line.longest_wait), most(|line| line.busiest))
}

#[test]
fn at_ten_times_the_rate_everybody_passes_and_the_line_is_what_arithmetic_says() {
    for rate in [60_u32, 600] {
        let mut world = observing(1, rate);
        world.set_faults(|call| {
            let is_of_line = matches!(call, PortCall::Join | PortCall::Receive | PortCall::LeaseTickets);
            assert!(!is_of_line, "nobody asks the line");
            (InjectedFault::None, Duration::ZERO)
        });
        come_evenly(&mut world, 10.0 * f64::from(rate), 4 * MINUTE);
        world.run(3 * MINUTE);
        let (outcome, came) = (world.outcome(), 40 * rate);
        assert_eq!((outcome.straight, outcome.released(), outcome.told_to_retry), (came, 0, 0), "at {rate}");
        assert_eq!((outcome.twice.len(), outcome.counted), (0, came.into()));
        assert_eq!(world.counts(), (came.into(), 0, came.into()));
        let (waited, line, wait, busiest) = would_have_been(&world.minutes());
        // In four minutes, nine tenths of them would have stayed; a second's or ten visitors' share was saved up.
        let (exact, rate) = (u64::from(36 * rate), u64::from(rate));
        assert!((exact - rate / 6 - 10..=exact).contains(&line), "a line of {line}, not {exact}");
        assert!((36 * 60 - 20..=36 * 60).contains(&wait), "a wait of {wait} s");
        assert!((waited..waited + 10 + rate / 6).contains(&u64::from(came)), "{waited} of {came} waited");
        assert!(busiest.abs_diff(10 * rate) <= 1, "{busiest} in a minute");
        // Who would stand in line is released at the rate, also while nobody comes.
        let waiting: Vec<_> =
            world.minutes().iter().filter_map(|minute| Some(minute.observed?.waiting)).collect();
        let [.., before, last] = waiting[..] else { panic!("{waiting:?}") };
        assert_eq!(before - last, rate);
    }
}

#[test]
fn at_half_the_rate_nobody_would_have_waited() {
    for rate in [2, 60, 1200] {
        let mut world = observing(2, rate);
        come_evenly(&mut world, f64::from(rate) / 2.0, 6 * MINUTE);
        world.run(2 * MINUTE);
        let (waited, line, wait, busiest) = would_have_been(&world.minutes());
        assert_eq!((waited, line, wait), (0, 0, 0), "at {rate}");
        assert!(busiest.abs_diff(u64::from(rate) / 2) <= 1, "{busiest} in a minute, at {rate}");
    }
}

#[test]
fn whoever_waits_when_the_mode_changes_passes_and_whoever_passed_can_come_back() {
    let mut world = World::new(3, 60);
    world.join(300);
    world.run(2 * MINUTE);
    let in_line = world.places();
    world.change_room(|room| room.settings.mode = Mode::Observe);
    world.run(2 * SECOND);
    world.join(500);
    // Most pages go to the door, twice, and the others were closed.
    for place in in_line[..250].iter().chain(&in_line[..250]) {
        world.visit(Some(*place));
    }
    world.run(10 * SECOND);
    let observed = world.outcome();
    assert_eq!((observed.straight, observed.told_to_retry), (500, 0));
    assert!(observed.by_door + observed.released() >= 250, "only {} left the line", observed.by_door);
    assert_eq!(
        observed.lost.len(),
        (300 - observed.by_door - observed.released()) as usize,
        "those whose page is closed"
    );

    world.change_room(|room| room.settings.mode = Mode::Line);
    world.run(2 * SECOND);
    let passed: Vec<_> = world.observations.lock().redirected[300..].to_vec();
    assert_eq!(passed.len(), 500);
    for place in passed.iter().chain(&in_line[..250]) {
        world.visit(Some(*place));
    }
    world.join(50);
    world.run(10 * SECOND);
    let line = world.outcome();
    assert_eq!(
        (line.straight, line.by_door),
        (500, observed.by_door),
        "they go in as before, and newcomers wait"
    );
    world.drain(10);
    let outcome = world.outcome();
    assert_eq!((outcome.lost.len(), outcome.twice.len(), world.waiting()), (0, 0, 0));
    assert_eq!((outcome.straight, outcome.released()), (500, 350 - outcome.by_door));
    assert_eq!(outcome.counted, u64::from(outcome.straight + outcome.released()), "nobody counts twice");
}

#[derive(Debug)]
struct NoPlaces;

impl PlaceLimit for NoPlaces {
    fn take(&self) -> Result<(), Duration> {
        Err(MINUTE)
    }

    fn give_back(&self) {}
}

#[test]
fn whatever_fails_everybody_passes() {
    let passes = |world: &mut World, request: &DoorRequest<'_>, limit| {
        let answer = world.limited_request(request, limit).unwrap();
        assert!(answer.location.as_deref().is_some_and(|to| to.contains("bk_pass=")), "{answer:?}");
        answer.set_cookie.and_then(|set| Some(set.split(';').next()?.to_owned()))
    };
    let mut world = observing(4, 60);
    let cookie = passes(&mut world, &DoorRequest::GET, None).expect("they can come back");
    let again = DoorRequest { cookies: &[&cookie], ..DoorRequest::GET };
    assert_eq!(passes(&mut world, &again, None), None);
    let unknown = "bk_sale=ab12-000102030405060708090a0b0c0d0e0f-7";
    let notes = |call| matches!(call, PortCall::LookUp | PortCall::Admit | PortCall::CountNewcomers);
    let broken = [Fault::Busy, Fault::Broken, Fault::Unsure].map(InjectedFault::Refused);
    for (fault, takes) in
        broken.map(|fault| (fault, SECOND / 50)).into_iter().chain([(InjectedFault::None, MINUTE)])
    {
        world.set_faults(
            move |call| if notes(call) { (fault, takes) } else { (InjectedFault::None, Duration::ZERO) },
        );
        for cookies in [&[][..], &[cookie.as_str()], &[unknown]] {
            let request = DoorRequest { cookies, ..DoorRequest::GET };
            assert_eq!(passes(&mut world, &request, None), None, "no place that nobody knows");
        }
    }
    world.clear_faults();

    let before = world.outcome().straight;
    assert_eq!(
        passes(&mut world, &DoorRequest::GET, Some(&NoPlaces)),
        None,
        "nor one that an address may not take"
    );
    assert_eq!(world.outcome().straight, before);
}

#[test]
fn only_a_room_that_is_on_observes() {
    let mut world = observing(5, 60);
    for state in [RoomState::Paused, RoomState::Closed, RoomState::Ended] {
        world.change_room(move |room| room.turn(state));
        world.run(2 * SECOND);
        world.join(5);
        world.run(SECOND);
        assert_eq!(world.outcome().straight, 0, "{state}");
    }
    world.change_room(|room| room.turn(RoomState::On));
    world.drain(5);
    assert_eq!(world.outcome().lost, [], "who joined while it was paused");
    // The throttle holds up nobody.
    world.change_room(|room| room.throttled = Some(waitroom::Rate::MIN));
    world.join(20);
    world.run(10 * SECOND);
    assert_eq!(world.outcome().straight, 20);
}
