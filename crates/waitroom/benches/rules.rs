//! What the rules cost that every visitor or every minute needs: `cargo bench -p waitroom`. One thread.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use waitroom::ports::PlanRecord;
use waitroom::{Place, Plan, Rate, Room, Scheme, Settings, Ticket, Timestamp, Token};

const MINUTE: Duration = Duration::from_mins(1);
/// The values of the headers that a browser with cookies of its shop sends.
const OTHERS: &str = "session=c2Vzc2lvbi1vZi10aGUtc2hvcA; theme=dark; _ga=GA1.1.1234567890.1234567890";

fn main() {
    let settings = Settings::new(
        "sale".parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::MIN,
    );
    let room = Room::new(settings, "https://wait.example".parse().unwrap(), "ab12".parse().unwrap());
    let name = room.settings.room.clone();
    let place = Place {
        epoch: room.epoch,
        token: Token::from_bytes([7; Token::BYTES]),
        ticket: Ticket::new(48_213).unwrap(),
    };
    let cookie = place.set(&name, Scheme::Https);
    let header = format!("{OTHERS}; {}", cookie.split(';').next().unwrap());
    assert_eq!(Place::find(&name, room.epoch, [header.as_str()]), Some(place));
    median("read a place from four cookies", || {
        black_box(Place::find(&name, room.epoch, [black_box(header.as_str())]));
    });
    median("write a place's cookie", || drop(black_box(black_box(&place).set(&name, Scheme::Https))));

    for per_minute in [300, 3300, 270_000] {
        let (rate, start) = (Rate::new(per_minute).unwrap(), Timestamp::from_millis(1_774_008_000_000));
        let room = room.changed(start, Duration::ZERO, |room| room.settings.rate = rate);
        let plan = |recent: &[PlanRecord], minutes: u32| {
            let now = start + minutes * MINUTE;
            Plan::due(recent, &room, now, MINUTE, Duration::from_secs(55)).unwrap()
        };
        let first = plan(&[], 0);
        let first = PlanRecord { plan: first, released: first.quota.into(), lowest: Some(1) };
        median(&format!("plan a minute and its slices, {per_minute} a minute"), || {
            black_box(plan(black_box(&[first]), 1).slices(MINUTE).count());
        });
    }
}

/// Prints the median of many rounds, because other programs of the machine slow some of them.
fn median(what: &str, mut work: impl FnMut()) {
    const ROUNDS: usize = 51;
    const ROUND: Duration = Duration::from_millis(20);
    /// Fewer looks at the clock, which costs as much as the work.
    const TIMES: u32 = 100;

    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (begun, mut times) = (Instant::now(), 0);
        while begun.elapsed() < ROUND {
            (0..TIMES).for_each(|_| work());
            times += TIMES;
        }
        rounds.push(begun.elapsed() / times);
    }
    rounds.sort();
    println!("{what:<50}  {:.1?}", rounds[ROUNDS / 2]);
}
