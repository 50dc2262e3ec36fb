//! Which tickets the line has left behind.
//!
//! A line that is not in order delivers some visitors late. They must not be told that the line has overtaken them. So a
//! ticket counts as overtaken only if everybody whom the line delivered in the latest two windows, which are about two
//! minutes, has a higher one, and by a distance that does not shrink when the throttle holds the rate down. When nobody
//! was in the line for so long, every ticket that it has reached was overtaken.

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::quiet::tell_of_two_minutes;
use crate::{LineReach, Rate, Room, Timestamp};

/// The least distance, in numbers, to a ticket that was overtaken. A line that delivers visitors up to a thousand places
/// from their turn never seems to have overtaken anybody.
const LEAST_DISTANCE: u64 = 2000;
/// How many times the line's disorder that distance is at least.
const DISORDERS: u64 = 3;

/// Tickets below the result were overtaken. `None` if the `recent` plans do not tell.
///
/// `counted` is how many wait by the line's own count. `minute` is the length of a window.
pub fn overtaken_before(
    room: &Room,
    recent: &[PlanRecord],
    reach: LineReach,
    counted: u64,
    now: Timestamp,
    minute: Duration,
) -> Option<u64> {
    if !tell_of_two_minutes(room, recent, now, minute) {
        return None;
    }
    match recent.iter().filter_map(|record| record.lowest).min() {
        Some(lowest) => lowest.checked_sub(distance(room.settings.rate, reach.disorder)),
        None => (counted == 0).then(|| reach.reached + 1),
    }
}

/// Two minutes' worth of releases at the rate that the operator set, and several times as many places as visitors were lately
/// away from their turn: whoever waits on the slowest host is farther away than anybody who was delivered.
fn distance(rate: Rate, disorder: u64) -> u64 {
    LEAST_DISTANCE.max(2 * u64::from(rate.get())).max(disorder.saturating_mul(DISORDERS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoomState;
    use crate::fixture::{MINUTE, WINDOWS_FROM as START, room, windows};

    fn overtaken(room: &Room, recent: &[PlanRecord], counted: u64, after: Duration) -> Option<u64> {
        let reach = LineReach { reached: 9000, overtaken: 0, disorder: 0 };
        overtaken_before(room, recent, reach, counted, START + after, MINUTE)
    }

    #[test]
    fn the_lowest_number_of_two_minutes_decides_and_leaves_a_distance() {
        let recent = windows(&[Some(5000), Some(5600)]);
        assert_eq!(overtaken(&room(600), &recent, 100, 2 * MINUTE), Some(3000));
        assert_eq!(overtaken(&room(600), &windows(&[Some(9000), Some(5600)]), 100, 2 * MINUTE), Some(3600));
        assert_eq!(overtaken(&room(600), &windows(&[None, Some(5600)]), 100, 2 * MINUTE), Some(3600));
        assert_eq!(
            overtaken(&room(600), &windows(&[Some(1), Some(5600)]), 100, 2 * MINUTE),
            None,
            "one straggler"
        );
        assert_eq!(overtaken(&room(2000), &recent, 100, 2 * MINUTE), Some(1000), "two minutes' worth");
        let wild = LineReach { reached: 9000, overtaken: 0, disorder: 800 };
        let now = START + 2 * MINUTE;
        let in_disorder = overtaken_before(&room(600), &recent, wild, 100, now, MINUTE);
        assert_eq!(in_disorder, Some(2600), "three times as far as the line has shown");
        let throttled = Room { throttled: Some(Rate::MIN), ..room(2000) };
        assert_eq!(
            overtaken(&throttled, &recent, 100, 2 * MINUTE),
            Some(1000),
            "the throttle does not shrink it"
        );
    }

    #[test]
    fn less_than_two_minutes_do_not_tell() {
        let recent = windows(&[Some(5000), Some(5600)]);
        assert_eq!(overtaken(&room(600), &recent, 100, MINUTE * 3 / 2), None);
        assert_eq!(overtaken(&room(600), &recent[..1], 100, 5 * MINUTE), None);
        let pause = |room: &mut Room| room.state = RoomState::Paused;
        let paused = room(600).changed(START + MINUTE, Duration::from_secs(1), pause);
        assert_eq!(overtaken(&paused, &recent, 100, 5 * MINUTE), None, "cut short");
    }

    #[test]
    fn when_nobody_was_there_for_two_minutes_all_that_was_reached_is_passed() {
        let recent = windows(&[None, None]);
        assert_eq!(overtaken(&room(600), &recent, 0, 2 * MINUTE), Some(9001));
        assert_eq!(overtaken(&room(600), &recent, 1, 2 * MINUTE), None, "somebody may be hidden");
    }
}
