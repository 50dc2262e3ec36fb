//! The line that would be, in a room that observes.
//!
//! Doors count newcomers only, in slots of a twelfth of a minute. How a line at the room's rate would have gone on is computed from
//! that, once a minute: up to when the time of the rate is used up, as permits are counted. Within a slot, newcomers are taken to
//! come evenly. Time that nobody uses is kept as long as for permits, so that two who come together are no line.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DoorPermits, Rate, Timestamp, UsedTime};

/// How many newcomers came in a slot of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedSlot {
    /// When the slot begins.
    pub from: Timestamp,
    pub newcomers: u64,
}

impl CountedSlot {
    const IN_A_MINUTE: u32 = 12;

    /// How long a slot is, if the rate is meant for this `minute`.
    pub fn length(minute: Duration) -> Duration {
        (minute / Self::IN_A_MINUTE).max(Duration::from_millis(1))
    }

    /// When the slot of this instant begins.
    pub fn at(now: Timestamp, minute: Duration) -> Timestamp {
        let length = u64::try_from(Self::length(minute).as_millis()).unwrap_or(u64::MAX);
        Timestamp::from_millis(now.as_millis() / length * length)
    }

    /// How many newcomers a door counts at once. At high rates more than one, as it takes permits, so that what counts them bears it.
    pub fn portion(rate: Rate) -> u32 {
        DoorPermits::always(rate, Duration::from_mins(1)).portion()
    }
}

/// What the line would have been in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLine {
    /// How many would have waited of those who came.
    pub waited: u64,
    /// How many would have waited when the time ended.
    pub waiting: u64,
    /// In seconds.
    pub longest_wait: u64,
    pub longest_line: u64,
    /// The most who came within a minute, wherever it begins. At this rate, nobody would have waited longer than a minute.
    pub busiest: u64,
}

impl ObservedLine {
    /// Of a time, and of one before it.
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        Self {
            waited: self.waited.saturating_add(before.waited),
            waiting: self.waiting,
            longest_wait: self.longest_wait.max(before.longest_wait),
            longest_line: self.longest_line.max(before.longest_line),
            busiest: self.busiest.max(before.busiest),
        }
    }
}

/// The line as it would be at an instant, and what it was since an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualLine {
    /// Newcomers are accounted for up to this instant.
    pub until: Timestamp,
    /// Up to when they use up the time of the rate.
    pub used: UsedTime,
    #[serde(flatten)]
    pub line: ObservedLine,
}

impl VirtualLine {
    /// How it goes on at this rate in this time, if these newcomers come. Those of the minute before it tell what the busiest one
    /// was. `before`: as the line was, and at which rate.
    pub fn follow(
        before: Option<(Self, Rate)>,
        slots: &[CountedSlot],
        (rate, minute): (Rate, Duration),
        time: Range<Timestamp>,
    ) -> Self {
        let pace = VirtualPace::new(rate, minute);
        // Those who wait at the beginning do so at the new rate.
        let mut used = before.map_or(0, |(line, rate)| {
            let ahead = i128::from(line.used.0) - micros(line.until);
            let scaled = ahead.max(0) * i128::from(rate.get()) / pace.rate;
            micros(line.until) + if ahead > 0 { scaled } else { ahead }
        });
        let (mut waited, mut longest, mut busiest) = (0, 0, 0);
        for slot in slots.iter().filter(|slot| time.contains(&slot.from)) {
            let (start, newcomers) = (micros(slot.from), i128::from(slot.newcomers));
            let first = (used - start).max(-pace.kept);
            let last = first + pace.time_of(newcomers) - pace.slot;
            waited += among(newcomers, first, last);
            longest = longest.max(first).max(last);
            used = start + pace.slot + last.max(-pace.kept);
            let within = |other: &&CountedSlot| other.from <= slot.from && slot.from < other.from + minute;
            let in_minute = slots.iter().filter(within).map(|other| other.newcomers);
            busiest = busiest.max(in_minute.fold(0, u64::saturating_add));
        }
        let line = ObservedLine {
            waited: whole(waited),
            waiting: whole(pace.newcomers_in(used - micros(time.end))),
            longest_wait: whole(longest / 1_000_000),
            longest_line: whole(pace.newcomers_in(longest)),
            busiest,
        };
        Self { until: time.end, used: UsedTime(whole(used)), line }
    }
}

