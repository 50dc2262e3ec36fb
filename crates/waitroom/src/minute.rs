//! The history of the line: a record a minute.
//!
//! A record has totals, not what happened in its minute. So a record that is written twice, or by two triggers, counts
//! nothing twice, and a minute without a record loses nothing: the next record has it. What happened in a minute is the
//! [difference](MinuteCount::from_records) to the record before it.
//!
//! Visitors of a rehearsal are no customers, and those of an epoch are counted from zero. So before a change after which the
//! room [counts apart](Room::counts_apart), the store writes a *closing record*: everybody up to that instant. It's never
//! replaced, so a rehearsal of ten seconds is in the history too.

use std::ops::Not;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{CountedSlot, Epoch, ObservedLine, Rate, Room, Timestamp, VirtualLine};

/// The line as the trigger counts it, once a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTotals {
    /// When it was counted.
    pub at: Timestamp,
    pub epoch: Epoch,
    /// How many have joined in this epoch.
    pub joined: u64,
    /// How many were released in this epoch.
    pub released: u64,
    /// How many of them came for their pass; `None` if the store does not count them.
    #[serde(default)]
    pub entered: Option<u64>,
    pub waiting: u64,
    /// The rate in force; `None` while nobody is released.
    pub rate: Option<Rate>,
    /// Whether the room was in a rehearsal: who came since the record before was sent by it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub rehearsal: bool,
    /// The line that would have been since the record before, if the room observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<VirtualLine>,
}

/// How many a store counts in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCounts {
    pub joined: u64,
    pub released: u64,
    pub entered: Option<u64>,
    pub waiting: u64,
}

impl LineTotals {
    /// What is counted in this room at this instant.
    pub fn of(room: &Room, at: Timestamp, counts: LineCounts) -> Self {
        let LineCounts { joined, released, entered, waiting } = counts;
        let rate = room.releases().then(|| room.rate());
        let rehearsal = room.rehearsal.is_some();
        Self { at, epoch: room.epoch, joined, released, entered, waiting, rate, rehearsal, observed: None }
    }

    /// The same, with the line that would have been until an instant, if the room observes or did since the latest of these
    /// `records`. What the record of this minute says, which this one replaces, is carried on.
    #[must_use]
    pub fn observing(
        self,
        room: &Room,
        records: &[MinuteRecord],
        slots: &[CountedSlot],
        minute: Duration,
        until: Timestamp,
    ) -> Self {
        let before = latest_of(self.epoch, records);
        let replaced =
            before.filter(|before| MinuteRecord::number(before.at) == MinuteRecord::number(self.at));
        let replaced = replaced.and_then(|before| before.observed);
        let time = accounted_until(records)..until;
        if !room.observes() && !slots.iter().any(|slot| time.contains(&slot.from)) {
            return self;
        }
        let line = virtual_line(room, records, slots, minute, until);
        let carried_on = replaced.map_or(line.line, |replaced| line.line.after(replaced.line));
        Self { observed: Some(VirtualLine { line: carried_on, ..line }), ..self }
    }

    /// As they are stored in place of those of `before` in the same minute: what these don't say of a line that would have been
    /// stays.
    #[must_use]
    pub fn replacing(self, before: Option<Self>) -> Self {
        let before = before.filter(|before| before.epoch == self.epoch);
        Self { observed: self.observed.or(before.and_then(|before| before.observed)), ..self }
    }

    /// The most that these and `later` ones counted. On AWS totals are approximate: when one falls and rises again, nobody counts
    /// twice.
    fn at_least(self, later: Self) -> Self {
        Self {
            joined: self.joined.max(later.joined),
            released: self.released.max(later.released),
            entered: self.entered.max(later.entered),
            ..later
        }
    }
}

