//! A shop with room for so many at once is full, and never fuller, and lets in as many as Little's law says.

use std::ops::Range;
use std::time::Duration;

use simulation::{CrowdHabits, Scenario, ShopVisits, SimulatedEvent, Simulation};
use waitroom::ActiveLimit;

use crate::scenarios::{on_aws, on_one_machine};

const RATE: u32 = 3000;
const PLACES: u32 = 1000;
const STAY: Duration = Duration::from_mins(10);

/// A shop that ends each session itself, with room for a thousand.
fn visits() -> ShopVisits {
    ShopVisits {
        limit: ActiveLimit {
            visitors: PLACES,
            idle: ActiveLimit::DEFAULT_IDLE,
            session: ActiveLimit::DEFAULT_SESSION,
        },
        admission: Duration::from_mins(10),
        stay: STAY,
        ended: 1.0,
        is_reported: true,
    }
}

fn run(scenario: Scenario, visits: ShopVisits) -> SimulatedEvent {
    let limit = visits.limit.visitors;
    let event = Simulation::run(&Scenario { visits: Some(visits), ..scenario }, |_| true);
    // The most is counted whenever somebody enters, so this is about the whole run.
    assert!(event.shop.unwrap().most <= limit, "{:?}", event.shop);
    assert_eq!(event.visitors.still_waiting, 0, "{:?}", event.visitors);
    event
}

fn mean(event: &SimulatedEvent, minutes: Range<usize>, of: impl Fn(usize) -> u64) -> f64 {
    assert!(minutes.end < event.minutes.len(), "{} minutes", event.minutes.len());
    let count = minutes.len();
    let [sum, count] = [minutes.map(of).sum::<u64>(), count as u64];
    [sum, count]
        .map(|number| f64::from(u32::try_from(number).unwrap()))
        .into_iter()
        .reduce(|a, b| a / b)
        .unwrap()
}

fn entered(event: &SimulatedEvent, minutes: Range<usize>) -> f64 {
    mean(event, minutes, |minute| event.minutes[minute].entered)
}

fn in_shop(event: &SimulatedEvent, minutes: Range<usize>) -> f64 {
    mean(event, minutes, |minute| event.minutes[minute].in_shop.unwrap().into())
}

/// The time for which a visitor is in the shop, in minutes: how many are there, and how many come a minute.
fn by_littles_law(event: &SimulatedEvent, minutes: Range<usize>) -> f64 {
    in_shop(event, minutes.clone()) / entered(event, minutes)
}

#[test]
fn a_full_shop_lets_in_as_many_as_leave() {
    for scenario in [on_one_machine(8000, "spike", RATE), on_aws(8000, "spike", RATE)] {
        let event = run(scenario, visits());
        let full = 15..75;
        // Half a minute after the end of a stay its session is over.
        let stays = by_littles_law(&event, full.clone());
        assert!((10.0..11.0).contains(&stays), "{stays} minutes");
        // A place is empty for a minute or so: until the next window, and until its turn in that.
        let entered = entered(&event, full);
        assert!((82.0..=100.0).contains(&entered), "{entered} a minute");
        let shop = event.shop.unwrap();
        assert!(shop.most > 940 && shop.full_for > 70 * 60, "{shop:?}");
        assert!(event.waits.longest > 70.0 * 60.0, "{:?}", event.waits);
    }
}

#[test]
fn whoever_leaves_without_a_word_is_in_the_way_until_their_session_ends() {
    let event = run(on_one_machine(8000, "spike", RATE), ShopVisits { ended: 0.0, ..visits() });
    // Long enough that it doesn't matter that the first thousand came together.
    let stays = by_littles_law(&event, 60..200);
    // Ten minutes, twenty more without a word, and no session longer than two hours.
    assert!((29.0..31.0).contains(&stays), "{stays} minutes");
    let entered = entered(&event, 60..200);
    assert!((30.0..34.0).contains(&entered), "{entered} a minute");
}

#[test]
fn without_a_guard_everybody_counts_for_the_length_of_a_session() {
    let visits = ShopVisits { is_reported: false, ..visits() };
    let limit = ActiveLimit { session: Duration::from_hours(1), ..visits.limit };
    let event = run(on_one_machine(3000, "spike", RATE), ShopVisits { limit, ..visits });
    let released =
        |minutes: Range<usize>| event.minutes[minutes].iter().map(|minute| minute.released).sum::<u64>();
    // A thousand, and the next thousand an hour after their windows have ended.
    assert_eq!([released(0..55), released(0..115), released(0..event.minutes.len())], [1000, 2000, 3000]);
    assert!(in_shop(&event, 30..55) < 200.0, "although hardly anybody is left in the shop");
}

#[test]
fn whoever_does_not_come_takes_a_place_as_long_as_they_may() {
    let habits = CrowdHabits { never_enter: 0.5, ..CrowdHabits::default() };
    let of = |admission| {
        let scenario = Scenario { habits, ..on_one_machine(4000, "spike", RATE) };
        run(scenario, ShopVisits { admission: Duration::from_mins(admission), ..visits() })
    };
    let [short, long] = [of(10), of(60)].map(|event| event.drained_after.unwrap());
    assert!(long > 1.5 * short, "{short} s, {long} s");
}

#[test]
fn a_shop_with_room_for_everybody_is_as_one_without_a_limit() {
    let usual = Simulation::run(&on_one_machine(5000, "spike", 1200), |_| true);
    let limit = ActiveLimit { visitors: 6000, ..visits().limit };
    let roomy = run(on_one_machine(5000, "spike", 1200), ShopVisits { limit, ..visits() });
    assert_eq!((usual.shop, roomy.shop.unwrap().full_for), (None, 0));
    assert_eq!((&usual.windows, usual.from_link), (&roomy.windows, roomy.from_link));
}