/// The time that newcomers take, in microseconds. Signed, because a line may be ahead of the time or behind it.
struct VirtualPace {
    rate: i128,
    minute: i128,
    slot: i128,
    kept: i128,
}

impl VirtualPace {
    fn new(rate: Rate, minute: Duration) -> Self {
        let micros = |duration: Duration| i128::try_from(duration.as_micros()).unwrap_or(i128::MAX).max(1);
        Self {
            rate: rate.get().into(),
            minute: micros(minute),
            slot: micros(CountedSlot::length(minute)),
            kept: DoorPermits::always(rate, minute).kept().into(),
        }
    }

    fn time_of(&self, newcomers: i128) -> i128 {
        newcomers * self.minute / self.rate
    }

    fn newcomers_in(&self, time: i128) -> i128 {
        time * self.rate / self.minute
    }
}

/// How many of them find a line, if it is ahead of the time by `first` when the first one comes, and by `last` after the last.
fn among(newcomers: i128, first: i128, last: i128) -> i128 {
    let (ahead, all) = match (first > 0, last > 0) {
        (true, true) => return newcomers,
        (false, false) => return 0,
        (true, false) => (first, first - last),
        (false, true) => (last, last - first),
    };
    (newcomers * ahead + all / 2) / all
}

fn micros(at: Timestamp) -> i128 {
    i128::from(at.as_millis()) * 1000
}

