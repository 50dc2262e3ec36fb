//! The minutes of a report: the differences between the room's records, and what follows from them.

use std::ops::Range;
use std::time::Duration;

use control::HistoryLine;
use serde::{Deserialize, Serialize};
use waitroom::{AuditEntry, AuditedChange, MinuteCount, MinuteRecord, Rate, RoomState, Standing, Timestamp};

/// An event ends when nobody comes, waits or is released for so long.
const BREAK: Duration = Duration::from_hours(1);

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// How long after the entry of a reset its closing record is counted: on AWS there are reads between them.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);

/// What happened in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedMinute {
    #[serde(flatten)]
    pub count: MinuteCount,
    /// About how many seconds the one in the middle waited of those who were released.
    pub median_wait: Option<u64>,
    /// Whether the throttle held the rate down when the minute ended.
    pub throttled: bool,
    /// How many more than the operator's rate a minute were let in when it ended, to make up for those who don't come.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surplus: u32,
    /// What the room was when the minute ended; none in a report of a version that did not say so.
    #[serde(default)]
    pub state: Option<RoomState>,
}

impl ReportedMinute {
    /// Why there is no rate in force.
    pub(crate) fn why_no_rate(&self) -> &'static str {
        no_rate_in(self.state)
    }

    /// Whether it ended in a room that was over.
    fn is_over(&self) -> bool {
        self.state.is_some_and(RoomState::is_over)
    }

    /// Whether nobody joined, waited, was released or came for their pass.
    pub(crate) fn is_idle(&self) -> bool {
        self.count.is_idle() && self.count.entered.unwrap_or(0) == 0
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(surplus: &u32) -> bool {
    *surplus == 0
}

/// The minutes from `since` on. `rate` is what the operator's rate is now.
pub(crate) fn reported(
    records: &[MinuteRecord],
    since: Timestamp,
    lines: &[HistoryLine],
    rate: Rate,
) -> Vec<ReportedMinute> {
    let medians = records.iter().enumerate().map(|(index, _)| median_wait(records, index));
    let medians = medians.zip(records).filter(|(_, record)| record.totals.at >= since);
    let counts = MinuteCount::from_records(records, since);
    let minutes = counts.into_iter().zip(medians).map(|(count, (median_wait, _))| {
        let wanted = wanted(lines, count.at, rate);
        // Only those who didn't come before raise the rate in force above the operator's.
        let surplus = count.rate.map_or(0, |in_force| in_force.get().saturating_sub(wanted.get()));
        let throttled = count.rate.is_some_and(|in_force| in_force < wanted);
        ReportedMinute { count, median_wait, throttled, surplus, state: None }
    });
    minutes.collect()
}

/// About how long the middle one waited of those who were released in this record's minute: nobody overtakes, so the n-th
/// who was released joined when n had joined. Within a minute, joining and releasing are taken as even. `None` if nobody
/// was released, or if the records do not go back to when that visitor joined.
fn median_wait(records: &[MinuteRecord], index: usize) -> Option<u64> {
    let record = records[index].totals;
    let before = records[..index].last()?.totals;
    let is_same_line = |other: &MinuteRecord| other.totals.epoch == record.epoch;
    // After a restore, another line may stand between two records of this one.
    let earlier = |end: usize| records[..end].iter().rfind(|other| is_same_line(other));
    let released_before = earlier(index).map_or(0, |earlier| earlier.totals.released);
    let released = record.released.checked_sub(released_before).filter(|released| *released > 0)?;
    let middle = released_before + released.div_ceil(2);
    let when_released = u64::midpoint(before.at.as_millis(), record.at.as_millis());
    // The first record that counts the middle one among those who had joined, and the one before it.
    let joined =
        records[..=index].iter().position(|other| is_same_line(other) && other.totals.joined >= middle)?;
    let (to, from) = (records[joined].totals, records[..joined].last()?.totals);
    let joined_before = earlier(joined).map_or(0, |earlier| earlier.totals.joined);
    let (place, all) = (middle.checked_sub(joined_before)?, to.joined.checked_sub(joined_before)?);
    let span = to.at.as_millis().checked_sub(from.at.as_millis())?;
    let share = u128::from(span) * u128::from(place) / u128::from(all.max(1));
    let when_joined = from.at.as_millis() + u64::try_from(share).ok()?;
    Some(when_released.saturating_sub(when_joined) / 1000)
}

/// The operator's rate at this instant. `now` is what it is now.
fn wanted(lines: &[HistoryLine], at: Timestamp, now: Rate) -> Rate {
    value_at(lines, at, now, |change| match change {
        AuditedChange::Rate { from, to } => Some((*from, *to)),
        AuditedChange::State(_)
        | AuditedChange::SoldOut { .. }
        | AuditedChange::Mode { .. }
        | AuditedChange::Message { .. }
        | AuditedChange::Stretch { .. }
        | AuditedChange::Reset { .. }
        | AuditedChange::Throttle { .. }
        | AuditedChange::Rehearsal { .. }
        | AuditedChange::KeyRotation { .. }
        | AuditedChange::KeyDrop { .. }
        | AuditedChange::LetIn { .. }
        | AuditedChange::GuardKey { .. } => None,
    })
}

/// Sets what the room was at the end of each minute. `now` is what it is now. Nobody waits while it is off or
/// ended: whoever is left in the line goes straight to the shop, or was told that it is over. In the minute of the end they
/// count once more.
pub(crate) fn set_states(minutes: &mut [ReportedMinute], lines: &[HistoryLine], now: RoomState) {
    for minute in minutes.iter_mut() {
        let ordered = ordered(minute.count.at, lines, now);
        minute.state = Some(shown(&minute.count, ordered));
        if ordered.lets_everybody_through() {
            minute.count.waiting = 0;
        }
    }
    let was_over = |first: &ReportedMinute| ordered(first.count.at - MINUTE, lines, now).is_over();
    let began_over = minutes.first().is_some_and(was_over);
    for ending in endings(minutes, lines) {
        let told_before = ending.start == 0 && began_over;
        for minute in minutes[ending].iter_mut().skip(usize::from(!told_before)) {
            minute.count.waiting = 0;
        }
    }
}

/// The minutes of each time that the room was over, unless that was taken back: then whoever waited was let in after all, if no reset
/// took their places first.
pub(crate) fn endings(minutes: &[ReportedMinute], lines: &[HistoryLine]) -> Vec<Range<usize>> {
    let goes_on = |minute: &ReportedMinute| minute.state.is_some_and(|state| !state.lets_everybody_through());
    let (mut endings, mut start) = (Vec::new(), 0);
    for alike in minutes.chunk_by(|a, b| a.is_over() == b.is_over()) {
        let end = start + alike.len();
        let still_waited = alike.last().filter(|last| last.count.waiting > 0);
        let next = minutes.get(end).filter(|next| goes_on(next));
        let was_taken_back = still_waited.zip(next).is_some_and(|(last, next)| {
            let between = last.count.at - CLOSED_WITHIN..=next.count.at;
            !resets(lines).any(|reset| between.contains(&reset))
        });
        if alike.iter().any(ReportedMinute::is_over) && !was_taken_back {
            endings.push(start..end);
        }
        start = end;
    }
    endings
}

/// How many customers waited in a room that was not over when a reset took their places.
pub(crate) fn lost_in_resets(minutes: &[ReportedMinute], lines: &[HistoryLine]) -> u64 {
    let closed = |reset: Timestamp| {
        let after = minutes.iter().find(|minute| minute.count.at >= reset);
        after.filter(|minute| minute.count.at <= reset + CLOSED_WITHIN)
    };
    let closed = resets(lines).filter_map(closed);
    closed
        .filter(|minute| !minute.count.rehearsal && !minute.is_over())
        .map(|minute| minute.count.waiting)
        .sum()
}

/// When the line was emptied.
fn resets(lines: &[HistoryLine]) -> impl Iterator<Item = Timestamp> {
    lines.iter().filter_map(|line| match line {
        HistoryLine::Entry(entry) => matches!(entry.change, AuditedChange::Reset { .. }).then_some(entry.at),
        HistoryLine::Alarm(_) => None,
    })
}

/// Why there is no rate in force in each of these minutes, if there is none, as a report says it.
pub fn why_no_rate(counts: &[MinuteCount], entries: &[AuditEntry], now: RoomState) -> Vec<&'static str> {
    let lines: Vec<_> = entries.iter().cloned().map(HistoryLine::Entry).collect();
    let state = |count: &MinuteCount| shown(count, ordered(count.at, &lines, now));
    counts.iter().map(|count| no_rate_in(Some(state(count)))).collect()
}

