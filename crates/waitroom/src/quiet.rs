//! Whether anybody waits, as far as the latest windows tell. The line's own count proves nothing: it may be a minute old, and
//! somebody whom it has delivered is not in it.

use std::time::Duration;

use crate::ports::PlanRecord;
use crate::{Room, Timestamp, Valve, ValveChange};

/// Where a line counts as none, this is the longest wait of the latest minute, beside the share of one visitor.
const HARDLY_WAITED: Duration = Duration::from_secs(5);

/// Whether nobody was in the line for two minutes, as far as the `recent` plans tell.
pub fn was_empty(room: &Room, recent: &[PlanRecord], now: Timestamp, minute: Duration) -> bool {
    let found_nobody = |record: &PlanRecord| record.released == 0 && record.lowest.is_none();
    tell_of_two_minutes(room, recent, now, minute) && recent.iter().all(found_nobody)
}

/// Whether everybody who was released in the latest minute had hardly waited: then there is room for more, and the doors may let
/// newcomers straight in. `waiting` is the line's count, and `longest_wait` that of the minute. It tells of the line only while no
/// change of the valve is near: one that was ordered, and not an end in some days.
///
/// Whoever came just before that is released by slices that share the permits with the doors.
pub fn hardly_waited(
    room: &Room,
    recent: &[PlanRecord],
    (waiting, longest_wait): (u64, Option<Duration>),
    now: Timestamp,
    minute: Duration,
) -> bool {
    let ValveChange { from, valve } = room.valve_at(now);
    let is_near = |change: ValveChange| change.from <= now + minute * 2;
    let is_line = matches!(valve, Valve::Open(_)) && !room.valves.after(from).is_some_and(is_near);
    let under_it = recent.iter().filter(|record| record.plan.valve_from == from);
    let released_for: Duration = under_it.map(|record| released_for(room, record, now, minute)).sum();
    let share = minute / room.rate().get();
    let longest = HARDLY_WAITED + share;
    let few = longest.as_nanos() / share.as_nanos().max(1);
    is_line
        && released_for >= minute * 11 / 12
        && longest_wait.is_none_or(|wait| wait <= longest)
        && u128::from(waiting) <= few
}

/// Whether these plans have released visitors for two minutes. Their windows are a little shorter when the trigger runs
/// early.
pub(crate) fn tell_of_two_minutes(
    room: &Room,
    recent: &[PlanRecord],
    now: Timestamp,
    minute: Duration,
) -> bool {
    let released_for: Duration = recent.iter().map(|record| released_for(room, record, now, minute)).sum();
    released_for >= minute * 11 / 6
}

/// How long this plan has released visitors so far.
fn released_for(room: &Room, record: &PlanRecord, now: Timestamp, minute: Duration) -> Duration {
    let plan = record.plan;
    let begins = plan.releases_from.clamp(plan.window.start, plan.window.start + minute);
    room.valves.cut(plan.valve_from, plan.window.end).min(now).since(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MINUTE, WINDOWS_FROM as START, room, windows};

    #[test]
    fn a_line_is_empty_once_two_minutes_have_found_nobody() {
        let recent = windows(&[None, None]);
        assert!(was_empty(&room(600), &recent, START + 2 * MINUTE, MINUTE));
        assert!(!was_empty(&room(600), &recent, START + MINUTE, MINUTE), "only for a minute");
        assert!(!was_empty(&room(600), &windows(&[Some(5), None]), START + 2 * MINUTE, MINUTE));
    }

    #[test]
    fn a_minute_of_short_waits_is_enough_where_newcomers_need_no_place() {
        let (recent, seconds) = (windows(&[Some(5)]), Duration::from_secs);
        let now = START + MINUTE;
        let hardly =
            |waiting, longest, now| hardly_waited(&room(600), &recent, (waiting, longest), now, MINUTE);
        assert!(hardly(0, None, now) && hardly(51, Some(seconds(5)), now));
        assert!(!hardly(52, Some(seconds(5)), now), "more than leave the line in five seconds");
        assert!(!hardly(0, Some(seconds(6)), now), "somebody waited");
        assert!(!hardly(0, None, START + MINUTE * 3 / 4), "it is too early to tell");
        let slow = room(1);
        assert!(
            hardly_waited(&slow, &recent, (1, Some(seconds(65))), now, MINUTE),
            "the share of one visitor"
        );
        let rate = crate::Rate::new(600).unwrap();
        let faster = slow.changed(now - seconds(9), seconds(1), |room| room.settings.rate = rate);
        assert!(!hardly_waited(&faster, &recent, (0, None), now, MINUTE), "it tells of another rate");
        for (ahead, expected) in [(MINUTE, false), (MINUTE * 60 * 24 * 3, true)] {
            let ends = room(600).changed(START, seconds(1), |room| room.ends = Some(now + ahead));
            assert_eq!(
                hardly_waited(&ends, &recent, (0, None), now, MINUTE),
                expected,
                "an end in {ahead:?}"
            );
        }
    }
}
