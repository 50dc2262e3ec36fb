//! Nobody came for a while, so rooms of every rate are quiet. Then somebody comes, and after two minutes somebody else. Meanwhile
//! another room lets newcomers straight in, and then observes.

use std::thread;
use std::time::Duration;

use deployed_rooms::{SamRoom, until};
use emulators::{LocalEmu, Options};
use waitroom::ports::{Admissions, LineLength, MinuteLog, NewcomerCount, RoomReader, Store};
use waitroom::{Mode, Place, Timestamp, Valve};

/// A minute, from the least to the most. At one a minute a window has a batch, and somebody who missed it would wait a minute.
const RATES: [u32; 5] = [1, 6, 20, 600, 6000];

/// On AWS the first visitor after two minutes of quiet enters within five seconds, and `fault_simulation` holds the handlers to
/// that. Here it took 0.3 to 2.4 s on a machine that compiled meanwhile. A busy machine may take ten times as long, and gets two
/// more tries: somebody who waited for a batch that left before would wait half a minute at 20 a minute, and a minute at the lowest
/// rates, every time.
const AFTER_SILENCE: Duration = Duration::from_secs(24);
const TRIES: u32 = 3;

/// Who wakes a room waits for functions that have never run, and all five rooms wake at the same instant in one emulator: 6.5 to
/// 8.3 s on that machine.
const AFTER_WAKING: Duration = Duration::from_mins(1);

/// What a door says that gave up waking its room, because the emulator was too slow. Then the schedule does it, within a minute.
const TOO_SLOW: [&str; 2] = ["doesn't wait until the room is awake", "the store took longer than"];
const AFTER_SCHEDULE: Duration = Duration::from_mins(3);

const SILENCE: Duration = Duration::from_mins(2);

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn the_first_visitor_after_quiet_enters_at_once_at_every_rate_and_so_does_the_next_after_two_minutes() {
    // Six rooms are enough for one emulator.
    let aws: &'static LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let deploy = |name: &str, rate| SamRoom::deploy_to(aws, name, rate).unwrap();
    let overflowing = deploy("overflowing", 600);
    // All of them before the first is played: a deployment would hold up whoever wakes a room meanwhile.
    let rooms = RATES.map(|rate| deploy(&format!("quiet-{rate}"), rate));
    let waits = thread::scope(|scope| {
        scope.spawn(|| {
            newcomers_go_straight_in(&overflowing);
            everybody_passes_and_is_counted(&overflowing);
        });
        let played =
            rooms.iter().zip(RATES).map(|(room, rate)| scope.spawn(move || waits_after_quiet(room, rate)));
        let played: Vec<_> = played.collect();
        played.into_iter().map(|played| played.join().unwrap()).collect::<Vec<_>>()
    });
    for (rate, [woke, after_silence]) in RATES.iter().zip(&waits) {
        println!(
            "{rate} a minute: the first after quiet was admitted after {woke:?}, the first after two more minutes without \
             releases after {after_silence:?}"
        );
    }
    for (room, waits) in rooms.iter().zip(waits) {
        let [woke, after_silence] = waits;
        let door = room.log("ProducerFunction").unwrap();
        let was_slow = TOO_SLOW.iter().any(|said| door.contains(said));
        let patience = if was_slow { AFTER_SCHEDULE } else { AFTER_WAKING };
        assert!(woke <= patience && after_silence <= AFTER_SILENCE, "{waits:?}, the door said {door}");
    }
}