fn no_rate_in(state: Option<RoomState>) -> &'static str {
    state.filter(|state| !state.switches().releases).map_or("none", RoomState::as_str)
}

/// What the room was at this instant by its orders.
fn ordered(at: Timestamp, lines: &[HistoryLine], now: RoomState) -> RoomState {
    let ordered = value_at(lines, at, None, |change| match change {
        AuditedChange::State(change) => Some((Some(change.before()), Some(change.after()))),
        AuditedChange::SoldOut { .. } => Some((None, Some(Standing::of(RoomState::Ended)))),
        AuditedChange::Rate { .. }
        | AuditedChange::Mode { .. }
        | AuditedChange::Message { .. }
        | AuditedChange::Stretch { .. }
        | AuditedChange::Reset { .. }
        | AuditedChange::Throttle { .. }
        | AuditedChange::Rehearsal { .. }
        | AuditedChange::KeyRotation { .. }
        | AuditedChange::KeyDrop { .. }
        | AuditedChange::LetIn { .. }
        | AuditedChange::GuardKey { .. } => None,
    });
    ordered.map_or(now, |standing| standing.at(at).state)
}

/// The same, unless the rate in force tells that the room was ahead of its orders.
fn shown(count: &MinuteCount, ordered: RoomState) -> RoomState {
    match (ordered, count.rate) {
        // The clocks of two machines differ a little.
        (RoomState::Paused, Some(_)) => RoomState::On,
        // `close --then off` turned it off.
        (RoomState::Closed, None) => RoomState::Off,
        (ordered, _) => ordered,
    }
}

