//! The last hour of a room, for charts that go on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use waitroom::{AuditEntry, MinuteCount, MinuteRecord, RoomId, Timestamp};

use crate::{ControlError, OperatedRoom, Status};

/// How far back the charts go.
const SHOWN: Duration = Duration::from_hours(1);
/// The most readings in a chart, if there is one every second.
const READINGS: usize = 3600 + 60;

/// What is read of a room each time.
#[derive(Clone, Debug)]
pub struct Reading {
    pub at: Timestamp,
    pub status: Status,
    /// The history of the line since [`Course::known_since`], after the record before it.
    pub records: Vec<MinuteRecord>,
    /// The latest entries of the audit trail, oldest first.
    pub entries: Vec<AuditEntry>,
}

impl Reading {
    /// Reads what is new. `last` is the last record of the history that is known.
    pub async fn read(room: &OperatedRoom, last: Option<&MinuteRecord>) -> Result<Self, ControlError> {
        /// More entries than the highest terminal shows.
        const ENTRIES: u16 = 30;

        let status = room.watched_status().await?;
        let at = room.transport.now();
        let records = room.minutes(Course::known_since(at, last)).await?;
        let entries = room.entries(ENTRIES).await?;
        Ok(Self { at, status, records, entries })
    }
}

/// What the charts show: the last hour of a room. It begins with the history of the line, and goes on with readings.
#[derive(Debug)]
pub struct Course {
    pub name: RoomId,
    pub at: Timestamp,
    pub latest: Status,
    /// The instants in seconds since 1970, and how many waited then.
    pub waiting: VecDeque<(f64, f64)>,
    /// The minutes by their number.
    pub minutes: BTreeMap<u64, MinuteCount>,
    pub entries: Vec<AuditEntry>,
    /// Why the last reading failed.
    pub problem: Option<String>,
    /// The last record of the line's history.
    last: Option<MinuteRecord>,
}

impl Course {
    pub fn new(name: RoomId, first: Reading) -> Self {
        let mut course = Self {
            name,
            at: first.at,
            latest: first.status.clone(),
            waiting: VecDeque::new(),
            minutes: BTreeMap::new(),
            entries: Vec::new(),
            problem: None,
            last: None,
        };
        course.note(first);
        course
    }

    /// From when on the history is to be read, if the last record known is this one.
    fn known_since(now: Timestamp, last: Option<&MinuteRecord>) -> Timestamp {
        last.map_or(now - SHOWN, |last| last.totals.at.max(now - SHOWN))
    }