/// How long two visitors wait, from the click: one who wakes the quiet room, and one who comes two minutes after the last of a
/// batch was admitted.
fn waits_after_quiet(room: &SamRoom, rate: u32) -> [Duration; 2] {
    let stage = &room.stage;
    let quiet = || Ok(stage.ask(|| stage.store().room())?.quiet);
    until("it is quiet", Duration::from_mins(6), quiet).unwrap();
    let clicked = stage.now();
    let first = join(room);
    // A whole batch puts the window ahead of its rate, which the next plan could carry over.
    let rest: Vec<_> = (1..rate.min(10)).map(|_| join(room)).collect();
    let woke = admitted(room, first).since(clicked);
    for place in rest {
        admitted(room, place);
    }
    let after_silence = || {
        thread::sleep(SILENCE);
        let clicked = stage.now();
        let next = join(room);
        admitted(room, next).since(clicked)
    };
    let mut tries = (0..TRIES).map(|_| after_silence());
    [woke, tries.find(|wait| *wait <= AFTER_SILENCE).unwrap_or(Duration::MAX)]
}

/// Nobody asks the line meanwhile: none of them is in it.
fn newcomers_go_straight_in(SamRoom { stage, .. }: &SamRoom) {
    let overflow = || stage.store().change_room("set the mode", |room| room.settings.mode = Mode::Overflow);
    stage.ask(overflow).unwrap();
    let is_open =
        || Ok(matches!(stage.ask(|| stage.store().room())?.valve_at(stage.now()).valve, Valve::Doors(_)));
    until("newcomers go straight in", Duration::from_mins(5), is_open).unwrap();
    // Until the slice is over that looks for the last of the line.
    thread::sleep(Duration::from_secs(30));
    let (before, issued) =
        (stage.released().unwrap(), || stage.ask(|| stage.store().line().issued()).unwrap().last);
    let places = issued();
    for newcomer in 1..=5 {
        let answer = stage.client().newcomer(&[]);
        assert!(answer.location().contains("bk_pass="), "{answer:?}");
        let cookie = stage.client().cookie(&answer);
        assert_eq!(stage.client().get_with("/polling", &cookie).json()["allow"], true);
        // A permit that was taken so slowly that the door asked again may count twice.
        assert!(stage.released().unwrap() >= before + newcomer && issued() == places, "{newcomer}");
    }
}

/// More come at once than the doors of overflow would let in.
fn everybody_passes_and_is_counted(room: &SamRoom) {
    let stage = &room.stage;
    stage
        .ask(|| stage.store().change_room("set the mode", |room| room.settings.mode = Mode::Observe))
        .unwrap();
    // Until every function knows.
    thread::sleep(Duration::from_secs(5));
    let before = stage.released().unwrap();
    for _ in 0..20 {
        let answer = stage.client().newcomer(&[]);
        assert!(answer.location().contains("bk_pass="), "{answer:?}");
    }
    // The door of a busy machine gives up on some within a second, and says so.
    let log = room.log("ProducerFunction").unwrap();
    let known = 20_u64.saturating_sub(log.matches("a visitor passes ").count() as u64);
    assert!(known >= 10, "{known} of 20\n{log}");
    let released = stage.released().unwrap() - before;
    assert!((known..=20).contains(&released), "{released} of 20, {known} for certain");
    let noted = || {
        let records = stage.ask(|| stage.store().minutes(stage.now() - Duration::from_mins(3)))?;
        let busiest =
            records.iter().filter_map(|record| record.totals.observed).map(|line| line.line.busiest);
        Ok(busiest.max().is_some_and(|busiest| (known / 2..=20).contains(&busiest)))
    };
    until("the trigger has noted them", Duration::from_mins(3), noted).unwrap();
    let forgotten = || Ok(stage.ask(|| stage.store().newcomers())?.is_empty());
    until("the trigger has forgotten when they came", Duration::from_mins(5), forgotten).unwrap();
}

fn join(SamRoom { stage, .. }: &SamRoom) -> Place {
    let cookie = stage.client().join();
    let (_, value) = cookie.split_once('=').unwrap();
    value.parse().unwrap()
}

/// When the visitor was admitted.
fn admitted(SamRoom { stage, .. }: &SamRoom, place: Place) -> Timestamp {
    let admission = || stage.ask(|| stage.store().admission(place.token));
    until("a visitor is admitted", Duration::from_mins(3), || Ok(admission()?.is_some())).unwrap();
    admission().unwrap().unwrap().at
}