/// A value at this instant, by the orders before and after it: `changed` says from what to what an order changed it.
fn value_at<T: Clone>(
    lines: &[HistoryLine],
    at: Timestamp,
    now: T,
    changed: impl Fn(&AuditedChange) -> Option<(T, T)>,
) -> T {
    let mut before = None;
    for line in lines {
        let HistoryLine::Entry(entry) = line else { continue };
        let Some((from, to)) = changed(&entry.change) else { continue };
        if entry.at > at {
            return before.unwrap_or(from);
        }
        before = Some(to);
    }
    before.unwrap_or(now)
}

/// The minutes with somebody in them, and the ones around these, so that plots fall to zero.
pub(crate) fn busy(minutes: &[ReportedMinute]) -> Vec<ReportedMinute> {
    let is_busy = |index: usize| minutes.get(index).is_some_and(|minute| !minute.is_idle());
    let around = |index: &usize| (index.saturating_sub(1)..=index + 1).any(is_busy);
    (0..minutes.len()).filter(around).map(|index| minutes[index]).collect()
}

/// Whether only rehearsals brought visitors in these minutes.
pub(crate) fn is_of_rehearsals(minutes: &[ReportedMinute]) -> bool {
    let mut busy = minutes.iter().filter(|minute| !minute.is_idle()).peekable();
    busy.peek().is_some() && busy.all(|minute| minute.count.rehearsal)
}

/// When the last event began and ended: the busy minutes up to the last one, back to an hour without any. Either those of
/// `rehearsal`s, or all others.
pub(crate) fn last_event(minutes: &[ReportedMinute], rehearsal: bool) -> Option<(Timestamp, Timestamp)> {
    let minutes: Vec<_> = minutes.iter().filter(|minute| minute.count.rehearsal == rehearsal).collect();
    let last = minutes.iter().rposition(|minute| !minute.is_idle())?;
    let mut first = last;
    for (index, minute) in minutes[..last].iter().enumerate().rev() {
        // A room that is stopped writes no records, and whoever is in its line waits on.
        let waits_on = index + 1 == first && minute.count.waiting > 0;
        if minute.count.at < minutes[first].count.at - BREAK && !waits_on {
            break;
        }
        if !minute.is_idle() {
            first = index;
        }
    }
    Some((minutes[first].count.at, minutes[last].count.at))
}

