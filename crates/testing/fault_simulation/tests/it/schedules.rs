//! Hundreds of random runs: joins, returns, kills, orders and faults, all at random times.

use std::time::Duration;

use emulators::thirds;
use fault_simulation::{InjectedFault, PortCall, ShopHealth, SimOutcome, World};
use memory::LineBehaviour;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simulation::SimClock;
use waitroom::ports::{Clock, Fault};
use waitroom::{Mode, Oversubscription, Rate, RoomState};

const MINUTE: Duration = Duration::from_mins(1);

/// Injects a random fault into each call with this probability. Once, the ledger refuses all writes for up to three minutes.
fn random_faults(
    seed: u64,
    chance: f64,
    clock: SimClock,
) -> impl FnMut(PortCall) -> (InjectedFault, Duration) + Send {
    let mut rng = StdRng::seed_from_u64(seed);
    let from = clock.now() + Duration::from_secs(rng.random_range(30..240));
    let refuses = from..from + Duration::from_secs(rng.random_range(1..180));
    let fault = [Fault::Busy, Fault::Broken, Fault::Unsure][rng.random_range(0..3)];
    move |call| {
        let takes = Duration::from_millis(rng.random_range(1..40));
        if call.writes() && chance > 0.0 && refuses.contains(&clock.now()) {
            return (InjectedFault::Refused(fault), takes);
        }
        if !rng.random_bool(chance) {
            return (InjectedFault::None, takes);
        }
        let fault = match (call, rng.random_range(0..6)) {
            (PortCall::Receive, 0..2) => InjectedFault::EmptyLine,
            (PortCall::Receive, 2) => InjectedFault::DeliveredTwice,
            (PortCall::Receive, 3) => InjectedFault::DeliveredAgain,
            (_, 0..3) => InjectedFault::Refused(Fault::Busy),
            (_, 3) => InjectedFault::Refused(Fault::Broken),
            _ => InjectedFault::Unconfirmed,
        };
        // A call with a fault also takes longer.
        (fault, takes * rng.random_range(1..50))
    }
}

/// A line out of order, with a count that lags, messages that come again, and a limit of messages in flight.
fn random_line(seed: u64) -> LineBehaviour {
    let mut rng = StdRng::seed_from_u64(!seed);
    LineBehaviour {
        hosts: rng.random_range(2..20),
        disorder: 10_u64.pow(rng.random_range(0..5)),
        count_lag: Duration::from_secs(rng.random_range(0..120)),
        duplicates: rng.random_range(0.0..0.1),
        most_in_flight: if rng.random_bool(0.2) { 20 } else { LineBehaviour::SQS_IN_FLIGHT },
        unused: rng.random_range(0.0..0.5),
    }
}

/// How many more a release lets in at most.
const MOST_MORE: u32 = 400;

/// Whoever gives the order asks first.
fn release(world: &mut World, more: u32) {
    world.change_room(move |room| {
        if room.releases() && room.extra.is_none() {
            room.release_more(more.try_into().unwrap());
        }
    });
}

fn random_state(rng: &mut StdRng) -> RoomState {
    match rng.random_range(0..10) {
        0..=1 => RoomState::Off,
        2..=3 => RoomState::Paused,
        4 => RoomState::Closed,
        5 => RoomState::Ended,
        _ => RoomState::On,
    }
}

fn random_run(seed: u64, chance: f64, killed: bool) -> (SimOutcome, u32) {
    random_run_over(Surroundings::default(), seed, chance, killed)
}

/// Where a random run differs from others.
#[derive(Clone, Copy, Default)]
struct Surroundings {
    /// Instead of the store's own, which is in order.
    line: Option<LineBehaviour>,
    /// The orders also let everybody pass.
    observes: bool,
    /// Once, the clock is set back by minutes.
    set_back: bool,
}