/// The line as it would be at this instant, and what it was since the latest of these `records`.
fn virtual_line(
    room: &Room,
    records: &[MinuteRecord],
    slots: &[CountedSlot],
    minute: Duration,
    until: Timestamp,
) -> VirtualLine {
    let before = latest_of(room.epoch, records);
    let line = before.and_then(|before| Some((before.observed?, before.rate.unwrap_or(room.rate()))));
    VirtualLine::follow(line, slots, (room.rate(), minute), accounted_until(records)..until)
}

/// Who came before this instant is in one of these records, perhaps of another epoch.
fn accounted_until(records: &[MinuteRecord]) -> Timestamp {
    let until = records.iter().filter_map(|record| Some(record.totals.observed?.until));
    until.max().unwrap_or_default()
}

/// What the line would have been in the time of these `records`, and up to this instant, which is after them.
pub fn observed_lately(
    room: &Room,
    records: &[MinuteRecord],
    slots: &[CountedSlot],
    minute: Duration,
    until: Timestamp,
) -> ObservedLine {
    let since = virtual_line(room, records, slots, minute, until).line;
    let of_epoch = records.iter().filter(|record| record.totals.epoch == room.epoch);
    let lines = of_epoch.filter_map(|record| record.totals.observed);
    lines.fold(since, |line, before| line.after(before.line))
}

fn latest_of(epoch: Epoch, records: &[MinuteRecord]) -> Option<LineTotals> {
    records.iter().rfind(|record| record.totals.epoch == epoch).map(|record| record.totals)
}

/// The record of one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteRecord {
    #[serde(flatten)]
    pub totals: LineTotals,
    /// The longest wait of those who were released in this minute of the clock, or in minutes before it that have no record, in
    /// seconds; `None` if nobody was.
    pub longest_wait: Option<u64>,
}

impl MinuteRecord {
    /// How far back the history can be read.
    pub const KEPT: Duration = Duration::from_hours(14 * 24);
    /// How long a store keeps a record: an hour longer, so that the first minute of the history has a record before it.
    /// Without that, all who joined earlier in the epoch would count as of this minute.
    pub const STORED: Duration = Duration::from_hours(14 * 24 + 1);

    /// The minute of an instant, counted since 1970. Its record has this number.
    pub fn number(at: Timestamp) -> u64 {
        at.as_secs() / 60
    }
}

/// What happened in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteCount {
    /// When its record was written: when the minute ended.
    pub at: Timestamp,
    /// How many joined since the record before.
    pub joined: u64,
    /// How many were released since the record before.
    pub released: u64,
    /// How many came for their pass since the record before; `None` if that was not counted.
    #[serde(default)]
    pub entered: Option<u64>,
    /// How many waited when it ended.
    pub waiting: u64,
    /// The rate in force when it ended; `None` if nobody was released then.
    pub rate: Option<Rate>,
    /// The longest wait of those who were released, in seconds; `None` if nobody was.
    pub longest_wait: Option<u64>,
    /// Whether they are visitors of a rehearsal.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub rehearsal: bool,
    /// What the line would have been since the record before, if the room observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedLine>,
}

impl MinuteCount {
    /// The minutes from `since` on. `records` are in order, and begin with the one before `since`, if there is one, and the last
    /// one of each other epoch that comes back later.
    pub fn from_records(records: &[MinuteRecord], since: Timestamp) -> Vec<Self> {
        // The most of each epoch: a new one counts from zero, and one that a restore brought back counts on.
        let mut most: Vec<LineTotals> = Vec::new();
        let mut minutes = Vec::new();
        for record in records {
            let known = most.iter().position(|most| most.epoch == record.totals.epoch);
            let before = known.map(|index| most.swap_remove(index));
            if record.totals.at >= since {
                minutes.push(Self::between(before, record));
            }
            most.push(before.map_or(record.totals, |before| before.at_least(record.totals)));
        }
        minutes
    }