/// Whether the last event cannot have begun before these minutes, which go back to `since`.
pub(crate) fn has_whole_event(minutes: &[ReportedMinute], since: Timestamp) -> bool {
    last_event(minutes, false).is_some_and(|(first, _)| {
        // Before the oldest minute, perhaps somebody waited while the room was stopped.
        let is_oldest = minutes.first().is_some_and(|oldest| oldest.count.at == first);
        first - BREAK >= since && !is_oldest
    })
}

#[cfg(test)]
mod tests {
    use waitroom::{Author, StateChange};

    use super::*;
    use crate::fixture::minute_record;

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis(minute * 60_000)
    }

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    fn medians(totals: &[(u64, u64)]) -> Vec<Option<u64>> {
        let minutes = (1..).zip(totals);
        let records: Vec<_> = minutes
            .map(|(minute, (joined, released))| minute_record(at(minute), *joined, *released))
            .collect();
        reported(&records, at(0), &[], rate(300)).iter().map(|minute| minute.median_wait).collect()
    }

    #[test]
    fn the_middle_one_joined_when_as_many_had_joined_as_were_released() {
        // All join in the second minute, and a hundred are released in each of the next ones.
        let spike = medians(&[(0, 0), (1000, 0), (1000, 100), (1000, 200), (1000, 200), (1000, 1000)]);
        assert_eq!(spike, [None, None, Some(87), Some(141), None, Some(234)]);
        let none = medians(&[(900, 800), (900, 900)]);
        assert_eq!(none, [None, None], "they joined before the first record");
        assert_eq!(medians(&[(0, 0), (60, 60)]), [None, Some(0)], "nobody waits");
    }

    #[test]
    fn a_line_that_was_restored_releases_those_who_joined_before() {
        let mut records: Vec<_> = (1..)
            .zip([(0, 0), (1000, 0), (5, 0), (1000, 100)])
            .map(|(minute, (joined, released))| minute_record(at(minute), joined, released))
            .collect();
        // Another line stood in its place for a minute.
        records[2].totals.epoch = "cd34".parse().unwrap();
        let median = |records: &[MinuteRecord]| reported(records, at(0), &[], rate(300))[3].median_wait;
        assert_eq!(median(&records), Some(147));
        records[3].totals.released = 0;
        assert_eq!(median(&records), None, "nobody was released since");
    }

    #[test]
    fn a_minute_is_throttled_if_its_rate_is_below_the_one_ordered() {
        let order = |minute, from, to| {
            let change = AuditedChange::Rate { from: rate(from), to: rate(to) };
            let (number, who) = (minute, Author::new("anna"));
            HistoryLine::Entry(AuditEntry { number, at: at(minute), who, change, undoes: None })
        };
        let records: Vec<_> = (1..=4).map(|minute| minute_record(at(minute), 100, 50)).collect();
        let throttled = |lines: &[HistoryLine], now| {
            let minutes = reported(&records, at(0), lines, rate(now));
            minutes.iter().map(|minute| minute.throttled).collect::<Vec<_>>()
        };
        assert_eq!(throttled(&[], 300), [false; 4]);
        assert_eq!(throttled(&[], 600), [true; 4]);
        assert_eq!(throttled(&[order(2, 300, 900), order(4, 900, 200)], 200), [false, true, true, false]);
    }

    #[test]
    fn the_last_event_goes_back_to_an_hour_without_visitors() {
        let busy = |minute, joined| minute_record(at(minute), joined, joined);
        let records =
            [busy(10, 5), busy(100, 6), busy(101, 6), busy(130, 7), busy(190, 8), busy(191, 8), busy(400, 8)];
        let minutes = reported(&records, at(0), &[], Rate::MIN);
        assert_eq!(last_event(&minutes, false), Some((at(100), at(190))));
        assert_eq!(last_event(&minutes[6..], false), None);
        let shown: Vec<_> = super::busy(&minutes).iter().map(|minute| minute.count.at).collect();
        assert_eq!(shown, [10, 100, 101, 130, 190, 191].map(at));
    }

    #[test]
    fn an_event_goes_on_while_people_wait_for_a_room_that_is_stopped() {
        let event = |records: &[MinuteRecord]| last_event(&reported(records, at(0), &[], Rate::MIN), false);
        let stopped = [minute_record(at(10), 5, 2), minute_record(at(11), 9, 2)];
        let restarted = |joined| minute_record(at(200), joined, joined);
        assert_eq!(event(&[stopped[0], stopped[1], restarted(9)]), Some((at(10), at(200))));
        let nobody_waits = minute_record(at(12), 9, 9);
        assert_eq!(
            event(&[stopped[0], stopped[1], nobody_waits, restarted(10)]),
            Some((at(200), at(200))),
            "another event"
        );
    }

    #[test]
    fn an_event_is_whole_if_the_hour_before_it_is_known() {
        let minutes = |records: &[(u64, u64)]| {
            let records: Vec<_> =
                records.iter().map(|(minute, joined)| minute_record(at(*minute), *joined, *joined)).collect();
            reported(&records, at(0), &[], Rate::MIN)
        };
        let event = minutes(&[(99, 0), (100, 5), (101, 5)]);
        assert!(has_whole_event(&event, at(40)));
        assert!(!has_whole_event(&event, at(41)), "an earlier minute may belong to it");
        assert!(
            !has_whole_event(&minutes(&[(100, 5), (101, 5)]), at(40)),
            "nothing is known of the time before"
        );
        assert!(!has_whole_event(&minutes(&[(99, 0), (100, 0)]), at(40)), "there was no event");
    }

    fn order(minute: u64, from: RoomState, to: RoomState) -> HistoryLine {
        let [before, after] =
            [from, to].map(|state| waitroom::Room { state, ..waitroom::fixture::room(60) }.standing());
        let change = AuditedChange::State(StateChange::new(before, after).into());
        let (number, who) = (minute, Author::new("anna"));
        HistoryLine::Entry(AuditEntry { number, at: at(minute), who, change, undoes: None })
    }

    #[test]
    fn who_still_waits_when_the_room_ends_counts_in_that_minute_and_in_no_later_one() {
        let lines = [order(4, RoomState::On, RoomState::Ended)];
        let records: Vec<_> = (2..=6).map(|minute| minute_record(at(minute), 100, 50)).collect();
        let mut minutes = reported(&records, at(0), &[], rate(300));
        set_states(&mut minutes, &lines, RoomState::Ended);
        let waiting: Vec<_> = minutes.iter().map(|minute| minute.count.waiting).collect();
        assert_eq!(waiting, [50, 50, 50, 0, 0]);
        let summary = crate::summary::ReportSummary::of(&minutes, &lines, at(100));
        assert_eq!((summary.turned_away, summary.longest_line), (Some(50), 50));
    }

    #[test]
    fn an_end_that_was_taken_back_turned_nobody_away() {
        let waiting = |waiting: u64| (1000, 1000 - waiting);
        let told = |since: u64, waits: &[u64], lines: &[HistoryLine], now| {
            let records = (2..).zip(waits).map(|(minute, waits)| {
                let (joined, released) = waiting(*waits);
                minute_record(at(minute), joined, released)
            });
            let records: Vec<_> = records.collect();
            let mut minutes = reported(&records, at(since), &[], rate(300));
            set_states(&mut minutes, lines, now);
            let summary = crate::summary::ReportSummary::of(&minutes, lines, at(100));
            let drained = summary.drained_at.map(|at| at.as_millis() / 60_000);
            (summary.turned_away, summary.longest_line, drained)
        };
        let (on, ended) = (RoomState::On, RoomState::Ended);
        let (end, undo) = (order(4, on, ended), order(6, ended, on));
        let again = order(8, on, ended);
        let taken_back = [end.clone(), undo.clone()];
        assert_eq!(told(0, &[50, 50, 50, 50, 40, 20, 0], &taken_back, on), (None, 50, Some(8)));
        let ended_again = [end.clone(), undo, again];
        assert_eq!(told(0, &[50, 50, 50, 50, 40, 30, 20, 20], &ended_again, ended), (Some(20), 50, Some(9)));
        let reset_first = |reset_at| vec![end.clone(), reset(reset_at), order(7, ended, on)];
        let read_apart = Duration::from_secs(2);
        for reset_at in [at(6), at(6) - read_apart, at(6) + read_apart] {
            let told = told(0, &[50, 50, 50, 50, 50, 0, 0], &reset_first(reset_at), on);
            assert_eq!(told, (Some(50), 50, Some(5)), "a reset takes their places first: {reset_at}");
        }
        let earlier = told(0, &[50, 50, 50, 50, 50, 0, 0], &reset_first(at(3)), on);
        assert_eq!(earlier, (None, 50, Some(7)), "of another line");
        assert_eq!(told(6, &[50, 50, 50, 50, 50, 50], &[end], ended), (Some(0), 0, None), "told before");
    }

    fn reset(at: Timestamp) -> HistoryLine {
        let [from, to] = ["ab12", "cd34"].map(|epoch| epoch.parse().unwrap());
        let (number, who, change) = (1, Author::new("anna"), AuditedChange::Reset { from, to });
        HistoryLine::Entry(AuditEntry { number, at, who, change, undoes: None })
    }

    #[test]
    fn customers_who_wait_at_a_reset_are_lost_in_it() {
        let lost = |rehearsal, lines: &[HistoryLine], now| {
            let record = |(minute, waiting): (u64, u64)| {
                let mut record = minute_record(at(minute), 100, 100 - waiting);
                record.totals.rehearsal = rehearsal;
                record
            };
            let records: Vec<_> = [(2, 50), (3, 40), (4, 30), (5, 20)].into_iter().map(record).collect();
            let mut minutes = reported(&records, at(0), &[], rate(300));
            set_states(&mut minutes, lines, now);
            crate::summary::ReportSummary::of(&minutes, lines, at(100)).lost_in_resets
        };
        let closed = Duration::from_secs(1);
        let resets = [reset(at(3)), reset(at(5) - closed)];
        assert_eq!(lost(false, &resets, RoomState::On), Some(60));
        assert_eq!(lost(false, &[reset(at(4) - MINUTE / 2)], RoomState::On), None, "it closed no minute");
        assert_eq!(lost(true, &resets, RoomState::On), None, "no customers");
        assert_eq!(lost(false, &resets, RoomState::Ended), None, "turned away before");
    }

    #[test]
    fn charts_say_of_a_minute_without_a_rate_what_a_report_does() {
        let mut records: Vec<_> = (2..=5).map(|minute| minute_record(at(minute), 100, 100)).collect();
        for record in &mut records {
            record.totals.rate = None;
        }
        let counts = MinuteCount::from_records(&records, at(0));
        let HistoryLine::Entry(off) = order(4, RoomState::Paused, RoomState::Off) else { panic!() };
        assert_eq!(why_no_rate(&counts, &[off], RoomState::Off), ["paused", "paused", "off", "off"]);
    }

    #[test]
    fn a_minute_without_a_rate_says_what_the_room_was() {
        let (on, paused, off) = (RoomState::On, RoomState::Paused, RoomState::Off);
        let lines = [order(3, paused, on), order(4, on, off), order(5, off, paused)];
        let records: Vec<_> = (2..=6)
            .map(|minute| {
                let mut record = minute_record(at(minute), 100, 50);
                // By minute 6 the room has opened by itself.
                record.totals.rate = [3, 6].contains(&minute).then(|| rate(300));
                record
            })
            .collect();
        let mut minutes = reported(&records, at(0), &[], rate(300));
        assert_eq!(minutes[0].why_no_rate(), "none", "nobody knows");
        set_states(&mut minutes, &lines, on);
        let states: Vec<_> = minutes.iter().map(|minute| minute.state.unwrap()).collect();
        assert_eq!(states, [paused, on, off, paused, on]);
        assert_eq!([0, 2, 3].map(|index| minutes[index].why_no_rate()), ["paused", "off", "paused"]);
        let waiting: Vec<_> = minutes.iter().map(|minute| minute.count.waiting).collect();
        assert_eq!(waiting, [50, 50, 0, 50, 50]);
    }
}
