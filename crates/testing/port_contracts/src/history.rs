//! The history of the line.

use std::time::Duration;

use waitroom::ports::{MinuteLog, RoomReader};
use waitroom::{LineTotals, MinuteRecord, Rate, RoomState, Timestamp};

use crate::Fixture;

const MINUTE: Duration = Duration::from_mins(1);

/// This long before the minute that has just begun. A store's history ends now.
fn ago(fixture: &impl Fixture, time: Duration) -> Timestamp {
    Timestamp::from_millis(fixture.now().as_millis() / 60_000 * 60_000) - time
}

fn totals(at: Timestamp, joined: u64) -> LineTotals {
    let epoch = "ab12".parse().expect("four characters");
    LineTotals {
        at,
        epoch,
        joined,
        released: joined / 2,
        entered: None,
        waiting: joined - joined / 2,
        rate: Some(Rate::MAX),
        rehearsal: false,
        observed: None,
    }
}

pub async fn a_minute_is_noted_and_read_after_the_one_before<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let first = ago(&fixture, 10 * MINUTE);
    assert_eq!(store.minutes(first).await.expect("minutes"), []);
    let paused = LineTotals { rate: None, ..totals(first + 5 * MINUTE, 40) };
    let noted = [totals(first, 10), totals(first + MINUTE, 30), paused];
    for totals in noted {
        store.note(totals).await.expect("note");
    }
    for (since, expected) in [
        (first - MINUTE, &noted[..]),
        (first, &noted[..]),
        (first + MINUTE, &noted[..]),
        (first + 2 * MINUTE, &noted[1..]),
        (first + 5 * MINUTE + MINUTE / 2, &noted[1..]),
        (first + 6 * MINUTE, &noted[2..]),
    ] {
        let minutes = store.minutes(since).await.expect("minutes");
        let expected: Vec<_> =
            expected.iter().map(|&totals| MinuteRecord { totals, longest_wait: None }).collect();
        assert_eq!(minutes, expected, "since {since:?}");
    }
}

pub async fn a_record_replaces_the_one_of_the_same_minute<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let at = ago(&fixture, 3 * MINUTE);
    for (second, joined) in [(1, 10), (7, 12), (59, 15)] {
        store.note(totals(at + Duration::from_secs(second), joined)).await.expect("note");
    }
    let minutes = store.minutes(at).await.expect("minutes");
    assert_eq!(minutes.iter().map(|minute| minute.totals.joined).collect::<Vec<_>>(), [15]);
}

pub async fn a_minute_keeps_its_longest_wait<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let first = ago(&fixture, 5 * MINUTE);
    assert_eq!(store.longest_wait(first).await.expect("longest wait"), None);
    for (second, wait) in [(3, 70), (9, 90), (20, 80), (130, 0)] {
        let at = first + Duration::from_secs(second);
        store.note_wait(at, Duration::from_secs(wait)).await.expect("note");
    }
    for (since, expected) in [(0, Some(90)), (1, Some(0)), (2, Some(0)), (3, None)] {
        let longest = store.longest_wait(first + since * MINUTE).await.expect("longest wait");
        assert_eq!(longest, expected.map(Duration::from_secs), "since minute {since}");
    }
    assert_eq!(store.minutes(first).await.expect("minutes"), [], "nothing was counted in these minutes");
    for minute in 0..3 {
        store.note(totals(first + minute * MINUTE + Duration::from_secs(30), 1)).await.expect("note");
    }
    store.note_wait(first + Duration::from_secs(59), Duration::from_secs(100)).await.expect("note");
    let minutes = store.minutes(first).await.expect("minutes");
    let waits: Vec<_> = minutes.iter().map(|minute| minute.longest_wait).collect();
    assert_eq!(waits, [Some(100), None, Some(0)]);
}

pub async fn a_wait_of_a_minute_without_a_record_is_in_the_next_record<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let first = ago(&fixture, 5 * MINUTE);
    for (minute, wait) in [(0, 10), (1, 90), (2, 30), (4, 20)] {
        store.note_wait(first + minute * MINUTE, Duration::from_secs(wait)).await.expect("note");
    }
    for minute in [0, 3, 4] {
        store.note(totals(first + minute * MINUTE, 1)).await.expect("note");
    }
    for since in [0, 1, 3] {
        let minutes = store.minutes(first + since * MINUTE).await.expect("minutes");
        let waits: Vec<_> = minutes.iter().map(|minute| minute.longest_wait).collect();
        assert_eq!(waits, [Some(10), Some(90), Some(20)], "since minute {since}");
    }
}

/// Somebody of another epoch, or sent by a rehearsal, may come in the same minute. For stores that change the room themselves.
pub async fn what_a_room_counts_apart_has_a_closing_record_before_it<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let at = fixture.now();
    let room = store.room_now().await.expect("room");
    fixture.change_room(|room| room.state = RoomState::On).await;
    store.note_wait(at, Duration::from_secs(9)).await.expect("note");
    let mark = "abcdefghijkmnpqr".parse().expect("a mark");
    fixture.change_room(move |room| room.rehearsal = Some(mark)).await;
    let epoch = "cd34".parse().expect("an epoch");
    fixture.change_room(move |room| room.start_epoch(epoch, at)).await;
    store.note(LineTotals { epoch, ..totals(fixture.now(), 7) }).await.expect("note");

    let since = at - MINUTE;
    let minutes = store.minutes(since).await.expect("minutes");
    let found: Vec<_> = minutes.iter().map(|minute| (minute.totals.epoch, minute.totals.rehearsal)).collect();
    assert_eq!(found, [(room.epoch, false), (room.epoch, true), (epoch, false)]);
    assert_eq!(minutes[2].totals.joined, 7);
    assert_eq!(minutes[0].longest_wait, Some(9));
    assert_eq!([minutes[1].longest_wait, minutes[2].longest_wait], [None; 2], "a wait is told once");
}