/// None is below zero.
fn whole(number: i128) -> u64 {
    u64::try_from(number.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "far fewer than 2^52 visitors"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::MINUTE;

    const START: Timestamp = Timestamp::from_millis(1_700_000_040_000);
    const SLOT: Duration = Duration::from_secs(5);

    fn rate(per_minute: u32) -> Rate {
        Rate::new(per_minute).unwrap()
    }

    /// So many newcomers in each slot from then on.
    fn slots(newcomers: &[u64]) -> Vec<CountedSlot> {
        let from = (0..).map(|slot| START + SLOT * slot);
        let slots = from.zip(newcomers).map(|(from, newcomers)| CountedSlot { from, newcomers: *newcomers });
        slots.filter(|slot| slot.newcomers > 0).collect()
    }

    fn line(per_minute: u32, newcomers: &[u64]) -> ObservedLine {
        let until = START + SLOT * u32::try_from(newcomers.len()).unwrap();
        VirtualLine::follow(None, &slots(newcomers), (rate(per_minute), MINUTE), START..until).line
    }

    #[test]
    fn slots_are_twelve_in_a_minute() {
        assert_eq!(CountedSlot::at(START, MINUTE), START);
        assert_eq!(CountedSlot::at(START + Duration::from_millis(9_999), MINUTE), START + SLOT);
        assert_eq!(
            [1, 6_000, 6_001, 270_000].map(|per_minute| CountedSlot::portion(rate(per_minute))),
            [1, 1, 2, 45]
        );
    }

    #[test]
    fn up_to_the_rate_nobody_waits() {
        assert_eq!(line(600, &[50; 24]), ObservedLine { busiest: 600, ..ObservedLine::default() });
        assert_eq!(line(1, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).waited, 0);
    }

    #[test]
    fn ten_times_the_rate_makes_a_line_of_nine_tenths() {
        let ten_times = line(600, &[500; 12]);
        // A second's share was saved up.
        assert_eq!((ten_times.waiting, ten_times.longest_line), (5390, 5390));
        assert_eq!((ten_times.longest_wait, ten_times.busiest), (539, 6000));
        assert_eq!(ten_times.waited, 6000 - 11, "before a second's share is used up, in a ninth of a second");
        let over = line(600, &[500, 500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10]);
        assert_eq!((over.longest_line, over.waiting, over.waited), (890, 0, 989), "it goes, at the rate");
    }

    #[test]
    fn a_line_of_before_goes_on_at_the_new_rate() {
        let (begun, until) = (START + MINUTE, START + 2 * MINUTE);
        let before = VirtualLine::follow(None, &slots(&[500; 12]), (rate(600), MINUTE), START..begun);
        let after = |before, per_minute| {
            VirtualLine::follow(before, &slots(&[500; 12]), (rate(per_minute), MINUTE), begun..until).line
        };
        let goes_on = after(Some((before, rate(600))), 600);
        assert_eq!((goes_on.waiting, goes_on.waited, goes_on.busiest), (4790, 0, 0), "nobody counts twice");
        assert_eq!(after(Some((before, rate(600))), 1200).waiting, 4190);
        assert_eq!(after(Some((before, rate(600))), 60).waiting, 5330);
        let earlier =
            VirtualLine { line: ObservedLine { longest_wait: 700, waited: 3, ..before.line }, ..before };
        let both = before.line.after(earlier.line);
        assert_eq!((both.longest_wait, both.waited, both.waiting), (700, 5992, 5390));
    }

    /// The longest wait and how many wait at the end, in a queue in which everybody is served one after the other, a share of the
    /// minute each, and time that was not used is kept for a while.
    fn queue(per_minute: u32, newcomers: &[u64], kept: f64) -> (f64, f64) {
        let share = 60.0 / f64::from(per_minute);
        let (mut free, mut longest, mut slot_begins) = (f64::MIN, 0.0_f64, 0.0);
        for count in newcomers {
            for number in 0..*count {
                let comes = slot_begins + 5.0 * number as f64 / *count as f64;
                free = free.max(comes - kept);
                longest = longest.max(free - comes);
                free += share;
            }
            slot_begins += 5.0;
        }
        (longest, ((free - slot_begins) / share).max(0.0))
    }

    proptest! {
        #[test]
        fn it_is_the_queue_of_this_rate(
            per_minute in prop_oneof![1..100u32, 1..6_000u32, 6_000..60_000u32],
            shares in proptest::collection::vec(prop_oneof![Just(0.0), 0.0..0.5f64, 0.0..12.0f64], 1..80),
        ) {
            let newcomers: Vec<_> = shares.iter().map(|share| (share * f64::from(per_minute) / 12.0) as u64).collect();
            let line = line(per_minute, &newcomers);
            let kept = DoorPermits::always(rate(per_minute), MINUTE).kept() as f64 / 1e6;
            let (longest, waiting) = queue(per_minute, &newcomers, kept);
            // Within a slot newcomers come evenly here, and one by one there.
            let share = 60.0 / f64::from(per_minute);
            prop_assert!((line.longest_wait as f64 - longest).abs() <= 2.0 * share + 1.0, "{line:?}, not {longest}");
            prop_assert!((line.waiting as f64 - waiting).abs() <= 2.0, "{line:?}, not {waiting}");
            prop_assert!(line.waited <= newcomers.iter().sum());
            prop_assert!(line.longest_line >= line.waiting);
        }

        #[test]
        fn computed_in_parts_it_is_the_same(
            newcomers in proptest::collection::vec(0..300u64, 2..60),
            cut in 0..60u32,
        ) {
            let cut = cut % u32::try_from(newcomers.len()).unwrap();
            let (pace, slots) = ((rate(600), MINUTE), slots(&newcomers));
            let until = START + SLOT * u32::try_from(newcomers.len()).unwrap();
            let first_until = START + SLOT * cut;
            let whole = VirtualLine::follow(None, &slots, pace, START..until);
            let first = VirtualLine::follow(None, &slots, pace, START..first_until);
            let second = VirtualLine::follow(Some((first, pace.0)), &slots, pace, first_until..until);
            let parts = VirtualLine { line: second.line.after(first.line), ..second };
            prop_assert_eq!(whole, parts);
        }
    }
}