fn random_run_over(of: Surroundings, seed: u64, chance: f64, killed: bool) -> (SimOutcome, u32) {
    let Surroundings { line, observes, set_back } = of;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut largest_rate = rng.random_range(30..2500);
    let mut world = World::new(seed, largest_rate);
    if let Some(line) = line {
        world = world.with_line(line);
    }
    if seed.is_multiple_of(2) {
        world = world.with_throttle();
    }
    if seed.is_multiple_of(3) {
        // Nobody can wait in it yet.
        world.change_room(|room| (room.settings.mode, room.quiet) = (Mode::Overflow, true));
    }
    let surplus = if seed.is_multiple_of(5) { rng.random_range(1..=100) } else { 0 };
    if let Ok(most) = Oversubscription::new(surplus) {
        world.change_room(move |room| room.settings.oversubscribe = Some(most));
    }
    world.set_faults(random_faults(seed, chance, world.clock.clone()));
    let steps = rng.random_range(20..60);
    let set_back_at = set_back.then(|| rng.random_range(0..steps));
    for step in 0..steps {
        if set_back_at == Some(step) {
            world.set_clock_back(Duration::from_secs(rng.random_range(1..600)));
        }
        match rng.random_range(0..18) {
            0..5 => world.join(rng.random_range(1..60)),
            5 => {
                let somebody = {
                    let places = &world.observations.lock().redirected;
                    (!places.is_empty()).then(|| places[rng.random_range(0..places.len())])
                };
                world.visit(somebody);
            }
            6 => drop(world.fire_trigger()),
            7 => {
                let rate = rng.random_range(1..2500);
                largest_rate = largest_rate.max(rate);
                world.set_rate(rate);
            }
            8 => {
                let state = random_state(&mut rng);
                world.change_room(move |room| room.state = state);
            }
            13 => {
                let opens = world.clock.now() + Duration::from_millis(rng.random_range(0..240_000));
                world.change_room(move |room| room.open_at(opens));
            }
            14 => {
                let at = Duration::from_millis(rng.random_range(0..120_000));
                let (closes, ends) = (world.clock.now() + at, world.clock.now() + 2 * at);
                world.change_room(move |room| (room.closes, room.ends) = (Some(closes), Some(ends)));
            }
            15 => {
                let mode = if rng.random_bool(0.7) { Mode::Overflow } else { Mode::Line };
                let mode = if observes && rng.random_bool(0.7) { Mode::Observe } else { mode };
                world.change_room(move |room| room.settings.mode = mode);
            }
            16 => {
                let size = rng.random_range(1..=300).try_into().unwrap();
                world.change_room(move |room| room.sell(size));
            }
            17 => release(&mut world, rng.random_range(1..=MOST_MORE)),
            9 if killed => _ = world.kill_one_consumer(),
            10 if killed => {
                world.kill();
                world.boot();
            }
            12 => {
                let slow = ShopHealth::Answers(Duration::from_millis(rng.random_range(50..300)));
                world.shop.set(if rng.random_bool(0.2) { ShopHealth::Down } else { slow });
            }
            11 if killed => {
                world.lose_power();
                world.boot();
            }
            _ => {}
        }
        if surplus > 0 {
            // Half of those whom it has let in so far come, some of them again.
            let places = world.observations.lock().redirected.clone();
            for place in places.into_iter().filter(|_| rng.random_bool(0.5)).take(100) {
                world.visit(Some(place));
            }
        }
        world.run(Duration::from_millis(rng.random_range(1..20_000)));
    }
    world.clear_faults();
    let rate = rng.random_range(600..2500);
    largest_rate = largest_rate.max(rate);
    world.change_room(|room| {
        room.turn(RoomState::On);
        (room.closes, room.ends, room.stock, room.extra) = (None, None, None, None);
    });
    world.set_rate(rate);
    world.shop.set(ShopHealth::Answers(Duration::from_millis(50)));
    world.drain(120);
    if line.is_some() && !killed {
        assert_eq!(world.moved_back(), [], "seed {seed}: who stood first enters last");
    }
    let most = Rate::new(largest_rate).unwrap().increased_by(surplus).plus(MOST_MORE);
    (world.outcome(), most.get())
}

/// Also where everybody passed for a while, whatever the rate.
fn assert_nobody_is_lost_or_released_twice(seed: u64, outcome: &SimOutcome) {
    assert_eq!((outcome.lost.len(), outcome.twice.len()), (0, 0), "seed {seed}: lost, twice");
    assert_eq!(outcome.above_quota(), [], "seed {seed}: slices above their quota");
    let released = outcome.released();
    assert!(outcome.reported <= released, "seed {seed}: reported more than were released");
    let let_in = released + outcome.straight;
    assert!(outcome.counted <= let_in.into(), "seed {seed}: counted more than were let in");
    for (order, (size, taken)) in outcome.stocks() {
        assert!(taken <= size, "seed {seed}: {taken} of the stock of {size} by order {order}");
    }
}

fn assert_nobody_is_lost_or_counted_twice(seed: u64, (outcome, largest_rate): &(SimOutcome, u32)) {
    assert_nobody_is_lost_or_released_twice(seed, outcome);
    assert_eq!(outcome.above_rate(), None, "seed {seed}");
    // Visitors are released in batches of ten. A fault may delay one batch more into the same second.
    let largest = outcome.largest_second();
    assert!(
        largest <= 10 * (2 * *largest_rate as usize).div_ceil(600) + 10,
        "seed {seed}: {largest} in one second, at a rate of at most {largest_rate}"
    );
}