    fn between(before: Option<LineTotals>, record: &MinuteRecord) -> Self {
        let MinuteRecord { totals, longest_wait } = *record;
        let grown = |now: u64, total: fn(LineTotals) -> u64| now.saturating_sub(before.map_or(0, total));
        Self {
            at: totals.at,
            joined: grown(totals.joined, |before| before.joined),
            released: grown(totals.released, |before| before.released),
            entered: totals
                .entered
                .map(|now| now.saturating_sub(before.and_then(|it| it.entered).unwrap_or(0))),
            waiting: totals.waiting,
            rate: totals.rate,
            longest_wait,
            rehearsal: totals.rehearsal,
            observed: totals.observed.map(|virtual_line| virtual_line.line),
        }
    }

    /// Whether nobody came, waited or was released.
    pub fn is_idle(&self) -> bool {
        (self.joined, self.released, self.waiting) == (0, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(minute: u64, epoch: &str, joined: u64, released: u64) -> MinuteRecord {
        let totals = LineTotals {
            at: Timestamp::from_millis(minute * 60_000 + 7000),
            epoch: epoch.parse().unwrap(),
            joined,
            released,
            entered: Some(released / 2),
            waiting: joined - released,
            rate: Some(Rate::MIN),
            rehearsal: false,
            observed: None,
        };
        MinuteRecord { totals, longest_wait: None }
    }

    /// Joined and released in each minute.
    fn counts(records: &[MinuteRecord], since: u64) -> Vec<(u64, u64)> {
        let minutes = MinuteCount::from_records(records, Timestamp::from_millis(since * 60_000));
        minutes.iter().map(|minute| (minute.joined, minute.released)).collect()
    }

    #[test]
    fn a_minute_is_the_difference_to_the_record_before() {
        let records = [record(1, "ab12", 100, 0), record(2, "ab12", 300, 60), record(5, "ab12", 310, 240)];
        assert_eq!(counts(&records, 0), [(100, 0), (200, 60), (10, 180)], "a gap loses nothing");
        assert_eq!(counts(&records, 2), [(200, 60), (10, 180)]);
        assert_eq!(counts(&records[1..], 2), [(300, 60), (10, 180)], "without one before, all is new");
        assert_eq!(counts(&[], 0), []);
    }

    #[test]
    fn a_new_epoch_counts_from_zero() {
        let records = [record(1, "ab12", 100, 90), record(2, "cd34", 30, 20), record(3, "cd34", 30, 30)];
        assert_eq!(counts(&records, 0), [(100, 90), (30, 20), (0, 10)]);
    }

    #[test]
    fn a_line_that_comes_back_after_another_counts_on() {
        let records = [record(1, "ab12", 100, 90), record(2, "cd34", 30, 20), record(3, "ab12", 104, 95)];
        assert_eq!(counts(&records, 0), [(100, 90), (30, 20), (4, 5)]);
    }

    #[test]
    fn a_rehearsal_counts_from_the_record_before_its_mark() {
        let mut records =
            [record(1, "ab12", 100, 90), record(1, "ab12", 130, 130), record(2, "ab12", 170, 150)];
        records[2].totals.rehearsal = true;
        let minutes = MinuteCount::from_records(&records, Timestamp::default());
        let counts: Vec<_> = minutes.iter().map(|minute| (minute.joined, minute.rehearsal)).collect();
        assert_eq!(counts, [(100, false), (30, false), (40, true)]);
    }

    #[test]
    fn those_who_came_for_their_pass_are_counted_if_the_store_counts_them() {
        let mut records =
            [record(1, "ab12", 100, 90), record(2, "ab12", 300, 200), record(3, "ab12", 300, 300)];
        records[0].totals.entered = None;
        let entered = |records: &[MinuteRecord]| -> Vec<_> {
            MinuteCount::from_records(records, Timestamp::default())
                .iter()
                .map(|minute| minute.entered)
                .collect()
        };
        assert_eq!(entered(&records), [None, Some(100), Some(50)]);
    }

    #[test]
    fn a_count_that_falls_is_nobody() {
        let records = [record(1, "ab12", 100, 90), record(2, "ab12", 95, 92), record(3, "ab12", 104, 92)];
        assert_eq!(counts(&records, 2), [(0, 2), (4, 0)], "and is nobody again when it rises");
    }

    #[test]
    fn a_minute_is_idle_if_nobody_came_waited_or_was_released() {
        let busy = [record(1, "ab12", 1, 0), record(2, "ab12", 1, 1), record(3, "ab12", 1, 1)];
        let idle: Vec<_> =
            MinuteCount::from_records(&busy, Timestamp::default()).iter().map(MinuteCount::is_idle).collect();
        assert_eq!(idle, [false, false, true]);
    }

    #[test]
    fn a_room_that_observes_notes_what_the_line_would_have_been_and_counts_nobody_twice() {
        let minute = Duration::from_mins(1);
        let mut room = crate::fixture::room(600);
        room.settings.mode = crate::Mode::Observe;
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1000);
        let slots: Vec<_> =
            (0..12).map(|slot| CountedSlot { from: at(60 + 5 * slot), newcomers: 500 }).collect();
        let note = |room: &Room, records: &[MinuteRecord], seconds| {
            let counts = LineCounts { joined: 0, released: 0, entered: None, waiting: 0 };
            let until = at(seconds / 5 * 5);
            let totals =
                LineTotals::of(room, at(seconds), counts).observing(room, records, &slots, minute, until);
            MinuteRecord { totals, longest_wait: None }
        };
        let waited =
            |record: MinuteRecord| record.totals.observed.map(|it| (it.line.waited, it.line.waiting));
        let first = note(&room, &[], 90);
        assert_eq!(waited(first), Some((2989, 2690)));
        let again = note(&room, &[first], 110);
        assert_eq!(waited(again), Some((4989, 4490)), "it replaces the one of the same minute");
        let second = note(&room, &[again], 130);
        assert_eq!(waited(second), Some((1000, 5290)));
        let lately = observed_lately(&room, &[again, second], &slots, minute, at(180));
        assert_eq!((lately.waited, lately.waiting, lately.longest_line), (5989, 4790, 5390));
        room.settings.mode = crate::Mode::Line;
        assert_eq!(waited(note(&room, &[again], 180)), Some((1000, 4790)), "those who came before");
        let nobody = note(&room, &[second], 190);
        assert_eq!(waited(nobody), None);
        let stored = nobody.totals.replacing(Some(second.totals)).observed;
        assert_eq!(stored, second.totals.observed, "as after a restart");
        let mut reset = crate::fixture::room(600);
        (reset.settings.mode, reset.epoch) = (crate::Mode::Observe, "cd34".parse().unwrap());
        assert_eq!(
            waited(note(&reset, &[again], 130)),
            Some((989, 790)),
            "a new line, and only of those who came since"
        );
        assert_eq!(nobody.totals.replacing(Some(note(&reset, &[], 90).totals)).observed, None);
        let json = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<MinuteRecord>(&json).unwrap(), second);
        let minutes = MinuteCount::from_records(&[again, second], Timestamp::default());
        assert_eq!(minutes[1].observed.map(|line| line.waited), Some(1000));
    }

    #[test]
    fn a_record_has_this_json_and_reads_back() {
        let record = MinuteRecord { longest_wait: Some(7), ..record(1, "ab12", 3, 2) };
        let json = serde_json::to_string(&record).unwrap();
        let expected = r#"{"at":67000,"epoch":"ab12","joined":3,"released":2,"entered":1,"waiting":1,"rate":1,"longest_wait":7}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<MinuteRecord>(&json).unwrap(), record);
        let older = json.replace("\"entered\":1,", "");
        let read: MinuteRecord = serde_json::from_str(&older).unwrap();
        assert_eq!(read.totals.entered, None, "a record of a version that did not count them");
        let mut rehearsed = record;
        rehearsed.totals.rehearsal = true;
        let json = serde_json::to_string(&rehearsed).unwrap();
        assert!(json.contains(r#""rehearsal":true"#), "{json}");
        assert_eq!(serde_json::from_str::<MinuteRecord>(&json).unwrap(), rehearsed);
    }
}