    /// A reading, or why there is none.
    pub fn see(&mut self, reading: Result<Reading, String>) {
        match reading {
            Ok(reading) => self.note(reading),
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// How many were released since the last minute of the history.
    pub fn released_since(&self) -> u64 {
        let last = self.last.map(|last| last.totals).filter(|last| last.epoch == self.latest.room.epoch);
        self.latest.released.saturating_sub(last.map_or(0, |last| last.released))
    }

    /// The minutes of the line's own visitors: a rehearsal that has ended is left out, with what was before it.
    pub fn own_minutes(&self) -> Vec<MinuteCount> {
        let since = self.rehearsed_until();
        let own = self.minutes.values().filter(|minute| since.is_none_or(|since| minute.at > since));
        own.copied().collect()
    }

    /// How many of them waited.
    pub fn own_waiting(&self) -> Vec<(f64, f64)> {
        let since = self.rehearsed_until().map(in_seconds);
        let own = self.waiting.iter().filter(|(at, _)| since.is_none_or(|since| *at > since));
        own.copied().collect()
    }

    /// The end of the last minute of a rehearsal that has ended.
    fn rehearsed_until(&self) -> Option<Timestamp> {
        let last = self.minutes.values().rev().find(|minute| minute.rehearsal);
        last.filter(|_| self.latest.room.rehearsal.is_none()).map(|minute| minute.at)
    }

    fn note(&mut self, reading: Reading) {
        let Reading { at, status, records, entries } = reading;
        let since = Self::known_since(at, self.last.as_ref());
        for minute in MinuteCount::from_records(&records, since) {
            self.add_waiting(minute.at, minute.waiting);
            self.minutes.insert(MinuteRecord::number(minute.at), minute);
        }
        self.add_waiting(at, status.line.waiting);
        self.forget_before(at - SHOWN);
        self.last = records.last().copied().or(self.last);
        (self.at, self.latest, self.entries, self.problem) = (at, status, entries, None);
    }

    /// A record that is older than the last reading adds nothing.
    fn add_waiting(&mut self, at: Timestamp, waiting: u64) {
        let at = in_seconds(at);
        if self.waiting.back().is_none_or(|(last, _)| at > *last) {
            self.waiting.push_back((at, as_f64(waiting)));
        }
    }

    fn forget_before(&mut self, at: Timestamp) {
        let seconds = in_seconds(at);
        while self.waiting.len() > READINGS || self.waiting.front().is_some_and(|(at, _)| *at < seconds) {
            self.waiting.pop_front();
        }
        self.minutes = self.minutes.split_off(&MinuteRecord::number(at));
    }
}

fn in_seconds(at: Timestamp) -> f64 {
    Duration::from_millis(at.as_millis()).as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "no line has 2^52 people")]
fn as_f64(people: u64) -> f64 {
    people as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{minute_record, suffering};

    fn at(minute: u64) -> Timestamp {
        Timestamp::from_millis((28_333_334 + minute) * 60_000)
    }

    /// A reading ten seconds after this minute's record.
    fn reading(minute: u64, records: Vec<MinuteRecord>) -> Reading {
        let mut status = suffering();
        status.line.waiting = minute;
        Reading { at: at(minute) + Duration::from_secs(10), status, records, entries: Vec::new() }
    }

    /// Records that release 300 a minute.
    fn records(minutes: impl Iterator<Item = u64>) -> Vec<MinuteRecord> {
        minutes.map(|minute| minute_record(at(minute), 1000 + 400 * minute, 300 * minute)).collect()
    }

    fn released(course: &Course) -> Vec<u64> {
        course.minutes.values().map(|minute| minute.released).collect()
    }

    #[test]
    fn charts_begin_with_the_history_and_go_on_with_readings() {
        // The first record is the one before the hour.
        let mut course = Course::new("spring-sale".parse().unwrap(), reading(10, records(3..=10)));
        assert_eq!(released(&course), [900, 300, 300, 300, 300, 300, 300, 300], "all of a new room");
        assert_eq!(course.waiting.len(), 9, "eight records and a reading");
        assert_eq!(course.released_since(), 4090 - 3000);
        course.see(Ok(reading(10, records(9..=10))));
        course.see(Ok(reading(12, records(9..=12))));
        assert_eq!(released(&course)[6..], [300; 4]);
        let waiting: Vec<_> = course.waiting.iter().map(|(_, waiting)| *waiting).collect();
        assert_eq!(waiting[7..], [2000.0, 10.0, 2100.0, 2200.0, 12.0]);
        assert_eq!(course.released_since(), 4090 - 3600);
    }

    #[test]
    fn a_failed_reading_keeps_the_last_picture() {
        let mut course = Course::new("spring-sale".parse().unwrap(), reading(1, records(0..=1)));
        course.see(Err("no route".into()));
        assert_eq!(course.problem.as_deref(), Some("no route"));
        assert_eq!((course.latest.line.waiting, course.waiting.len()), (1, 3));
        course.see(Ok(reading(2, records(1..=2))));
        assert_eq!((course.problem, course.latest.line.waiting), (None, 2));
    }

    #[test]
    fn after_a_reset_the_released_are_those_of_the_new_epoch() {
        let mut course = Course::new("spring-sale".parse().unwrap(), reading(10, records(0..=10)));
        let mut reset = reading(11, Vec::new());
        reset.status.room.epoch = "next".parse().unwrap();
        reset.status.released = 7;
        course.see(Ok(reset));
        assert_eq!(course.released_since(), 7);
    }

    #[test]
    fn a_rehearsal_is_shown_only_while_it_lasts() {
        let rehearsed = records(0..=3).into_iter().map(|mut record| {
            record.totals.rehearsal = true;
            record
        });
        let mut during = reading(3, rehearsed.collect());
        during.status.room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
        let mut course = Course::new("spring-sale".parse().unwrap(), during);
        assert_eq!((course.own_minutes().len(), course.own_waiting().len()), (4, 5));
        let mut after = reading(5, records(4..=5));
        after.status.room.rehearsal = None;
        course.see(Ok(after));
        assert_eq!((course.own_minutes().len(), course.own_waiting().len()), (2, 4), "{:?}", course.waiting);
    }

    #[test]
    fn the_charts_show_the_last_hour() {
        let mut course = Course::new("spring-sale".parse().unwrap(), reading(0, records(0..=0)));
        for minute in 1..=300 {
            course.see(Ok(reading(minute, records(minute.saturating_sub(2)..=minute))));
        }
        assert_eq!((course.minutes.len(), released(&course)[0]), (61, 300));
        assert_eq!(course.waiting.len(), 121, "a record and a reading each minute");
    }
}