/// A sample of the runs below, for quick tests.
#[test]
fn ten_runs_with_faults_five_of_them_with_kills() {
    for seed in (0..5).chain(200..205) {
        assert_nobody_is_lost_or_counted_twice(seed, &random_run(seed, 0.05, seed >= 200));
    }
}

#[test]
#[ignore = "takes a minute: cargo xtask test fault_simulation"]
fn two_hundred_runs_with_faults() {
    for seed in thirds::of_this_run(0..200) {
        assert_nobody_is_lost_or_counted_twice(seed, &random_run(seed, 0.05, false));
    }
}

#[test]
#[ignore = "takes a minute: cargo xtask test fault_simulation"]
fn two_hundred_runs_with_faults_and_kills() {
    for seed in thirds::of_this_run(200..400) {
        assert_nobody_is_lost_or_counted_twice(seed, &random_run(seed, 0.05, true));
    }
}

#[test]
fn twenty_runs_with_faults_in_two_of_five_calls() {
    for seed in 400..420 {
        assert_nobody_is_lost_or_counted_twice(seed, &random_run(seed, 0.4, true));
    }
}

#[test]
fn twenty_runs_with_faults_in_which_the_room_observes_at_times() {
    for seed in 800..820 {
        let (outcome, _) = random_run_over(
            Surroundings { observes: true, ..Surroundings::default() },
            seed,
            0.05,
            seed >= 810,
        );
        assert_nobody_is_lost_or_released_twice(seed, &outcome);
    }
}

#[test]
fn ten_runs_with_faults_in_which_the_clock_is_set_back() {
    for seed in 900..910 {
        let set_back = Surroundings { set_back: true, ..Surroundings::default() };
        let (outcome, _) = random_run_over(set_back, seed, 0.05, seed >= 905);
        assert_nobody_is_lost_or_released_twice(seed, &outcome);
    }
}

fn random_run_out_of_order(seed: u64, killed: bool) -> (SimOutcome, u32) {
    let line = Some(random_line(seed));
    random_run_over(Surroundings { line, ..Surroundings::default() }, seed, 0.05, killed)
}

#[test]
fn ten_runs_with_faults_over_a_line_that_is_out_of_order() {
    for seed in 500..510 {
        let run = random_run_out_of_order(seed, seed >= 505);
        assert_nobody_is_lost_or_counted_twice(seed, &run);
    }
}

#[test]
#[ignore = "takes a minute: cargo xtask test fault_simulation"]
fn two_hundred_runs_with_faults_over_a_line_that_is_out_of_order() {
    for seed in thirds::of_this_run(500..700) {
        let run = random_run_out_of_order(seed, seed >= 600);
        assert_nobody_is_lost_or_counted_twice(seed, &run);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (one, other) = (random_run(7, 0.1, true).0, random_run(7, 0.1, true).0);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// A window in which enough visitors wait releases exactly its quota, at every rate.
fn assert_every_window_releases_exactly_its_quota(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let mut rng = StdRng::seed_from_u64(seed);
        let rate = rng.random_range(1..4000);
        let mut world = World::new(seed, rate);
        world.set_faults(random_faults(seed, 0.0, world.clock.clone()));
        // Of more at once, the door would ask some to come again.
        for _ in 0..3 {
            world.join(rate as usize);
            world.run(Duration::from_secs(2));
        }
        world.run(Duration::from_millis(rng.random_range(1..2000)));
        world.run(3 * MINUTE);
        let windows: Vec<_> = world.outcome().windows().into_values().collect();
        // The first window was planned while visitors were still joining.
        for (released, quota) in &windows[1..3] {
            assert_eq!(released, quota, "seed {seed}: {windows:?}");
            // Windows end when the trigger runs, which takes a few milliseconds more or less.
            assert!(quota.abs_diff(rate) <= 1 + rate / 100, "seed {seed}: {quota} at {rate}");
        }
        let (largest, whole_batches) = (world.outcome().largest_second(), (2 * rate as usize).div_ceil(600));
        assert!(largest <= 10 * whole_batches, "seed {seed}: {largest} in one second of a rate of {rate}");
    }
}

#[test]
fn without_faults_four_rooms_release_exactly_their_quotas() {
    assert_every_window_releases_exactly_its_quota(0..4);
}

#[test]
#[ignore = "takes a minute: cargo xtask test fault_simulation"]
fn without_faults_every_window_releases_exactly_its_quota() {
    assert_every_window_releases_exactly_its_quota(thirds::of_this_run(0..60));
}
